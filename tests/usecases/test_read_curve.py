"""Served accesses as read: stored page samples against the truth of simulated hosts, and what is refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from factories import batches
from factories.activity import add_gap_block, add_tiered_heat
from factories.installations import Enrolled, enrol, store
from factories.page_samples import HOUR_NS, Memory, add_samples, make_memory
from tierscope.core.database import Database
from tierscope.core.errors import NotFound
from tierscope.core.settings import Settings
from tierscope.domain.base.figures import Window
from tierscope.domain.curve.bands import ServedBand
from tierscope.domain.curve.hit_ratio import DRAM_SHARES, Pages, cross_fitted_curve, density_curve
from tierscope.domain.ratio import RATIOS
from tierscope.storage.base.subjects import find_service
from tierscope.storage.curve import page_samples
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.curve import sources as curve_sources
from tierscope.usecases.curve.pages import NoCurve, PagesOfHosts, scale_hosts
from tierscope.usecases.curve.reads import Curve, CurveReads, serve
from tierscope.usecases.curve.sources import read_curve_samples
from tierscope.wire._generated import heat_pb2

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
ABIT, PEBS, TRACE = heat_pb2.HEAT_BACKEND_ABIT_WALK, heat_pb2.HEAT_BACKEND_PEBS, heat_pb2.HEAT_BACKEND_TRACE
ANON, FILE = heat_pb2.PAGE_KIND_ANON, heat_pb2.PAGE_KIND_FILE


def this_hour() -> int:
    """The end of the newest whole hour."""
    return batches.now_ns() // HOUR_NS * HOUR_NS


def now() -> datetime:
    return datetime.fromtimestamp(this_hour() / 1e9, tz=UTC) + timedelta(minutes=1)


def send(
    database: Database,
    host: Enrolled,
    memory: Memory,
    *,
    backend: heat_pb2.HeatBackend,
    ratios: Sequence[float] = (1.0,),
    seq: int = 0,
    **options: object,
) -> None:
    """Stores the memory of a host, a block an hour; the last one ends with the newest whole hour. `ratios` by hour."""
    hours = -(-memory.accesses.shape[1] // 60)
    for hour in range(hours):
        end = this_hour() - (hours - 1 - hour) * HOUR_NS
        batch = batches.make_batch(host_id=host.id, sealed_wall_ns=end, seq=seq + hour)
        ratio = ratios[hour % len(ratios)]
        asked: dict[str, Any] = {"first": hour * 60, "count": 60, "ratio": ratio, **options}
        add_samples(batch, memory, end_ns=end, backend=backend, **asked)
        batches.add_inventory(batch)
        assert store(database, host, [batch])


def service_of(database: Database) -> str:
    with database.read() as session:
        return str(session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one())


@dataclass(frozen=True)
class Found:
    """The lower bound of the curve of all hosts, with its band and what it was made from."""

    served: np.ndarray
    band: ServedBand
    pages: PagesOfHosts


def served(database: Database, *, shares: Sequence[float] | None = None) -> Found | NoCurve:
    with database.read() as session:
        service = find_service(session, service_of(database))
        assert service is not None
        samples = read_curve_samples(session, service.id, Window(now() - timedelta(hours=6), now())).samples
        assert samples is not None
    pages = scale_hosts(samples, {})
    if isinstance(pages, NoCurve):
        return pages
    band = serve(pages, DRAM_SHARES if shares is None else np.array(sorted(shares)))
    return band if isinstance(band, NoCurve) else Found(band.low, band, pages)


def found_curve(database: Database, *, shares: Sequence[float] | None = None) -> Found:
    found = served(database, shares=shares)
    assert isinstance(found, Found), found
    return found


def read(database: Database, **options: object) -> Curve:
    reads = CurveReads(ReadContext(database, now, Settings(_env_file=None)))
    asked: dict[str, Any] = {"host": None, "kind": None, "method": None, "from_": "-6h", "to": None, **options}
    return reads.service(service_of(database), **asked)


def skewed(pages: int, intervals: int, seed: int, *, per_page: float = 2.0) -> np.ndarray:
    """Accesses of pages that differ much in how often they are accessed."""
    random = np.random.default_rng(seed)
    return random.poisson(random.lognormal(0.0, 1.2, pages)[:, None] * per_page, (pages, intervals))


def truth(accesses: np.ndarray, shares: np.ndarray = DRAM_SHARES) -> np.ndarray:
    return density_curve(Pages(accesses.astype(float), np.ones(len(accesses))), shares)


def fitted(memory: Memory, kept: np.ndarray) -> np.ndarray:
    """The cross-fitted curve of some pages, ties by hash. The first of the intervals is odd: hours have 60 of them."""
    order = np.argsort(memory.ids[kept].view(np.int64))
    accesses = memory.accesses[kept][order].astype(float)
    return cross_fitted_curve(Pages(accesses, np.ones(len(accesses))), DRAM_SHARES)


def test_a_whole_trace_gives_its_own_curve_exactly(database: Database) -> None:
    accesses = skewed(200, 120, 1)
    send(database, enrol(database), make_memory(accesses), backend=TRACE)
    found = found_curve(database)
    np.testing.assert_allclose(found.served, truth(accesses), rtol=1e-12)
    assert (found.band.lo, found.band.level, found.pages.samples.counts, found.pages.n_intervals) == (
        None,
        None,
        True,
        120,
    )
    view = read(database)
    assert view.curves[0].estimator == "in_sample_exact"
    assert view.n_accesses == accesses.sum()
    assert view.at_ratios[0].served.interval is None


def test_blocks_join_by_page_at_the_lowest_rate(database: Database) -> None:
    accesses = skewed(3000, 180, 2)
    memory = make_memory(accesses)
    send(database, enrol(database), memory, backend=TRACE, ratios=(0.5, 0.125, 0.5))
    found = found_curve(database)
    assert found.pages.n_pages == memory.selected(0.125).sum()
    np.testing.assert_allclose(found.served, fitted(memory, memory.selected(0.125)), rtol=1e-9)
    assert found.band.lo is not None
    assert found.band.hi is not None
    inside = (found.band.lo <= truth(accesses)) & (truth(accesses) <= found.band.hi)
    assert inside.all()


def test_hosts_are_weighed_by_traffic_scaled_by_their_own_rate(database: Database) -> None:
    busy, quiet = np.full((200, 60), 3), np.full((200, 60), 2)
    busy[:40] = 150
    send(database, enrol(database, name="a"), make_memory(busy), backend=TRACE)
    send(database, enrol(database, name="b"), make_memory(quiet), backend=PEBS, period_events=100.0, seen_only=True)
    view = read(database)
    assert (view.backend, view.other_methods) == ("trace", ("pebs",)), "methods are never joined"
    memory = make_memory(quiet, seed=3)
    send(database, enrol(database, name="c"), memory, backend=TRACE, ratios=(0.5,))
    found = found_curve(database, shares=[0.2])
    of_busy, of_quiet = busy.sum() / 60, quiet[memory.selected(0.5)].sum() / 60 / 0.5
    both = (of_busy * 40 * 150 / (40 * 150 + 160 * 3) + of_quiet * 0.2) / (of_busy + of_quiet)
    assert found.served[0] == pytest.approx(both)
    assert len(found.pages.hosts) == 2


def test_groups_of_one_host_share_its_dram_each_scaled_by_its_rate(database: Database) -> None:
    dense, thin = make_memory(np.full((300, 60), 8), seed=1), make_memory(np.full((300, 60), 1), seed=2)
    batch = batches.make_batch(host_id=(host := enrol(database)).id, sealed_wall_ns=this_hour())
    add_samples(batch, dense, end_ns=this_hour(), backend=TRACE, ratio=0.25, group="server")
    add_samples(batch, thin, end_ns=this_hour(), backend=TRACE, ratio=1.0, group="helper")
    batches.add_inventory(batch)
    assert store(database, host, [batch])
    dense_pages = 4 * int(dense.selected(0.25).sum())
    share = dense_pages / (dense_pages + 300)
    found = found_curve(database, shares=[share])
    assert found.served[0] == pytest.approx(8 * dense_pages / (8 * dense_pages + 300))


def test_active_bits_are_page_intervals_and_say_so(database: Database) -> None:
    accesses = (np.random.default_rng(4).random((1000, 120)) < np.linspace(0.9, 0.01, 1000)[:, None]).astype(int)
    send(database, enrol(database), make_memory(accesses), backend=ABIT)
    view = read(database)
    top = view.curves[0]
    assert (top.estimator, top.measure, view.n_accesses) == ("cross_fitted", "page_intervals", None)
    for lo, value, hi, exact in zip(top.lo, top.served, top.hi, truth(accesses), strict=True):
        assert lo is not None
        assert value is not None
        assert hi is not None
        assert lo <= value <= exact + 1e-9
        assert exact <= hi + 1e-9
    assert any("counts no accesses" in note for note in view.notes)
    assert all("not of accesses" in "".join(item.served.warnings) for item in view.at_ratios)


def test_unseen_traffic_of_samplers_lowers_the_bound(database: Database) -> None:
    random = np.random.default_rng(5)
    rates = random.lognormal(0.0, 1.5, 2000) * 0.02
    accesses = random.poisson(rates[:, None], (2000, 120))
    memory = make_memory(accesses)
    send(database, enrol(database), memory, backend=PEBS, period_events=1000.0, seen_only=True)
    found = found_curve(database)
    totals = accesses.sum(axis=1)
    unseen = (totals == 1).sum() / totals.sum()
    assert found.pages.traffic_coverage == pytest.approx(1 - unseen)
    np.testing.assert_allclose(found.served, (1 - unseen) * fitted(memory, totals > 0), rtol=1e-9)
    view = read(database)
    assert view.curves[0].served[-1] == pytest.approx(1.0)
    assert view.curves[0].lo[-1] == pytest.approx(1 - unseen, abs=1e-6)
    assert view.log2_density_anon_file.status == "not_enough_data", "resident bytes by kind are not known without heat"


def test_missed_intervals_say_nothing(database: Database) -> None:
    accesses = skewed(300, 60, 6)
    missed = range(10, 20)
    send(database, enrol(database), make_memory(accesses), backend=TRACE, missed=missed)
    found = found_curve(database)
    np.testing.assert_allclose(found.served, truth(np.delete(accesses, list(missed), axis=1)), rtol=1e-12)
    assert (found.pages.n_intervals, found.pages.samples.coverage) == (50, pytest.approx(50 / 60))


def test_repeated_blocks_count_once_and_bodies_are_read_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    accesses = skewed(300, 60, 7)
    host, memory = enrol(database), make_memory(accesses)
    send(database, host, memory, backend=TRACE)
    send(database, host, memory, backend=TRACE, seq=5)
    first = found_curve(database)
    assert first.pages.n_samples == accesses.sum()
    bodies: list[int] = []
    whole = page_samples.read_samples

    def counted(*args: Any) -> Any:  # noqa: ANN401 - passed on as they are
        bodies.append(len(args[2]))
        return whole(*args)

    monkeypatch.setattr(curve_sources, "read_samples", counted)
    np.testing.assert_array_equal(found_curve(database).served, first.served)
    assert bodies == [0]


def test_more_blocks_than_one_answer_reads_are_thinned_by_whole_hours(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(database, enrol(database), make_memory(skewed(200, 600, 8)), backend=TRACE)
    monkeypatch.setattr(curve_sources, "MAX_BLOCKS", 3)
    view = read(database, from_="-20h")
    assert view.n_accesses is not None
    assert any(note.startswith("One hour in 5 ") for note in view.notes)
    assert view.at_ratios[0].served.n_intervals == 120


def test_density_by_kind_and_the_index(database: Database) -> None:
    accesses = np.vstack([np.full((400, 60), 4), np.full((600, 60), 1)])
    kinds = np.array([ANON] * 400 + [FILE] * 600)
    for name in ("a", "b", "c"):
        memory = make_memory(accesses, kinds=kinds, seed=len(name))
        send(database, enrol(database, name=name), memory, backend=TRACE)
    view = read(database)
    anon, file = view.density
    assert (anon.kind, file.kind) == ("anon", "file")
    assert anon.bytes_ratio.value == pytest.approx(0.4)
    assert anon.accesses_ratio.value == pytest.approx(1600 / 2200)
    assert anon.density.value == pytest.approx(1600 / 2200 / 0.4)
    assert anon.density.unit == "1", "a density is no share: it may be far above one"
    index = view.log2_density_anon_file
    assert index.value == pytest.approx(2.0)
    assert index.interval is not None
    assert index.interval.lo <= 2.0 <= index.interval.hi
    assert (index.n_hosts, index.grade) == (3, "good")
    of_file = read(database, kind="file").curves[0]
    assert of_file.served[9] == pytest.approx(0.5)


def test_figures_stand_at_the_ratios_that_are_sold(database: Database) -> None:
    send(database, enrol(database), make_memory(skewed(500, 60, 9)), backend=TRACE, ratios=(0.5,))
    view = read(database)
    assert [(item.ratio, item.dram_ratio) for item in view.at_ratios] == list(RATIOS)
    for item in view.at_ratios:
        figure = item.served
        assert figure.interval is not None
        assert figure.value is not None
        assert figure.interval.lo <= figure.value <= figure.interval.hi
        assert (figure.grade, figure.n_hosts, figure.n_intervals) == ("early", 1, 60)


def test_gaps_give_the_lru_curve_without_page_samples(database: Database) -> None:
    for name in ("a", "b"):
        end = this_hour()
        batch = batches.make_batch(host_id=(host := enrol(database, name=name)).id, sealed_wall_ns=end)
        add_gap_block(batch, end, {1: 50, 2: 20, 4: 20}, open_={4: 10})
        for minute in range(10):
            add_tiered_heat(batch, end - minute * batches.MINUTE_NS, {"dram": (100, 900)})
        batches.add_inventory(batch)
        assert store(database, host, [batch])
    view = read(database)
    (curve,) = view.curves
    assert (curve.name, curve.estimator, curve.measure) == ("lru_interval", "aet", "page_intervals")
    # 50, 30, 30 and 10 of 100 touches come back later than 1, 2, 3 and 4 intervals, of 100 MiB each: an LRU of 100 MiB
    # holds one interval, 150 two, 180 three and 210 four. Of 50 MiB gaps do not tell.
    assert curve.served[0] is None
    assert (curve.lo[0], curve.hi[0]) == pytest.approx((0.0, 0.5))
    assert curve.served[1:4] == pytest.approx((0.5, 0.7, 0.7 + 0.2 * 20 / 30))
    assert curve.served[-1] is None
    assert curve.lo[-1] == pytest.approx(0.9)
    assert curve.hi[-1] == 1.0
    assert view.missing is not None
    assert view.missing.status == "not_collected"


@pytest.mark.parametrize(
    ("pages", "intervals", "per_page", "reason"),
    [
        (20, 60, 9.0, "20 sampled pages: 30 are needed"),
        (40, 60, 0.01, "sampled accesses: 1000 are needed"),
        (900, 6, 9.0, "6 observed intervals: 10 are needed"),
    ],
)
def test_too_little_is_refused_with_what_is_missing(
    database: Database, pages: int, intervals: int, per_page: float, reason: str
) -> None:
    send(database, enrol(database), make_memory(skewed(pages, intervals, 3, per_page=per_page)), backend=TRACE)
    found = served(database)
    assert isinstance(found, NoCurve)
    assert found.status == "not_enough_data"
    assert reason in found.reason
    view = read(database)
    assert view.missing is not None
    assert (view.missing.status, view.curves) == ("not_enough_data", ())
    assert {item.served.status for item in view.at_ratios} == {"not_enough_data"}


def test_samples_that_miss_most_of_the_traffic_are_refused(database: Database) -> None:
    accesses = (np.random.default_rng(2).random((4000, 60)) < 0.01).astype(int)
    send(database, enrol(database), make_memory(accesses), backend=PEBS, period_events=1000.0, seen_only=True)
    found = served(database)
    assert isinstance(found, NoCurve)
    assert "of the traffic: 50% are needed" in found.reason


def test_nothing_sampled_is_not_collected(database: Database) -> None:
    host = enrol(database)
    batch = batches.make_batch(host_id=host.id)
    batches.add_inventory(batch)
    assert store(database, host, [batch])
    view = read(database)
    assert view.missing is not None
    assert (view.missing.status, view.method, view.density) == ("not_collected", "none", ())
    with pytest.raises(NotFound):
        read(database, host="h_none")
