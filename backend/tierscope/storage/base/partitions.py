"""Chunks of time tables: made ahead of the data, dropped when old. The two storage modes meet here and nowhere else.

Mode `timescaledb`: time tables are hypertables and the extension makes chunks by itself. Mode `native`: they are range
partitioned on `ts`, as the kinds of `blocks` are in any mode, in whole multiples of their length counted from the Unix
epoch, named `<table>_p<first day>`, and `<table>_p<first day>_<hour>` where they are shorter than a day. Partitions of
another length stay what they are until they are dropped. A partition is made as a table of its own and attached,
because attaching does not lock readers and writers of the parent out.

Rows of `PACKED` tables go once they stand in packs (`storage/base/live_rows.py`); all others by their age alone.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Literal

from sqlalchemy import bindparam, select, text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.core.errors import ConfigurationError
from tierscope.storage import tables
from tierscope.storage.tables import TIME_TABLES, TimeTable

Mode = Literal["timescaledb", "native"]
Span = tuple[datetime, datetime]
"""[start, end) of a chunk."""

AHEAD_DAYS = 2
BEHIND_DAYS = 8
PACKED = frozenset({"counters_live", "heat_live"})
"""Tables whose rows are packed, and leave after hours."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
_LOCK_KEY = 0x7469_6572_7061_7274  # "tierpart": one process at a time makes or drops partitions
_BOUNDS = re.compile(r"FROM \('([^']+)'\) TO \('([^']+)'\)")
_LOCK_TIMEOUT = "500ms"
"""Less than the server takes to look for deadlocks: who drops gives way, and nobody waits behind it for long."""


def storage_mode(session: ReadSession) -> Mode:
    """Returns the mode that was chosen when the schema was made."""
    statement = select(tables.installation.c.value).where(tables.installation.c.key == "storage")
    value = session.execute(statement).scalar_one_or_none()
    if value == "timescaledb":
        return "timescaledb"
    if value == "native":
        return "native"
    raise ConfigurationError("the database has no schema yet", next_step="Run `tierscope migrate`.")


def timescaledb_version(session: ReadSession) -> str | None:
    """The version of TimescaleDB whose hypertables the time tables are; None where they are native partitions."""
    if storage_mode(session) == "native":
        return None
    statement = text("SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'")
    found: str | None = session.execute(statement).scalar_one_or_none()
    return found


def partition_start(at: datetime, length: timedelta) -> datetime:
    """Returns the start of the partition of this length that holds `at`."""
    return at - (at - _EPOCH) % length


def partition_name(table: str, start: datetime, length: timedelta) -> str:
    """Returns the name of the partition of `table` that begins at `start`."""
    return f"{table}_p{start:%Y%m%d}" if length % _DAY == timedelta(0) else f"{table}_p{start:%Y%m%d_%H}"


def wanted_partitions(entry: TimeTable, first: datetime, last: datetime) -> list[datetime]:
    """Returns the starts of all partitions that cover [first, last]."""
    start = partition_start(first.astimezone(UTC), entry.partition)
    starts = []
    while start <= last:
        starts.append(start)
        start += entry.partition
    return starts


def lock_partitions(transaction: WriteTransaction) -> None:
    """Wait until no other process makes or drops partitions; held until the transaction ends."""
    transaction.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})


def ensure_partitions(
    transaction: WriteTransaction, first: datetime, last: datetime, only: Iterable[TimeTable] = TIME_TABLES
) -> int:
    """Makes the partitions that [first, last] needs; returns how many were made. Does nothing for hypertables."""
    mode = storage_mode(transaction)
    entries = [entry for entry in only if not _is_hypertable(entry, mode)]
    if not _missing(transaction, entries, first, last):
        return 0
    lock_partitions(transaction)
    missing = _missing(transaction, entries, first, last)
    for entry, start in missing:
        name = partition_name(entry.name, start, entry.partition)
        _attach(transaction, entry.name, name, start, start + entry.partition)
    return len(missing)


def _missing(
    session: ReadSession, entries: Iterable[TimeTable], first: datetime, last: datetime
) -> list[tuple[TimeTable, datetime]]:
    """The partitions that [first, last] needs and that are not there, by their starts."""
    existing = _all_partitions(session)
    return [
        (entry, start)
        for entry in entries
        for start in wanted_partitions(entry, first, last)
        # One of another length, made by an earlier release, may hold this stretch.
        if not any(
            known < start + entry.partition and start < until for _, (known, until) in existing.get(entry.name, [])
        )
    ]


def ensure_usual_partitions(transaction: WriteTransaction, now: datetime) -> int:
    """Makes the partitions of the accept window, as far as a table keeps it, of the days ahead, and of older work."""
    made = 0
    usual = timedelta(days=BEHIND_DAYS)
    for behind in {min(usual, entry.keep) for entry in TIME_TABLES}:
        entries = [entry for entry in TIME_TABLES if min(usual, entry.keep) == behind]
        made += ensure_partitions(transaction, now - behind, now + timedelta(days=AHEAD_DAYS), entries)
    for entry in TIME_TABLES:
        needed = _needed_from(transaction, entry, now)
        if needed < now - usual:
            made += ensure_partitions(transaction, needed, now - usual, [entry])
    return made


def drop_old(transaction: WriteTransaction, now: datetime) -> dict[str, int]:
    """Drops all chunks that lie wholly before a table's retention; returns how many per table.

    `PACKED` tables are left out: what decides about their chunks is not their age alone.
    """
    mode = storage_mode(transaction)
    lock_partitions(transaction)
    return {
        entry.name: _drop_old_of(transaction, entry, now, mode) for entry in TIME_TABLES if entry.name not in PACKED
    }


def lock_chunks(transaction: WriteTransaction, entry: TimeTable) -> None:
    """Shut readers and writers of a time table out until the transaction ends: none of them is within it now.

    Raises:
        Unavailable: one of them did not end soon; nothing was waited for after that.
    """
    transaction.execute(text(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'"))
    transaction.execute(text(f'LOCK TABLE ONLY "{entry.table.name}" IN ACCESS EXCLUSIVE MODE'))


def drop_chunk(transaction: WriteTransaction, entry: TimeTable, span: Span) -> None:
    """Drops one chunk of a table. `lock_partitions` and `lock_chunks` were called before."""
    if storage_mode(transaction) == "timescaledb":
        _drop_chunks(transaction, entry, span[1], newer_than=span[0])
        return
    for name, known in _partitions_of(transaction, entry.table.name):
        if known == span:
            transaction.execute(text(f'DROP TABLE "{name}"'))


def _needed_from(session: ReadSession, entry: TimeTable, now: datetime) -> datetime:
    """Rows from here on are still to be worked: history that was imported is old before it is packed."""
    since = "created_at" if entry.table is tables.samples_live else "bucket"
    oldest = text(f"SELECT min({since}) FROM marks WHERE kind = ANY(:kinds)")  # noqa: S608
    return session.execute(oldest, {"kinds": list(entry.work)}).scalar_one() or now if entry.work else now


def _drop_old_of(transaction: WriteTransaction, entry: TimeTable, now: datetime, mode: Mode) -> int:
    cutoff = min(now - entry.keep, _needed_from(transaction, entry, now))
    if _is_hypertable(entry, mode):
        return _drop_chunks(transaction, entry, cutoff)
    dropped = 0
    for name, (_, end) in _partitions_of(transaction, entry.name):
        if end <= cutoff:
            transaction.execute(text(f'DROP TABLE "{name}"'))
            dropped += 1
    return dropped


def _drop_chunks(
    transaction: WriteTransaction, entry: TimeTable, older_than: datetime, *, newer_than: datetime | None = None
) -> int:
    values = {"older": older_than} | ({} if newer_than is None else {"newer": newer_than})
    bounds = ", ".join(f"{name}_than => :{name}" for name in values)
    statement = text(
        f"SELECT count(*) FROM drop_chunks(CAST(:table AS regclass), {bounds})"  # noqa: S608 - words of our own
    ).bindparams(*(bindparam(name, type_=tables.hosts.c.enrolled_at.type) for name in values))
    return int(transaction.execute(statement, {"table": entry.table.name} | values).scalar_one())


def chunk_spans(session: ReadSession, entry: TimeTable) -> list[Span]:
    """Returns start and end of every chunk of a time table, oldest first."""
    if _is_hypertable(entry, storage_mode(session)):
        statement = text(
            "SELECT range_start, range_end FROM timescaledb_information.chunks"
            " WHERE hypertable_schema = current_schema() AND hypertable_name = :table ORDER BY range_start"
        )
        return [(row.range_start, row.range_end) for row in session.execute(statement, {"table": entry.table.name})]
    return [span for _, span in _partitions_of(session, entry.name)]


def _is_hypertable(entry: TimeTable, mode: Mode) -> bool:
    return mode == "timescaledb" and not entry.kind


def _attach(transaction: WriteTransaction, parent: str, name: str, start: datetime, end: datetime) -> None:
    like = "INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION"
    transaction.execute(text(f'CREATE TABLE "{name}" (LIKE "{parent}" {like})'))
    bounds = f"FROM ('{start:%Y-%m-%d %H}:00:00+00') TO ('{end:%Y-%m-%d %H}:00:00+00')"
    transaction.execute(text(f'ALTER TABLE "{parent}" ATTACH PARTITION "{name}" FOR VALUES {bounds}'))


def _all_partitions(session: ReadSession, parent: str | None = None) -> dict[str, list[tuple[str, Span]]]:
    """Name and span of all partitions by parent, oldest first."""
    only = "" if parent is None else " AND i.inhparent = CAST(:parent AS regclass)"
    statement = text(
        "SELECT p.relname AS parent, c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds"  # noqa: S608
        " FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent"
        f" WHERE c.relkind = 'r' AND c.relispartition{only}"
    )
    found: dict[str, list[tuple[str, Span]]] = {}
    for row in session.execute(statement, {} if parent is None else {"parent": parent}):
        bounds = _BOUNDS.search(row.bounds or "")  # null: it was dropped since the statement began
        if bounds is not None:
            start, end = (datetime.fromisoformat(bound).astimezone(UTC) for bound in bounds.groups())
            found.setdefault(row.parent, []).append((row.name, (start, end)))
    return {name: sorted(parts, key=lambda part: part[1]) for name, parts in found.items()}


def _partitions_of(session: ReadSession, parent: str) -> list[tuple[str, Span]]:
    """Returns name and span of every partition of `parent`, oldest first."""
    return _all_partitions(session, parent).get(parent, [])
