"""What-if of cost with an installation: prices of the book, losses of advice and of runs, memory as measured."""

import math
from datetime import date, datetime, timedelta

import pytest

from factories.ratio_services import now, send_history
from fixtures.histories import Histories
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import BadRequest, NotFound, Unprocessable
from tierscope.core.settings import Settings
from tierscope.domain.simulate import WORKLOAD_INTERVALS, WORKLOAD_PAGES
from tierscope.domain.simulate.frontier import Prices as ByteRatios
from tierscope.domain.slowdown import device_presets
from tierscope.domain.tco.scenario import GIB
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.ratio.reads import RatioReads
from tierscope.usecases.recordings.replay import Wanted, simulate_workload
from tierscope.usecases.simulate.reads import SweepReads
from tierscope.usecases.simulate.spec import NewSweep, SweepSourceRequest
from tierscope.usecases.simulate.work import SweepWork
from tierscope.usecases.simulate.writes import SweepWrites
from tierscope.usecases.tco.answers import LossSource
from tierscope.usecases.tco.losses import ServiceFacts
from tierscope.usecases.tco.prices import PriceRequest, Prices
from tierscope.usecases.tco.reads import TcoReads
from tierscope.usecases.tco.scenario_documents import (
    LossDocument,
    PriceDocument,
    ScenarioDocument,
    ServiceLoss,
    ServiceNeed,
    SweepLoss,
    WorkloadLoss,
)
from tierscope.usecases.tco.scenarios import Scenarios, starting_point

DRAWS = 200
pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
START = starting_point().spec
PRICED = START.model_copy(
    update={
        "prices": START.prices.model_copy(
            update={"dram": PriceDocument(value=11.0, low=9.0, high=14.0, source="contract", date=date(2026, 11, 1))}
        )
    }
)


def reads_of(database: Database, clock: datetime | None = None) -> TcoReads:
    """The use case at a moment."""
    context = ReadContext(database, lambda: clock or utc_now(), Settings())
    return TcoReads(context, ServiceFacts(context))


def with_loss(document: ScenarioDocument, loss: LossDocument, **changed: object) -> ScenarioDocument:
    """The scenario with its first option alone, losing that."""
    option = document.options[0].model_copy(update={"loss": loss, **changed})
    return document.model_copy(update={"options": [option]})


def test_without_a_price_of_dram_nothing_is_costed(database: Database) -> None:
    view = reads_of(database).evaluate(START, draws=DRAWS, seed=1)
    assert (view.baseline, view.options, view.price_date) == (None, (), None)
    assert [(item.what, item.path) for item in view.missing] == [("dram price", "prices.dram")]
    assert [preset.value for preset in view.missing[0].presets] == [7.0, 11.0, 32.0]
    assert all(preset.source for preset in view.missing[0].presets)
    with pytest.raises(Unprocessable, match="dram price"):
        reads_of(database).sheet(START, draws=100, seed=1)


def test_a_confirmed_price_stands_in_and_a_stated_one_wins(database: Database) -> None:
    Prices(database).confirm("preset-dram-2025-mid", actor="ann")
    view = reads_of(database).evaluate(START, draws=DRAWS, seed=1)
    dram = next(item for item in view.inputs if item.name == "dram")
    assert (dram.value, dram.origin, dram.date, view.price_date) == (
        7.0,
        "price_book",
        date(2025, 7, 1),
        date(2025, 7, 1),
    )
    assert "confirmed by ann" in dram.source
    assert any("days ago" in note for note in view.notes)
    stated = reads_of(database).evaluate(PRICED, draws=DRAWS, seed=1)
    dram = next(item for item in stated.inputs if item.name == "dram")
    assert (dram.value, dram.origin) == (11.0, "scenario")


def test_currencies_are_never_mixed(database: Database) -> None:
    Prices(database).confirm("preset-dram-2025-mid", actor="ann")
    bare = START.model_copy(update={"currency": "EUR", "prices": type(START.prices)()})
    view = reads_of(database).evaluate(bare, draws=DRAWS, seed=1)
    asked = {item.path for item in view.missing}
    assert asked == {"prices.dram", "prices.ddr4_reused", "prices.cxl_controller", "prices.electricity"}
    assert all(item.presets == () for item in view.missing)
    with pytest.raises(Unprocessable, match=r"prices\.\w+: the price is in USD, the scenario in EUR"):
        reads_of(database).evaluate(START.model_copy(update={"currency": "EUR"}), draws=DRAWS, seed=1)
    euro = PriceRequest("dram", 10.0, None, None, "EUR", "contract", date(2026, 10, 1), confirm=True)
    Prices(database).create(euro, actor="ann")
    view = reads_of(database).evaluate(bare, draws=DRAWS, seed=1)
    assert "prices.dram" not in {item.path for item in view.missing}


def test_memory_behind_cxl_without_a_price_costs_what_dram_costs(database: Database) -> None:
    view = reads_of(database).evaluate(PRICED, draws=DRAWS, seed=1)
    cxl = next(item for item in view.inputs if item.name == "cxl_media")
    assert (cxl.value, cxl.low, cxl.high, cxl.origin) == (11.0, 9.0, 14.0, "follows_dram")
    parts = {part.name: part for part in view.options[0].per_host.parts}
    assert parts["cxl_media"].capex == 512.0 * 11.0
    assert "ssd" not in {item.name for item in view.inputs}


def test_the_loss_and_the_need_of_a_service_are_what_its_advice_says(histories: Histories) -> None:
    database, _ = histories.copy(send_history)
    reads = reads_of(database, now())
    document = with_loss(PRICED, ServiceLoss(kind="service", service="demo/cache"))
    document = document.model_copy(update={"memory": ServiceNeed(kind="service", service="demo/cache")})
    view = reads.evaluate(document, draws=4_000, seed=1)
    assert view.missing == ()
    context = ReadContext(database, now, Settings())
    service = RatioReads(context)
    with database.read() as session:
        found = session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one()
    advice = service.service(found, loss_target=0.05, hold_hot=False, growth=0.0, from_=None, to=None)
    assert advice.sweep is not None
    at = advice.sweep.dram_ratio.index(0.5)
    loss = view.options[0].loss
    assert math.isclose(loss.value, advice.sweep.loss_median[at], rel_tol=1e-9)
    assert math.isclose(loss.high, advice.sweep.loss_upper[at], rel_tol=1e-9)
    assert (loss.kind, loss.distribution) == ("service", "log_normal_odds")
    assert view.memory is not None
    assert view.memory.hot_bytes.value == pytest.approx(10.0 * GIB, rel=0.2)
    assert view.options[0].fit is not None
    assert view.options[0].fit.holds_required
    assert view.options[0].fit.dram_holds_hot
    small = with_loss(document, ServiceLoss(kind="service", service="demo/cache", dram_ratio=0.3), dram_gb=8.0)
    option = reads.evaluate(small, draws=DRAWS, seed=1).options[0]
    assert option.fit is not None
    assert option.fit.dram_holds_hot is False
    assert any("hot pages will be on slow memory" in warning for warning in option.warnings)


@pytest.mark.parametrize(
    ("loss", "cause"),
    [
        (ServiceLoss(kind="service", service="demo/none"), "there is no service"),
        (ServiceLoss(kind="service", service="demo/cache", dram_ratio=0.05), "advice reaches from 15%"),
        (ServiceLoss(kind="service", service="demo/cache", device="cxl-none"), "there is no device 'cxl-none'"),
        (SweepLoss(kind="sweep", sweep_id="none", run_id="0"), "sweep"),
    ],
)
def test_a_loss_that_is_not_known_is_missing(histories: Histories, loss: LossDocument, cause: str) -> None:
    database, _ = histories.copy(send_history)
    view = reads_of(database, now()).evaluate(with_loss(PRICED, loss), draws=DRAWS, seed=1)
    assert [item.path for item in view.missing] == ["options[0].loss"]
    assert cause in view.missing[0].why
    assert view.options == ()


def test_a_refusal_of_the_advice_is_passed_on(histories: Histories) -> None:
    database, _ = histories.copy(send_history, days=2, pages=40, per_page=0.01)
    view = reads_of(database, now()).evaluate(
        with_loss(PRICED, ServiceLoss(kind="service", service="demo/cache")), draws=DRAWS, seed=1
    )
    assert view.missing[0].why.startswith("no advice for demo/cache: ")
    assert view.missing[0].next_step


def test_the_loss_of_a_simulated_run_counts_and_says_so(database: Database) -> None:
    source = SweepSourceRequest("workload", None, None, "zipf", 2000, 30, None, None, None)
    new = NewSweep("try", source, ("tpp",), (0.5,), {}, {}, 1, None, ByteRatios(0.5, 0.05))
    made = SweepWrites(database).create(new, actor="ann")
    SweepWork(database, utc_now).run(at_most=timedelta(minutes=2))
    context = ReadContext(database, utc_now, Settings())
    cell = SweepReads(context).results(made.id).cells[0]
    view = reads_of(database).evaluate(
        with_loss(PRICED, SweepLoss(kind="sweep", sweep_id=made.id, run_id=cell.run_id)), draws=500, seed=1
    )
    loss = view.options[0].loss
    assert cell.loss.value is not None
    assert cell.loss.interval is not None
    assert (loss.kind, loss.simulated) == ("sweep", True)
    assert math.isclose(loss.value, cell.loss.value, rel_tol=1e-9)
    assert math.isclose(loss.high, cell.loss.interval.hi, rel_tol=1e-9)
    assert "The loss is simulated." in view.options[0].warnings


def test_the_loss_of_a_workload_is_that_of_its_replay(database: Database) -> None:
    document = with_loss(PRICED, WorkloadLoss(kind="workload", workload="YCSB-A", policy="hot_page_selection"))
    loss = reads_of(database).evaluate(document, draws=DRAWS, seed=1).options[0].loss
    host = document.options[0]
    assert host.cxl is not None
    share = host.dram_gb / (host.dram_gb + host.cxl.gb)
    wanted = Wanted(["hot_page_selection"], share, None, {}, None)
    run = simulate_workload("ycsb_a", wanted, pages=WORKLOAD_PAGES, intervals=WORKLOAD_INTERVALS).runs[0]
    assert run.loss is not None
    assert (loss.kind, loss.simulated, loss.value) == ("workload", True, pytest.approx(run.loss.median))
    assert loss.high == pytest.approx(run.loss.hi)
    assert loss.source.startswith("simulated: YCSB A: update heavy under hot_page_selection")


@pytest.mark.parametrize(
    ("loss", "cause"),
    [
        (WorkloadLoss(kind="workload", workload="ycsb-z"), "there is no workload 'ycsb-z'"),
        (WorkloadLoss(kind="workload", workload="ycsb-a", policy="magic"), "magic"),
        (WorkloadLoss(kind="workload", workload="ycsb-a", device="/etc/hostname"), "no device '/etc/hostname'"),
    ],
)
def test_a_workload_that_cannot_be_replayed_is_missing(database: Database, loss: WorkloadLoss, cause: str) -> None:
    view = reads_of(database).evaluate(with_loss(PRICED, loss), draws=DRAWS, seed=1)
    assert cause in view.missing[0].why
    assert view.missing[0].next_step


@pytest.mark.parametrize("kind", ["service", "workload"])
def test_a_loss_follows_the_slow_memory_that_is_meant(histories: Histories, kind: str) -> None:
    database, _ = histories.copy(send_history)
    made = reads_of(database, now())

    def loss(device: str | None) -> LossSource:
        asked: LossDocument = (
            ServiceLoss(kind="service", service="demo/cache", device=device)
            if kind == "service"
            else WorkloadLoss(kind="workload", workload="ycsb-a", policy="hot_page_selection", device=device)
        )
        return made.evaluate(with_loss(PRICED, asked), draws=DRAWS, seed=1).options[0].loss

    near, far = loss("remote-dram"), loss("cxl-switch")
    assert near.value < far.value
    assert near.high < far.high
    assert far.source.endswith(f"slow memory: {device_presets()['cxl-switch'].label}")
    assert "slow memory:" not in loss(None).source


def test_stored_scenarios_stand_side_by_side_with_what_differs(database: Database) -> None:
    store = Scenarios(database)
    smaller = PRICED.baseline.model_copy(update={"dram_gb": 768.0})
    ids = [
        store.create(name="one", spec=PRICED, yaml=None, actor="ann").id,
        store.create(name="two", spec=PRICED.model_copy(update={"baseline": smaller}), yaml=None, actor="ann").id,
    ]
    found = reads_of(database).compare(ids, seed=1)
    assert [item.answer.name for item in found.scenarios] == ["one", "two"]
    assert [(row.path, row.values) for row in found.differences] == [("baseline.dram_gb", ("1024.0", "768.0"))]
    assert all(item.answer.options[0].distribution for item in found.scenarios)
    yen = PRICED.model_copy(update={"currency": "JPY", "prices": type(PRICED.prices)()})
    ids.append(store.create(name="three", spec=yen, yaml=None, actor="ann").id)
    with pytest.raises(BadRequest, match="USD and JPY"):
        reads_of(database).compare(ids, seed=1)
    with pytest.raises(BadRequest, match="2 to 8"):
        reads_of(database).compare(ids[:1], seed=1)
    with pytest.raises(NotFound):
        reads_of(database).compare([ids[0], "none"], seed=1)
