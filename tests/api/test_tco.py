"""Prices, scenarios and costs over HTTP: the same request costs the same, and the workbook arrives at the answer."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from factories.services import running
from factories.spreadsheets import PROGRAM, REASON, Recalculated, recalculate, stored_results
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.access.tokens import Access
from tierscope.usecases.tco.scenario_files import read_scenario

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "half-reused.yaml"
SPEC: dict[str, Any] = read_scenario(EXAMPLE.read_text(encoding="utf-8")).model_dump(mode="json")
DRAWS = 400

PER_HOST = (
    "capex",
    "annual",
    "watts",
    "kwh_per_year",
    "memory_gb",
    "dram_price_per_gb",
    "loss",
    "work",
    "annual_per_work",
)
"""Figures of a host that the workbook has."""


@pytest.fixture
def client(database_url: str) -> Iterator[httpx.Client]:
    database = Database(database_url)
    secret = Access(database).create_api_token(role="operator", note="", lifetime=None, actor="test").secret
    database.close()
    with running(Settings(database_url=database_url)) as (_, opened):
        opened.headers["Authorization"] = f"Bearer {secret}"
        yield opened


def numbers(prefix: str, value: object) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from numbers(f"{prefix}.{name}", item)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from numbers(f"{prefix}[{at}]", item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield prefix, float(value)


def named_numbers(answer: dict[str, Any]) -> Iterator[tuple[str, float | None]]:
    yield from named_costs(answer)
    yield from named_results(answer)
    for item, end in itertools.product(answer["inputs"], ("", "_low", "_high")):
        yield f"in_{item['name']}{end}", item[end.removeprefix("_") or "value"]


def named_costs(answer: dict[str, Any]) -> Iterator[tuple[str, float | None]]:
    for n, host in enumerate([answer["baseline"], *answer["options"]]):
        parts = host["per_host"]
        for part in parts["parts"]:
            for what in ("capex", "annual", "watts"):
                yield f"host{n}_{part['name']}_{what}", part[what]
        for what in PER_HOST:
            yield f"host{n}_{what}", parts[what]
        for what, value in (parts["endurance"] or {}).items():
            yield f"host{n}_{what}", value
        fleet = host["fleet"]
        for what in set(fleet) - {"years"}:
            yield f"fleet{n}_{what}", fleet[what]
        for year, what in itertools.product(fleet["years"], ("hosts", "annual", "saving")):
            yield f"fleet{n}_year{year['year']}_{what}", year[what]


def named_results(answer: dict[str, Any]) -> Iterator[tuple[str, float | None]]:
    for n, option in enumerate(answer["options"], start=1):
        yield f"host{n}_saving", option["saving"]
        yield f"host{n}_saving_ratio", option["saving_ratio"]
        yield f"host{n}_saving_as_given", option["saving_as_given"]
        yield f"fleet{n}_hosts", option["hosts_needed"]
        for what in ("cxl_price", "ddr4_price", "dram_price", "loss"):
            yield f"break_even{n}_{what}", option["break_even"][what]
        for bar, what in itertools.product(option["tornado"], ("low", "high", "saving_low", "saving_high")):
            yield f"tornado{n}_{bar['input']}_{what}", bar[what]
        for step in option["waterfall"]:
            yield f"waterfall{n}_{step['part']}", step["delta"]
        for what in ("p10", "p50", "p90", "p_positive"):
            yield f"distribution{n}_{what}", option["distribution"][what]


def bins(book: Recalculated, n: int) -> list[tuple[float, float, int]]:
    return [(lo, hi, count) for lo, hi, count in book.rows(f"distribution{n}_bins")]


@pytest.mark.skipif(PROGRAM is None, reason=REASON)
def test_every_number_of_the_answer_stands_recalculated_in_the_workbook(client: httpx.Client, tmp_path: Path) -> None:
    asked = {"spec": SPEC, "seed": 9, "draws": DRAWS}
    answer = client.post("/v1/tco/evaluate", json=asked).json()
    sheet = client.post("/v1/tco/sheet", json=asked)
    assert sheet.status_code == 200, sheet.text
    assert "attachment" in sheet.headers["content-disposition"]
    assert stored_results(sheet.content) == []
    book = recalculate({"half": sheet.content}, tmp_path)["half"]
    assert book.faults() == []
    compared = 0
    for name, expected in named_numbers(answer):
        found = book.cell(name)
        compared += 1
        if expected is None:
            assert isinstance(found, str), name
        else:
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-6), name
    for n, option in enumerate(answer["options"], start=1):
        for found_bin, told in zip(bins(book, n), option["distribution"]["bins"], strict=True):
            compared += 3
            assert found_bin == pytest.approx((told["lo"], told["hi"], told["n"]), rel=1e-9, abs=1e-6)
    repeated = sum(1 for option in answer["options"] for _ in numbers("", option["loss"]))
    elsewhere = len(answer["sanity"]) * 3 + repeated + 3 + 1 + sum(1 for _ in numbers("", answer["memory"]))
    years = sum(len(host["fleet"]["years"]) for host in [answer["baseline"], *answer["options"]])
    constant = 2 * len(answer["options"])
    assert compared >= sum(1 for _ in numbers("", answer)) - elsewhere - years - constant


def test_the_same_request_costs_the_same_and_says_the_median_of_its_draws(client: httpx.Client) -> None:
    asked = {"spec": SPEC, "seed": 3, "draws": 500}
    first = client.post("/v1/tco/evaluate", json=asked).json()
    assert client.post("/v1/tco/evaluate", json=asked).json() == first
    other = client.post("/v1/tco/evaluate", json={**asked, "seed": 4}).json()
    assert other["options"][0]["distribution"]["p50"] != first["options"][0]["distribution"]["p50"]
    assert [option["saving"] for option in first["options"]] == [
        option["distribution"]["p50"] for option in first["options"]
    ]


def test_the_price_of_dram_is_asked_for_and_can_be_confirmed(client: httpx.Client) -> None:
    defaults = client.get("/v1/scenarios/defaults").json()
    assert defaults["spec"]["prices"]["dram"] is None
    missing = client.post("/v1/tco/evaluate", json={"spec": defaults["spec"]}).json()
    assert [item["what"] for item in missing["missing"]] == ["dram price"]
    assert (missing["baseline"], missing["price_date"]) == (None, None)
    refused = client.post("/v1/tco/sheet", json={"spec": defaults["spec"]})
    assert (refused.status_code, "dram price" in refused.json()["detail"]) == (422, True)
    preset = missing["missing"][0]["presets"][1]
    confirmed = client.post(f"/v1/prices/{preset['id']}/confirm").json()
    assert (confirmed["in_force"], confirmed["date"]) == (True, "2025-12-01")
    answer = client.post("/v1/tco/evaluate", json={"spec": defaults["spec"]}).json()
    assert (answer["missing"], answer["price_date"], answer["currency"]) == ([], "2025-12-01", "USD")
    assert client.delete(f"/v1/prices/{preset['id']}").status_code == 204
    assert client.post("/v1/tco/evaluate", json={"spec": defaults["spec"]}).json()["baseline"] is None


def test_prices_are_added_and_listed_with_source_and_date(client: httpx.Client) -> None:
    new = {"item": "ssd", "value": 0.2, "currency": "EUR", "source": "quote", "date": "2026-09-30"}
    made = client.post("/v1/prices", json=new)
    assert made.status_code == 201, made.text
    listed = client.get("/v1/prices").json()["items"]
    assert [item for item in listed if item["id"] == made.json()["id"]] == [made.json()]
    assert all(item["source"] and item["date"] and item["currency"] for item in listed)
    assert client.post("/v1/prices", json={**new, "currency": "euro"}).status_code == 422
    assert client.post("/v1/prices", json={**new, "value": -1}).status_code == 422


def test_scenarios_are_stored_changed_compared_and_deleted(client: httpx.Client) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    made = client.post("/v1/scenarios", json={"yaml": text}).json()
    assert (made["yaml"], made["version"], made["spec"]) == (text, 1, SPEC)
    other = client.post("/v1/scenarios", json={"name": "other", "spec": {**SPEC, "fleet": {"hosts": 7}}}).json()
    changed = client.put(f"/v1/scenarios/{other['id']}", json={"version": 1, "spec": {**SPEC, "name": "other"}})
    assert changed.json()["version"] == 2
    stale = client.put(f"/v1/scenarios/{other['id']}", json={"version": 1, "spec": SPEC})
    assert (stale.status_code, "version 2" in stale.json()["detail"]) == (409, True)
    both = client.get("/v1/tco/compare", params={"scenario": [made["id"], other["id"]]}).json()
    assert [item["id"] for item in both["scenarios"]] == [made["id"], other["id"]]
    assert both["differences"] == []
    assert [item["name"] for item in client.get("/v1/scenarios").json()["items"]] == ["other", SPEC["name"]]
    assert client.delete(f"/v1/scenarios/{made['id']}").status_code == 204
    assert client.get(f"/v1/scenarios/{made['id']}").status_code == 404


def test_a_file_that_cannot_be_read_names_the_path(client: httpx.Client) -> None:
    broken = EXAMPLE.read_text(encoding="utf-8").replace("dram_gb: 768", "dram_gb: lots")
    refused = client.post("/v1/scenarios", json={"yaml": broken})
    assert refused.status_code == 422
    assert "baseline.dram_gb: Input should be a valid number" in refused.json()["detail"]
    mixed = json.loads(json.dumps(SPEC))
    mixed["prices"]["dram"]["currency"] = "EUR"
    refused = client.post("/v1/tco/evaluate", json={"spec": mixed})
    assert (refused.status_code, "in EUR, the scenario in USD" in refused.json()["detail"]) == (422, True)


def test_the_schema_is_published(client: httpx.Client) -> None:
    schema = client.get("/v1/scenarios/schema").json()
    assert schema["title"] == "ScenarioDocument"
    assert set(SPEC) == set(schema["properties"])


def test_reclaimable_dram_says_what_is_missing_instead_of_a_cost(client: httpx.Client) -> None:
    answer = client.get("/v1/tco/reclaimable").json()
    assert answer["annual_cost"] is None
    assert answer["cold_in_dram_bytes"]["value"] is None
    assert answer["known_heat_ratio"]["status"] == "not_collected"
    assert "price of DRAM" in answer["reason"]
    assert client.get("/v1/tco/reclaimable?currency=x").status_code == 422
