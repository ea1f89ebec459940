"""Series and targets of Prometheus: stored once, then known by their ids.

Who writes samples refers to them by ids that its process remembers. So writers share a lock for their transaction,
whoever deletes targets or series holds it alone, and renews the generation of the database: a writer reads that after
it has the lock, and knows that all that it remembers is there until it has committed.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import LiteralString

from sqlalchemy import select, text, tuple_
from sqlalchemy.dialects.postgresql import insert

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.patterns import Pattern, read_pattern
from tierscope.domain.ingest.prometheus.targets import TargetName
from tierscope.storage.tables import sample_targets

Labels = Sequence[tuple[str, str]]
"""(name, value) in order of names."""


SEEN_RESOLUTION = timedelta(days=1)
"""How old the time of a series may grow before it is noted again that samples of it come."""
INDEX_KEPT = timedelta(days=1)
"""How long a process may know a series without looking at its row."""
SEEN_WITHIN = SEEN_RESOLUTION + INDEX_KEPT
"""How much later than `last_seen_at` samples of a series may have come."""
_FORGOTTEN_AT_ONCE = 200_000
_SHARE: LiteralString = "SELECT pg_advisory_xact_lock_shared(8388073163415319922)"
_ALONE: LiteralString = "SELECT pg_advisory_xact_lock(8388073163415319922)"


@dataclass(frozen=True, slots=True)
class StoredSeries:
    """A series with its labels."""

    id: int
    target_id: int
    labels: Mapping[str, str]
    first_seen_at: datetime


@dataclass(frozen=True, slots=True)
class FoundSeries:
    """Ids of a stored series and of its target; `noted_lately`: whether its time is within SEEN_RESOLUTION."""

    id: int
    target_id: int
    noted_lately: bool


@dataclass(frozen=True, slots=True)
class StoredTarget:
    """A target; `reason` says why its counters are not taken."""

    id: int
    cluster: str
    name: str
    host_id: int | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class NewSeries:
    """A series to look up or to store."""

    labels: Labels
    target: TargetName
    digest: bytes
    """First 16 bytes of SHA-256 over the labels in order: `digest_labels`."""


def hold_targets(transaction: WriteTransaction) -> int:
    """Keeps all targets and series until the transaction ends; the generation that they are of."""
    return transaction.look_after(_SHARE)


def may_end_targets(transaction: WriteTransaction) -> None:
    """Waits until nobody writes samples, and holds up who would: targets and series may be deleted now."""
    transaction.ask(_ALONE)
    transaction.renew_generation()


def forget_silent(transaction: WriteTransaction, before: datetime) -> int:
    """Delete targets that were first seen before a moment, are no host and have no samples left, and their series."""
    silent = (
        "SELECT t.id FROM sample_targets t WHERE t.host_id IS NULL AND t.first_seen_at < :before"
        " AND NOT EXISTS (SELECT FROM samples_live l WHERE l.target_id = t.id)"
        " AND NOT EXISTS (SELECT FROM samples_packed p WHERE p.target_id = t.id)"
    )
    if transaction.execute(text(f"{silent} LIMIT 1"), {"before": before}).first() is None:
        return 0
    may_end_targets(transaction)  # who writes to one of them meanwhile has done so by then
    statement = text(f"DELETE FROM sample_targets WHERE id IN ({silent})")  # noqa: S608 - our own words
    return transaction.execute(statement, {"before": before}).rowcount


def forget_unseen(transaction: WriteTransaction, before: datetime) -> int:
    """Delete series of which nothing came after a moment, nor SEEN_WITHIN later; how many.

    Whatever processes remember ends with it, so that it waits until one of them is a day over.
    """
    overdue = "SELECT FROM sample_series WHERE last_seen_at < :before LIMIT 1"
    if transaction.execute(text(overdue), {"before": before - timedelta(days=1)}).first() is None:
        return 0
    may_end_targets(transaction)
    statement = text(
        "DELETE FROM sample_series WHERE id IN (SELECT id FROM sample_series WHERE last_seen_at < :before"
        " ORDER BY last_seen_at LIMIT :most)"
    )
    return transaction.execute(statement, {"before": before, "most": _FORGOTTEN_AT_ONCE}).rowcount


def forget_ownerless(transaction: WriteTransaction) -> int:
    """Delete samples whose target is not there: no purge of a host could reach them."""
    owned = "EXISTS (SELECT FROM sample_targets t WHERE t.id = s.target_id)"
    return sum(
        transaction.execute(text(f"DELETE FROM {table} s WHERE NOT {owned}")).rowcount  # noqa: S608 - our own words
        for table in ("samples_live", "samples_packed")
    )


def digest_labels(labels: Labels) -> bytes:
    """What tells a series from all others."""
    parts = "".join(f"{len(name)}:{name}{len(value)}:{value}" for name, value in labels)
    return hashlib.sha256(parts.encode()).digest()[:16]


def find_series(session: ReadSession, series: Sequence[NewSeries]) -> dict[bytes, FoundSeries]:
    """Those that are stored under the target that they name, by digest."""
    if not series:
        return {}
    statement = text(
        "SELECT s.hash, s.id, s.target_id, t.cluster, t.name, s.last_seen_at > now() - :resolution AS noted"
        " FROM sample_series s"
        " JOIN sample_targets t ON t.id = s.target_id WHERE s.hash = ANY(:digests)"
    )
    targets = {one.digest: one.target for one in series}
    rows = session.execute(statement, {"digests": list(targets), "resolution": SEEN_RESOLUTION})
    return {
        bytes(row.hash): FoundSeries(row.id, row.target_id, row.noted)
        for row in rows
        if targets[bytes(row.hash)] == TargetName(row.cluster, row.name)
    }


def note_seen(transaction: WriteTransaction, ids: Sequence[int]) -> None:
    """Note that samples of these series come."""
    _note(transaction, ids, "last_seen_at = now()")


def note_histograms(transaction: WriteTransaction, ids: Sequence[int], now: datetime) -> None:
    """Note that native histograms of these series came."""
    _note(transaction, ids, "histograms_at = :now", now=now)


def _note(transaction: WriteTransaction, ids: Sequence[int], what: str, **values: object) -> None:
    """What another writer notes of a series meanwhile is left to it."""
    lasting = "SELECT id FROM sample_series WHERE id = ANY(:ids) FOR UPDATE SKIP LOCKED"
    transaction.execute(
        text(f"UPDATE sample_series SET {what} WHERE id IN ({lasting})"),  # noqa: S608 - our own words
        {"ids": list(ids), **values},
    )


def count_series(session: ReadSession) -> int:
    """How many series are stored."""
    return int(session.execute(text("SELECT count(*) FROM sample_series")).scalar_one())


def store_series(transaction: WriteTransaction, new: Sequence[NewSeries]) -> dict[bytes, FoundSeries]:
    """Store series with their targets, in one order so that writers never deadlock; what is stored, by digest.

    What was stored of one under another target, by other settings or an older release, stays there with its samples:
    its digest is given up.
    """
    targets = _store_targets(transaction, sorted({series.target for series in new}))
    by_digest = {series.digest: series for series in new}
    rows = [
        {
            "target_id": targets[series.target],
            "hash": digest,
            "metric": next(value for name, value in series.labels if name == "__name__"),
            "labels": dict(series.labels),
        }
        for digest, series in sorted(by_digest.items())
    ]
    placed = {"targets": [row["target_id"] for row in rows], "hashes": [row["hash"] for row in rows]}
    transaction.execute(
        text(
            "UPDATE sample_series AS s SET hash = substring(sha256(s.hash || int8send(s.id)) FOR 16)"
            " FROM unnest(CAST(:targets AS bigint[]), CAST(:hashes AS bytea[])) AS n (t, h)"
            " WHERE s.hash = n.h AND s.target_id <> n.t"
        ),
        placed,
    )
    transaction.execute(
        text(
            "INSERT INTO sample_series (target_id, hash, metric, labels)"
            " SELECT t, h, m, CAST(l AS jsonb) FROM unnest(CAST(:targets AS bigint[]), CAST(:hashes AS bytea[]),"
            " CAST(:metrics AS text[]), CAST(:labels AS text[])) AS n (t, h, m, l) ON CONFLICT (hash) DO NOTHING"
        ),
        {
            **placed,
            "metrics": [row["metric"] for row in rows],
            "labels": [json.dumps(row["labels"], ensure_ascii=False) for row in rows],
        },
    )
    return find_series(transaction, list(by_digest.values()))


def _store_targets(transaction: WriteTransaction, names: Sequence[TargetName]) -> dict[TargetName, int]:
    rows = [{"cluster": name.cluster, "name": name.name} for name in names]
    transaction.execute(insert(sample_targets).on_conflict_do_nothing(index_elements=["cluster", "name"]), rows)
    c = sample_targets.c
    wanted = [(name.cluster, name.name) for name in names]
    statement = select(c.id, c.cluster, c.name).where(tuple_(c.cluster, c.name).in_(wanted))
    return {TargetName(row.cluster, row.name): row.id for row in transaction.execute(statement)}


def find_target(session: ReadSession, target_id: int) -> StoredTarget | None:
    """A target by its id."""
    c = sample_targets.c
    statement = select(c.id, c.cluster, c.name, c.host_id, c.reason).where(c.id == target_id)
    row = session.execute(statement).mappings().one_or_none()
    return None if row is None else StoredTarget(**row)


def assign_target(transaction: WriteTransaction, target_id: int, *, host_id: int | None, reason: str | None) -> None:
    """Say which host a target is, or why its counters are not taken."""
    statement = text("UPDATE sample_targets SET host_id = :host, reason = :reason WHERE id = :target")
    transaction.execute(statement, {"host": host_id, "reason": reason, "target": target_id})


def find_hosts_called(session: ReadSession, cluster: str, names: Sequence[str]) -> list[int]:
    """Hosts of a cluster whose target has one of these names; where none has, those that call themselves so."""
    by_target = text(
        "SELECT DISTINCT host_id FROM sample_targets"
        " WHERE cluster = :cluster AND name = ANY(:names) AND host_id IS NOT NULL"
    )
    by_uname = text(
        "SELECT DISTINCT t.host_id FROM sample_series s JOIN sample_targets t ON t.id = s.target_id"
        " WHERE s.metric = 'node_uname_info' AND lower(s.labels ->> 'nodename') = ANY(:names)"
        " AND t.cluster = :cluster AND t.host_id IS NOT NULL"
    )
    values = {"cluster": cluster, "names": list(names)}
    found = session.execute(by_target, values).scalars().all() or session.execute(by_uname, values).scalars().all()
    return [int(one) for one in found]


def targets_of_host(session: ReadSession, host_id: int) -> list[int]:
    """The targets that are this host."""
    statement = text("SELECT id FROM sample_targets WHERE host_id = :host ORDER BY id")
    return [int(found) for found in session.execute(statement, {"host": host_id}).scalars()]


def sampled_host_ids(session: ReadSession) -> list[int]:
    """Hosts that targets are."""
    statement = text("SELECT DISTINCT host_id FROM sample_targets WHERE host_id IS NOT NULL")
    return [int(found) for found in session.execute(statement).scalars()]


def series_state(session: ReadSession, target_ids: Sequence[int]) -> tuple[int, int]:
    """How many series some targets have, and the newest id: both stay until series are added or removed."""
    statement = text("SELECT count(*), coalesce(max(id), 0) FROM sample_series WHERE target_id = ANY(:targets)")
    n, newest = session.execute(statement, {"targets": list(target_ids)}).one()
    return int(n), int(newest)


def series_of_targets(session: ReadSession, target_ids: Sequence[int], metric_like: str) -> list[StoredSeries]:
    """Series of targets whose metric matches an SQL pattern, oldest first."""
    statement = text(
        "SELECT id, target_id, labels, first_seen_at FROM sample_series"
        " WHERE target_id = ANY(:targets) AND metric LIKE :pattern ORDER BY id"
    )
    rows = session.execute(statement, {"targets": list(target_ids), "pattern": metric_like})
    return [StoredSeries(**row) for row in rows.mappings()]


def match_series(
    session: ReadSession, conditions: Sequence[tuple[str, str, str]], *, after: int, limit: int
) -> list[StoredSeries]:
    """Series that meet all (label, operator, value) conditions, ids above `after`, in order of id.

    Operators are those of Prometheus; a label that a series lacks is the empty text. Patterns are held against the
    different values of their label here: those of PostgreSQL can take for ever.

    Raises:
        BadPattern: a pattern cannot be read.
    """
    clauses, bound = _meet(session, conditions)
    statement = text(
        "SELECT id, target_id, labels, first_seen_at FROM sample_series"  # noqa: S608 - see _column
        f" WHERE {' AND '.join(['id > :after', *clauses])} ORDER BY id LIMIT :limit"
    )
    rows = session.execute(statement, bound | {"after": after, "limit": limit}).mappings()
    return [StoredSeries(**row) for row in rows]


def label_names(session: ReadSession, conditions: Sequence[tuple[str, str, str]]) -> list[str]:
    """Names of all labels of series that meet the conditions, in order; `__name__` is one.

    Raises:
        BadPattern: a pattern cannot be read.
    """
    clauses, bound = _meet(session, conditions)
    statement = text(
        "SELECT DISTINCT jsonb_object_keys(labels) AS name FROM sample_series"  # noqa: S608 - see _column
        f" WHERE {' AND '.join(['true', *clauses])} ORDER BY name"
    )
    return [str(name) for name in session.execute(statement, bound).scalars()]


def label_values(session: ReadSession, label: str, conditions: Sequence[tuple[str, str, str]]) -> list[str]:
    """The different values of a label of series that meet the conditions; series without the label have none.

    Raises:
        BadPattern: a pattern cannot be read.
    """
    clauses, bound = _meet(session, conditions)
    column = _column(label, len(conditions), bound)
    statement = text(
        f"SELECT DISTINCT {column} AS found FROM sample_series"  # noqa: S608 - see _column
        f" WHERE {' AND '.join(['true', *clauses])}"
    )
    return [str(value) for value in session.execute(statement, bound).scalars() if value]


def _meet(session: ReadSession, conditions: Sequence[tuple[str, str, str]]) -> tuple[list[str], dict[str, object]]:
    """SQL conditions by which series meet all of these, and what they bind."""
    clauses: list[str] = []
    bound: dict[str, object] = {}
    patterns: list[tuple[int, str, Pattern, bool]] = []
    for place, (label, operator, value) in enumerate(conditions):
        if operator in ("=~", "!~"):
            patterns.append((place, label, read_pattern(value, dot_fits_newline=True), operator == "=~"))
        else:
            column = _column(label, place, bound)
            clauses.append(f"{column} {'=' if operator == '=' else '<>'} :value{place}")
            bound[f"value{place}"] = value
    for place, label, pattern, fitting in patterns:
        column = _column(label, place, bound)
        statement = text(
            f"SELECT DISTINCT {column} FROM sample_series"  # noqa: S608 - see _column
            f" WHERE {' AND '.join(['true', *clauses])}"
        )
        values = session.execute(statement, bound).scalars()
        bound[f"values{place}"] = [value for value in values if pattern.fits(value) is fitting]
        clauses.append(f"{column} = ANY(:values{place})")
    return clauses, bound


def _column(label: str, place: int, bound: dict[str, object]) -> str:
    """What a label is called in SQL; its own name is bound, never written."""
    if label == "__name__":
        return "metric"
    bound[f"label{place}"] = label
    return f"coalesce(labels ->> :label{place}, '')"
