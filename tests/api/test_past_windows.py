"""No answer about a past window has a number of today, but where its description says so: `x-as-of`."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from architecture.tree import ROOT
from factories.populated import populated_service
from fixtures.servers import Template
from tierscope.domain.base.described import AS_OF

PAST = {"from": "2020-01-01T00:00:00Z", "to": "2020-01-02T00:00:00Z"}
DOCUMENT: dict[str, Any] = json.loads((ROOT / "contract" / "openapi.json").read_text(encoding="utf-8"))
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
OF_PAST = sorted(
    path
    for path, methods in DOCUMENT["paths"].items()
    if {"from", "to"} <= {one["name"] for one in methods.get("get", {}).get("parameters", ())}
)
NEEDED = {
    "metric": "promoted_pages_per_s",
    "name": "vmstat.pgpromote_success",
    "limit": "memory.low",
    "match": "tierscope_host_memory_pressure_some_ratio",
    "other_from": PAST["from"],
    "other_to": PAST["to"],
}
ASKED = {"loss_target", "growth", "threshold_intervals", "intervals", "dram_ratio", "effect_ratio", "protect"}
"""What the caller asked for, or the default of that."""
SCALES = {"times", "step_seconds", "lags", "lag_minutes", "column_seconds", "rows_per_cell", "cell_unit"} | {
    "cell_log2_base",
    "headroom_ratio",
    "target_per_min",
}
"""Axes and constants of a method."""
PUBLISHED = {"published", "prices"}
"""From books and papers."""


def schema_of(schema: dict[str, Any]) -> dict[str, Any]:
    """What a reference or a choice with null leads to; marks beside it stay."""
    beside = {name: value for name, value in schema.items() if name not in ("$ref", "anyOf")}
    if "$ref" in schema:
        return {**SCHEMAS[schema["$ref"].rsplit("/", 1)[1]], **beside}
    choices = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return {**schema_of(choices[0]), **beside} if len(choices) == 1 else schema


def numbers(answer: object, schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, float]]:
    """Numbers that stand for something, where no field above them is described as of another time."""
    known = schema_of(schema)
    if AS_OF in known:
        return
    if isinstance(answer, dict):
        for name, value in answer.items():
            if name not in ASKED | SCALES | PUBLISHED:
                inner = known.get("properties", {}).get(name, known.get("additionalProperties", {}))
                yield from numbers(value, inner if isinstance(inner, dict) else {}, f"{path}.{name}")
    elif isinstance(answer, list):
        for value in answer:
            yield from numbers(value, known.get("items", {}), f"{path}[]")
    elif isinstance(answer, (int, float)) and not isinstance(answer, bool) and answer != 0:
        yield path, answer


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_no_answer_about_the_past_has_a_number_of_today(template: Template, storage_mode: str) -> None:
    found: dict[str, object] = {}
    declared: set[str] = set()
    with populated_service(template, storage_mode) as (client, _, made):
        host, service = made.ids["host_id"][0], made.ids["service_id"][0]
        subjects = {"service": service, "host": host, "other": service, "protect": service}
        for path in OF_PAST:
            operation = DOCUMENT["paths"][path]["get"]
            asked = dict(PAST)
            for parameter in operation["parameters"]:
                if parameter["in"] == "query" and parameter.get("required"):
                    asked |= {parameter["name"]: (NEEDED | subjects | PAST)[parameter["name"]]}
            if path == "/v1/alerts/marks":
                asked["host"] = host
            filled = path.replace("{host_id}", host).replace("{service_id}", service)
            answer = client.get(filled, params=asked)
            if answer.status_code == 404 and path.endswith("/damo"):
                continue
            assert answer.status_code == 200, f"{path}: {answer.text}"
            told = answer.json()
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            late = sorted({where for where, _ in numbers(told, schema)})
            if late:
                found[path] = late
            if "as_of" in told:
                declared.add(path)
                marked = {
                    field for field, inner in schema_of(schema)["properties"].items() if inner.get(AS_OF) == "now"
                }
                assert set(told["as_of"]["fields"]) == marked
    assert found == {}
    assert declared == {"/v1/fleet", "/v1/services/{service_id}"}
