"""Statistics over many hosts as stored: groups, their sketches by hour and day, changes, features of services."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import insert, text
from sqlalchemy.dialects.postgresql import insert as upsert

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.fleet.peer_hosts import LikeKey
from tierscope.domain.statistics import Change
from tierscope.storage.base.binary import copy_out, from_us, parse_bytes_array, parse_int, parse_text_array, parse_us
from tierscope.storage.tables import fleet_changes, fleet_groups, fleet_sketches, service_features

_LOCK_KEY = 0x7469_6572_666C_7374  # "tierflst": one process at a time makes them


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group: peer hosts of a service, or all of them (`key` None)."""

    id: int
    service_id: int
    key: LikeKey | None


@dataclass(frozen=True, slots=True)
class SketchRow:
    """One hour or day of a group: by metric the stored quantiles, and medians of ten minutes [metrics * 6].

    `outliers`: {metric: [[host id, value, median, score]]} of hosts beyond the limit in this hour. `drifts`: of each
    host that has peers (host id, metric, value, median, score, hosts compared) where its score is furthest from 0.
    """

    group_id: int
    ts: datetime
    hours: int
    n_hosts: int
    metrics: tuple[str, ...]
    bodies: tuple[bytes, ...]
    medians: tuple[float, ...]
    outliers: Mapping[str, Sequence[tuple[int, float, float, float]]]
    drifts: Sequence[tuple[int, str, float, float, float, int]] = ()


@dataclass(frozen=True, slots=True)
class DriftRow:
    """Where a host is furthest from its peers in an hour; ids are the public ones."""

    hour: datetime
    host_id: str
    service_id: str
    service: str
    metric: str
    value: float
    median: float
    score: float
    n_hosts: int


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A change of a service's metric; ids are the public ones."""

    service_id: str
    service: str
    metric: str
    at: datetime
    direction: str
    before: float | None
    after: float | None
    found_by: str


@dataclass(frozen=True, slots=True)
class FeatureRow:
    """The features of a service by key, None where not measured."""

    service_id: str
    service: str
    at: datetime
    n_hosts: int
    features: Mapping[str, float | None]


def try_lock(transaction: WriteTransaction) -> bool:
    """Whether nobody else makes statistics now; held until the transaction ends."""
    statement = text("SELECT pg_try_advisory_xact_lock(:key)")
    return bool(transaction.execute(statement, {"key": _LOCK_KEY}).scalar_one())


def ensure_groups(
    transaction: WriteTransaction, wanted: Sequence[tuple[int, LikeKey | None]]
) -> dict[tuple[int, LikeKey | None], int]:
    """Ids of groups by service and key, made where they are new."""
    known = {(group.service_id, group.key): group.id for group in read_groups(transaction, None)}
    new = [pair for pair in dict.fromkeys(wanted) if pair not in known]
    if new:
        rows = [
            {
                "service_id": service,
                "sku": None if key is None else key.sku,
                "ratio": None if key is None else key.ratio,
                "kernel": None if key is None else key.kernel,
                "agent_version": None if key is None else key.agent_version,
            }
            for service, key in new
        ]
        transaction.execute(insert(fleet_groups), rows)
        known = {(group.service_id, group.key): group.id for group in read_groups(transaction, None)}
    return {pair: known[pair] for pair in wanted}


def read_groups(session: ReadSession, service: str | None) -> list[GroupRow]:
    """All groups, or those of one service by its public id."""
    only = "" if service is None else " JOIN services s ON s.id = g.service_id AND s.public_id = :service"
    statement = text(f"SELECT g.id, g.service_id, sku, ratio, kernel, agent_version FROM fleet_groups g{only}")  # noqa: S608 - fixed texts
    rows = session.execute(statement, {} if service is None else {"service": service})
    return [
        GroupRow(
            row.id,
            row.service_id,
            None if row.sku is None else LikeKey(row.sku, row.ratio, row.kernel, row.agent_version),
        )
        for row in rows
    ]


def replace_sketches(transaction: WriteTransaction, ts: datetime, hours: int, rows: Sequence[SketchRow]) -> None:
    """Store all groups of an hour or day in place of what was there."""
    delete = text("DELETE FROM fleet_sketches WHERE ts = :ts AND hours = :hours")
    transaction.execute(delete, {"ts": ts, "hours": hours})
    if rows:
        values = [
            {
                "group_id": row.group_id,
                "ts": ts,
                "hours": hours,
                "n_hosts": row.n_hosts,
                "metrics": list(row.metrics),
                "bodies": list(row.bodies),
                "medians": list(row.medians),
                "outliers": dict(row.outliers),
                "drifts": [list(drift) for drift in row.drifts] or None,
            }
            for row in rows
        ]
        transaction.execute(insert(fleet_sketches), values)


def forget_drifts(transaction: WriteTransaction, start: datetime, end: datetime) -> None:
    """Drop how far hosts were from their peers in hours of [start, end)."""
    statement = text(
        "UPDATE fleet_sketches SET drifts = NULL WHERE hours = 1 AND ts >= :start AND ts < :end AND drifts IS NOT NULL"
    )
    transaction.execute(statement, {"start": start, "end": end})


def read_drifts(session: ReadSession, start: datetime, end: datetime) -> list[DriftRow]:
    """Where each host was furthest from its peers, in the newest hour that starts in [start, end]; once for a host."""
    statement = text(
        "SELECT DISTINCT ON (h.id) g.ts, h.public_id AS host_id, s.public_id AS service_id, s.name,"
        " d.body->>1 AS metric, (d.body->>2)::float8 AS value, (d.body->>3)::float8 AS median,"
        " (d.body->>4)::float8 AS score, (d.body->>5)::int AS n_hosts"
        " FROM (SELECT ts, group_id, drifts FROM fleet_sketches WHERE hours = 1 AND ts = (SELECT max(ts)"
        "  FROM fleet_sketches WHERE hours = 1 AND drifts IS NOT NULL AND ts >= :start AND ts <= :end)) AS g"
        " JOIN fleet_groups f ON f.id = g.group_id JOIN services s ON s.id = f.service_id"
        " CROSS JOIN LATERAL jsonb_array_elements(g.drifts) AS d (body)"
        " JOIN hosts h ON h.id = (d.body->>0)::bigint AND h.revoked_at IS NULL AND h.retired_at IS NULL"
        " ORDER BY h.id, abs((d.body->>4)::float8) DESC, d.body->>1"
    )
    return [DriftRow(*row) for row in session.execute(statement, {"start": start, "end": end})]


def made_at(session: ReadSession, start: datetime, end: datetime, hours: int) -> set[datetime]:
    """Starts in [start, end) that are stored."""
    statement = text("SELECT DISTINCT ts FROM fleet_sketches WHERE hours = :hours AND ts >= :start AND ts < :end")
    return set(session.execute(statement, {"hours": hours, "start": start, "end": end}).scalars())


def read_sketches(
    session: ReadSession, start: datetime, end: datetime, hours: int, groups: Sequence[int] | None = None
) -> list[SketchRow]:
    """Rows that start in [start, end), by time; of some groups or all."""
    only = "" if groups is None else f" AND group_id IN ({', '.join(str(int(group)) for group in groups) or 'NULL'})"
    query = (
        "SELECT group_id, ts, n_hosts, metrics, bodies, outliers::text FROM fleet_sketches"  # noqa: S608 - integers, times
        f" WHERE hours = {int(hours)} AND ts >= '{start.isoformat()}' AND ts < '{end.isoformat()}'{only} ORDER BY ts"
    )
    return [
        SketchRow(
            parse_int(row[0]) or 0,
            from_us(parse_us(row[1])),
            hours,
            parse_int(row[2]) or 0,
            tuple(parse_text_array(row[3])),
            tuple(parse_bytes_array(row[4])),
            (),
            json.loads(row[5] or b"{}"),
        )
        for row in copy_out(session, query)
    ]


def read_medians(
    session: ReadSession, start: datetime, end: datetime, groups: Sequence[int]
) -> list[tuple[int, datetime, list[str], list[float]]]:
    """(group, start of the hour, metrics, medians [metrics * 6]) of hours in [start, end), by group and time."""
    statement = text(
        "SELECT group_id, ts, metrics, medians FROM fleet_sketches WHERE hours = 1 AND ts >= :start AND ts < :end"
        " AND group_id = ANY(:groups) ORDER BY group_id, ts"
    )
    rows = session.execute(statement, {"start": start, "end": end, "groups": list(groups)})
    return [(row.group_id, row.ts, list(row.metrics), list(row.medians)) for row in rows]


def replace_changes(
    transaction: WriteTransaction,
    service_id: int,
    span: tuple[datetime, datetime],
    found: Mapping[str, Sequence[tuple[datetime, Change]]],
    now: datetime,
) -> None:
    """Store the changes of a service's metrics in [start, end) in place of what was there."""
    delete = text("DELETE FROM fleet_changes WHERE service_id = :service AND at >= :start AND at < :end")
    transaction.execute(delete, {"service": service_id, "start": span[0], "end": span[1]})
    rows = [
        {
            "service_id": service_id,
            "metric": metric,
            "at": at,
            "direction": change.direction,
            "before": change.before,
            "after": change.after,
            "found_by": change.found_by,
            "found_at": now,
        }
        for metric, changes in found.items()
        for at, change in changes
    ]
    if rows:
        transaction.execute(upsert(fleet_changes).on_conflict_do_nothing(), rows)


def read_changes(
    session: ReadSession, start: datetime, end: datetime, *, service: str | None, metric: str | None, limit: int
) -> list[ChangeRow]:
    """Changes in [start, end), newest first."""
    wanted = ["c.at >= :start", "c.at < :end"]
    values: dict[str, object] = {"start": start, "end": end, "limit": limit}
    if service is not None:
        wanted.append("s.public_id = :service")
        values["service"] = service
    if metric is not None:
        wanted.append("c.metric = :metric")
        values["metric"] = metric
    statement = text(
        "SELECT s.public_id, s.namespace, s.name, c.metric, c.at, c.direction, c.before, c.after, c.found_by"  # noqa: S608 - fixed texts
        f" FROM fleet_changes c JOIN services s ON s.id = c.service_id WHERE {' AND '.join(wanted)}"
        " ORDER BY c.at DESC, s.id, c.metric LIMIT :limit"
    )
    return [
        ChangeRow(row[0], f"{row[1]}/{row[2]}", row[3], row[4], row[5], row[6], row[7], row[8])
        for row in session.execute(statement, values)
    ]


def store_features(
    transaction: WriteTransaction, at: datetime, rows: Mapping[int, tuple[int, Mapping[str, float | None]]]
) -> None:
    """Store (hosts, features) of services in place of what was there."""
    if not rows:
        return
    statement = upsert(service_features)
    values = [
        {"service_id": service, "at": at, "n_hosts": n_hosts, "features": dict(features)}
        for service, (n_hosts, features) in rows.items()
    ]
    new = statement.excluded
    changed = {"at": new["at"], "n_hosts": new["n_hosts"], "features": new["features"]}
    transaction.execute(statement.on_conflict_do_update(index_elements=["service_id"], set_=changed), values)


def read_features(session: ReadSession, since: datetime) -> list[FeatureRow]:
    """Features of all services that were measured after a moment."""
    statement = text(
        "SELECT s.public_id, s.namespace, s.name, f.at, f.n_hosts, f.features FROM service_features f"
        " JOIN services s ON s.id = f.service_id WHERE f.at > :since ORDER BY s.id"
    )
    rows: Sequence[Any] = session.execute(statement, {"since": since}).all()
    return [FeatureRow(row[0], f"{row[1]}/{row[2]}", row[3], row[4], row[5]) for row in rows]


def fresh_features(session: ReadSession, since: datetime) -> set[int]:
    """Services whose features were stored after a moment."""
    statement = text("SELECT service_id FROM service_features WHERE at > :since")
    return {int(found) for found in session.execute(statement, {"since": since}).scalars()}
