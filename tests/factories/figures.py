"""All figures of an answer of the API, and what of them the register of quantities does not say."""

import json
from collections.abc import Iterator
from typing import Any

from architecture.tree import ROOT
from tierscope.domain.base.quantities import find_quantity

OWN_UNIT = "of the "
"""Begins the unit of an entry whose names have units of their own."""


def figures(answer: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401 - any answer
    """All figures of an answer with their paths; places in lists are left out."""
    if isinstance(answer, dict):
        if "status" in answer and "definition" in answer:
            yield path, answer
            return
        for name, part in answer.items():
            yield from figures(part, f"{path}.{name}")
    elif isinstance(answer, list):
        for part in answer:
            yield from figures(part, f"{path}[]")


def unregistered(answer: Any) -> set[str]:  # noqa: ANN401 - any answer
    """Figures whose definition is not in contract/quantities.toml, or has another unit there."""
    found = set()
    for path, figure in figures(answer):
        definition, unit = figure["definition"], figure["unit"]
        known = find_quantity(definition)
        if known is None:
            found.add(f"{path}: {definition} is not in the register")
        elif not known.unit.startswith(OWN_UNIT) and known.unit != unit:
            found.add(f"{path}: {definition} is in {unit}, not in {known.unit}")
    return found


def routes_with_figures() -> dict[str, set[str]]:
    """Paths of the reads whose answers have figures, each with the parameters without which it cannot be asked."""
    document = json.loads((ROOT / "contract" / "openapi.json").read_text(encoding="utf-8"))
    found = {}
    for path, methods in document["paths"].items():
        read = methods.get("get", {"responses": {}})
        answer = read["responses"].get("200", {}).get("content", {}).get("application/json", {})
        if "Figure" in _models(answer, document["components"]["schemas"], set()):
            found[path] = {one["name"] for one in read.get("parameters", ()) if one.get("required")}
    return found


def _models(part: Any, schemas: dict[str, Any], seen: set[str]) -> set[str]:  # noqa: ANN401 - any part of a document
    """Names of all models that a part of the document leads to, added to those that were seen."""
    for value in part if isinstance(part, list) else part.values() if isinstance(part, dict) else ():
        if isinstance(value, str) and value.startswith("#/components/schemas/"):
            name = value.rpartition("/")[2]
            if name not in seen:
                seen.add(name)
                _models(schemas[name], schemas, seen)
        else:
            _models(value, schemas, seen)
    return seen
