"""Every definition of a figure stands in contract/quantities.toml, and is made in one place of the code."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from factories.figures import unregistered
from tierscope.domain._generated.quantities import QUANTITIES
from tierscope.domain.base.quantities import find_quantity

BACKEND = Path(__file__).resolve().parents[2] / "backend" / "tierscope"
DEFINITION = re.compile(r"[a-z_]*(\.[a-z0-9_]*|\0)+[a-z0-9_.\0]*/[1-9][0-9]*")
"""Of a text in which what is filled in is a NUL."""
DOCUMENT = re.compile(r"tierscope\.")
"""Versions of documents are written alike and are no figures."""
VERSION = re.compile(r"/[1-9][0-9]*\"")
NAME = re.compile(r"\{[a-z]+\}")


def texts(tree: ast.AST) -> Iterator[str]:
    """All texts that look like a definition; what is filled in stands as a NUL."""
    inside = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
            text = "".join(str(part) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            text = node.value
        else:
            continue
        if DEFINITION.fullmatch(text) and not DOCUMENT.match(text):
            yield text


@pytest.fixture(scope="module")
def made() -> dict[str, set[str]]:
    """The modules that make each definition, by its text."""
    found = defaultdict(set)
    for path in sorted(BACKEND.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "_generated" not in path.parts and VERSION.search(source):
            for text in texts(ast.parse(source)):
                found[text].add(str(path.relative_to(BACKEND)))
    return found


def fits(text: str, definition: str) -> bool:
    """Whether a text of the code makes this entry of the register."""
    if "\0" not in text:
        quantity = find_quantity(text)
        return quantity is not None and quantity.definition == definition
    pattern = re.escape(text).replace("\0", "[a-z0-9_.]+")
    return re.fullmatch(pattern, NAME.sub("x", definition)) is not None


def test_each_definition_of_the_code_is_in_the_register_and_each_entry_is_made_somewhere(
    made: dict[str, set[str]],
) -> None:
    unknown = {text for text in made if not any(fits(text, one) for one in QUANTITIES)}
    assert not unknown, f"add to contract/quantities.toml: {sorted(unknown)}"
    never = {one for one in QUANTITIES if not any(fits(text, one) for text in made)}
    assert not never, f"no figure has these: {sorted(never)}"


def test_a_definition_is_made_in_one_module(made: dict[str, set[str]]) -> None:
    twice = {text: sorted(homes) for text, homes in made.items() if len(homes) > 1}
    assert not twice, twice


@pytest.mark.parametrize(
    ("definition", "unit", "is_known"),
    [
        ("heat.hot_ratio/1", "ratio", True),
        ("heat.hot_ratio/1", "bytes", False),
        ("heat.hot_ratio/2", "ratio", False),
        ("tier_moves.oom_kills/1", "events", True),
    ],
)
def test_figures_are_looked_up_with_their_units(definition: str, unit: str, is_known: bool) -> None:  # noqa: FBT001
    figure = {"definition": definition, "unit": unit, "status": "ok"}
    assert (not unregistered({"items": [{"share": figure}]})) is is_known
