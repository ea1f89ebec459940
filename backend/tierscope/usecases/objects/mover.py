"""Moves bodies of finished hours from rows to the object store, deletes what nothing refers to, and brings them back.

An object is put before its rows refer to it, and deleted after none does: whatever breaks off in between leaves an
object too many, which the list of objects knows, and never one too few.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import quote

from tierscope.core.clock import Clock, TimeLimit
from tierscope.core.database import Database
from tierscope.core.objects.store import ObjectStore, checksum
from tierscope.domain.base.buckets import hour_of
from tierscope.domain.curve.sample_blocks import pack_sample
from tierscope.storage.objects import rows as stored
from tierscope.storage.objects.rows import KINDS, DueHour, HeldRow, ObjectKind
from tierscope.storage.objects.sample_files import read_block, write_blocks
from tierscope.storage.objects.tile_files import read_tile_bodies, write_tile_bodies

GRACE = timedelta(minutes=15)
"""After an hour's end: uploads of it come meanwhile."""
RECENT = timedelta(hours=6)
"""Most runs look at hours this old; a full one, at all that are kept."""
KEPT = timedelta(days=14)
PUT_WITHIN = timedelta(hours=1)
"""An object that was listed so long ago and is not referred to was given up."""
HOURS_AT_ONCE = 500
DELETED_AT_ONCE = 1000
_SUFFIX = {"traces": "parquet", "tiles": "tiles"}


@dataclass(frozen=True, slots=True)
class Moved:
    """What one run did."""

    objects: int
    size_bytes: int
    deleted: int


class MoveObjects:
    """Any number of workers may run this at once."""

    def __init__(self, database: Database, store: ObjectStore, clock: Clock) -> None:
        self._database = database
        self._store = store
        self._clock = clock

    def run(self, *, full: bool = False, at_most: timedelta = timedelta(seconds=50)) -> Moved:
        """Move what is due, then delete what is given up.

        Raises:
            Unavailable: the store cannot be reached. Rows keep their bodies until it can.
        """
        limit = TimeLimit(self._clock(), at_most)
        count = size = 0
        for kind in KINDS:
            for due in self._due(kind, full=full):
                if limit.is_over(self._clock()):
                    break
                try:
                    moved = self._move(due)
                except _ChangedError:
                    continue
                count, size = count + (moved > 0), size + moved
        deleted = 0
        while not limit.is_over(self._clock()) and (gone := self._delete()):
            deleted += gone
        return Moved(count, size, deleted)

    def bring_back(self) -> int:
        """Move the bodies of all objects into their rows again, and give the objects up; how many there were."""
        count = 0
        with self._database.read() as session:
            keys = stored.stored_keys(session)
        for kind, key in keys:
            body = self._store.get(key)
            with self._database.write() as transaction:
                for part in stored.referring_parts(transaction, kind, key):
                    stored.fill(transaction, kind, key, part, _bodies(kind, body, part))
                stored.forget_key(transaction, key)
            count += 1
        self._delete()
        return count

    def _due(self, kind: ObjectKind, *, full: bool) -> list[DueHour]:
        end = hour_of(self._clock() - GRACE)
        with self._database.read() as session:
            return stored.due_hours(session, kind, end - (KEPT if full else RECENT), end, limit=HOURS_AT_ONCE)

    def _move(self, due: DueHour) -> int:
        """Bytes of the object that was made; 0 where another worker was at it, or the rows changed meanwhile."""
        with self._database.write() as transaction:
            if not stored.try_lock(transaction, due):
                return 0
            rows = stored.held_rows(transaction, due)
            if not rows:
                return 0
            body = _body(due, rows)
            key = object_key(due, body)
            with self._database.write() as first:
                stored.intend(first, due, key, len(body), self._clock())
            self._store.put(key, body)
            if not stored.refer(transaction, due, key, rows, self._clock()):
                raise _ChangedError
        return len(body)

    def _delete(self) -> int:
        with self._database.write() as transaction:
            put_before = self._clock() - PUT_WITHIN
            keys = stored.lock_deletions(transaction, put_before=put_before, limit=DELETED_AT_ONCE)
            if keys:
                self._store.delete(keys)
                stored.take_off(transaction, keys)
        return len(keys)


def sweep(servers: Sequence[Database], store: ObjectStore, kind: ObjectKind, day: datetime) -> int:
    """Delete objects of a day that no server lists: those of a database that was restored to before them.

    Raises:
        Unavailable: the store or a server cannot be reached; what none of them lists is still there.
    """
    gone = 0
    found = [item.key for item in store.list(f"{kind}/day={day:%Y-%m-%d}/")]
    for first in range(0, len(found), DELETED_AT_ONCE):
        unknown = found[first : first + DELETED_AT_ONCE]
        for server in servers:
            with server.read() as session:
                known = stored.listed(session, unknown)
            unknown = [key for key in unknown if key not in known]
        store.delete(unknown)
        gone += len(unknown)
    return gone


class _ChangedError(Exception):
    """Rows were replaced while their object was made: nothing is kept of it."""


def object_key(due: DueHour, body: bytes) -> str:
    """Where an object lies. Query engines read day, service and host out of its path."""
    path = f"service={quote(due.service, safe='')}/host={quote(due.host, safe='')}"
    return f"{due.kind}/day={due.start:%Y-%m-%d}/{path}/{due.start:%H}-{checksum(body)}.{_SUFFIX[due.kind]}"


def _bodies(kind: ObjectKind, body: bytes, part: int) -> tuple[bytes, ...]:
    """What a row held before."""
    if kind == "tiles":
        return read_tile_bodies(body, part)
    return (pack_sample(read_block(body, part)),)


def _body(due: DueHour, rows: list[HeldRow]) -> bytes:
    if due.kind == "traces":
        return write_blocks([row.block() for row in rows])
    return write_tile_bodies([(row.bodies[0], row.bodies[1]) for row in rows])
