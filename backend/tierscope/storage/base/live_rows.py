"""Live rows that are packed leave with their chunk: when one may go, and from when on all rows are still there.

Rows commit with marks, and whoever works a mark commits what the next one needs: another mark, or the pack. So a chunk
whose stretch has no mark left, seen while nobody writes, holds only rows that stand in packs. Late rows make a chunk of
its own again, until they are packed too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from sqlalchemy import text

from tierscope.core.database import FLEET_SCHEMA, ReadSession, WriteTransaction
from tierscope.domain.base.jobs import COUNTERS, COUNTERS_CLOSED, COUNTERS_PACK, HEAT, HEAT_1H, Job
from tierscope.storage.base.partitions import (
    PACKED,
    Span,
    chunk_spans,
    drop_chunk,
    ensure_partitions,
    lock_chunks,
    lock_partitions,
)
from tierscope.storage.tables import TIME_TABLES, TimeTable

LiveTable = Literal["counters_live", "heat_live"]

PACKED_TABLES: tuple[TimeTable, ...] = tuple(entry for entry in TIME_TABLES if entry.table.name in PACKED)
_JOBS: Mapping[str, tuple[Job, ...]] = {
    "counters_live": (COUNTERS, COUNTERS_CLOSED, COUNTERS_PACK),
    "heat_live": (HEAT, HEAT_1H),
}
"""What reads the rows of a table, in the order in which one asks for the next."""
_ROOM = timedelta(hours=1)
"""Partitions that are made ahead reach at least so much less far back than rows are kept."""
_NEVER = datetime(2500, 1, 1, tzinfo=UTC)
"""From when on all rows are live where nobody can say: later than any."""
_CHECK_SECONDS = 300
_UNPACKED: Mapping[str, str] = {
    "counters_live": (
        "SELECT l.host_id, 0 AS service_id, l.bucket FROM (SELECT host_id, count(DISTINCT ts) AS n,"
        " date_bin('1 hour', ts - interval '1 microsecond', timestamptz 'epoch') AS bucket"
        " FROM counters_live WHERE ts >= :start AND ts < :end GROUP BY host_id, bucket) AS l"
        " LEFT JOIN (SELECT host_id, ts, sum(n) AS n FROM counters_packed"
        " WHERE ts >= CAST(:start AS timestamptz) - interval '1 hour' AND ts < :end GROUP BY 1, 2) AS p"
        " ON p.host_id = l.host_id AND p.ts = l.bucket WHERE l.n > coalesce(p.n, 0)"
    ),
    "heat_live": (
        "SELECT l.host_id, l.service_id, l.bucket FROM (SELECT host_id, service_id, count(DISTINCT ts) AS n,"
        " date_bin('10 minutes', ts - interval '1 microsecond', timestamptz 'epoch') AS bucket"
        " FROM heat_live WHERE ts >= :start AND ts < :end GROUP BY host_id, service_id, bucket) AS l"
        " LEFT JOIN (SELECT host_id, service_id, ts, sum(n) AS n FROM heat"
        " WHERE ts >= CAST(:start AS timestamptz) - interval '10 minutes' AND ts < :end GROUP BY 1, 2, 3) AS p"
        " ON p.host_id = l.host_id AND p.service_id = l.service_id AND p.ts = l.bucket WHERE l.n > coalesce(p.n, 0)"
    ),
}
"""Buckets with more instants in live rows than in packs."""
_PACKS: Mapping[str, Job] = {"counters_live": COUNTERS_PACK, "heat_live": HEAT}


@dataclass(frozen=True, slots=True)
class WaitingChunk:
    """A chunk that is old enough to go, and the work that it waits for: marks of one kind."""

    table: str
    start: datetime
    end: datetime
    kind: str
    marks: int
    subjects: int
    host: str | None
    """The public id of one of the hosts."""
    asked_at: datetime
    """Since when the oldest of the marks waits."""


def live_from(session: ReadSession, table: LiveTable) -> datetime | None:
    """From when on all rows of a table are in it; older ones may be in packs alone. None where none has left yet.

    No chunk leaves before the session's transaction ends. Where the session sees several servers, each of which lets
    its own chunks leave, any row may be in a pack alone.
    """

    def ask() -> datetime | None:
        session.execute(text(f'LOCK TABLE ONLY "{table}" IN ACCESS SHARE MODE'))
        statement = text(
            "SELECT current_schema() = :fleet AS several, (SELECT value FROM installation WHERE key = :key) AS value"
        )
        found = session.execute(statement, {"fleet": FLEET_SCHEMA, "key": f"{table}_from"}).one()
        if found.several:
            return _NEVER
        return None if found.value is None else datetime.fromisoformat(found.value)

    return session.hold(f"{table}_from", ask)


def make_room(transaction: WriteTransaction, first: datetime, last: datetime, *, now: datetime) -> None:
    """Makes the partitions that rows of [first, last] need where they may have left; nothing for usual rows.

    They stay at least until the transaction has ended.
    """
    older = [entry for entry in PACKED_TABLES if first < now - entry.keep + _ROOM]
    if older:
        ensure_partitions(transaction, first, last, older)


def leaving_chunks(session: ReadSession, entry: TimeTable, now: datetime) -> list[Span]:
    """The chunks of a table that are old enough to go."""
    return [span for span in chunk_spans(session, entry) if span[1] <= now - entry.keep]


def waiting_chunks(session: ReadSession, now: datetime) -> list[WaitingChunk]:
    """The chunks that are old enough to go, and what each waits for; those that wait for nothing are left out."""
    return _waiting(
        session,
        [(entry.table.name, span) for entry in PACKED_TABLES for span in leaving_chunks(session, entry, now)],
    )


def drop_packed_chunk(transaction: WriteTransaction, entry: TimeTable, span: Span) -> bool:
    """Drops a chunk whose rows are all packed; whether it did. What is not packed is asked to be.

    Raises:
        Unavailable: the table was in use for too long.
    """
    table = entry.table.name
    if _waiting(transaction, [(table, span)]) or _ask_to_pack(transaction, table, span):
        return False
    lock_partitions(transaction)
    lock_chunks(transaction, entry)
    # What came since the look above came with marks, and has committed: nobody is within the table now.
    if _waiting(transaction, [(table, span)]):
        return False
    drop_chunk(transaction, entry, span)
    statement = text(
        "INSERT INTO installation AS i (key, value) VALUES (:key, :until)"
        " ON CONFLICT (key) DO UPDATE SET value = greatest(i.value, excluded.value)"
    )
    transaction.execute(statement, {"key": f"{table}_from", "until": span[1].astimezone(UTC).isoformat()})
    return True


def _waiting(session: ReadSession, chunks: Sequence[tuple[str, Span]]) -> list[WaitingChunk]:
    """The marks of the stretch of each chunk (its table, its span), by kind, in one statement however many chunks wait.

    A row that ends where the chunk begins is of the bucket before.
    """
    asked = [(table, span, job) for table, span in chunks for job in _JOBS[table]]
    if not asked:
        return []
    statement = text(
        "SELECT w.place, count(*) AS marks, count(DISTINCT (m.subject_id, m.service_id)) AS subjects,"
        " min(m.created_at) AS asked_at,"
        " (SELECT public_id FROM hosts WHERE id = min(m.subject_id)) AS host"
        " FROM unnest(CAST(:kinds AS text[]), CAST(:firsts AS timestamptz[]), CAST(:ends AS timestamptz[]))"
        " WITH ORDINALITY AS w (kind, first, ended, place)"
        " JOIN marks m ON m.kind = w.kind AND m.bucket >= w.first AND m.bucket < w.ended"
        " WHERE m.kind = ANY(CAST(:kinds AS text[])) AND m.bucket < :last GROUP BY w.place ORDER BY w.place"
    )
    values = {
        "kinds": [job.kind for _, _, job in asked],
        "firsts": [span[0] - timedelta(microseconds=job.width_us) for _, span, job in asked],
        "ends": [span[1] for _, span, _ in asked],
        "last": max(span[1] for _, span, _ in asked),
    }
    found = []
    for row in session.execute(statement, values):
        table, span, job = asked[row.place - 1]
        start, end = span
        counts = int(row.marks), int(row.subjects)
        found.append(WaitingChunk(table, start, end, job.kind, *counts, row.host, row.asked_at))
    return found


def _ask_to_pack(transaction: WriteTransaction, table: str, span: Span) -> int:
    """Marks what no pack holds though nothing asked for it, so that no error of ours loses a row; how many buckets."""
    transaction.execute(text(f"SET LOCAL statement_timeout = '{_CHECK_SECONDS}s'"))
    statement = text(
        "INSERT INTO marks (kind, subject_id, service_id, bucket)"  # noqa: S608 - names of our own
        f" SELECT :kind, host_id, service_id, bucket FROM ({_UNPACKED[table]}) AS u"
    )
    values = {"kind": _PACKS[table].kind, "start": span[0], "end": span[1]}
    return transaction.execute(statement, values).rowcount
