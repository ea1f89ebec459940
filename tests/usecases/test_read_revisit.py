"""Revisit as read: gaps of all blocks, open ones of the newest, by one method, with what is missing."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from scipy import stats

from factories import batches
from factories.installations import Enrolled, enrol, store
from tierscope.core.database import Database
from tierscope.core.errors import NotFound
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.curve.reaccess import Revisit, RevisitReads
from tierscope.wire._generated import heat_pb2

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
MINUTE = batches.MINUTE_NS
ANON, FILE = heat_pb2.PAGE_KIND_ANON, heat_pb2.PAGE_KIND_FILE
Lengths = Mapping[int, int]


def packed(bytes_at: Lengths) -> bytes:
    row = np.zeros(63, "<i8")
    for length, value in bytes_at.items():
        row[length - 1] = value
    return row.tobytes()


def send(
    database: Database,
    host: Enrolled,
    now: int,
    blocks: list[tuple[Lengths, Lengths, Lengths]],
    *,
    kind: heat_pb2.PageKind = ANON,
    backend: heat_pb2.HeatBackend = heat_pb2.HEAT_BACKEND_ABIT_WALK,
    seq: int = 0,
) -> None:
    """Stores blocks of ten intervals that end every ten minutes, the last one now. Each: closed, freed, open."""
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now, seq=seq)
    for index, (closed, freed, open_) in enumerate(blocks):
        batch.gaps.add(
            backend=backend,
            granularity=heat_pb2.GRANULARITY_PAGE,
            interval_ns=MINUTE,
            end_wall_ns=now - (len(blocks) - 1 - index) * 10 * MINUTE,
            intervals=10,
            service_ref=[batches.intern(batch, "demo/cache")],
            group_ref=[batches.intern(batch, "server")],
            kind=[kind],
            closed_bytes=packed(closed),
            freed_bytes=packed(freed),
            open_bytes=packed(open_),
        )
    batches.add_inventory(batch)
    assert store(database, host, [batch])


def read(database: Database, now: int, **options: object) -> Revisit:
    at = datetime.fromtimestamp(now / 1e9, tz=UTC)
    context = ReadContext(database, lambda: at, Settings(_env_file=None))
    with database.read() as session:
        service_id = session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one()
    asked: dict[str, Any] = {
        "clock": "last_access",
        "idle_intervals": 2,
        "host": None,
        "method": None,
        "from_": "-1h",
        "to": None,
        **options,
    }
    return RevisitReads(context).service(service_id, **asked)


def test_open_gaps_count_once_and_ended_ones_add_up(database: Database) -> None:
    now = batches.now_ns()
    send(database, enrol(database), now, [({1: 30}, {}, {3: 1000}), ({1: 30}, {}, {5: 20, 2: 20})])
    view = read(database, now)
    curve = view.curves[0]
    assert (view.backend, curve.kind, curve.method, curve.last_known_lag) == ("abit_walk", "anon", "kaplan_meier", 5)
    assert curve.share[0] == pytest.approx(60 / 100)
    assert curve.share[5] is None
    within_one, within_ten = curve.figures[0], curve.figures[3]
    assert (within_one.value, within_one.grade, within_one.n_hosts) == (pytest.approx(0.6), "early", 1)
    assert (within_ten.status, within_ten.value) == ("not_enough_data", None)


def test_unmaps_compete_where_they_are_frequent(database: Database) -> None:
    now = batches.now_ns()
    send(database, enrol(database), now, [({1: 1, 3: 1}, {2: 1}, {4: 1})])
    curve = read(database, now).curves[0]
    assert curve.method == "cumulative_incidence"
    assert curve.share[:4] == pytest.approx((0.25, 0.25, 0.5, 0.5))


def test_kinds_stand_apart_and_together_and_the_clock_can_start_at_cold(database: Database) -> None:
    now, host = batches.now_ns(), enrol(database)
    send(database, host, now, [({1: 50, 4: 50}, {}, {})])
    send(database, host, now, [({10: 100}, {}, {})], kind=FILE, seq=1)
    send(database, host, now, [({10: 100}, {}, {})], kind=FILE, seq=2)
    view = read(database, now)
    assert [curve.kind for curve in view.curves] == ["all", "anon", "file"]
    assert view.curves[0].share[0] == pytest.approx(50 / 200), "a repeated row counts once"
    cold = read(database, now, clock="turned_cold").curves[1]
    assert cold.share[1] == pytest.approx(1.0)
    assert cold.clock == "turned_cold"


def test_hosts_give_a_band(database: Database) -> None:
    now = batches.now_ns()
    for index in range(4):
        send(database, enrol(database, name=f"n{index}"), now, [({1: 40 + 5 * index, 5: 60}, {}, {})])
    figure = read(database, now).curves[0].figures[0]
    assert figure.n_hosts == 4
    assert figure.interval is not None
    assert figure.interval.lo < (figure.value or 0) < figure.interval.hi


@pytest.mark.parametrize(("seen", "first"), [(0.3, 5), (0.9, 1)])
def test_samplers_tell_lags_that_they_do_not_stretch_much(database: Database, seen: float, first: int) -> None:
    now, host = batches.now_ns(), enrol(database)
    send(database, host, now, [({1: 50, 6: 30, 12: 20}, {}, {})], backend=heat_pb2.HEAT_BACKEND_PEBS)
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now, seq=1)
    batches.add_heat(batch)
    block = batch.heat[0]
    block.backend, block.granularity = heat_pb2.HEAT_BACKEND_PEBS, heat_pb2.GRANULARITY_PAGE
    of_ten = stats.binom.pmf(np.arange(11), 10, seen) * 2**40
    block.active_count_bytes = of_ten.astype("<i8").tobytes()
    block.active_lo_bytes, block.active_hi_bytes = (np.full(4, edge, "<i8").tobytes() for edge in (2**38, 2**39))
    assert store(database, host, [batch])
    curve = read(database, now).curves[0]
    assert [share is None for share in curve.share[:12]] == [True] * (first - 1) + [False] * (13 - first)
    assert curve.share[5] == pytest.approx(0.8)
    assert (curve.lo[5], curve.hi[5]) == (pytest.approx(0.4), 1.0), "half of the active memory may have been missed"
    assert curve.figures[0].status == ("ok" if first == 1 else "not_supported")
    cold = read(database, now, clock="turned_cold")
    assert (cold.missing is None) == (first == 1), "whether a page turned cold is not told by few samples"
    send(database, enrol(database, name="n2"), now, [({1: 1}, {}, {})])
    assert read(database, now).backend == "abit_walk", "one host of many that misses nothing tells more"


def test_what_is_missing_is_said(database: Database) -> None:
    now, host = batches.now_ns(), enrol(database)
    send(database, host, now, [({1: 1}, {}, {})], backend=heat_pb2.HEAT_BACKEND_PEBS)
    sampled = read(database, now)
    assert sampled.curves == ()
    assert sampled.missing is not None
    assert sampled.missing.status == "not_supported"
    nothing = read(database, now, method="trace")
    assert nothing.missing is not None
    assert (nothing.missing.status, nothing.other_methods) == ("not_collected", ("pebs",))
    with pytest.raises(NotFound):
        read(database, now, host="h_none")
