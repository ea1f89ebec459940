"""The description of the API: examples are answers as they are described, tags have a text, conditions are declared."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from architecture.tree import ROOT
from tierscope.api.base.openapi import EXAMPLES, Application

DOCUMENT: dict[str, Any] = json.loads((ROOT / "contract" / "openapi.json").read_text(encoding="utf-8"))
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if method in ("get", "put", "post", "delete")
}
CONTENTS = {
    name: operation["responses"]["200"]["content"]["application/json"]
    for name, operation in OPERATIONS.items()
    if "application/json" in operation["responses"].get("200", {}).get("content", {})
}
WITH_EXAMPLE = sorted(name for name, content in CONTENTS.items() if "example" in content)


def faults(schema: dict[str, Any], example: object) -> list[str]:
    validator = Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(example)]


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_an_example_is_an_answer_as_it_is_described(name: str) -> None:
    content = CONTENTS[name]
    assert faults(content["schema"], content["example"]) == []


def test_every_example_stands_at_an_operation_and_the_main_ones_have_one() -> None:
    assert len(WITH_EXAMPLE) == len(list(EXAMPLES.glob("*.json"))) >= 13
    main = {"GET /v1/hosts", "GET /v1/services", "GET /v1/services/{service_id}/ratio", "GET /v1/alerts"}
    assert main <= set(WITH_EXAMPLE)


def test_an_example_with_a_field_too_many_or_too_few_is_found() -> None:
    content = CONTENTS["GET /v1/hosts"]
    assert faults(content["schema"], {**content["example"], "more": 1})
    assert faults(content["schema"], {"items": [{}], "next_cursor": None})


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_an_example_says_that_it_is_simulated_where_it_names_an_origin(name: str) -> None:
    text = json.dumps(CONTENTS[name]["example"])
    assert '"origin": "live"' not in text
    assert '"origin": "import"' not in text


def test_every_tag_has_a_text_and_is_used() -> None:
    used = {tag for operation in OPERATIONS.values() for tag in operation["tags"]}
    described = {tag["name"]: tag["description"] for tag in DOCUMENT["tags"]}
    assert used == set(described)
    assert all(text.endswith(".") for text in described.values())


def test_the_condition_is_declared_where_304_is_answered_and_nowhere_else() -> None:
    for name, operation in OPERATIONS.items():
        headers = {found["name"] for found in operation.get("parameters", ()) if found["in"] == "header"}
        assert ("304" in operation["responses"]) == ("If-None-Match" in headers), name
    assert sum("304" in operation["responses"] for operation in OPERATIONS.values()) > 80


def test_the_document_is_written_once_however_many_ask_at_a_time() -> None:
    written: list[int] = []

    class Counted(Application):
        def openapi(self) -> dict[str, Any]:
            written.append(1)
            return super().openapi()

    described = Counted(title="Counted", version="1")
    with ThreadPoolExecutor(8) as callers:
        documents = list(callers.map(lambda _: described.document(), range(32)))
    assert len(written) == 1
    assert {id(document) for document in documents} == {id(documents[0])}
