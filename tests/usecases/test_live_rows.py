"""Live rows that have left: what is made of packs and of late rows is what would be made of live rows alone."""

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from factories import batches
from factories.derived import day_before, internal_id, leave, marks, to_ns
from factories.installations import Enrolled, enrol, store
from fixtures.draws import WHOLE
from fixtures.elsewhere import long, long_with_timescaledb
from tierscope.core.clock import utc_now
from tierscope.core.database import Database, ReadSession
from tierscope.core.settings import Settings
from tierscope.domain.base.jobs import COUNTERS_PACK
from tierscope.domain.counters.packing import Block
from tierscope.domain.heat.rows import Method, fold_rows
from tierscope.domain.heat.sampled_pages import SampledPages
from tierscope.storage.alerts.rule_sources import read_placed_loads
from tierscope.storage.base.layouts import read_layouts
from tierscope.storage.base.live_rows import (
    PACKED_TABLES,
    drop_packed_chunk,
    leaving_chunks,
    live_from,
    waiting_chunks,
)
from tierscope.storage.base.partitions import chunk_spans, ensure_partitions
from tierscope.storage.counters.rows import find_after, find_before, layouts_in, read_block, read_keys, read_packed
from tierscope.storage.heat.fleet import read_samples
from tierscope.storage.heat.rows import count_rows, read_rows
from tierscope.storage.heat.sums import read_loads, read_loads_by_tier, read_overlaps
from tierscope.storage.ledger.rows import recorded_seconds
from tierscope.storage.promql.heat import list_heat_groups
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.operate.doctor import ServiceDoctor
from tierscope.usecases.operate.status import StatusReads
from tierscope.usecases.rebuild import drain as drains
from tierscope.usecases.rebuild.drain import DrainMarks
from tierscope.wire._generated import heat_pb2

HOST_KEYS = tuple(
    f"host|vmstat|{name}"
    for name in (
        "numa_hint_faults",
        "numa_pte_updates",
        "pgalloc_normal",
        "pgdemote_direct",
        "pgdemote_kswapd",
        "pgpromote_candidate",
        "pgpromote_success",
    )
)
SERVICE_KEYS = tuple(f"service:demo/cache|memory.stat|{name}" for name in ("pgdemote_kswapd", "pgpromote_success"))
LAYOUTS = (
    tuple(sorted((*HOST_KEYS, *SERVICE_KEYS, "node:0|meminfo|MemFree"))),
    tuple(sorted((*HOST_KEYS, *SERVICE_KEYS, "host|vmstat|pgpromote_candidate_demoted"))),  # a kernel with TPP
    tuple(sorted(("host|vmstat|pgpromote_success", "host|vmstat|pgmigrate_success", "node:0|meminfo|MemFree"))),
)
MINUTES = 13 * 60
"""More than two chunks."""
STEP = 9
"""Minutes between samples, so that buckets and hours have edges of all kinds."""
BY_HOST = {
    "tier_moves": "service_id, ts",
    "rule_inputs": "service_id, ts",
    "metrics_10m": "ts",
    "metrics_1h": "ts",
    "metrics_1d": "ts",
    "heat": "service_id, ts, backend",
    "heat_1h": "service_id, ts, backend",
    "heat_1d": "service_id, ts, backend",
    "host_recent": "1",
}
METHOD = Method(1, 1, batches.MINUTE_NS)
native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@dataclass(frozen=True)
class Story:
    """What a host sends, in which order, and what happens in between.

    `boots`: places at which it reboots, with the layout from then on. `hole`: places without a sample. `sent`: batches
    of places; a place may come again. `after`: what is done after each batch: nothing, work off what is due shortly
    after its newest sample, work off everything, or that and let rows leave. `heat_again`: rows of heat come again too;
    sums over live rows count those twice, so that they and the rules' inputs are not compared.
    """

    boots: tuple[tuple[int, int], ...]
    hole: tuple[int, int]
    missing: frozenset[int]
    back: frozenset[int]
    sent: tuple[tuple[int, ...], ...]
    after: tuple[str, ...]
    heat_again: bool = False


PLACES = MINUTES // STEP
ACTS = ("nothing", "soon", "all", "leave", "leave")


@st.composite
def stories(draw: st.DrawFn) -> Story:
    place = st.integers(1, PLACES - 1)
    boots = sorted(draw(st.sets(place, max_size=3)))
    layouts = [draw(st.integers(0, len(LAYOUTS) - 1)) for _ in (0, *boots)]
    first = draw(place)
    hole = (first, first + draw(st.integers(0, 60)))
    cuts = sorted(draw(st.sets(place, min_size=1, max_size=5)))
    parts = [list(range(*edges)) for edges in pairwise([0, *cuts, PLACES])]
    late: list[int] = []
    for part in parts:
        # Some samples of each stretch come later, in batches of their own; some come twice.
        for _ in range(draw(st.integers(0, 2))):
            at = draw(st.integers(0, len(part)))
            late += part[at : at + draw(st.integers(1, 4))]
    again = draw(st.lists(place, max_size=4))
    kept = [[one for one in part if one not in late] for part in parts]
    order = draw(st.permutations([*kept, *([one] for one in dict.fromkeys(late)), again]))
    sent = tuple(tuple(part) for part in order if any(not hole[0] <= one < hole[1] for one in part))
    return Story(
        tuple(zip((0, *boots), layouts, strict=True)),
        hole,
        draw(st.frozensets(place, max_size=4)),
        draw(st.frozensets(place, max_size=2)),
        sent,
        tuple(draw(st.sampled_from(ACTS)) for _ in sent),
        draw(st.booleans()),
    )


def counters(story: Story, place: int, keys: tuple[str, ...], boots: int) -> list[int | None]:
    """A sample: counters begin anew with each boot; a value may be missing, or a counter go back."""
    found: list[int | None] = []
    for column, key in enumerate(keys):
        steady = "meminfo" in key
        grown = 5_000_000 + place % 7 * 999 if steady else (column + 3) * 4_000 * place + place % 5 * 1009 * column
        found.append(grown // (boots + 1))
    if place in story.missing:
        found[place % len(keys)] = None
    if place in story.back:
        found[place % len(keys)] = 1
    return found


def add_heat(batch: object, end_ns: int, place: int) -> None:
    """An interval of a service by one of two methods, with sampled loads and overlaps of hot sets in some."""
    batches.add_heat(batch, ends_ns=[end_ns])  # type: ignore[arg-type]
    block = batch.heat[-1]  # type: ignore[attr-defined]
    block.resident_bytes[0] += place << 12
    block.tier_ref[0] = batches.intern(batch, ("", "dram", "cxl")[place % 3])  # type: ignore[arg-type]
    if place % 2:
        block.backend, block.granularity = heat_pb2.HEAT_BACKEND_PEBS, heat_pb2.GRANULARITY_PAGE
        block.samples_known, block.period_events, block.duty_ratio = True, 1000.0, 0.5
        block.load_samples.append(place)
        block.store_samples.append(1)
    if place % 5:
        block.sampled_pages.append(place)
    if place % 4 < 2:
        block.hot_intersection_bytes = np.array([place, 2, 3], "<i8").tobytes()
        block.hot_union_bytes = np.array([place + 5, 9, 0], "<i8").tobytes()


def send(database: Database, host: Enrolled, start: datetime, story: Story, number: int) -> datetime:
    """Store one batch of a story; the end of its newest sample."""
    ends = []
    batch = batches.make_batch(host_id=host.id, seq=number, sealed_wall_ns=to_ns(start))
    batches.add_inventory(batch)
    for place in story.sent[number]:
        if story.hole[0] <= place < story.hole[1]:
            continue
        boots = sum(first <= place for first, _ in story.boots)
        keys = LAYOUTS[story.boots[boots - 1][1]]
        end_ns = to_ns(start + timedelta(minutes=1 + place * STEP))
        ends.append(end_ns)
        row = counters(story, place, keys, boots)
        batches.add_counters(batch, [row], ends_ns=[end_ns], keys=keys, boot_ids=[f"boot-{boots}"])
        if story.heat_again or all(place not in sent for sent in story.sent[:number]):
            add_heat(batch, end_ns, place)
    batch.sealed_wall_ns = max(ends)
    assert store(database, host, [batch])[0].duplicate is False  # type: ignore[union-attr]
    return start + timedelta(seconds=max(ends) // batches.SECOND_NS - int(start.timestamp()))


def work(database: Database, at: datetime) -> None:
    assert DrainMarks(database, lambda: at).run(at_most=timedelta(days=1)).failures == {}


def tell(database: Database, host: Enrolled, start: datetime, story: Story, *, leaves: bool) -> int:
    """All that happens to a host; how many chunks have gone."""
    clock, gone = start, 0
    for number, act in enumerate(story.after):
        newest = send(database, host, start, story, number)
        clock = max(clock, newest + timedelta(seconds=20) if act == "soon" else clock)
        if act != "nothing":
            clock = clock if act == "soon" else max(clock, start + timedelta(days=2))
            work(database, clock)
        if act == "leave" and leaves:
            gone += sum(leave(database).get(entry.table.name, 0) for entry in PACKED_TABLES)
    work(database, start + timedelta(days=2))
    return gone


def made(database: Database, host: Enrolled, start: datetime, story: Story) -> dict[str, object]:
    """All that is made of a host's rows, and what readers answer of them, without its numbers."""
    host_id = internal_id(database, host)
    found: dict[str, object] = {}
    with database.read() as session:
        for table, order in BY_HOST.items():
            rows = session.execute(
                text(f"SELECT * FROM {table} WHERE host_id = :host ORDER BY {order}"), {"host": host_id}
            )
            found[table] = [
                {name: str(value) for name, value in row.items() if name not in ("host_id", "built_at")}
                for row in rows.mappings()
            ]
        boots = dict(
            session.execute(text("SELECT id, boot_id FROM boots WHERE host_id = :host"), {"host": host_id}).all()
        )
        packs = read_packed(session, host_id, start, start + timedelta(days=1))
        found["counters_packed"] = [plain(block, boots) for block in packs]
        found["answers"] = answers(session, host_id, boots, start, sums=not story.heat_again)
    return found


def plain(block: Block, boots: dict[int, str]) -> str:
    cells = np.where(block.present, block.values, -1).tolist()
    rows = [block.times_us.tolist(), [boots[int(boot)] for boot in block.boots], block.flags.tolist(), cells]
    return json.dumps([block.keys, *rows])


def answers(session: ReadSession, host_id: int, boots: dict[int, str], start: datetime, *, sums: bool) -> list[str]:
    """What readers say of windows with all kinds of ends."""
    (service_id,) = session.execute(text("SELECT id FROM services")).scalars()
    found: list[object] = [round(recorded_seconds(session, [host_id])[host_id], 3)]
    for first, last in ((0, MINUTES), (3, 47), (355, 365), (361, 722), (419, 421), (700, MINUTES + 60)):
        lo, hi = start + timedelta(minutes=first), start + timedelta(minutes=last, seconds=13)
        layouts = layouts_in(session, host_id, lo, hi)
        keys = sorted({key for names in read_layouts(session, layouts).values() for key in names})[::2]
        found += [layouts, plain(read_keys(session, host_id, keys, layouts, lo, hi), boots)]
        found += [find_before(session, [host_id], lo).get(host_id), find_after(session, [host_id], lo).get(host_id)]
        heat = read_rows(session, service_id, lo, hi, [host_id]).get(host_id, [])
        found += [[(row.end_us, row.method, row.resident_bytes.tolist()) for row in heat]]
        for method in {row.method for row in heat}:
            folded = fold_rows(host_id, [row for row in heat if row.method == method])
            assert folded is not None
            found += [repr(SampledPages.of_series(folded))]
        if not sums:
            continue
        found += [count_rows(session, service_id, lo, hi, [host_id])]
        overlaps = read_overlaps(session, service_id, [host_id], lo, hi)
        found += [[(one.method, one.lag_intervals, one.intersection_bytes, one.union_bytes) for one in overlaps]]
        found += [list(read_loads(session, service_id, [host_id], METHOD, lo, hi).values())]
        tiers = read_loads_by_tier(session, service_id, [host_id], lo, hi, step_s=1300)
        found += [[(one.end_s, one.slow_events, one.known_events, one.known_samples) for one in tiers]]
        found += [list(read_placed_loads(session, [host_id], lo, hi).values())]
        for every in (600, 3600, 1000):
            parts = read_samples(session, lo, hi, timedelta(seconds=every)).get(service_id, [])
            own = [part for part in parts if part.host_id == host_id]
            own.sort(key=lambda part: (part.method.backend, int(part.ends_us[0])))
            found += [[(part.method, part.ends_us.tolist(), part.folded.resident.tolist()) for part in own]]
        groups = [one for one in list_heat_groups(session, [service_id], lo, hi) if one.host_id == host_id]
        found += [sorted((one.method.backend, one.kind, one.tier, one.n_intervals) for one in groups)]
    return [str(one) for one in found]


def check(database: Database, story: Story) -> int:
    """Tell a story of two hosts, one of whose rows leave; both are the same in the end. How many chunks have gone."""
    with database.write() as transaction:
        transaction.execute(text("DELETE FROM installation WHERE key LIKE '%_live_from'"))
        transaction.execute(text("DELETE FROM counters_live"))
        transaction.execute(text("DELETE FROM heat_live"))
    start = day_before()
    whole = enrol(database, name="whole")
    tell(database, whole, start, story, leaves=False)
    wanted = made(database, whole, start, story)
    left = enrol(database, name="left")
    gone = tell(database, left, start, story, leaves=True)
    found = made(database, left, start, story)
    for name, rows in wanted.items():
        assert found[name] == rows or (story.heat_again and name == "rule_inputs"), name
    gone += sum(leave(database).get(entry.table.name, 0) for entry in PACKED_TABLES)
    with database.read() as session:
        assert session.execute(text("SELECT count(*) FROM counters_live")).scalar_one() == 0
        assert session.execute(text("SELECT count(*) FROM heat_live")).scalar_one() == 0
    assert made(database, left, start, story) == found
    return gone


LATE = Story(
    boots=((0, 0), (40, 1), (44, 2), (70, 0)),
    hole=(54, 63),
    missing=frozenset({8, 51}),
    back=frozenset({12}),
    sent=(
        tuple(place for place in range(60) if place not in (20, 41, 42, 43, 51, 52)),
        tuple(range(60, PLACES)),
        (20,),
        (51, 42),
        (41, 43, 52, 30, 70),
    ),
    after=("leave", "leave", "leave", "soon", "leave"),
)


@pytest.mark.slow
@settings(
    max_examples=4 if WHOLE else 2,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # a story takes seconds: shrinking would take an hour
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example(LATE)
@given(stories())
@native
def test_packs_and_late_rows_make_what_live_rows_alone_make(database: Database, story: Story) -> None:
    check(database, story)


@long
@pytest.mark.slow
@pytest.mark.parametrize("storage_mode", ["timescaledb"], indirect=True)
def test_so_they_do_with_timescaledb(database: Database) -> None:
    assert check(database, LATE) >= 3 * len(PACKED_TABLES)


def live_times(database: Database, table: str = "counters_live") -> list[datetime]:
    with database.read() as session:
        return list(session.execute(text(f"SELECT DISTINCT ts FROM {table} ORDER BY ts")).scalars())


def send_day(database: Database, host: Enrolled, start: datetime, minutes: range, *, number: int = 0) -> None:
    """A batch of samples with heat, one a place."""
    story = Story(((0, 0),), (0, 0), frozenset(), frozenset(), ((),) * number + (tuple(minutes),), ())
    send(database, host, start, story, number)


@long_with_timescaledb
def test_rows_stay_while_their_work_waits_and_it_is_told(database: Database) -> None:
    host, start = enrol(database), day_before()
    send_day(database, host, start, range(60))
    assert leave(database) == {}
    assert len(live_times(database)) == 60
    with database.read() as session:
        waiting = waiting_chunks(session, utc_now())
    assert {(one.table, one.kind, one.host) for one in waiting} == {
        ("counters_live", "counters", host.id),
        ("heat_live", "heat", host.id),
    }
    assert {one.start for one in waiting} == {start, start + timedelta(hours=6)}
    work(database, utc_now())
    assert leave(database) == {"counters_live": 2, "heat_live": 2}
    assert live_times(database) == live_times(database, "heat_live") == []
    with database.read() as session:
        assert waiting_chunks(session, utc_now()) == []


@long_with_timescaledb
def test_a_subject_that_cannot_be_worked_holds_its_chunk_alone(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    host, start = enrol(database), day_before()
    send_day(database, host, start, range(80))
    rebuild = drains.REBUILDS[COUNTERS_PACK]

    def fail(transaction: object, claimed: object) -> None:
        if any(bucket < start + timedelta(hours=5) for bucket in claimed.buckets):  # type: ignore[attr-defined]
            raise ValueError("cannot be packed")
        rebuild(transaction, claimed)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setitem(drains.REBUILDS, COUNTERS_PACK, fail)
        assert DrainMarks(database, utc_now).run().failures == {"counters_pack": 1}
        assert leave(database) == {"heat_live": 2}
        checks = ServiceDoctor(Settings(data_dir=tmp_path), clock=utc_now, schedule={}).examine(database.url)
        (told,) = [check for check in checks if check.name == "live rows"]
        hours = f"counters_live {start:%Y-%m-%d} 00:00 to 06:00 waits for 6 buckets of counters_pack, host {host.id}"
        assert (told.result, told.detail.split("; ")[0]) == ("warning", hours)
        reads = StatusReads(ReadContext(database, utc_now, Settings(data_dir=tmp_path)))
        (worker,) = [part for part in reads.status().components if part.name == "worker"]
        assert worker.status == "healthy", "it was asked for just now"
        with database.write() as transaction:
            transaction.execute(text("UPDATE marks SET created_at = created_at - interval '7 hours'"))
        (worker,) = [part for part in reads.status().components if part.name == "worker"]
        assert worker.status == "degraded"
        assert hours in worker.detail
        assert len(live_times(database)) == 80
    work(database, utc_now())
    assert leave(database)["counters_live"] == 2


@long_with_timescaledb
def test_a_row_that_no_pack_holds_is_packed_before_it_leaves(database: Database) -> None:
    host, start = enrol(database), day_before()
    send_day(database, host, start, range(20))
    work(database, utc_now())
    with database.write() as transaction:
        transaction.execute(text("DELETE FROM counters_packed WHERE ts = :hour"), {"hour": start + timedelta(hours=1)})
    assert "counters_live" not in leave(database)
    assert marks(database) == [("counters_pack", internal_id(database, host), start + timedelta(hours=1))]
    work(database, utc_now())
    assert leave(database)["counters_live"] == 1


@long_with_timescaledb
def test_a_batch_that_is_stored_meanwhile_keeps_its_chunk(database: Database) -> None:
    host, start = enrol(database), day_before()
    send_day(database, host, start, range(30))
    work(database, utc_now())
    (entry, _) = PACKED_TABLES
    with database.read() as session:
        (span,) = leaving_chunks(session, entry, utc_now())
    send_day(database, host, start, range(30, 31), number=1)
    with database.write() as transaction:
        assert not drop_packed_chunk(transaction, entry, span)
    assert len(live_times(database)) == 31


@long_with_timescaledb
def test_young_rows_stay_though_they_are_packed(database: Database) -> None:
    host, now = enrol(database), utc_now()
    start = now - timedelta(hours=5)
    send_day(database, host, start, range(20))
    work(database, now)
    assert "counters_live" not in leave(database)
    assert len(live_times(database)) == 20


@native
def test_a_chunk_that_is_being_read_goes_in_a_later_run(database: Database) -> None:
    host, start = enrol(database), day_before()
    send_day(database, host, start, range(30))
    work(database, utc_now())
    with database.read() as session:
        assert live_from(session, "counters_live") is None
        assert "counters_live" not in leave(database)
        assert len(read_block(session, host.identity.id, start, start + timedelta(days=1))) == 30
    assert leave(database) == {"counters_live": 1}
    assert len(live_times(database)) == 0


@native
def test_a_chunk_that_is_being_written_stays(database: Database) -> None:
    host, start = enrol(database), day_before()
    send_day(database, host, start, range(30))
    work(database, utc_now())
    with database.write() as transaction:
        transaction.execute(
            text(
                "INSERT INTO counters_live SELECT host_id, ts + interval '1 minute', layout_id, boot_ref, boottime_ns,"
                " flags, vals FROM counters_live ORDER BY ts LIMIT 1"
            )
        )
        assert "counters_live" not in leave(database)
        bucket = {"host": host.identity.id, "bucket": start}
        transaction.execute(
            text("INSERT INTO marks (kind, subject_id, bucket) VALUES ('counters', :host, :bucket)"), bucket
        )
    assert "counters_live" not in leave(database)
    assert len(live_times(database)) == 31
    work(database, utc_now())
    assert leave(database)["counters_live"] == 1
    with database.read() as session:
        assert len(read_block(session, host.identity.id, start, start + timedelta(days=1))) == 31


@native
def test_a_day_of_an_earlier_release_stays_beside_hours_until_its_rows_are_packed(database: Database) -> None:
    host, start = enrol(database), day_before()
    day = timedelta(days=1)
    with database.write() as transaction:
        ensure_partitions(transaction, start, start, [replace(entry, chunk_days=1) for entry in PACKED_TABLES])
        ensure_partitions(transaction, start - day / 2, start + 1.5 * day, PACKED_TABLES)
        spans = chunk_spans(transaction, PACKED_TABLES[0])
    assert (start, start + day) in spans
    assert (start - day / 4, start) in spans
    assert (start + day, start + 1.25 * day) in spans
    send_day(database, host, start - day / 4, range(90))
    work(database, utc_now())
    assert leave(database)["counters_live"] == 6
    with database.read() as session:
        assert live_from(session, "counters_live") == start + 1.75 * day
        assert len(read_block(session, host.identity.id, start - day, start + day)) == 90
