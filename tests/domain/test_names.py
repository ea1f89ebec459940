"""Names that could deceive: found, and escaped the same way each time."""

import json
from pathlib import Path

import pytest

from tierscope.domain.base.names import escaped_name, problem_of_name

PLAIN = ["node-1", "db.example.org", "räck 7", "节点", "a..b", "...", "/system.slice/x", "v1.2..3"]
DECEIVING = ["a\nb", "a\r", "\x00", "\x1b[2J", "\x7f", "a\x85", "a\u202eb", "\u200f", "\u2069", "\u2028", "\u061c"]
PARENTS = ["..", "../x", "a/../b", "a/..", "..\\x", "a\\.."]


def test_names_are_written_out_as_the_contract_says() -> None:
    examples = Path(__file__).resolve().parents[2] / "contract" / "examples" / "escaped_names.json"
    for name, escaped in json.loads(examples.read_text(encoding="utf-8")).items():
        assert escaped_name(name) == escaped


@pytest.mark.parametrize("name", PLAIN)
def test_plain_names_stay(name: str) -> None:
    assert problem_of_name(name) is None
    assert escaped_name(name) == name


@pytest.mark.parametrize("name", DECEIVING + PARENTS)
def test_deceiving_names_are_found_and_harmless_once_escaped(name: str) -> None:
    assert problem_of_name(name)
    escaped = escaped_name(name)
    assert escaped != name
    assert problem_of_name(escaped) is None
    assert escaped_name(escaped) == escaped
