"""The answers that specs of the dashboard are written against are answers of the service, as it describes them."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from architecture.tree import ROOT

ANSWERS = ROOT / "frontend" / "src" / "mock-api" / "answers"
DOCUMENT: dict[str, Any] = json.loads((ROOT / "contract" / "openapi.json").read_text(encoding="utf-8"))
FILES = sorted(ANSWERS.rglob("*.json"))
MOST_BYTES = 1 << 20


def path_of(file: Path) -> str:
    """The path of the contract that a file answers: what the path has in braces, the file has as an id or `_`."""
    segments = file.relative_to(ANSWERS).with_suffix("").as_posix().split("@")[0].removesuffix("/index").split("/")
    fits: list[str] = [
        path
        for path in DOCUMENT["paths"]
        if len(parts := path.removeprefix("/v1/").split("/")) == len(segments)
        and all(
            part in ("_", segment) or part.startswith("{") or segment == "_"
            for part, segment in zip(parts, segments, strict=True)
        )
    ]
    return min(fits, key=lambda path: (path.count("{") - segments.count("_")) ** 2)


def schema_of(path: str) -> dict[str, Any]:
    """What the service answers there: to a GET where it takes one, else to a POST."""
    operation = DOCUMENT["paths"][path].get("get") or DOCUMENT["paths"][path]["post"]
    answered = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
    schema: dict[str, Any] = answered["content"]["application/json"]["schema"]
    return schema


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ANSWERS).with_suffix("").as_posix())
def test_an_answer_is_as_it_is_described(file: Path) -> None:
    validator = Draft202012Validator({**schema_of(path_of(file)), "components": DOCUMENT["components"]})
    faults = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(json.loads(file.read_bytes()))]
    assert faults == []


def test_the_answers_are_small() -> None:
    assert sum(file.stat().st_size for file in FILES) < MOST_BYTES
