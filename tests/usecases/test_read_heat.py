"""Heat as read: classes and bounds from stored rows, grades by hosts, methods that are never joined."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from factories import batches
from factories.installations import Enrolled, enrol, store
from tierscope.core.database import Database
from tierscope.core.errors import BadRequest
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.heat import sources as heat_sources
from tierscope.usecases.heat.answers import ServiceHeat
from tierscope.usecases.heat.reads import HeatReads
from tierscope.wire._generated import batch_pb2, heat_pb2

MINUTE = batches.MINUTE_NS
MIB = 1 << 20
ALL = (1 << 64) - 1
pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def add_interval(
    batch: batch_pb2.Batch,
    end_ns: int,
    groups: Sequence[tuple[heat_pb2.PageKind, str, list[int], list[int]]],
    *,
    backend: heat_pb2.HeatBackend,
    validity: int,
) -> None:
    """Adds one interval. Groups: page kind, tier, MiB by age bucket, MiB never active by run."""

    def packed(rows: list[list[int]]) -> bytes:
        return (np.array(rows, "<i8") * MIB).tobytes()

    def active(age: list[int]) -> list[int]:
        return [sum(age[:n]) for n in (1, 2, 4, 5)]

    batch.heat.add(
        backend=backend,
        granularity=heat_pb2.GRANULARITY_PAGE,
        interval_ns=MINUTE,
        end_wall_ns=[end_ns] * len(groups),
        service_ref=[batches.intern(batch, "demo/cache")] * len(groups),
        group_ref=[batches.intern(batch, "server")] * len(groups),
        kind=[group[0] for group in groups],
        page_size_bytes=[4096] * len(groups),
        tier_ref=[batches.intern(batch, group[1]) if group[1] else 0 for group in groups],
        validity=[validity] * len(groups),
        resident_bytes=[(sum(age) + sum(never)) * MIB for _, _, age, never in groups],
        age_bytes=packed([age for _, _, age, _ in groups]),
        never_bytes=packed([never for _, _, _, never in groups]),
        active_count_bytes=packed([[sum(never), *age, 0] for _, _, age, never in groups]),
        active_lo_bytes=packed([active(age) for _, _, age, _ in groups]),
        active_hi_bytes=packed([active(age) for _, _, age, _ in groups]),
    )


AGES = [20, 10, 5, 5, 10, 20, 10, 0, 0]
NEVER = [0, 0, 0, 0, 10, 10, 0, 0, 0]
ANON = heat_pb2.PAGE_KIND_ANON
FILE = heat_pb2.PAGE_KIND_FILE


def send(
    database: Database,
    host: Enrolled,
    now: int,
    *,
    minutes: int = 3,
    tier: str = "dram",
    seq: int = 0,
    never: Sequence[int] = NEVER,
    backend: heat_pb2.HeatBackend = heat_pb2.HEAT_BACKEND_ABIT_WALK,
    validity: int = ALL,
) -> None:
    """Stores the same interval a few times, up to `now`."""
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now, seq=seq)
    for i in range(minutes):
        groups = [(ANON, tier, AGES, list(never)), (FILE, "cxl" if tier else "", [10] + [0] * 8, [0] * 9)]
        add_interval(batch, now - (minutes - 1 - i) * MINUTE, groups, backend=backend, validity=validity)
    batches.add_inventory(batch)
    assert store(database, host, [batch])


def read(database: Database, now: int, **options: object) -> ServiceHeat:
    at = datetime.fromtimestamp(now / 1e9, tz=UTC)
    context = ReadContext(database, lambda: at, Settings(_env_file=None))
    with database.read() as session:
        service_id = session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one()
    defaults: dict[str, object] = {"scheme": "recency", "from_": "-1h", "max_points": 500}
    absent = dict.fromkeys(("threshold", "kind", "host", "method", "to"))
    asked: dict[str, Any] = {**absent, **defaults, **options}
    return HeatReads(context).service(service_id, **asked)


def mib(view: ServiceHeat) -> dict[str, float]:
    """Bytes of classes, in MiB."""
    return {entry.heat_class: (entry.bytes.value or 0.0) / MIB for entry in view.classes}


def test_classes_of_one_host_by_recency(database: Database) -> None:
    now = batches.now_ns()
    send(database, enrol(database), now)
    view = read(database, now)
    assert mib(view) == pytest.approx({"hot": 40, "warm": 20, "cold": 40, "unknown": 10})
    hot = view.classes[0].ratio
    assert (hot.grade, hot.n_hosts, hot.method) == ("early", 1, "abit")
    assert (view.window.seconds, hot.window and hot.window.seconds) == (3600, 180), "an hour was asked for"
    assert hot.value == pytest.approx(40 / 110)
    assert hot.interval is not None
    assert hot.interval.kind == "bounds"
    assert (hot.interval.lo, hot.interval.hi) == pytest.approx((40 / 110, 50 / 110))
    assert any("needs 3" in warning for warning in hot.warnings)
    assert [entry.kind for entry in view.by_kind] == ["anon", "file"]
    assert view.by_kind[1].resident_bytes.value == 10 * MIB
    assert [round((entry.active_ratio.value or 0) * 110) for entry in view.by_window] == [30, 40, 50, 60]
    assert [bar.active_bytes // MIB for bar in view.age_histogram] == [30, *AGES[1:]]
    assert [bar.never_bytes // MIB for bar in view.age_histogram] == NEVER
    assert (view.backend, view.granularity, view.coverage) == ("abit_walk", "page", 1.0)
    hot_line = next(line for line in view.series if line.key == "hot")
    assert [value for value in hot_line.values if value is not None] == [40 * MIB] * 3


def test_memory_that_was_watched_for_too_short_a_time_is_not_called_0_percent_cold(database: Database) -> None:
    now, host = batches.now_ns(), enrol(database)
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    idle = [0, 100, 0, 0, 0, 0, 0, 0, 0]
    add_interval(batch, now, [(ANON, "dram", [0] * 9, idle)], backend=heat_pb2.HEAT_BACKEND_ABIT_WALK, validity=1)
    batches.add_inventory(batch)
    assert store(database, host, [batch])
    view = read(database, now)
    told = {entry.heat_class: (entry.bytes, entry.ratio, entry.weighted_ratio) for entry in view.classes}
    for name in ("hot", "warm", "cold"):
        assert {(f.status, f.value) for f in told[name]} == {("not_enough_data", None)}, name
    assert [figure.value for figure in told["unknown"]] == [100 * MIB, 1.0, 1.0]
    assert "needs 10 valid intervals in a row, has 1" in (view.cold_in_dram_bytes.reason or "")
    assert (view.hot_outside_dram_bytes.status, view.hot_outside_dram_bytes.value) == ("ok", 0), (
        "there is no other tier"
    )


def test_hot_and_cold_memory_in_the_wrong_tier(database: Database) -> None:
    now = batches.now_ns()
    send(database, enrol(database), now)
    view = read(database, now)
    assert view.hot_outside_dram_bytes.value == 10 * MIB
    assert view.cold_in_dram_bytes.value == 40 * MIB


def test_placement_that_nobody_told_is_not_collected(database: Database) -> None:
    now = batches.now_ns()
    send(database, enrol(database), now, tier="")
    view = read(database, now)
    assert (view.hot_outside_dram_bytes.status, view.hot_outside_dram_bytes.value) == ("not_collected", None)
    assert view.cold_in_dram_bytes.status == "not_collected"


def test_a_threshold_is_snapped_to_a_bucket_edge(database: Database) -> None:
    now = batches.now_ns()
    send(database, enrol(database), now)
    view = read(database, now, scheme="cold_age", threshold=7)
    assert (view.scheme.threshold_intervals, view.scheme.warm) == (5, None)
    assert view.scheme.snapped is not None
    assert mib(view) == pytest.approx({"hot": 50, "cold": 60, "unknown": 0})
    counted = read(database, now, scheme="frequency")
    assert mib(counted)["cold"] == pytest.approx(10)


def test_one_kind_alone(database: Database) -> None:
    now = batches.now_ns()
    send(database, enrol(database), now)
    assert mib(read(database, now, kind="file")) == pytest.approx({"hot": 10, "warm": 0, "cold": 0, "unknown": 0})


def test_a_missing_interval_makes_memory_unknown_and_never_cold(database: Database) -> None:
    now = batches.now_ns()
    send(database, enrol(database), now, never=[0, 20, *[0] * 7], validity=ALL & ~0b10)
    found = mib(read(database, now))
    assert found["cold"] == 0
    assert found["unknown"] > 60


def test_enough_hosts_and_intervals_make_a_claim(database: Database) -> None:
    now = batches.now_ns()
    for i in range(3):
        send(database, enrol(database, name=f"node-{i}"), now, minutes=60)
    view = read(database, now)
    hot = view.classes[0].ratio
    assert (hot.grade, hot.n_hosts, hot.warnings) == ("good", 3, ())
    assert hot.interval is not None
    assert (hot.interval.kind, hot.interval.level) == ("confidence", 0.75)
    assert mib(view)["hot"] == pytest.approx(120)
    assert [host.hot_ratio.grade for host in view.hosts] == ["early"] * 3


def test_only_the_largest_hosts_are_listed_where_few_are_asked_for(database: Database) -> None:
    now = batches.now_ns()
    larger = [100, *NEVER[1:]]
    for i, never in enumerate([NEVER, larger, NEVER]):
        send(database, enrol(database, name=f"node-{i}"), now, never=never)
    whole, few = read(database, now), read(database, now, max_hosts=1)
    assert [host.host_name for host in few.hosts] == ["node-1"]
    assert len(whole.hosts) == 3
    assert few.classes == whole.classes
    assert read(database, now, max_hosts=0).hosts == ()


def test_methods_are_never_joined(database: Database) -> None:
    now = batches.now_ns()
    host = enrol(database)
    send(database, host, now, minutes=5)
    send(database, host, now, minutes=2, seq=1, backend=heat_pb2.HEAT_BACKEND_PEBS)
    view = read(database, now)
    assert (view.method, view.classes[0].bytes.n_intervals) == ("abit", 5)
    assert view.other_methods == ("pebs (pebs, page)",)
    assert read(database, now, method="pebs").classes[0].bytes.n_intervals == 2
    with pytest.raises(BadRequest):
        read(database, now, method="guess")


def test_nothing_measured_is_not_collected(database: Database) -> None:
    now = batches.now_ns()
    send(database, enrol(database), now)
    view = read(database, now, from_="-3h", to="-2h")
    assert {entry.bytes.status for entry in view.classes} == {"not_collected"}
    assert view.hosts == ()
    assert {value for line in view.series for value in line.values} == {None}


def test_who_is_not_measured_is_listed_with_the_reason(database: Database) -> None:
    now = batches.now_ns()
    some, none = "1 of 2 processes is not measured: too large", "no process is listed for heat"
    hosts = [(True, some, True), (False, none, False), (True, "", True), (False, "the host is busy", True)]
    groups = [(ANON, "dram", AGES, NEVER)]
    for measured, reason, sends_heat in hosts:
        host = enrol(database)
        batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
        listed = batch.inventory.services.add(namespace="demo", name="cache", rule="exe", processes=2)
        listed.heat_measured, listed.heat_reason = measured, reason
        assert store(database, host, [batch])
        if sends_heat:
            batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now, seq=1)
            add_interval(batch, now, groups, backend=heat_pb2.HEAT_BACKEND_ABIT_WALK, validity=ALL)
            assert store(database, host, [batch])
    view = read(database, now)
    assert sorted((one.heat_measured, one.reason) for one in view.not_measured) == [(False, none), (True, some)], (
        "heat that came since ends a pause, and says nothing of the processes that are left out"
    )
    last = view.not_measured[1]
    assert read(database, now, host=last.host_id).not_measured == (last,)
    assert len(read(database, now, max_hosts=1).not_measured) == 1


def test_figures_from_a_sample_of_pages_carry_its_error(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns()
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    for i in range(12):
        group = (ANON, "dram", AGES, [0] * 9)
        add_interval(batch, now - (11 - i) * MINUTE, [group], backend=heat_pb2.HEAT_BACKEND_DAMON_PAGES, validity=ALL)
        batch.heat[i].sampled_pages.append(100)
    store(database, host, [batch])
    view = read(database, now)
    assert (view.method, view.backend, view.granularity, view.interval_seconds) == ("damon", "damon_pages", "page", 60)
    assert view.beside.sampled_pages.value == 100
    hot = next(item for item in view.classes if item.heat_class == "hot").ratio
    # 30 of 80 MiB are hot: 37.5 of 100 pages.
    assert hot.value == pytest.approx(0.375)
    assert hot.interval is not None
    assert (hot.interval.kind, hot.interval.level) == ("confidence", 0.95)
    assert (round(hot.interval.lo, 3), round(hot.interval.hi, 3)) == (0.286, 0.473)
    assert any("random sample of 100 pages" in note for note in view.grounding_notes)


def test_written_bytes_stand_beside_heat_and_only_where_they_were_tracked(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns()
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    groups = [(ANON, "dram", AGES, [0] * 9), (FILE, "dram", AGES, [0] * 9)]
    add_interval(batch, now, groups, backend=heat_pb2.HEAT_BACKEND_ABIT_WALK, validity=ALL)
    tracked = [8 * MIB, 12 * MIB, 16 * MIB, 20 * MIB]
    batch.heat[0].written_bytes = np.array([tracked, [-1] * 4], "<i8").tobytes()
    store(database, host, [batch])
    written = read(database, now).beside.written
    assert [item.intervals for item in written] == [1, 2, 5, 10]
    assert [item.bytes.value for item in written] == tracked
    assert written[0].ratio.value == pytest.approx(0.1)
    assert written[0].bytes.method == "writes"
    # Of 80 MiB of anonymous memory 30 are hot and 20 were written; 80 of the other kind are not tracked.
    hot, *others = read(database, now).beside.written_classes
    assert hot.heat_class == "hot"
    assert (hot.bytes_lower.value, hot.bytes_upper.value) == (0, 20 * MIB)
    assert {part.bytes_lower.status for part in others} == {"ok"}


def test_dirty_bytes_stand_beside_heat_by_class_and_absent_is_not_zero(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns()
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    groups = [(ANON, "dram", AGES, [0] * 9), (FILE, "dram", AGES, [0] * 9), (FILE, "cxl", AGES, [0] * 9)]
    add_interval(batch, now, groups, backend=heat_pb2.HEAT_BACKEND_REFERENCED, validity=ALL)
    whole = sum(AGES) * MIB
    # All of the anonymous memory is dirty, none of one file's, and of the other it is not known.
    batch.heat[0].dirty_bytes.extend([whole, 0, -1])
    store(database, host, [batch])
    view = read(database, now)
    dirty = view.beside.dirty
    assert (dirty.bytes.value, dirty.ratio.value) == (whole, pytest.approx(0.5))
    parts = {part.heat_class: (part.bytes_lower.value, part.bytes_upper.value) for part in dirty.classes}
    assert parts["hot"] == (30 * MIB, 30 * MIB)
    assert sum(lower or 0 for lower, _ in parts.values()) == whole


def test_dirty_bytes_that_no_agent_sent_are_not_zero(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns()
    send(database, host, now)
    dirty = read(database, now).beside.dirty
    assert {dirty.bytes.status, dirty.ratio.status} == {"not_collected"}
    assert {part.bytes_upper.status for part in dirty.classes} == {"not_collected"}
    assert {part.bytes_upper.value for part in dirty.classes} == {None}


def test_writes_that_nobody_tracked_are_not_zero(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns()
    send(database, host, now)
    view = read(database, now)
    assert {item.bytes.status for item in view.beside.written} == {"not_collected"}
    assert {part.bytes_upper.status for part in view.beside.written_classes} == {"not_collected"}
    assert view.beside.huge_pages.skewed is None
    assert view.beside.sampled_pages.status == "not_supported"


def test_huge_pages_show_both_bounds_and_whether_few_of_their_parts_are_hot(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns()
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    add_interval(batch, now, [(ANON, "dram", AGES, [0] * 9)], backend=heat_pb2.HEAT_BACKEND_ABIT_WALK, validity=ALL)
    batch.heat[0].page_size_bytes[0] = 2 * MIB
    batch.heat[0].subpage_active_bytes.append(2 * MIB)
    store(database, host, [batch])
    huge = read(database, now).beside.huge_pages
    assert (huge.hot_bytes_upper.value, huge.hot_bytes_lower.value, huge.skewed) == (30 * MIB, 2 * MIB, True)


def test_a_hardware_sampler_shows_coverage_and_refuses_what_it_cannot_tell(database: Database) -> None:
    host = enrol(database)
    now = batches.now_ns()
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    for i in range(2):
        add_interval(
            batch, now - (1 - i) * MINUTE, [(ANON, "", AGES, [0] * 9)], backend=heat_pb2.HEAT_BACKEND_PEBS, validity=ALL
        )
        block = batch.heat[i]
        block.samples_known = True
        block.load_samples.append(500)
        block.store_samples.append(7)
        block.period_events, block.duty_ratio = 200.0, 0.25
        for name, count in (("distinct_pages", 300), ("f1_pages", 50), ("f2_pages", 90)):
            setattr(block, name, np.full(4, count, "<i8").tobytes())
    store(database, host, [batch])
    view = read(database, now)
    assert (view.method, view.sampling is not None) == ("pebs", True)
    assert view.sampling is not None
    assert (view.sampling.loads.value, view.sampling.stores.value) == (1000, 14)
    one, two = view.sampling.windows
    assert one.coverage.value == pytest.approx(0.9)
    assert (one.touched_bytes.status, one.touched_bytes.value) == ("not_enough_data", None)
    assert two.touched_bytes.status == "ok"
    assert two.touched_bytes.n_samples == 1000
    assert two.touched_bytes.value is not None
    assert two.touched_bytes.value >= 300 * 4096
    send(database, enrol(database, name="other"), now)
    assert read(database, now, method="abit").sampling is None


def test_short_intervals_do_not_make_a_request_unpack_more_rows(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, now, step = enrol(database), batches.now_ns(), 10 * batches.SECOND_NS
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    for i in range(90):
        group = (ANON, "dram", AGES, [0] * 9)
        end = now - (89 - i) * step
        add_interval(batch, end, [group], backend=heat_pb2.HEAT_BACKEND_ABIT_WALK, validity=ALL)
        batch.heat[i].interval_ns = step
    store(database, host, [batch])
    assert read(database, now, from_="-15m").classes[0].bytes.n_intervals == 90
    monkeypatch.setattr(heat_sources, "MAX_ROWS", 60)
    assert read(database, now, from_="-15m").classes[0].bytes.n_intervals == 60
    assert read(database, now, from_="-10m").classes[0].bytes.n_intervals == 60
