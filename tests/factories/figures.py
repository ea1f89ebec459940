"""All figures of an answer of the API, and what of them the register of quantities does not say."""

from collections.abc import Iterator
from typing import Any

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
