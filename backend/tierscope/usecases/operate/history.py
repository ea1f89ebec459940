"""Publishes closed days as Parquet for other engines, a file for each kind of rows, day and 64 hosts.

A file has one name for good and is put whole, so that a directory never shows half a day or a day twice. A day is
published some hours after its end, and anew once it was rebuilt, at most once a day; where nothing differs, its bytes
are the same and nothing is put. What is listed is what is there: a full run looks at all names and sizes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import orjson
import structlog

from tierscope.core.clock import Clock, TimeLimit
from tierscope.core.database import Database, ReadSession
from tierscope.core.errors import ObjectMissing
from tierscope.core.objects.store import ObjectStore, checksum
from tierscope.core.tabular import only_rows
from tierscope.domain.base.buckets import day_of
from tierscope.domain.operate.history import (
    FORMAT,
    HISTORY,
    HistoryKind,
    described,
    file_key,
    first_host_of,
    manifest_key,
)
from tierscope.storage.base.subjects import SubjectHost
from tierscope.storage.nodes.rows import read_nodes
from tierscope.storage.objects import history as stored
from tierscope.storage.objects.history import HistoryFile
from tierscope.storage.operate.history_tables import KEPT, hosts_since, make_file, oldest_row

SETTLED = timedelta(hours=3)
"""After a day's end: workers have made its last hours, and hosts that hold samples back have sent them."""
ANEW_AFTER = timedelta(days=1)
"""A day that is rebuilt again and again is published anew no sooner than this."""
CLOCKS = timedelta(minutes=5)
"""A file that was put so much later than it is listed was put by somebody else, as before a restore."""
_DAY = timedelta(days=1)
_INSTANT = timedelta(microseconds=1)
_Place = tuple[HistoryKind, datetime, int]
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Published:
    """What one run did. `waiting`: days that are to be published by the next one."""

    made: int = 0
    """Files that were put, or taken away as nothing is left in them."""
    same: int = 0
    removed: int = 0
    waiting: int = 0


class PublishHistory:
    """Any number of workers may run this; one of them does."""

    def __init__(self, database: Database, store: ObjectStore, clock: Clock, *, keep: timedelta) -> None:
        """`database`: the coordinator's, which sees the rows of all servers. `keep`: how old a published day gets."""
        self._database = database
        self._store = store
        self._clock = clock
        self._keep = keep

    def run(self, *, full: bool = False, at_most: timedelta = timedelta(seconds=50)) -> Published:
        """Publish what is due, newest days first. `full`: look at all files that are there, and remove old days, too.

        Nothing is done while a server of the fleet does not answer: its hosts would be missing.

        Raises:
            Unavailable: the store cannot be reached.
            Unprocessable: the installation cannot write Parquet.
        """
        done = Published()
        limit = TimeLimit(self._clock(), at_most)
        with self._database.own_rows.write() as holding:
            if not stored.try_history_lock(holding):
                return done
            with self._database.read() as session:
                if _is_one_away(session):
                    log.warning("nothing is published: a node is away")
                    return done
                whole = full or stored.is_purging(session)
                hosts = hosts_since(session)
            self._list_days(hosts)
            with self._database.read() as session:
                found = stored.list_files(session, "TRUE" if whole else "changes > built_changes")
            files = {_place(file): file for file in found}
            if full:
                self._expire(files, done)
                self._look(files)
            if whole:
                self._purge(files, done)
            self._publish(files, [host for host, _ in hosts], done, limit)
            if full or done.made or done.removed:
                self._tell()
        return done

    def _list_days(self, hosts: Sequence[tuple[SubjectHost, datetime]]) -> None:
        """Lists the days that are over: at first from the oldest row on, of later hosts since they enrolled.

        What comes of older days lists them by itself.
        """
        last = day_of(self._clock() - SETTLED) - _DAY
        since: dict[int, datetime] = {}
        for host, enrolled_at in hosts:
            first_host = first_host_of(host.id)
            since[first_host] = min(since.get(first_host, enrolled_at), enrolled_at)
        for kind in HISTORY:
            with self._database.read() as session:
                newest = stored.newest_days(session, kind)
                session.take_time()
                oldest = None if newest else oldest_row(session, kind)
            if not newest and oldest is None:
                continue
            by_first: dict[datetime, list[int]] = {}
            for first_host, enrolled_at in since.items():
                known = newest.get(first_host)
                first = known + _DAY if known else day_of((oldest or enrolled_at) - _INSTANT)
                by_first.setdefault(max(first, self._first_day(kind)), []).append(first_host)
            with self._database.own_rows.write() as transaction:
                for first, first_hosts in by_first.items():
                    days = [first + age * _DAY for age in range((last - first).days + 1)]
                    stored.list_days(transaction, kind, days, first_hosts)

    def _expire(self, files: dict[_Place, HistoryFile], done: Published) -> None:
        """Removes days that are too old."""
        first = day_of(self._clock() - self._keep)
        for file in [file for file in files.values() if file.day < first]:
            self._forget(files, file)
            done.removed += file.n_rows > 0

    def _look(self, files: dict[_Place, HistoryFile]) -> None:
        """Removes files that nobody lists, and has those made again that are not as they were put."""
        for kind in HISTORY:
            found = {item.key: item for item in self._store.list(f"{kind}/")}
            listed = {_key(file): file for file in files.values() if file.kind == kind and file.n_rows}
            self._store.delete([key for key in found if key not in listed])
            for key, file in listed.items():
                item = found.get(key)
                whole = item is not None and item.size_bytes == file.size_bytes
                if whole and item is not None and item.changed_at <= file.built_at + CLOCKS:
                    continue
                if file.day >= self._first_day(kind):
                    with self._database.own_rows.write() as transaction:
                        stored.note_damage(transaction, file)
                    files[_place(file)] = replace(file, changes=file.changes + 1, digest="")
                elif not whole:
                    log.warning("a published file is lost, and so is its day in the database", file=key)
                    self._forget(files, file)

    def _purge(self, files: dict[_Place, HistoryFile], done: Published) -> None:
        """Takes rows of hosts and services that are no more out of files: the database may have none of the day."""
        with self._database.read() as session:
            ids = stored.public_ids(session)
            if _is_one_away(session):
                return
        for file in list(files.values()):
            hosts, services = (
                tuple(one for one in had if one in ids[table])
                for table, had in (("hosts", file.hosts), ("services", file.services))
            )
            if (hosts, services) == (file.hosts, file.services):
                continue
            kept = {"host_id": {ids["hosts"][one] for one in hosts}}
            if file.services:
                kept["service_id"] = {ids["services"][one] for one in services}
            try:
                body, n_rows = only_rows(self._store.get(_key(file), file.digest), kept)
            except ObjectMissing:  # as it is lost: its day is made again, or is not there any more
                self._forget(files, file)
                continue
            self._put(files, replace(file, hosts=hosts, services=services), body, n_rows)
            done.made += 1

    def _publish(
        self, files: dict[_Place, HistoryFile], hosts: Sequence[SubjectHost], done: Published, limit: TimeLimit
    ) -> None:
        """Makes the files of days that have none, or were rebuilt."""
        now = self._clock()
        ranges: dict[int, list[SubjectHost]] = {}
        for host in hosts:
            ranges.setdefault(first_host_of(host.id), []).append(host)
        last = day_of(now - SETTLED) - _DAY
        due = [
            file
            for file in files.values()
            if file.changed
            and self._first_day(file.kind) <= file.day <= last
            and (not file.digest or now - file.built_at >= ANEW_AFTER)
        ]
        for file in sorted(due, key=lambda file: (-file.day.timestamp(), _place(file))):
            if limit.is_over(self._clock()):
                done.waiting += 1
            elif self._make(files, file, ranges.get(file.first_host, ())):
                done.made += 1
            else:
                done.same += 1

    def _make(self, files: dict[_Place, HistoryFile], file: HistoryFile, hosts: Sequence[SubjectHost]) -> bool:
        """Makes a file; whether it differs from what was there."""
        with self._database.read() as session:
            session.take_time()
            table = make_file(session, file.kind, hosts, file.day)
            if _is_one_away(session):
                return False
        named = replace(file, hosts=tuple(sorted(table.hosts)), services=tuple(sorted(table.services)))
        return self._put(files, replace(named, built_changes=file.changes), table.body, table.n_rows)

    def _put(self, files: dict[_Place, HistoryFile], file: HistoryFile, body: bytes, n_rows: int) -> bool:
        """Puts a file where it differs, then lists it: cut off in between, it is made again."""
        digest = checksum(body) if n_rows else ""
        differs = digest != file.digest
        if n_rows and differs:
            self._store.put(_key(file), body)
        elif not n_rows and file.n_rows:
            self._store.delete([_key(file)])
        size = len(body) if n_rows else 0
        made = replace(file, n_rows=n_rows, size_bytes=size, digest=digest, built_at=self._clock())
        with self._database.own_rows.write() as transaction:
            stored.store_file(transaction, made)
        files[_place(made)] = made
        return differs

    def _forget(self, files: dict[_Place, HistoryFile], file: HistoryFile) -> None:
        self._store.delete([_key(file)])
        with self._database.own_rows.write() as transaction:
            stored.forget_file(transaction, file)
        del files[_place(file)]

    def _tell(self) -> None:
        """Writes the list of each kind's files."""
        with self._database.read() as session:
            files = stored.list_files(session)
        for kind in HISTORY:
            told = [
                {
                    "path": _key(file),
                    "day": f"{file.day:%Y-%m-%d}",
                    "rows": file.n_rows,
                    "bytes": file.size_bytes,
                    "sha256": file.digest,
                    "hosts": len(file.hosts),
                    "written_at": file.built_at.isoformat(),
                }
                for file in files
                if file.kind == kind and file.n_rows
            ]
            manifest = {"format": FORMAT, "kind": kind, "columns": described(kind), "files": told}
            self._store.put(manifest_key(kind), orjson.dumps(manifest, option=orjson.OPT_INDENT_2))

    def _first_day(self, kind: HistoryKind) -> datetime:
        """The first day of which the database has all rows, and which is to be kept."""
        now = self._clock()
        return max(day_of(now - KEPT[kind]) + _DAY, day_of(now - self._keep))


def stop_publishing(database: Database) -> int:
    """Forget the files that are not published any more, and leave them as they are; how many."""
    with database.own_rows.write() as transaction:
        return stored.forget_all(transaction)


def _is_one_away(session: ReadSession) -> bool:
    return any(node.away_since is not None for node in read_nodes(session))


def _place(file: HistoryFile) -> _Place:
    return file.kind, file.day, file.first_host


def _key(file: HistoryFile) -> str:
    return file_key(*_place(file))
