"""Scenarios filled in from hosts that report: their number, their memory, and what ratio advice expects of them."""

from dataclasses import replace
from unittest.mock import Mock

import pytest

from factories.installations import enrol
from factories.ratio_services import now, send_history
from fixtures.elsewhere import long
from fixtures.histories import Histories
from tierscope.core.database import Database
from tierscope.core.errors import NotFound
from tierscope.core.settings import Settings
from tierscope.domain.tco.scenario import GIB
from tierscope.storage.fleet.hosts import read_inventories
from tierscope.storage.fleet.memory import group_memory
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.heat.services import read_heat_now
from tierscope.usecases.rebuild.recent import rebuild_recent
from tierscope.usecases.tco import service_gain
from tierscope.usecases.tco.losses import ServiceFacts
from tierscope.usecases.tco.presets import LABELS, ScenarioPresetReads, ScenarioPresets
from tierscope.usecases.tco.prices import Prices
from tierscope.usecases.tco.reads import TcoReads
from tierscope.usecases.tco.scenario_documents import NumberLoss, ServiceLoss
from tierscope.usecases.tco.service_gain import DRAWS, ServiceCosts

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def context_of(database: Database) -> ReadContext:
    """At the end of the history that was sent."""
    return ReadContext(database, now, Settings())


def read(database: Database, service: str | None = None, dram_ratio: float | None = None) -> ScenarioPresets:
    context = context_of(database)
    return ScenarioPresetReads(context, ServiceFacts(context)).read(service, dram_ratio=dram_ratio)


def service_id(database: Database) -> str:
    with database.read() as session:
        return str(session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one())


def test_an_empty_fleet_says_why_there_is_nothing_to_start_from(database: Database) -> None:
    found = read(database)
    assert (found.n_hosts, found.n_hosts_known, found.dram_gb) == (0, 0, None)
    assert [(preset.key, preset.spec, preset.why_not) for preset in found.presets] == [
        (key, None, "no host reports yet") for key in LABELS
    ]
    with pytest.raises(NotFound, match="no service 'none'"):
        read(database, "none")


@long
def test_a_service_starts_from_its_hosts_its_memory_and_its_advice(histories: Histories) -> None:
    database, _ = histories.copy(send_history, days=2, memory_bytes=(256 * GIB, 128 * GIB, 128 * GIB))
    service = service_id(database)
    found = read(database, service)
    assert (found.subject, found.n_hosts, found.n_hosts_known) == ("demo/cache", 3, 3)
    assert found.dram_gb == pytest.approx(512 / 3)
    advice = ServiceFacts(context_of(database)).advice(service)
    assert advice.range is not None
    share = advice.range.likely_dram_ratio if advice.chosen is None else advice.chosen.dram_ratio
    assert found.dram_ratio == share < 1.0
    specs = {preset.key: preset.spec for preset in found.presets}
    today, cxl, ddr4 = specs["today"], specs["cxl"], specs["ddr4"]
    assert today is not None
    assert cxl is not None
    assert ddr4 is not None
    for spec in (today, cxl, ddr4):
        assert (spec.fleet.hosts, spec.baseline.dram_gb, spec.prices.dram) == (3, 171.0, None)
        option = spec.options[0]
        slow = option.cxl or option.ddr4_reused
        assert option.dram_gb + (slow.gb if slow else 0.0) == 171.0, "no option has more or less memory than today"
    assert (today.options[0].name, today.options[0].dram_gb) == ("all DRAM", 171.0)
    assert cxl.options[0].dram_gb == round(171 * share)
    assert cxl.options[0].ddr4_reused is None
    assert ddr4.options[0].cxl is None
    assert cxl.options[0].loss == ServiceLoss(kind="service", service=service)
    costed = TcoReads(context_of(database), ServiceFacts(context_of(database))).evaluate(cxl, draws=100, seed=1)
    assert [item.what for item in costed.missing] == ["dram price"], "the loss is known, the price is asked for"


def test_hosts_of_a_kind_are_one_group_once_a_worker_has_summed_them(histories: Histories) -> None:
    database, _ = histories.copy(send_history, days=2, memory_bytes=(256 * GIB, 128 * GIB, 128 * GIB))
    with database.write() as transaction:
        assert [group.hosts for group in group_memory(transaction)] == [1, 1, 1]
        alone = read(database)
        examples = [group.example for group in group_memory(transaction)]
        for host_id, (_, body) in read_inventories(transaction, examples).items():
            rebuild_recent(transaction, host_id, body)
        assert [group.hosts for group in group_memory(transaction)] == [2, 1]
    together = read(database)
    assert (together.n_hosts, together.n_hosts_known, together.dram_gb) == (3, 3, pytest.approx(512 / 3))
    assert together == alone


def test_a_live_host_that_states_no_memory_hides_no_others(histories: Histories) -> None:
    database, _ = histories.copy(send_history, days=1, memory_bytes=(64 * GIB,))
    with database.write() as transaction:
        transaction.connection.exec_driver_sql("UPDATE hosts SET origin = 'simulated'")
    before = read(database)
    assert (before.n_hosts_known, before.simulated) == (3, True)
    enrol(database, name="new")
    assert read(database) == before


@long
def test_another_share_than_the_advised_one_is_taken_as_asked(histories: Histories) -> None:
    database, _ = histories.copy(send_history, days=1, memory_bytes=(64 * GIB,))
    found = read(database, service_id(database), dram_ratio=0.25)
    cxl = next(preset.spec for preset in found.presets if preset.key == "cxl")
    assert cxl is not None
    assert (found.dram_ratio, cxl.options[0].dram_gb) == (0.25, 16.0)
    assert "25% of the memory in DRAM as asked" in cxl.description


def test_the_fleet_takes_the_advice_of_its_largest_services(histories: Histories) -> None:
    database, _ = histories.copy(send_history, days=1, memory_bytes=(64 * GIB,))
    fleet, alone = read(database), read(database, service_id(database))
    assert (fleet.subject, fleet.n_hosts) == ("fleet", 3)
    assert fleet.dram_ratio == pytest.approx(alone.dram_ratio)
    cxl = next(preset.spec for preset in fleet.presets if preset.key == "cxl")
    assert cxl is not None
    loss = cxl.options[0].loss
    assert isinstance(loss, NumberLoss)
    assert loss.low is not None
    assert loss.high is not None
    assert loss.low < loss.value < loss.high


def test_without_advice_today_can_be_costed_and_the_others_say_why_not(histories: Histories) -> None:
    database, _ = histories.copy(send_history, days=2, pages=40, per_page=0.01)
    found = read(database, service_id(database))
    why = {preset.key: (preset.spec is None, preset.why_not) for preset in found.presets}
    assert why["today"] == (False, None)
    assert why["cxl"][0]
    assert "no ratio advice" in str(why["cxl"][1])


def test_a_service_is_costed_at_its_safe_ratio_and_frees_no_more_than_its_hosts_have(
    histories: Histories, monkeypatch: pytest.MonkeyPatch
) -> None:
    heats = Mock(wraps=read_heat_now)
    monkeypatch.setattr(service_gain, "read_heat_now", heats)
    database, _ = histories.copy(send_history, days=2, memory_bytes=(256 * GIB, 128 * GIB, 128 * GIB))
    context, service = context_of(database), service_id(database)
    view = ServiceFacts(context).advice(service)
    assert view.range is not None
    view = replace(view, chosen=None, range=replace(view.range, safe="1:1", safe_dram_ratio=0.5))
    costs = ServiceCosts(context)
    none = costs.cost(view)
    assert (none.ratio, none.net_per_year, none.how) == ("1:1", None, None)
    assert "DRAM" in (none.why_not or "")
    Prices(database, clock=now).confirm("preset-dram-2026-spot", actor="ann")
    gain = costs.cost(view)
    assert gain.dram_freed_bytes == pytest.approx(3 * (171 - round(171 / 2)) * GIB, rel=0.02)
    assert gain.net_per_year is not None
    assert (gain.net_per_year_p10 or 0) < gain.net_per_year < (gain.net_per_year_p90 or 0)
    spec = next(preset for preset in read(database, service, 0.5).presets if preset.key == gain.how).spec
    assert spec is not None
    asked = TcoReads(context, ServiceFacts(context)).evaluate(spec, draws=DRAWS, seed=1).options[0]
    assert gain.net_per_year == pytest.approx(asked.fleet.saving), "its link opens exactly that scenario"
    assert view.range is not None
    assert costs.cost(replace(view, range=replace(view.range, safe=None))).why_not is not None
    assert heats.call_count == 1, "the heat of all services is read once for all that are costed"
