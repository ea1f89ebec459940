"""Objects as the database knows them: what is due to be moved out of rows, and every object that there may be.

An object is listed before it is put, marked stored in the transaction that lets its rows refer to it, and marked
forgotten in the one that removes those rows. So whatever breaks off, the list says what is left to delete.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.curve.sample_blocks import unpack_sample
from tierscope.storage.base.binary import to_us
from tierscope.storage.objects.sample_files import TraceBlock

ObjectKind = Literal["traces", "tiles"]
KINDS: tuple[ObjectKind, ...] = ("traces", "tiles")
_HOUR = timedelta(hours=1)
_OF_OBJECT = (
    "t.host_id = o.host_id AND t.service_id = o.service_id AND t.ts >= o.ts AND t.ts <= o.ts + interval '1 hour'"
)
"""Which rows may refer to an object: by the index of their table."""
FORGET = "UPDATE objects SET forgotten_at = now() WHERE forgotten_at IS NULL AND "
"""The one statement that gives objects up: retention, a purge and a rebuild of tiles append what they mean."""


@dataclass(frozen=True, slots=True)
class DueHour:
    """An hour of a service on a host with bodies in rows; public ids are for the key."""

    kind: ObjectKind
    host_id: int
    service_id: int
    start: datetime
    host: str
    service: str


@dataclass(frozen=True, slots=True)
class HeldRow:
    """A row whose body is to be moved: where it lies, and its bodies."""

    partition: int
    place: str
    at: datetime
    group: str
    bodies: tuple[bytes, ...]

    def block(self) -> TraceBlock:
        """Of page samples."""
        return TraceBlock(to_us(self.at), self.group, unpack_sample(self.bodies[0]))


def due_hours(session: ReadSession, kind: ObjectKind, start: datetime, end: datetime, *, limit: int) -> list[DueHour]:
    """Hours that start in [start, end) with bodies in rows, the oldest first.

    Tiles that wait for a rebuild are not due, nor is what hosts that move have.
    """
    waiting = " AND NOT EXISTS (SELECT FROM marks m WHERE m.kind = 'tiles' AND m.subject_id = t.host_id"
    waiting += " AND m.service_id = t.service_id AND m.bucket = t.hour)"
    # The hour of a block of samples is the one that it ends in, its last instant included.
    hour = "date_trunc('hour', ts - interval '1 microsecond', 'UTC')" if kind == "traces" else "ts"
    bounds = "ts > :start AND ts <= :end" if kind == "traces" else "ts >= :start AND ts < :end"
    statement = text(
        "SELECT t.host_id, t.service_id, t.hour, h.public_id AS host, s.public_id AS service"  # noqa: S608 - own names
        f" FROM (SELECT DISTINCT host_id, service_id, {hour} AS hour FROM {kind} WHERE {bounds}"
        " AND object_key IS NULL) AS t JOIN hosts h ON h.id = t.host_id JOIN services s ON s.id = t.service_id"
        f" WHERE (h.moving_until IS NULL OR h.moving_until <= now()){waiting if kind == 'tiles' else ''}"
        " ORDER BY t.hour, t.host_id, t.service_id LIMIT :limit"
    )
    rows = session.execute(statement, {"start": start, "end": end, "limit": limit})
    return [DueHour(kind, row.host_id, row.service_id, row.hour, row.host, row.service) for row in rows]


def try_lock(transaction: WriteTransaction, due: DueHour) -> bool:
    """Whether nobody else moves this hour, or rebuilds its tiles; held until the transaction ends."""
    # The lock of a claim of marks of the same subject: storage/base/dirty_buckets.py.
    statement = text("SELECT pg_try_advisory_xact_lock(hashtextextended(:key, 7))")
    values = {"key": f"{due.kind}:{due.host_id}:{due.service_id}"}
    return bool(transaction.execute(statement, values).scalar_one())


def held_rows(session: ReadSession, due: DueHour) -> list[HeldRow]:
    """The rows of an hour that have their bodies, in order of time."""
    bodies = "body" if due.kind == "traces" else "cells, known"
    group = "group_name" if due.kind == "traces" else "''"
    bounds = "ts > %s AND ts <= %s" if due.kind == "traces" else "ts >= %s AND ts < %s"
    query = (
        f"SELECT tableoid::bigint, ctid::text, ts, {group}, {bodies} FROM {due.kind} WHERE host_id = %s"  # noqa: S608
        f" AND service_id = %s AND {bounds} AND object_key IS NULL ORDER BY ts, tableoid, ctid"
    )
    values = (due.host_id, due.service_id, due.start, due.start + _HOUR)
    with session.driver.cursor(binary=True) as cursor:
        rows = cursor.execute(query.encode(), values).fetchall()
    return [HeldRow(int(row[0]), row[1], row[2], row[3], tuple(map(bytes, row[4:]))) for row in rows]


def intend(transaction: WriteTransaction, due: DueHour, key: str, size_bytes: int, now: datetime) -> None:
    """List an object that is about to be put."""
    statement = text(
        "INSERT INTO objects (key, kind, host_id, service_id, ts, size_bytes, created_at)"
        " VALUES (:key, :kind, :host, :service, :ts, :size, :now)"
        " ON CONFLICT (key) DO UPDATE SET created_at = :now, forgotten_at = NULL,"
        " stored_at = CASE WHEN objects.forgotten_at IS NULL THEN objects.stored_at END"
    )
    values = {
        "key": key,
        "kind": due.kind,
        "host": due.host_id,
        "service": due.service_id,
        "ts": due.start,
        "size": size_bytes,
        "now": now,
    }
    transaction.execute(statement, values)


def refer(transaction: WriteTransaction, due: DueHour, key: str, rows: Sequence[HeldRow], now: datetime) -> bool:
    """Let rows refer to their object in place of their bodies. False where a row has changed or gone meanwhile."""
    bodies = "body = ''" if due.kind == "traces" else "cells = '', known = ''"
    statement = text(
        f"UPDATE {due.kind} SET {bodies}, object_key = :key, object_part = :part WHERE host_id = :host"  # noqa: S608
        " AND service_id = :service AND ts = :ts AND tableoid = CAST(:partition AS oid)"
        " AND ctid = CAST(:place AS tid) AND object_key IS NULL"
    )
    for part, row in enumerate(rows):
        values = {
            "key": key,
            "part": part,
            "host": due.host_id,
            "service": due.service_id,
            "ts": row.at,
            "partition": row.partition,
            "place": row.place,
        }
        if transaction.execute(statement, values).rowcount != 1:
            return False
    kept = text("UPDATE objects SET stored_at = :now WHERE key = :key AND forgotten_at IS NULL")
    return transaction.execute(kept, {"now": now, "key": key}).rowcount == 1


def forget_before(transaction: WriteTransaction, kind: ObjectKind, before: datetime) -> int:
    """Give up the objects of hours before a moment, whose rows have left."""
    statement = text(f"{FORGET}kind = :kind AND ts < :before")
    return transaction.execute(statement, {"kind": kind, "before": before}).rowcount


def forget_hours(
    transaction: WriteTransaction, kind: ObjectKind, host_id: int, service_id: int, hours: Sequence[datetime]
) -> int:
    """Give up the objects of hours whose rows are rebuilt."""
    statement = text(f"{FORGET}kind = :kind AND host_id = :host AND service_id = :service AND ts = ANY(:hours)")
    values = {"kind": kind, "host": host_id, "service": service_id, "hours": list(hours)}
    return transaction.execute(statement, values).rowcount


def forget_key(transaction: WriteTransaction, key: str) -> None:
    """Give up an object whose rows have their bodies again."""
    transaction.execute(text(f"{FORGET}key = :key"), {"key": key})


def stored_keys(session: ReadSession) -> list[tuple[ObjectKind, str]]:
    """All objects that rows refer to."""
    statement = text("SELECT kind, key FROM objects WHERE stored_at IS NOT NULL AND forgotten_at IS NULL ORDER BY ts")
    return [(row.kind, row.key) for row in session.execute(statement)]


def referring_parts(transaction: WriteTransaction, kind: ObjectKind, key: str) -> list[int]:
    """The places in an object that rows refer to; they are not changed by others until the transaction ends."""
    of = f"FROM {kind} t JOIN objects o ON o.key = t.object_key WHERE o.key = :key AND {_OF_OBJECT}"
    statement = text(f"SELECT t.object_part {of} ORDER BY 1 FOR UPDATE OF t")
    return list(transaction.execute(statement, {"key": key}).scalars())


def fill(transaction: WriteTransaction, kind: ObjectKind, key: str, part: int, bodies: Sequence[bytes]) -> None:
    """Put bodies into the row that refers to a place in an object."""
    names = ("body",) if kind == "traces" else ("cells", "known")
    changed = ", ".join(f"{name} = :{name}" for name in names)
    statement = text(
        f"UPDATE {kind} t SET {changed}, object_key = NULL, object_part = NULL FROM objects o"  # noqa: S608 - own names
        f" WHERE o.key = :key AND t.object_key = o.key AND t.object_part = :part AND {_OF_OBJECT}"
    )
    transaction.execute(statement, {"key": key, "part": part} | dict(zip(names, bodies, strict=True)))


def lock_deletions(transaction: WriteTransaction, *, put_before: datetime, limit: int) -> list[str]:
    """Keys of objects that nothing refers to: given up, or listed before a moment and never stored.

    Those of hosts that move stay: a copy of their rows may refer to them.

    They are locked until the transaction ends: who would put one of them again waits until it is deleted.
    """
    statement = text(
        "SELECT o.key FROM objects o WHERE (o.forgotten_at IS NOT NULL OR (o.stored_at IS NULL"
        " AND o.created_at < :before)) AND NOT EXISTS (SELECT FROM hosts h WHERE h.id = o.host_id"
        " AND h.moving_until > now()) ORDER BY o.created_at LIMIT :limit FOR UPDATE OF o SKIP LOCKED"
    )
    return list(transaction.execute(statement, {"before": put_before, "limit": limit}).scalars())


def take_off(transaction: WriteTransaction, keys: Sequence[str]) -> None:
    """Take deleted objects off the list."""
    transaction.execute(text("DELETE FROM objects WHERE key = ANY(:keys)"), {"keys": list(keys)})


def listed(session: ReadSession, keys: Sequence[str]) -> set[str]:
    """Those of these keys that are on the list."""
    return set(session.execute(text("SELECT key FROM objects WHERE key = ANY(:keys)"), {"keys": list(keys)}).scalars())


def count_objects(session: ReadSession) -> dict[str, Any]:
    """Objects that rows refer to and their bytes, and those that are due to be deleted."""
    statement = text(
        "SELECT count(*) FILTER (WHERE stored_at IS NOT NULL AND forgotten_at IS NULL) AS stored,"
        " coalesce(sum(size_bytes) FILTER (WHERE stored_at IS NOT NULL AND forgotten_at IS NULL), 0) AS size_bytes,"
        " count(*) FILTER (WHERE stored_at IS NULL OR forgotten_at IS NOT NULL) AS due FROM objects"
    )
    return dict(session.execute(statement).mappings().one())
