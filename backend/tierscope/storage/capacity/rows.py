"""Capacity as stored: hourly memory of all hosts on the way in; daily points, groups and forecasts on the way out."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sqlalchemy import insert, text
from sqlalchemy.dialects.postgresql import insert as upsert

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.capacity.days import CapacityDay
from tierscope.domain.capacity.need import Advised
from tierscope.domain.counters.rollups import Rollup
from tierscope.domain.fleet.hosts_away import NONE_AWAY, HostsAway
from tierscope.storage.base.binary import copy_out, parse_float8_array, parse_int, parse_us
from tierscope.storage.base.facts import find_fact, store_fact
from tierscope.storage.base.layouts import read_layouts
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.counters.rollups import read_rollup_blocks
from tierscope.storage.tables import TIME_TABLES, capacity_days, capacity_forecasts, capacity_groups

Floats = npt.NDArray[np.float64]
Kind = Literal["service", "host_group"]
_MADE = "made"
_LACKING_FACT = "capacity_days_lacking"
"""Under which a coordinator keeps the days whose points lack hosts, with the nodes that were away."""
_LOCK_KEY = 0x7469_6572_6361_7061  # "tiercapa": one process at a time makes points
_DAYS = tuple(entry for entry in TIME_TABLES if entry.table is capacity_days)
_POINT = tuple(field.name for field in fields(CapacityDay))


@dataclass(frozen=True, slots=True)
class HourBlock:
    """Hourly values of hosts with one layout: `hosts`, `starts_s` [r]; `values` [r, keys], NaN where missing.

    Gauges are means of the hour, counters their sum over it.
    """

    keys: tuple[str, ...]
    hosts: npt.NDArray[np.int64]
    starts_s: npt.NDArray[np.int64]
    values: Floats


@dataclass(frozen=True, slots=True)
class StoredDay:
    """A daily point of a subject."""

    subject: str
    ts: datetime
    day: CapacityDay


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A host group: `grouping` is sku, rack or label:<key>."""

    subject: str
    grouping: str
    name: str
    origin: str


@dataclass(frozen=True, slots=True)
class ForecastRow:
    """The newest stored forecast of a subject's metric."""

    kind: Kind
    subject: str
    metric: str
    last_day: datetime
    made_at: datetime
    body: Mapping[str, Any]


def try_lock(transaction: WriteTransaction) -> bool:
    """Whether nobody else makes points now; held until the transaction ends."""
    statement = text("SELECT pg_try_advisory_xact_lock(:key)")
    return bool(transaction.execute(statement, {"key": _LOCK_KEY}).scalar_one())


def read_hours(
    session: ReadSession,
    host_ids: Sequence[int],
    start: datetime,
    end: datetime,
    *,
    wanted: Callable[[str], str | None],
) -> Iterator[HourBlock]:
    """Hourly roll-ups that start in [start, end) of the keys for which `wanted(key)` is "gauge" or "counter".

    What is packed comes first: of an hour that comes twice the last one counts.
    """
    if not host_ids:
        return
    values = {"hosts": list(host_ids), "start": start, "end": end}
    statement = text(
        "SELECT DISTINCT keys_layout_id FROM metrics_1h WHERE host_id = ANY(:hosts) AND ts >= :start AND ts < :end"
    )
    layouts = read_layouts(session, [int(found) for found in session.execute(statement, values).scalars()])
    rows = []
    for layout_id, names in layouts.items():
        picks = [(place, key, kind) for place, key in enumerate(names, 1) if (kind := wanted(key)) is not None]
        if picks:
            rows.append(_read_block(session, layout_id, picks, host_ids, start, end))
    for host_id, rollup in read_rollup_blocks(session, "metrics_1h", host_ids, (start, end), wanted):
        yield _packed_block(host_id, rollup, wanted)
    yield from rows


def _packed_block(host_id: int, rollup: Rollup, wanted: Callable[[str], str | None]) -> HourBlock:
    counters = np.array([wanted(key) == "counter" for key in rollup.keys], bool)
    means = np.divide(rollup.sum, rollup.n, out=np.full(rollup.sum.shape, np.nan), where=rollup.n > 0)
    hosts = np.full(len(rollup), host_id, np.int64)
    return HourBlock(rollup.keys, hosts, rollup.starts_us // 1_000_000, np.where(counters, rollup.sum, means))


def _read_block(
    session: ReadSession,
    layout_id: int,
    picks: Sequence[tuple[int, str, str]],
    host_ids: Sequence[int],
    start: datetime,
    end: datetime,
) -> HourBlock:
    cells = ", ".join(
        f"coalesce(sum[{place}]{'' if kind == 'counter' else f' / nullif(n[{place}], 0)'}, 'NaN')"
        for place, _, kind in picks
    )
    query = (
        f"SELECT host_id, ts, ARRAY[{cells}]::float8[] FROM metrics_1h"  # noqa: S608 - integers and times
        f" WHERE host_id IN ({', '.join(str(int(host)) for host in host_ids)}) AND keys_layout_id = {int(layout_id)}"
        f" AND ts >= '{start.isoformat()}' AND ts < '{end.isoformat()}' ORDER BY host_id, ts"
    )
    hosts, starts, rows = [], [], []
    for row in copy_out(session, query):
        hosts.append(parse_int(row[0]) or 0)
        starts.append(parse_us(row[1]) // 1_000_000)
        rows.append(parse_float8_array(row[2]))
    values = np.stack(rows) if rows else np.zeros((0, len(picks)))
    return HourBlock(tuple(key for _, key, _ in picks), np.array(hosts, np.int64), np.array(starts, np.int64), values)


def replace_day(
    transaction: WriteTransaction,
    ts: datetime,
    points: Mapping[tuple[Kind, str], CapacityDay],
    *,
    made_at: datetime,
    away: HostsAway = NONE_AWAY,
) -> None:
    """Store the points of one day in place of all that was there, that it was gone through, and what it lacks."""
    ensure_partitions(transaction, ts, ts, _DAYS)
    transaction.execute(text("DELETE FROM capacity_days WHERE ts = :ts"), {"ts": ts})
    made = {"kind": _MADE, "subject": "", "ts": ts, "made_at": made_at, "n_hosts": 0, "n_hours": 0, "heat_hosts": 0}
    transaction.execute(insert(capacity_days), [made])
    rows = [
        made | {"kind": kind, "subject": subject, **{name: getattr(day, name) for name in _POINT}}
        for (kind, subject), day in points.items()
    ]
    if rows:
        transaction.execute(insert(capacity_days), rows)
    lacking = days_lacking(transaction)
    if away.nodes or ts in lacking:
        kept = {day: told for day, told in lacking.items() if day != ts} | ({ts: away} if away.nodes else {})
        told = {day.isoformat(): asdict(one) for day, one in sorted(kept.items())}
        store_fact(transaction, _LACKING_FACT, json.dumps(told, default=datetime.isoformat))


def days_lacking(session: ReadSession) -> dict[datetime, HostsAway]:
    """Starts of the days whose points lack the hosts of nodes that were away as they were made, and which."""
    kept = json.loads(find_fact(session, _LACKING_FACT) or "{}")
    return {datetime.fromisoformat(day): _away(told) for day, told in kept.items()}


def _away(told: Mapping[str, Any]) -> HostsAway:
    at = told["counted_at"]
    return HostsAway(tuple(told["nodes"]), told["hosts_away"], None if at is None else datetime.fromisoformat(at))


def reopen_days(transaction: WriteTransaction, days: Sequence[datetime]) -> None:
    """Let points of these days be made again, because older data has come. Waits for a process that makes points."""
    statement = text("DELETE FROM capacity_days WHERE kind = :kind AND ts = ANY(:days)")
    transaction.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
    transaction.execute(statement, {"kind": _MADE, "days": list(days)})


def days_made(session: ReadSession, start: datetime, end: datetime) -> dict[datetime, datetime]:
    """Starts of the days in [start, end) that were gone through, and when."""
    statement = text(
        "SELECT ts, max(made_at) AS at FROM capacity_days WHERE kind = :kind AND ts >= :start AND ts < :end GROUP BY ts"
    )
    rows = session.execute(statement, {"kind": _MADE, "start": start, "end": end})
    return {row.ts: row.at for row in rows}


def first_hour(session: ReadSession, since: datetime) -> datetime | None:
    """The start of the oldest hourly roll-up after `since`, or of its day where that is packed."""
    statement = text(
        "SELECT least((SELECT min(ts) FROM metrics_1h WHERE ts >= :since),"
        " (SELECT greatest(ts, :since) FROM blocks"
        " WHERE kind = 'metrics_1h_days' AND ts > CAST(:since AS timestamptz) - interval '1 day' ORDER BY ts LIMIT 1))"
    )
    found: datetime | None = session.execute(statement, {"since": since}).scalar_one_or_none()
    return found


def read_days(session: ReadSession, kind: Kind, subject: str, start: datetime, end: datetime) -> list[StoredDay]:
    """Points of one subject whose day starts in [start, end), in order of time."""
    statement = text(
        "SELECT * FROM capacity_days WHERE kind = :kind AND subject = :subject AND ts >= :start AND ts < :end"
        " ORDER BY ts"
    )
    values = {"kind": kind, "subject": subject, "start": start, "end": end}
    return [_day(dict(row)) for row in session.execute(statement, values).mappings()]


def newest_days(session: ReadSession, kind: Kind, since: datetime) -> list[StoredDay]:
    """The newest point of each subject after `since`; one of fewer than six hours gives way to an older one."""
    statement = text(
        "SELECT DISTINCT ON (subject) * FROM capacity_days WHERE kind = :kind AND ts >= :since"
        " ORDER BY subject, (n_hours >= 6) DESC, ts DESC"
    )
    return [_day(dict(row)) for row in session.execute(statement, {"kind": kind, "since": since}).mappings()]


def count_days(session: ReadSession, kind: Kind, since: datetime, min_hours: int) -> dict[str, int]:
    """By subject the whole days since."""
    statement = text(
        "SELECT subject, count(DISTINCT ts) AS n FROM capacity_days"
        " WHERE kind = :kind AND ts >= :since AND n_hours >= :hours GROUP BY subject"
    )
    rows = session.execute(statement, {"kind": kind, "since": since, "hours": min_hours})
    return {row.subject: int(row.n) for row in rows}


def subjects_with_days(session: ReadSession, kind: Kind, start: datetime, end: datetime) -> dict[str, datetime]:
    """Subjects with points of days in [start, end), and when the newest of those was made."""
    statement = text(
        "SELECT subject, max(made_at) AS at FROM capacity_days WHERE kind = :kind AND ts >= :start AND ts < :end"
        " GROUP BY subject ORDER BY subject"
    )
    rows = session.execute(statement, {"kind": kind, "start": start, "end": end})
    return {row.subject: row.at for row in rows}


def read_advised(session: ReadSession) -> dict[str, Advised]:
    """By service the DRAM share that its stored ratio advice holds for surely enough: 1 where it proves no ratio."""
    statement = text(
        "SELECT s.public_id, CAST(a.body->'answer'->'range'->>'safe_dram_ratio' AS float8) AS ratio,"
        " CAST(a.body->'answer'->>'loss_target' AS float8) AS loss FROM advice a JOIN services s ON s.id = a.service_id"
        " WHERE a.kind = 'ratio' AND a.status IN ('open', 'adopted')"
        " AND CAST(a.body->'answer'->'range'->>'safe_dram_ratio' AS float8) IS NOT NULL"
    )
    return {row.public_id: Advised(row.ratio, row.loss) for row in session.execute(statement)}


def store_groups(transaction: WriteTransaction, groups: Sequence[GroupRow], at: datetime) -> None:
    """Store host groups, or refresh them."""
    if not groups:
        return
    statement = upsert(capacity_groups)
    new = statement.excluded
    changed = {"name": new["name"], "origin": new["origin"], "seen_at": new["seen_at"]}
    rows = [
        {"subject": row.subject, "grouping": row.grouping, "name": row.name, "origin": row.origin, "seen_at": at}
        for row in groups
    ]
    transaction.execute(statement.on_conflict_do_update(index_elements=["subject"], set_=changed), rows)


def list_groups(session: ReadSession, *, grouping: str | None = None, subject: str | None = None) -> list[GroupRow]:
    """Groups by name: all, those of one grouping, or one."""
    statement = text(
        "SELECT subject, grouping, name, origin FROM capacity_groups"
        " WHERE (CAST(:grouping AS text) IS NULL OR grouping = :grouping)"
        " AND (CAST(:subject AS text) IS NULL OR subject = :subject) ORDER BY grouping, name, subject"
    )
    rows = session.execute(statement, {"grouping": grouping, "subject": subject})
    return [GroupRow(row.subject, row.grouping, row.name, row.origin) for row in rows]


def store_forecasts(transaction: WriteTransaction, rows: Sequence[ForecastRow]) -> None:
    """Store forecasts in place of what was there."""
    if not rows:
        return
    statement = upsert(capacity_forecasts)
    new = statement.excluded
    changed = {name: new[name] for name in ("last_day", "made_at", "body")}
    values = [{name: getattr(row, name) for name in row.__slots__} for row in rows]
    keys = ["kind", "subject", "metric"]
    transaction.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed), values)


def read_forecasts(session: ReadSession, kind: Kind, metric: str) -> dict[str, ForecastRow]:
    """The stored forecasts of a metric by subject."""
    statement = text(
        "SELECT kind, subject, metric, last_day, made_at, body FROM capacity_forecasts"
        " WHERE kind = :kind AND metric = :metric"
    )
    rows = session.execute(statement, {"kind": kind, "metric": metric}).mappings()
    return {row["subject"]: ForecastRow(**row) for row in rows}


def _day(row: Mapping[str, Any]) -> StoredDay:
    return StoredDay(row["subject"], row["ts"], CapacityDay(**{name: row[name] for name in _POINT}))
