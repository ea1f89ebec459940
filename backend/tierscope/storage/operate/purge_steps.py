"""The steps of a job that removes a host or a service: which rows of which table, found by the schema itself.

Every time table is gone through chunk by chunk, by its column of the subject. Every other table with a reference to the
subject loses the rows that refer to it. What is left is told apart by hand below: rows that name the subject in another
way, and documents that mention it, which are rewritten. The audit trail and the jobs themselves keep its id and name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from sqlalchemy import Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from tierscope.storage.objects.rows import FORGET
from tierscope.storage.operate.purges import PurgeKind, PurgeSubjectRow
from tierscope.storage.tables import TIME_TABLES, TimeTable, history_files, metadata, objects

KEPT: Mapping[str, str] = {
    "audit": "who changed what stays",
    "purges": "the job and its report stay",
    "installation": "facts of the installation",
}
REWRITTEN = "purged"
"""Stands where an id stood in a document that mentions others too."""
_TIME_NAMES = {entry.table.name for entry in TIME_TABLES}
_TARGETS = "SELECT id FROM sample_targets WHERE host_id = :number"
_SILENCES = (
    "UPDATE silences SET matchers = (SELECT jsonb_agg(CASE WHEN m ->> 'name' = 'host' AND m ->> 'value' = :subject_name"
    " THEN jsonb_set(m, '{value}', to_jsonb(CAST(:rewritten AS text))) ELSE m END)"
    " FROM jsonb_array_elements(matchers) m)"
    " WHERE matchers @> jsonb_build_array(jsonb_build_object('name', 'host', 'value', CAST(:subject_name AS text)))"
)
_SAMPLE_KINDS = "('samples', 'samples_pack')"


@dataclass(frozen=True, slots=True)
class ChunkStep:
    """Rows of a time table, deleted (or rewritten, where `statement` says how) in one chunk after another."""

    entry: TimeTable
    where: str
    rewrite: str | None = None

    @property
    def name(self) -> str:
        """As the report names it."""
        return self.entry.name

    def statement(self) -> str:
        """For the rows in [start, end)."""
        head = f"UPDATE {self.name} SET {self.rewrite} WHERE" if self.rewrite else f"DELETE FROM {self.entry.source}"  # noqa: S608
        return f"{head} ts >= :start AND ts < :end AND {self.where}"


@dataclass(frozen=True, slots=True)
class RowStep:
    """Rows of another table, in one statement."""

    name: str
    statement: str


@dataclass(frozen=True, slots=True)
class RollupStep:
    """Rollups of services that hold a column for each host: rewritten without this one."""

    name: Literal["service_heat_1h", "service_heat_1d", "service_moves_1h"]


@dataclass(frozen=True, slots=True)
class SettleStep:
    """Waits until every transaction is over that may still have seen the subject."""

    name: str = "settle"


@dataclass(frozen=True, slots=True)
class GoneStep:
    """Waits until another worker has removed what this job gave up: the statement counts what is left."""

    name: str
    statement: str


@dataclass(frozen=True, slots=True)
class TargetStep:
    """The targets of a host, with what is left of their samples: whoever writes samples waits meanwhile."""

    name: str = "sample_targets"
    statements: tuple[tuple[str, str], ...] = (
        ("samples_live", f"DELETE FROM samples_live WHERE target_id IN ({_TARGETS})"),  # noqa: S608
        ("samples_packed", f"DELETE FROM samples_packed WHERE target_id IN ({_TARGETS})"),  # noqa: S608
        ("marks", f"DELETE FROM marks WHERE subject_id IN ({_TARGETS}) AND kind IN {_SAMPLE_KINDS}"),  # noqa: S608
        ("sample_targets", "DELETE FROM sample_targets WHERE host_id = :number"),
    )


Step = TargetStep | ChunkStep | RowStep | RollupStep | SettleStep | GoneStep


@cache
def make_steps(kind: PurgeKind) -> tuple[Step, ...]:
    """All steps, in order. Time tables come twice: ingest or a worker may have been at it meanwhile."""
    chunks = _chunk_steps(kind)
    rollups: list[Step] = []
    if kind == "host":
        rollups = [RollupStep("service_heat_1h"), RollupStep("service_heat_1d"), RollupStep("service_moves_1h")]
    special = _host_rows() if kind == "host" else _service_rows()
    subject = RowStep(f"{kind}s", f"DELETE FROM {kind}s WHERE id = :number")  # noqa: S608 - names of our own
    return (
        *rollups,
        *chunks,
        *special,
        *_reference_steps(kind),
        *_mention_steps(),
        subject,
        SettleStep(),
        *chunks,
        _objects(kind),
        GoneStep(objects.name, f"SELECT count(*) FROM {objects.name} WHERE {kind}_id = :number"),  # noqa: S608
        GoneStep(history_files.name, f"SELECT count(*) FROM {history_files.name} WHERE :number = ANY({kind}s)"),  # noqa: S608
    )


def statement_values(subject: PurgeSubjectRow) -> dict[str, Any]:
    """What statements of steps are given; each takes those that it names."""
    return {
        "number": subject.number,
        "public_id": subject.public_id,
        "mention": f"%{subject.public_id}%",
        "subject_name": subject.name,
        "quoted_id": f'"{subject.public_id}"',
        "quoted_name": f'"{subject.name}"',
        "rewritten": REWRITTEN,
        "quoted_rewritten": f'"{REWRITTEN}"',
    }


def _chunk_steps(kind: PurgeKind) -> list[Step]:
    column = f"{kind}_id"
    steps: list[Step] = [
        ChunkStep(entry, f"{column} = :number") for entry in TIME_TABLES if column in entry.table.columns
    ]
    by_name = {entry.table.name: entry for entry in TIME_TABLES}
    if kind == "service":
        groups = "group_id IN (SELECT id FROM fleet_groups WHERE service_id = :number)"
        steps.append(ChunkStep(by_name["fleet_sketches"], groups))
        steps.append(ChunkStep(by_name["capacity_days"], "kind = 'service' AND subject = :public_id"))
        return steps
    kept = (
        "(SELECT coalesce(jsonb_object_agg(metric, (SELECT coalesce(jsonb_agg(item), '[]') FROM"
        " jsonb_array_elements(hosts) AS item WHERE CAST(item ->> 0 AS bigint) <> :number)), '{}')"
        " FROM jsonb_each(outliers) AS each_metric (metric, hosts))"
    )
    named = (
        "EXISTS (SELECT FROM jsonb_each(outliers) AS m (metric, hosts), jsonb_array_elements(m.hosts) AS item"
        " WHERE CAST(item ->> 0 AS bigint) = :number)"
    )
    steps.append(ChunkStep(by_name["fleet_sketches"], named, rewrite=f"outliers = {kept}"))
    steps += [
        ChunkStep(by_name[name], f"target_id IN ({_TARGETS})")
        for name in ("samples_live", "samples_packed")
        if name in by_name
    ]
    return steps


def _host_rows() -> list[Step]:
    """Rows that name a host in another way than by a reference. Targets go last: others are found by them."""
    return [
        RowStep("marks", f"DELETE FROM marks WHERE subject_id = :number AND kind NOT IN {_SAMPLE_KINDS}"),  # noqa: S608
        *_alert_rows("host"),
        RowStep("silences", _SILENCES),
        TargetStep(),
    ]


def _service_rows() -> list[Step]:
    """Rows that name a service in another way than by a reference."""
    return [
        RowStep("marks", "DELETE FROM marks WHERE service_id = :number"),
        RowStep("capacity_forecasts", "DELETE FROM capacity_forecasts WHERE kind = 'service' AND subject = :public_id"),
        *_alert_rows("service"),
    ]


def _alert_rows(kind: PurgeKind) -> list[Step]:
    mine = f"subject_kind = '{kind}' AND subject_id = :public_id"
    ids = f"SELECT public_id FROM alerts WHERE {mine}"  # noqa: S608 - names of our own
    without = (
        "(SELECT coalesce(jsonb_agg(alert), '[]') FROM jsonb_array_elements(alerts) AS alert"
        " WHERE CAST(alert AS text) NOT LIKE :mention)"
    )
    return [
        RowStep("notification_members", f"DELETE FROM notification_members WHERE alert_id IN ({ids})"),  # noqa: S608
        RowStep("alerts", f"DELETE FROM alerts WHERE {mine}"),  # noqa: S608 - names of our own
        RowStep(
            "notifications",
            f"UPDATE notifications SET alerts = {without} WHERE CAST(alerts AS text) LIKE :mention",  # noqa: S608
        ),
        RowStep("idempotency_keys", "DELETE FROM idempotency_keys WHERE CAST(answer AS text) LIKE :mention"),
    ]


def _reference_steps(kind: PurgeKind) -> list[Step]:
    """Every plain table whose rows belong to the subject."""
    steps: list[Step] = []
    for table in metadata.sorted_tables:
        column = reference_column(table, kind)
        if column is not None:
            steps.append(_objects(kind) if table is objects else _references(table, column))
    return steps


def _references(table: Table, column: str) -> RowStep:
    return RowStep(table.name, f"DELETE FROM {table.name} WHERE {column} = :number")  # noqa: S608 - names of our own


def _objects(kind: PurgeKind) -> RowStep:
    """Gives up what is in the object store, where a worker deletes it."""
    return RowStep(objects.name, f"{FORGET}{kind}_id = :number")


def reference_column(table: Table, kind: PurgeKind) -> str | None:
    """The column by which rows of a plain table belong to a host or service; None where they do not."""
    if table.name in _TIME_NAMES or table.name in (*KEPT, "sample_targets", "marks"):
        return None
    return f"{kind}_id" if f"{kind}_id" in table.columns else None


def _mention_steps() -> list[Step]:
    """Documents in plain tables that mention the subject beside others: its id and name are taken out of the text."""
    steps: list[Step] = []
    for table in metadata.sorted_tables:
        if table.name in _TIME_NAMES or table.name in KEPT:
            continue
        for column in table.columns:
            if isinstance(column.type, JSONB):
                text = f'CAST("{column.name}" AS text)'
                changed = f"replace(replace({text}, :quoted_name, :quoted_rewritten), :public_id, :rewritten)"
                change = f"CAST({changed} AS jsonb)"
            elif isinstance(column.type, Text) and not (column.primary_key or column.unique):
                text, change = f'"{column.name}"', f'replace("{column.name}", :public_id, :rewritten)'
            else:
                continue
            statement = f'UPDATE {table.name} SET "{column.name}" = {change} WHERE {text} LIKE :mention'  # noqa: S608
            if table.name not in ("hosts", "services"):
                steps.append(RowStep(f"{table.name}.{column.name}", statement))
    return steps
