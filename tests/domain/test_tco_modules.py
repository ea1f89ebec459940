"""Prices of modules by size: a host pays for the size that its slots need; a published case comes out as published."""

from datetime import date

import pytest

from tierscope.core.errors import Unprocessable
from tierscope.usecases.tco.answers import TcoAnswer
from tierscope.usecases.tco.reads import cost_document
from tierscope.usecases.tco.scenario_documents import ScenarioDocument

TODAY = date(2026, 11, 28)
DRAM = {"value": 11.0, "source": "contract", "date": "2026-11-01"}
BASELINE = {"name": "768", "sku": "one socket", "dram_gb": 768.0}
MODULES = [
    {"gb": 128.0, "value": 26.0, "source": "offer", "date": "2026-11-01"},
    {"gb": 64.0, "value": 11.0, "source": "offer", "date": "2026-11-01"},
]


def cost(**changes: object) -> TcoAnswer:
    """The answer to DDR4 behind CXL against a host of 768 GB."""
    document = {
        "name": "hosts",
        "skus": [{"name": "one socket", "price": 12000.0, "watts": 500.0, "dimm_slots": 12}],
        "baseline": BASELINE,
        "options": [
            {
                "name": "reused",
                "sku": "one socket",
                "dram_gb": 768.0,
                "ddr4_reused": {"gb": 256.0, "devices": 2},
                "capacity": "more",
                "loss": {"kind": "number", "value": 0.0, "low": 0.0, "high": 0.01},
            },
            {
                "name": "all DRAM",
                "sku": "one socket",
                "dram_gb": 1024.0,
                "capacity": "more",
                "loss": {"kind": "number", "value": 0.0},
            },
        ],
        "prices": {"dram": DRAM, "modules": MODULES},
        "fleet": {"hosts": 1000, "years": 5},
        **changes,
    }
    return cost_document(ScenarioDocument.model_validate(document), {}, None, draws=200, seed=1, today=TODAY).view


def test_more_dram_than_small_modules_hold_pays_for_large_ones() -> None:
    answer = cost()
    assert answer.baseline is not None
    reused, dram = answer.options
    assert (answer.baseline.per_host.dram_module_gb, answer.baseline.per_host.dram_price_per_gb) == (64.0, 11.0)
    assert (reused.per_host.dram_module_gb, reused.per_host.dram_price_per_gb) == (64.0, 11.0)
    assert (dram.per_host.dram_module_gb, dram.per_host.dram_price_per_gb) == (128.0, 26.0)
    parts = {part.name: part.capex for part in dram.per_host.parts}
    assert parts["dram"] == pytest.approx(1024 * 26.0)
    flat = cost(prices={"dram": DRAM}).options[1]
    assert {part.name: part.capex for part in flat.per_host.parts}["dram"] == pytest.approx(1024 * 11.0)
    assert flat.per_host.dram_module_gb is None
    assert dram.saving < flat.saving


def test_a_fleet_with_a_third_more_memory_a_host_needs_a_quarter_fewer_hosts() -> None:
    """What Meta published of reused DDR4 behind CXL in 2026."""
    reused = cost().options[0]
    assert reused.fleet.hosts == 750
    assert not any("wrong" in warning for warning in reused.warnings)
    said = [warning for warning in reused.warnings if "Published" in warning]
    assert all("25 % of servers" in warning and "2026" in warning for warning in said)
    assert bool(said) == (reused.saving_ratio > 0.15)


def test_modules_alone_price_dram() -> None:
    answer = cost(prices={"modules": MODULES})
    assert not answer.missing
    assert next(shown.value for shown in answer.inputs if shown.name == "dram") == 11.0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"prices": {"dram": DRAM, "modules": MODULES[1:]}}, "do not fit into 12 slots of 64 GB modules"),
        (
            {"baseline": {"name": "768", "sku": "one socket", "dram_gb": 768.0, "dram_module_gb": 96.0}},
            "no module of 96 GB",
        ),
        ({"prices": {"dram": DRAM, "modules": [{**MODULES[0], "currency": "EUR"}]}}, "in EUR"),
    ],
)
def test_modules_that_cannot_be_are_named(changes: dict[str, object], said: str) -> None:
    with pytest.raises(Unprocessable, match=said):
        cost(**changes)
