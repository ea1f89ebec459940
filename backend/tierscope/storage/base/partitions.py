"""Chunks of time tables: made ahead of the data, dropped when old. The two storage modes meet here and nowhere else.

Mode `timescaledb`: time tables are hypertables and the extension makes chunks by itself. Mode `native`: they are range
partitioned on `ts`, in whole multiples of a day counted from the Unix epoch, named `<table>_p<first day>`. A partition
is made as a table of its own and attached, because attaching does not lock readers and writers of the parent out.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from sqlalchemy import bindparam, select, text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.core.errors import ConfigurationError
from tierscope.storage import tables
from tierscope.storage.tables import TIME_TABLES, TimeTable

Mode = Literal["timescaledb", "native"]

AHEAD_DAYS = 2
BEHIND_DAYS = 8
_EPOCH = date(1970, 1, 1)
_NEEDED = {
    "samples_live": "SELECT min(created_at) FROM marks WHERE kind IN ('samples', 'samples_pack')",
    "counters_live": "SELECT min(bucket) FROM marks WHERE kind IN ('counters', 'counters_closed')",
}
_LOCK_KEY = 0x7469_6572_7061_7274  # "tierpart": one process at a time makes or drops partitions


def storage_mode(session: ReadSession) -> Mode:
    """Returns the mode that was chosen when the schema was made."""
    statement = select(tables.installation.c.value).where(tables.installation.c.key == "storage")
    value = session.execute(statement).scalar_one_or_none()
    if value == "timescaledb":
        return "timescaledb"
    if value == "native":
        return "native"
    raise ConfigurationError("the database has no schema yet", next_step="Run `tierscope migrate`.")


def partition_start(day: date, chunk_days: int) -> date:
    """Returns the first day of the partition that holds `day`."""
    number = (day - _EPOCH).days
    return _EPOCH + timedelta(days=number - number % chunk_days)


def partition_name(table: str, start: date) -> str:
    """Returns the name of the partition of `table` whose first day is `start`."""
    return f"{table}_p{start:%Y%m%d}"


def wanted_partitions(time_table: TimeTable, first: datetime, last: datetime) -> list[date]:
    """Returns the first days of all partitions that cover [first, last]."""
    step = timedelta(days=time_table.chunk_days)
    day = partition_start(first.astimezone(UTC).date(), time_table.chunk_days)
    end = last.astimezone(UTC).date()
    starts = []
    while day <= end:
        starts.append(day)
        day += step
    return starts


def ensure_partitions(
    transaction: WriteTransaction, first: datetime, last: datetime, only: Iterable[TimeTable] = TIME_TABLES
) -> int:
    """Makes the partitions that [first, last] needs; returns how many were made. Does nothing for hypertables."""
    if storage_mode(transaction) == "timescaledb":
        return 0
    transaction.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
    existing = _all_partitions(transaction)
    made = 0
    for time_table in only:
        parent = time_table.table.name
        for start in wanted_partitions(time_table, first, last):
            name = partition_name(parent, start)
            if name not in existing:
                _attach(transaction, parent, name, start, start + timedelta(days=time_table.chunk_days))
                made += 1
    return made


def ensure_usual_partitions(transaction: WriteTransaction, now: datetime) -> int:
    """Makes the partitions of the accept window, as far as a table keeps it, and of the days ahead."""
    made = 0
    for behind_days in {min(BEHIND_DAYS, entry.keep_days) for entry in TIME_TABLES}:
        tables = [entry for entry in TIME_TABLES if min(BEHIND_DAYS, entry.keep_days) == behind_days]
        first, last = now - timedelta(days=behind_days), now + timedelta(days=AHEAD_DAYS)
        made += ensure_partitions(transaction, first, last, tables)
    return made


def drop_old(transaction: WriteTransaction, now: datetime) -> dict[str, int]:
    """Drops all chunks that lie wholly before a table's retention; returns how many per table."""
    mode = storage_mode(transaction)
    transaction.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
    return {entry.table.name: _drop_old_of(transaction, entry, now, mode) for entry in TIME_TABLES}


def _needed_from(session: ReadSession, table: str, now: datetime) -> datetime:
    """Rows from here on are still to be worked: history that was imported is old before its ledger is built."""
    oldest = _NEEDED.get(table)
    return now if oldest is None else session.execute(text(oldest)).scalar_one() or now


def _drop_old_of(transaction: WriteTransaction, entry: TimeTable, now: datetime, mode: Mode) -> int:
    cutoff = min(now - timedelta(days=entry.keep_days), _needed_from(transaction, entry.table.name, now))
    if mode == "timescaledb":
        statement = text(
            "SELECT count(*) FROM drop_chunks(CAST(:table AS regclass), older_than => :cutoff)"
        ).bindparams(bindparam("cutoff", type_=tables.hosts.c.enrolled_at.type))
        return int(transaction.execute(statement, {"table": entry.table.name, "cutoff": cutoff}).scalar_one())
    dropped = 0
    for name, start in _partitions_of(transaction, entry.table.name):
        if start + timedelta(days=entry.chunk_days) <= cutoff.astimezone(UTC).date():
            transaction.execute(text(f'DROP TABLE "{name}"'))
            dropped += 1
    return dropped


def chunk_spans(session: ReadSession, entry: TimeTable) -> list[tuple[datetime, datetime]]:
    """Returns start and end of every chunk of a time table, oldest first."""
    if storage_mode(session) == "timescaledb":
        statement = text(
            "SELECT range_start, range_end FROM timescaledb_information.chunks"
            " WHERE hypertable_schema = current_schema() AND hypertable_name = :table ORDER BY range_start"
        )
        return [(row.range_start, row.range_end) for row in session.execute(statement, {"table": entry.table.name})]
    width = timedelta(days=entry.chunk_days)
    starts = [datetime.combine(day, datetime.min.time(), UTC) for _, day in _partitions_of(session, entry.table.name)]
    return [(start, start + width) for start in starts]


def _attach(transaction: WriteTransaction, parent: str, name: str, start: date, end: date) -> None:
    like = "INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION"
    transaction.execute(text(f'CREATE TABLE "{name}" (LIKE "{parent}" {like})'))
    bounds = f"FROM ('{start:%Y-%m-%d} 00:00:00+00') TO ('{end:%Y-%m-%d} 00:00:00+00')"
    transaction.execute(text(f'ALTER TABLE "{parent}" ATTACH PARTITION "{name}" FOR VALUES {bounds}'))


def _all_partitions(session: ReadSession) -> set[str]:
    rows = session.execute(
        text("SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE c.relkind = 'r'")
    )
    return set(rows.scalars())


def _partitions_of(session: ReadSession, parent: str) -> list[tuple[str, date]]:
    """Returns name and first day of every partition of `parent`, oldest first."""
    statement = text(
        "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
        " WHERE i.inhparent = CAST(:parent AS regclass) ORDER BY c.relname"
    )
    names = session.execute(statement, {"parent": parent}).scalars()
    return [(name, date.fromisoformat(name[-8:])) for name in names]
