"""What owners of the demonstration's fleet would have entered: once, when it is over and its data is worked up."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from factories import batches
from factories.derived import drain
from factories.experiments import Fleet, full_hour, make_fleet
from factories.installations import enrol, store
from fixtures.elsewhere import long
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.usecases.experiments.reads import ExperimentReads
from tierscope.usecases.experiments.writes import ExperimentWrites
from tierscope.usecases.operate.demonstration import COSTED, TRIED, Demonstration, TriedExperiment
from tierscope.usecases.tco.prices import Prices
from tierscope.usecases.tco.scenarios import Scenarios

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
HOURS = 36
AFTER = timedelta(hours=12)


def tried(fleet: Fleet, name: str, *, end_later: timedelta = timedelta(0)) -> tuple[TriedExperiment, ...]:
    """As the fleet writes it: the first five hosts were changed, the others not."""
    names = [f"node-{number:03}" for number in range(10)]
    told = {
        "name": name,
        "service": "cache",
        "canary": names[:5],
        "control": names[5:],
        "before_unix_s": int((fleet.now - timedelta(hours=HOURS)).timestamp()),
        "change_unix_s": int((fleet.now - AFTER).timestamp()),
        "end_unix_s": int((fleet.now + end_later).timestamp()),
    }
    return TRIED.validate_json(json.dumps([told]))


@long
def test_an_experiment_that_is_over_is_entered_once_and_gets_its_verdict(database: Database) -> None:
    change_at = full_hour() - AFTER
    fleet = make_fleet(database, 10, hours=HOURS, factor=lambda host, at: 1.2 if host < 5 and at >= change_at else 1.0)
    later = fleet.now + timedelta(hours=1)
    drain(database, later)
    demonstration = Demonstration(database, clock=lambda: later)
    elsewhere = (replace(tried(fleet, "on hosts of another fleet")[0], control=("unknown",)),)
    both = (*elsewhere, *tried(fleet, "it helps"), *tried(fleet, "it goes on", end_later=timedelta(days=1)))
    assert demonstration.enter(both) == 1
    assert demonstration.enter(both) == 1, "and no second time"
    assert ExperimentWrites(database, clock=lambda: later).freeze_due() == 1
    reads = ExperimentReads(fleet.context(database, at=later))
    (found,) = reads.list(service=None, state=None, limit=10, cursor=None).items
    assert (found.name, found.state, found.author) == ("it helps", "ended", "demonstration")
    assert (found.n_canary, found.n_control) == (5, 5)
    said = {metric.metric: metric.verdict for metric in reads.show(found.id, max_points=10).metrics}
    assert said["latency_p99_ns"] == said["throughput_per_s"] == "improved", "these hosts export no p50"


def test_experiments_wait_until_what_was_sent_is_worked_up(database: Database) -> None:
    host = enrol(database)
    batch = batches.make_batch(host_id=host.id)
    batches.add_counters(batch, [[1, 1]], keys=("host|vmstat|pgdemote_kswapd", "host|vmstat|pgpromote_success"))
    assert store(database, host, [batch])
    later = utc_now() + timedelta(hours=2)
    demonstration = Demonstration(database, clock=lambda: later)
    assert demonstration.enter(()) is None
    drain(database, later)
    assert demonstration.enter(()) == 0


def test_scenarios_of_cost_rest_on_what_is_advised_and_are_stored_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = enrol(database)
    batch = batches.make_batch(host_id=host.id)
    batches.add_inventory(batch, services=("redis", "web"))
    assert store(database, host, [batch])
    drain(database)
    demonstration = Demonstration(database)
    demonstration.enter_scenarios()
    demonstration.enter_scenarios()
    monkeypatch.setitem(COSTED, "redis", 384.0)
    demonstration.enter_scenarios()
    (found,) = Scenarios(database).list(limit=10, cursor=None).items
    assert (found.name, found.created_by) == ("redis at 2:1", "demonstration")
    stored = Scenarios(database).show(found.id).spec
    assert all(option.loss.kind == "service" for option in stored.options)
    assert stored.options[0].dram_gb == pytest.approx(256 * 2 / 3)


def test_somebody_stands_for_a_price_and_only_where_nobody_did(database: Database) -> None:
    demonstration = Demonstration(database)
    demonstration.confirm_price()
    prices = Prices(database)
    first = prices.in_force("USD")["dram"]
    assert (first.id, first.confirmed_by) == ("preset-dram-2025-late", "demonstration")
    prices.confirm("preset-dram-2026-spot", actor="ada")
    demonstration.confirm_price()
    assert prices.in_force("USD")["dram"].confirmed_by == "ada"
