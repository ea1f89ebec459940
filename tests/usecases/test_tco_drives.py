"""Write amplification of swap drives in scenarios: simulated at their use, unless the scenario states one."""

from datetime import date

import pytest

from tierscope.domain.simulate.swap_amplification import amplification_at
from tierscope.usecases.tco.inputs import gather_inputs
from tierscope.usecases.tco.reads import cost_document
from tierscope.usecases.tco.scenario_documents import (
    EnduranceDocument,
    NumberLoss,
    PriceDocument,
    RangeDocument,
    ScenarioDocument,
    SwapDocument,
)
from tierscope.usecases.tco.scenarios import starting_point

START = starting_point().spec


def with_drives(*drives: tuple[str, float], waf: float | None = None) -> ScenarioDocument:
    """A scenario with one option for each drive of a kind and a share in use."""
    options = []
    for number, (kind, use) in enumerate(drives):
        swap = SwapDocument(
            kind=kind,
            gb=1000.0,
            used_gb=1000.0 * use,
            swap_out_mb_per_s=RangeDocument(value=20.0),
            paid="wear",
        )
        update = {"name": f"drive {number}", "swap": swap, "cxl": None, "loss": NumberLoss(value=0.0)}
        options.append(START.options[0].model_copy(update=update))
    stated = None if waf is None else RangeDocument(value=waf)
    prices = START.prices.model_copy(
        update={"dram": PriceDocument(value=11.0, source="contract", date=date(2026, 11, 1))}
    )
    endurance = EnduranceDocument(waf_ssd=stated)
    return START.model_copy(update={"options": options, "endurance": endurance, "prices": prices})


def shown(document: ScenarioDocument, name: str) -> tuple[float, str, str]:
    """An input's value, origin and source."""
    found = next(view for view in gather_inputs(document, {}).views if view.name == name)
    return found.value, found.origin, found.source


def test_a_new_scenario_leaves_the_amplification_of_drives_to_the_model() -> None:
    assert START.endurance.waf_ssd is None
    assert START.endurance.waf_zns is None
    assert START.endurance.waf_rated is not None


def test_the_fullest_drive_of_a_kind_says_what_it_amplifies() -> None:
    document = with_drives(("ssd", 0.2), ("ssd", 0.8), ("zns", 0.8))
    value, origin, source = shown(document, "waf_ssd")
    assert (value, origin) == (amplification_at("block", 0.8).value, "simulated")
    assert "80% of the drive" in source
    zoned = shown(document, "waf_zns")
    assert zoned[0] == amplification_at("zns", 0.8).value < value


def test_a_stated_amplification_stays_and_is_marked_so() -> None:
    assert shown(with_drives(("ssd", 0.8), waf=2.0), "waf_ssd")[:2] == (2.0, "scenario")


def test_a_fuller_drive_wears_out_sooner_and_costs_more_a_year() -> None:
    answers = [
        cost_document(with_drives(("ssd", use)), {}, None, draws=100, seed=1, today=date(2026, 11, 24)).view
        for use in (0.1, 0.9)
    ]
    lives = [answer.options[0].per_host.endurance.drive_life_years for answer in answers]  # type: ignore[union-attr]
    wear = [next(part.annual for part in answer.options[0].per_host.parts if part.name == "wear") for answer in answers]
    ratio = amplification_at("block", 0.9).value / amplification_at("block", 0.1).value
    assert lives[0] is not None
    assert lives[1] is not None
    assert lives[0] / lives[1] == pytest.approx(ratio)
    assert wear[1] / wear[0] == pytest.approx(ratio)
