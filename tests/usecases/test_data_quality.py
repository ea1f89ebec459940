"""Data quality: what arrived by the minute, gaps with their reasons, and what was sent again or left out."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from factories import batches
from factories.installations import Enrolled, enrol, store
from fixtures.elsewhere import long_with_timescaledb
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import BadRequest
from tierscope.core.settings import Settings
from tierscope.domain.ingest.arrival import Clocks
from tierscope.domain.operate.data_quality import Gap, HostFacts, explain, find_gaps, increases, minute_of
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.operate.data_quality import DataQuality, DataQualityReads

MINUTE = timedelta(minutes=1)
HOUR = datetime(2026, 5, 1, 10, tzinfo=UTC)
NOTHING = HostFacts(boots=(), streams=(), drops=(), missing_batches=0, paused_since=None)


def begin_at(database: Database, at: datetime) -> None:
    """As if this installation and its hosts were there since then."""
    with database.write() as transaction:
        transaction.execute(text("UPDATE hosts SET enrolled_at = :at"), {"at": at - 4 * MINUTE})
        transaction.execute(
            text("UPDATE installation SET value = :at WHERE key = 'quality_since'"), {"at": at.isoformat()}
        )


def send(
    database: Database,
    host: Enrolled,
    seq: int,
    ends: list[datetime],
    *,
    arrival: datetime | None = None,
    dropped: int | None = None,
    boot: str = batches.BOOT,
) -> None:
    """One batch with samples that end at these times, arriving right after the last."""
    ends_ns = [int(end.timestamp()) * batches.SECOND_NS for end in ends]
    batch = batches.make_batch(host_id=host.id, seq=seq, sealed_wall_ns=ends_ns[-1], boot_id=boot)
    batches.add_counters(batch, [[1, 2, 3] for _ in ends], ends_ns=ends_ns)
    if dropped is not None:
        batches.add_self(batch)
        batch.self.dropped_batches = dropped
    at = arrival or ends[-1] + timedelta(seconds=5)
    assert store(database, host, [batch], clocks=Clocks(int(at.timestamp() * 1e9), None, None))


def read(database: Database, now: datetime, **options: object) -> DataQuality:
    context = ReadContext(database=database, clock=lambda: now, settings=Settings(_env_file=None))
    values = {"from_": None, "to": None, "limit": 100, "cursor": None} | options
    return DataQualityReads(context).read(**values)  # type: ignore[arg-type]


def now() -> datetime:
    return utc_now().replace(second=0, microsecond=0)


@long_with_timescaledb
@pytest.mark.parametrize("minute", [0, 1, 57, 59])
def test_minutes_that_did_not_arrive_are_gaps_with_their_reason(database: Database, minute: int) -> None:
    present = now().replace(minute=minute) - timedelta(hours=1)
    start = present - timedelta(hours=3)
    host = enrol(database)
    begin_at(database, start)
    minutes = [i for i in range(1, 178) if not 30 <= i < 40 and not 100 <= i < 105]
    first = [start + i * MINUTE for i in minutes if i < 100]
    later = [start + i * MINUTE for i in minutes if i >= 105]
    send(database, host, 0, first, dropped=0)
    send(database, host, 1, later, dropped=3, boot="11111111-0000-0000-0000-000000000000")
    with database.write() as transaction:
        statement = text("UPDATE boots SET first_seen_at = :at WHERE boot_id LIKE '%000'")
        transaction.execute(statement, {"at": start + 105 * MINUTE})
    answer = read(database, present, from_=start.isoformat())
    (row,) = answer.hosts.items
    assert row.expected_intervals.value == 177
    assert (row.received.value, row.missing.value) == (162, 15)
    assert row.received.coverage == pytest.approx(162 / 177)
    gaps = [((gap.from_ - start) // MINUTE, (gap.to - start) // MINUTE, gap.kind) for gap in row.gaps]
    assert gaps == [(29, 39, "unknown"), (99, 104, "restart")]
    assert row.dropped.value == 3
    assert row.late.value == 162 - 10 - 10  # all but the last ten minutes of each batch
    assert (answer.fleet.missing.value, answer.fleet.gapless_hosts.value) == (15, 0)


@long_with_timescaledb
def test_what_comes_again_or_too_late_is_counted_and_not_received(database: Database) -> None:
    start = now() - timedelta(hours=2)
    host = enrol(database)
    begin_at(database, start)
    ends = [start + i * MINUTE for i in range(1, 118)]
    send(database, host, 0, ends)
    send(database, host, 0, ends)
    send(database, host, 1, [now() - timedelta(days=9)], arrival=now() - 5 * MINUTE)
    (row,) = read(database, now(), from_=start.isoformat()).hosts.items
    assert (row.received.value, row.missing.value) == (117, 0)
    assert (row.duplicates.value, row.too_late.value) == (1, 1)
    assert row.gaps == ()
    assert row.dropped.status == "not_collected"


@long_with_timescaledb
@pytest.mark.parametrize("minute", [0, 1, 57, 59])
def test_a_host_that_went_silent_misses_what_it_should_have_sent_since(database: Database, minute: int) -> None:
    present = now().replace(minute=minute) - timedelta(hours=1)
    start = present - timedelta(hours=1)
    host, silent = enrol(database), enrol(database, name="node-2")
    begin_at(database, start)
    send(database, host, 0, [start + i * MINUTE for i in range(1, 58)])
    send(database, silent, 0, [start + i * MINUTE for i in range(1, 21)])
    rows = read(database, present, from_=start.isoformat()).hosts.items
    assert [(row.name, row.missing.value) for row in rows] == [("node-2", 37), ("node-1", 0)]
    (gap,) = rows[0].gaps
    assert (gap.kind, gap.from_) == ("silent", start + 20 * MINUTE)
    page = read(database, present, from_=start.isoformat(), limit=1)
    rest = read(database, present, from_=start.isoformat(), limit=1, cursor=page.hosts.next_cursor)
    assert [rest.hosts.items[0].name, rest.hosts.next_cursor] == ["node-1", None]


@long_with_timescaledb
def test_hosts_of_recordings_are_expected_to_send_nothing(database: Database) -> None:
    enrol(database, origin="import")
    answer = read(database, now())
    assert (answer.hosts.items, answer.fleet.hosts.value) == ((), 0)


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_window_that_cannot_be_answered_is_refused(database: Database) -> None:
    for from_, to in (("-9d", None), ("-60s", None), ("-6h", "-9h")):
        with pytest.raises(BadRequest):
            read(database, now(), from_=from_, to=to)


@given(seen=st.sets(st.integers(0, 299)), start=st.integers(0, 119), length=st.integers(1, 180))
def test_gaps_and_minutes_with_data_make_up_the_window(seen: set[int], start: int, length: int) -> None:
    hours: dict[datetime, int] = {}
    for minute in seen:
        end = HOUR + (minute + 1) * MINUTE
        hour_us, bit = minute_of(int(end.timestamp()) * 10**6)
        hour = datetime.fromtimestamp(hour_us / 1e6, UTC)
        hours[hour] = hours.get(hour, 0) | 1 << bit
    first = HOUR + start * MINUTE
    gaps = find_gaps(hours, first, first + length * MINUTE, step_seconds=60)
    missing = {(gap.start - HOUR) // MINUTE + i for gap in gaps for i in range((gap.end - gap.start) // MINUTE)}
    assert missing == {minute for minute in range(start, start + length) if minute not in seen}
    assert all(one.end < other.start for one, other in pairwise(gaps))


def test_a_host_that_collects_every_five_minutes_has_no_gaps_between() -> None:
    every_fifth = sum(1 << minute for minute in range(4, 60, 5))
    hours = {HOUR: every_fifth, HOUR + 60 * MINUTE: every_fifth & ~(1 << 14)}
    gaps = find_gaps(hours, HOUR, HOUR + 120 * MINUTE, step_seconds=300)
    assert gaps == (Gap(HOUR + 70 * MINUTE, HOUR + 75 * MINUTE),)


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        (NOTHING, "unknown"),
        (replace(NOTHING, missing_batches=2), "on_the_way"),
        (replace(NOTHING, missing_batches=2, streams=(HOUR + 9 * MINUTE,)), "new_stream"),
        (replace(NOTHING, drops=((HOUR, 4),), streams=(HOUR + 9 * MINUTE,)), "dropped"),
        (replace(NOTHING, drops=((HOUR, 4),), boots=(HOUR + 9 * MINUTE,)), "restart"),
        (replace(NOTHING, boots=(HOUR + 60 * MINUTE,)), "unknown"),
    ],
)
def test_the_most_certain_reason_of_a_gap_is_named(facts: HostFacts, kind: str) -> None:
    gap = Gap(HOUR, HOUR + 10 * MINUTE)
    assert explain(gap, facts, now=HOUR + timedelta(days=1)).kind == kind
    assert explain(gap, facts, now=HOUR + 12 * MINUTE).kind == "silent"
    paused = replace(facts, paused_since=HOUR - MINUTE)
    assert explain(gap, paused, now=HOUR + 12 * MINUTE).kind == "paused"


def test_a_count_that_falls_began_anew() -> None:
    values = [(HOUR, 5), (HOUR + MINUTE, 5), (HOUR + 2 * MINUTE, None), (HOUR + 3 * MINUTE, 9), (HOUR + 4 * MINUTE, 2)]
    assert increases(values) == ((HOUR + 3 * MINUTE, 4), (HOUR + 4 * MINUTE, 2))
