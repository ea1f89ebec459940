"""Sensitivity as read: a simulated service through the store, where its bytes come from, and every kind of nothing."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from factories import batches
from factories.installations import enrol, store
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import NotFound
from tierscope.core.settings import Settings
from tierscope.domain.slowdown import Belief, ShareOnSlow
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.fleet.events import EventRequest, Events
from tierscope.usecases.sensitivity.reads import Sensitivity, SensitivityReads
from tierscope.wire._generated import heat_pb2

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
MINUTE = batches.MINUTE_NS
MIB = 1 << 20
ALL = (1 << 64) - 1
SCOPE = "service:demo/cache"
BY_NODE = tuple(
    f"{SCOPE}|memory.numa_stat|{name}"
    for name in ("anon[N0]", "anon[N1]", "file[N0]", "file[N1]", "shmem[N0]", "shmem[N1]")
)
METRICS = (f"{SCOPE}|metrics|load_milli", f"{SCOPE}|metrics|throughput_milli_per_s")


def simulate(minutes: int, seed: int, *, file_sd: float = 0.03) -> np.ndarray:
    """Anon and file bytes in DRAM, load and throughput [minutes, 4]; elasticities 0.5 and 0.1."""
    random = np.random.default_rng(seed)
    anon = np.cumsum(random.normal(0, 0.03, minutes))
    file = np.cumsum(random.normal(0, file_sd, minutes))
    load = random.normal(0, 0.05, minutes)
    work = 0.5 * anon + 0.1 * file + 0.3 * load + random.normal(0, 0.005, minutes)
    return np.column_stack([4e9 * np.exp(anon), 2e9 * np.exp(file), 1e6 * np.exp(load), 5e6 * np.exp(work)])


def send(
    database: Database,
    name: str,
    rows: Sequence[Sequence[int | None]],
    keys: Sequence[str],
    *,
    end_ns: int,
    cxl: bool = True,
) -> None:
    """Stores samples, one a minute, the last at `end_ns`."""
    host = enrol(database, name=name)
    order = sorted(range(len(keys)), key=lambda i: keys[i])
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=end_ns)
    ends = [end_ns - (len(rows) - 1 - i) * MINUTE for i in range(len(rows))]
    picked = [[row[i] for i in order] for row in rows]
    batches.add_counters(batch, picked, ends_ns=ends, keys=[keys[i] for i in order])
    batches.add_inventory(batch)
    if not cxl:
        del batch.inventory.nodes[1]
    assert store(database, host, [batch])


def by_node(known: np.ndarray) -> list[list[int | None]]:
    """Rows of BY_NODE and METRICS: a constant amount more lies on the slow node, and shmem is part of file."""
    rows: list[list[int | None]] = []
    for anon, file, load, work in np.rint(known).astype(np.int64).tolist():
        rows.append([anon, 7 * MIB, file, 9 * MIB, 3 * MIB, 0, load, work])
    return rows


def read(database: Database, end_ns: int, *, from_: str = "-6h") -> Sensitivity:
    now = datetime.fromtimestamp(end_ns / 1e9, tz=UTC)
    with database.read() as session:
        service = session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one()
    reads = SensitivityReads(ReadContext(database, lambda: now, Settings(_env_file=None)))
    return reads.service(service, from_=from_, to=None)


def test_a_known_truth_comes_back_with_its_interval(database: Database) -> None:
    now = batches.now_ns()
    for host in range(3):
        send(database, f"node-{host}", by_node(simulate(300, host)), (*BY_NODE, *METRICS), end_ns=now)
    view = read(database, now)
    assert (view.label, view.missing, view.errors, view.n_hosts) == ("association", None, "hac", 3)
    assert view.n_pairs == 3 * 299
    assert "numa_stat" in (view.residency or "")
    for kind, truth in zip(view.kinds, (0.5, 0.1), strict=True):
        assert kind.refused == ()
        interval = kind.elasticity.interval
        assert interval is not None
        assert interval.lo <= truth <= interval.hi
        assert interval.hi - interval.lo < 0.2
        assert any("association" in warning for warning in kind.elasticity.warnings)
    first = simulate(300, 0)[0]
    point = next(point for point in view.scatter if point.at.timestamp() == (now - 299 * MINUTE) / 1e9)
    assert (point.anon_bytes, point.file_bytes) == pytest.approx(first[:2], rel=1e-6)
    assert point.throughput == pytest.approx(first[3] / 1000, rel=1e-6)
    assert {line.kind for line in view.fit} == {"anon", "file"}


def test_bytes_on_the_slow_node_are_not_in_dram(database: Database) -> None:
    now = batches.now_ns()
    known = simulate(120, 1)
    rows = by_node(known)
    for row in rows:
        row[1] = 10**11  # anon[N1]
    send(database, "node-1", rows, (*BY_NODE, *METRICS), end_ns=now)
    view = read(database, now)
    assert max(point.anon_bytes for point in view.scatter) < 10**11


def test_on_a_host_with_one_tier_all_that_is_resident_counts(database: Database) -> None:
    now = batches.now_ns()
    known = simulate(200, 2)
    keys = (f"{SCOPE}|memory.stat|anon", f"{SCOPE}|memory.stat|file", f"{SCOPE}|memory.stat|shmem", *METRICS)
    rows: list[list[int | None]] = [
        [anon, file, MIB, load, work] for anon, file, load, work in np.rint(known).astype(np.int64).tolist()
    ]
    send(database, "node-1", rows, keys, end_ns=now, cxl=False)
    view = read(database, now)
    assert "memory.stat" in (view.residency or "")
    assert view.kinds[0].elasticity.status == "ok"
    assert len(view.scatter) == 200


def test_totals_on_a_host_with_two_tiers_say_nothing_of_dram(database: Database) -> None:
    now = batches.now_ns()
    keys = (f"{SCOPE}|memory.stat|anon", f"{SCOPE}|memory.stat|file", *METRICS)
    rows: list[list[int | None]] = [
        [anon, file, load, work] for anon, file, load, work in np.rint(simulate(100, 2)).astype(np.int64).tolist()
    ]
    send(database, "node-1", rows, keys, end_ns=now)
    view = read(database, now)
    assert view.missing is not None
    assert "DRAM" in (view.missing.reason or "")
    assert (view.scatter, view.n_pairs, view.n_effective) == ((), 0, None)
    assert view.kinds[0].elasticity.value is None


def test_without_load_the_answer_is_a_refusal_with_its_scatter(database: Database) -> None:
    now = batches.now_ns()
    rows = by_node(simulate(300, 4))
    for row in rows:
        row[6] = None
    send(database, "node-1", rows, (*BY_NODE, *METRICS), end_ns=now)
    view = read(database, now)
    assert view.missing is None
    assert len(view.scatter) == 300
    for kind in view.kinds:
        assert (kind.elasticity.status, kind.elasticity.value) == ("not_enough_data", None)
        assert any("load is not collected" in reason for reason in kind.refused)


def test_a_constant_kind_is_refused_alone(database: Database) -> None:
    now = batches.now_ns()
    send(database, "node-1", by_node(simulate(300, 5, file_sd=0.0001)), (*BY_NODE, *METRICS), end_ns=now)
    view = read(database, now)
    anon, file = view.kinds
    assert anon.elasticity.status == "ok"
    assert file.elasticity.status == "not_enough_data"
    assert "hardly varies" in (file.elasticity.reason or "")


def test_cpu_time_makes_it_throughput_per_cpu_second(database: Database) -> None:
    now = batches.now_ns()
    known = simulate(300, 6)
    rows = by_node(known)
    for minute, row in enumerate(rows):
        row.append(30_000_000 * minute)
    send(database, "node-1", rows, (*BY_NODE, *METRICS, f"{SCOPE}|cpu.stat|usage_usec"), end_ns=now)
    view = read(database, now)
    assert (view.throughput_measure, len(view.scatter)) == ("throughput_per_cpu_second", 299)
    assert view.scatter[-1].throughput == pytest.approx(known[-1, 3] / 1000, rel=1e-6)


def test_without_throughput_the_answer_says_how_to_map_it(database: Database) -> None:
    now = batches.now_ns()
    rows = [row[:6] for row in by_node(simulate(30, 7))]
    send(database, "node-1", rows, BY_NODE, end_ns=now)
    view = read(database, now)
    assert view.missing is not None
    assert "service_metrics" in (view.missing.reason or "")
    assert view.heat_index.log2_density_anon_file.status == "not_collected"
    assert {moving.loss.status for moving in view.heat_index.moving} == {"not_collected"}
    with pytest.raises(NotFound):
        SensitivityReads(ReadContext(database, utc_now, Settings(_env_file=None))).service(
            "nothing", from_=None, to=None
        )


def test_events_of_the_window_are_confounders(database: Database) -> None:
    now = batches.now_ns()
    send(database, "node-1", by_node(simulate(60, 8)), (*BY_NODE, *METRICS), end_ns=now)
    with database.read() as session:
        service = session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one()
    at = datetime.fromtimestamp(now / 1e9 - 600, tz=UTC)
    event = EventRequest(at=at, kind="deploy", text="cache 2.1", host_id=None, service_id=service)
    Events(database).create(event, actor="ci", idempotency_key=None)
    view = read(database, now)
    assert any("deploy" in line and "cache 2.1" in line for line in view.confounders)
    assert any("autoscaling" in line for line in view.confounders)


def add_heat(database: Database, *, end_ns: int, backend: heat_pb2.HeatBackend, loads: tuple[int, int] | None) -> None:
    """Stores an interval: 400 MiB anon of which 80 were touched, 600 MiB file of which 20 were; loads of each."""
    host = enrol(database, name="node-heat")
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=end_ns)
    ages = [[80, 0, 0, 0, 0, 320, 0, 0, 0], [20, 0, 0, 0, 0, 580, 0, 0, 0]]
    sampled = (
        {
            "samples_known": True,
            "load_samples": list(loads),
            "store_samples": [0, 0],
            "period_events": 200.0,
            "duty_ratio": 1.0,
        }
        if loads
        else {}
    )
    batch.heat.add(
        backend=backend,
        granularity=heat_pb2.GRANULARITY_PAGE,
        interval_ns=MINUTE,
        end_wall_ns=[end_ns] * 2,
        service_ref=[batches.intern(batch, "demo/cache")] * 2,
        group_ref=[batches.intern(batch, "server")] * 2,
        kind=[heat_pb2.PAGE_KIND_ANON, heat_pb2.PAGE_KIND_FILE],
        page_size_bytes=[4096] * 2,
        tier_ref=[batches.intern(batch, "dram"), batches.intern(batch, "cxl")],
        validity=[ALL] * 2,
        resident_bytes=[400 * MIB, 600 * MIB],
        age_bytes=(np.array(ages, "<i8") * MIB).tobytes(),
        never_bytes=np.zeros(18, "<i8").tobytes(),
        active_count_bytes=(np.array([[320, 80, *[0] * 9], [580, 20, *[0] * 9]], "<i8") * MIB).tobytes(),
        active_lo_bytes=(np.array([[80] * 4, [20] * 4], "<i8") * MIB).tobytes(),
        active_hi_bytes=(np.array([[80] * 4, [20] * 4], "<i8") * MIB).tobytes(),
        **sampled,
    )
    batches.add_inventory(batch)
    assert store(database, host, [batch])


def test_the_index_of_heat_needs_no_throughput(database: Database) -> None:
    now = batches.now_ns()
    add_heat(database, end_ns=now, backend=heat_pb2.HEAT_BACKEND_ABIT_WALK, loads=None)
    index = read(database, now).heat_index
    assert index.log2_density_anon_file.value == pytest.approx(np.log2(2.0 / (1 / 3)))
    assert any("accessed bits" in warning for warning in index.log2_density_anon_file.warnings)
    anon, file = index.moving
    assert [anon.share_of_accesses.value, file.share_of_accesses.value] == pytest.approx([0.8, 0.2])
    belief, moved = Belief(latency_measured=False), ShareOnSlow.exactly(anon.share_of_accesses.value or 0.0)
    assert anon.loss.value == belief.loss_median(moved)
    assert anon.loss.interval is not None
    assert (anon.loss.interval.lo, anon.loss.interval.hi) == (belief.loss_lower(moved), belief.loss_upper(moved))
    assert any("without measurements" in warning for warning in anon.loss.warnings)


def test_samplers_give_the_index_by_their_loads(database: Database) -> None:
    now = batches.now_ns()
    add_heat(database, end_ns=now, backend=heat_pb2.HEAT_BACKEND_PEBS, loads=(300, 700))
    index = read(database, now).heat_index
    anon, file = index.moving
    assert [anon.share_of_accesses.value, file.share_of_accesses.value] == pytest.approx([0.3, 0.7])
    assert index.log2_density_anon_file.value == pytest.approx(np.log2((0.3 / 0.4) / (0.7 / 0.6)))
    assert index.log2_density_anon_file.method == "pebs"
