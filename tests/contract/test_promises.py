"""What programs rely on is still there: against the last release, and each kind of break is found."""

from copy import deepcopy
from typing import Any

import pytest

import tierscope
from architecture.tree import load_script

promises = load_script("contract/promises.py")

BEFORE = {
    "api GET /v1/hosts": "current",
    "api GET /v1/hosts query:limit": "integer",
    "schema Host.id": "string",
    "schema Host.old": "string deprecated",
    "schema Ask.name": "string required",
    "metric vmstat pgfault host": "faults counter",
    "wire tierscope.v1.Batch.seq": "3 4",
}


def test_nothing_that_the_last_release_promised_is_gone_or_changed() -> None:
    version, before = promises.read_released(promises.RELEASED.read_text(encoding="utf-8"))
    assert len(before) > 4000
    faults = promises.broken(before, promises.promises_now())
    assert faults == [], f"promised by {version}; docs/operating/releases.md says how to deprecate"


def test_the_recorded_release_is_none_that_is_still_to_come() -> None:
    version, _ = promises.read_released(promises.RELEASED.read_text(encoding="utf-8"))
    assert [int(part) for part in version.split(".")] <= [int(part) for part in tierscope.__version__.split(".")]


@pytest.mark.parametrize("name", [name for name in BEFORE if name != "schema Host.old"])
def test_what_goes_without_notice_breaks_the_contract(name: str) -> None:
    now = {other: kind for other, kind in BEFORE.items() if other != name}
    [fault] = promises.broken(BEFORE, now)
    assert fault.startswith(f"{name} is gone")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("schema Host.id", "integer"),
        ("metric vmstat pgfault host", "faults gauge"),
        ("wire tierscope.v1.Batch.seq", "4 4"),
        ("api GET /v1/hosts query:limit", "integer required"),
        ("schema Ask.age", "integer required"),
        ("api GET /v1/hosts query:zone", "string required"),
    ],
)
def test_what_changes_or_asks_for_more_breaks_the_contract(name: str, kind: str) -> None:
    [fault] = promises.broken(BEFORE, {**BEFORE, name: kind})
    assert fault.startswith(name)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("schema Host.id", "string deprecated"),
        ("schema Host.name", "string"),
        ("schema Ask.name", "string"),
        ("schema New.field", "string required"),
        ("api POST /v1/new body:application/json", "New"),
    ],
)
def test_what_is_added_relaxed_or_marked_breaks_nothing(name: str, kind: str) -> None:
    assert promises.broken(BEFORE, {**BEFORE, name: kind}) == []
    after_notice = {other: kind for other, kind in BEFORE.items() if other != "schema Host.old"}
    assert promises.broken(BEFORE, after_notice) == []


def _json(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}


API: dict[str, Any] = {
    "paths": {
        "/v1/asks": {
            "post": {
                "requestBody": {"content": _json("Ask")},
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ok"}}}}
                },
            }
        }
    },
    "components": {
        "schemas": {
            "Ask": {"required": ["inner"], "properties": {"inner": {"$ref": "#/components/schemas/Inner"}}},
            "Inner": {"required": ["at"], "properties": {"at": {"anyOf": [{"type": "null"}, {"type": "string"}]}}},
            "Ok": {"required": ["rows"], "properties": {"rows": {"type": "array", "items": {"type": "integer"}}}},
        }
    },
}


def test_fields_that_callers_send_are_told_from_those_that_they_get() -> None:
    found = promises.api_promises(API)
    assert found["schema Inner.at"] == "null|string required"
    assert found["schema Ok.rows"] == "array<integer>"
    assert found["api POST /v1/asks 200:application/json"] == "Ok"
    retired = deepcopy(API)
    retired["paths"]["/v1/asks"]["post"]["deprecated"] = True
    assert promises.broken(promises.api_promises(retired), {}) != []
    assert promises.api_promises(retired)["api POST /v1/asks"] == "current deprecated"


def test_a_recorded_release_reads_back_as_it_was_written() -> None:
    assert promises.read_released(promises.write_released("1.2.3", BEFORE)) == ("1.2.3", BEFORE)
    with pytest.raises(ValueError, match="--record"):
        promises.read_released("")
