"""Scenario files: read strictly, every fault with its path, written so that they read back the same."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tierscope.core.errors import UnreadableScenario
from tierscope.usecases.tco.scenario_documents import NumberLoss, ScenarioDocument, ServiceLoss, SweepLoss
from tierscope.usecases.tco.scenario_files import MAX_CHARACTERS, read_scenario, write_scenario
from tierscope.usecases.tco.scenarios import starting_point

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "half-reused.yaml"
SMALL = """
name: small
skus: [{name: box, price: 9000, watts: 300}]
baseline: {name: today, sku: box, dram_gb: 768}
options:
  - name: tiered
    sku: box
    dram_gb: 512
    cxl: {gb: 256}
    loss: {kind: number, value: 0.01}
prices:
  dram: {value: 10, low: 8, source: contract, date: 2026-01-31}
"""


def faults(text: str) -> list[str]:
    with pytest.raises(UnreadableScenario) as caught:
        read_scenario(text)
    return list(caught.value.faults)


def test_a_file_becomes_a_scenario_and_the_same_file_again() -> None:
    document = read_scenario(SMALL)
    assert document.prices.dram is not None
    assert (document.prices.dram.date, document.prices.dram.high) == (date(2026, 1, 31), None)
    assert document.options[0].cxl is not None
    assert document.options[0].cxl.devices == 1
    assert document.currency == "USD"
    assert read_scenario(write_scenario(document)) == document


@pytest.mark.parametrize(
    "loss",
    [
        NumberLoss(value=0.0),
        ServiceLoss(kind="service", service="a/b"),
        SweepLoss(kind="sweep", sweep_id="s", run_id="3"),
    ],
)
def test_every_kind_of_loss_reads_back_the_same(loss: NumberLoss | ServiceLoss | SweepLoss) -> None:
    document = read_scenario(SMALL)
    option = document.options[0].model_copy(update={"loss": loss})
    changed = document.model_copy(update={"options": [option]})
    assert read_scenario(write_scenario(changed)) == changed


def test_the_example_and_the_starting_point_are_scenarios() -> None:
    example = read_scenario(EXAMPLE.read_text(encoding="utf-8"))
    assert [option.name for option in example.options][-1] == "swap and compression"
    start = starting_point()
    assert read_scenario(start.yaml) == start.spec
    assert start.spec.prices.dram is None
    assert [preset.item for preset in start.dram_presets] == ["dram"] * 3


def test_ranges_of_sliders_are_of_inputs_that_there_are_and_hold_the_starting_values() -> None:
    start = starting_point()
    plain = start.spec.model_dump(mode="json")
    known = 0
    for slider in start.ranges:
        assert slider.lowest < slider.highest
        for option in plain["options"] if slider.path.startswith("options[]") else [None]:
            value: Any = option or plain
            for part in slider.path.removeprefix("options[].").split("."):
                value = value.get(part) if isinstance(value, dict) else None
            if value is not None:
                known += 1
                assert slider.lowest <= value <= slider.highest, slider.path
    assert known > 20


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("dram_gb: 768", 'dram_gb: "768"', "baseline.dram_gb: Input should be a valid number"),
        ("dram_gb: 768", "dram_gb: -1", "baseline.dram_gb: Input should be greater than or equal to 0"),
        ("dram_gb: 768", "dram_gb: .nan", "baseline.dram_gb: Input should be a finite number"),
        ("value: 0.01", "value: 1.5", "options[0].loss.value: Input should be less than or equal to 0.99"),
        ("value: 0.01", "value: 0.01, low: 0.1", "options[0].loss: low <= value <= high does not hold"),
        ("kind: number", "kind: guess", "options[0].loss: Input tag 'guess'"),
        ("cxl: {gb: 256}", "cxl: {gb: 256, modules: 4}", "options[0].cxl.modules: Extra inputs are not permitted"),
        ("    loss: {kind: number, value: 0.01}\n", "", "options[0].loss: Field required"),
        ("low: 8", "low: 12", "prices.dram: low <= value <= high does not hold"),
        ("source: contract, ", "", "prices.dram.source: Field required"),
        ("sku: box, dram_gb", "sku: bag, dram_gb", "baseline.sku: there is no sku 'bag'; skus are box"),
        ("name: tiered", "name: today", "two hosts have one name"),
        ("name: small", "name: small\nname: again", "line 3, column 1: duplicate key 'name'"),
        ("name: small", "name: small\ncurrency: dollars", "currency: String should match"),
        ("name: small", "name: &n small\ndescription: *n", "aliases are not taken"),
        ("name: small", "name: !!python/name:os.system small", "could not determine a constructor"),
        ("name: small", "name: [", "line"),
        ("name: small", "1: small", "1 is no name"),
    ],
)
def test_faults_name_their_path(before: str, after: str, fault: str) -> None:
    assert before in SMALL
    found = faults(SMALL.replace(before, after, 1))
    assert any(fault in text for text in found), found


def test_all_faults_are_told_at_once() -> None:
    assert len(faults(SMALL.replace("768", "-1").replace("value: 0.01", "value: 2"))) == 2


def test_what_is_no_scenario_is_refused() -> None:
    assert faults("") == ["the file: Input should be a valid dictionary or instance of ScenarioDocument"]
    assert "more than" in faults("a" * (MAX_CHARACTERS + 1))[0]
    assert faults("[" * 5000)[0].startswith(("not valid YAML", "line"))


def test_the_published_schema_knows_every_name() -> None:
    schema = ScenarioDocument.model_json_schema()
    assert set(schema["properties"]) == set(ScenarioDocument.model_fields)
    assert schema["additionalProperties"] is False


def test_power_has_a_bound() -> None:
    assert read_scenario(SMALL.replace("watts: 300", "watts: 1000000")).skus[0].watts == 1e6
    with pytest.raises(UnreadableScenario, match="watts"):
        read_scenario(SMALL.replace("watts: 300", "watts: 1.0e308"))
