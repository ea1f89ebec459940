"""What of an advice card a decision is about, and which changes undo it."""

from typing import Any

import pytest

from tierscope.usecases.knobs.advice_cards import is_material


@pytest.mark.parametrize(
    ("before", "after", "material"),
    [
        ({"a": 2.0}, {"a": 2.9}, False),
        ({"a": 2.0}, {"a": 3.1}, True),
        ({"a": 0.0}, {"a": 0.0}, False),
        ({"a": 0.0}, {"a": 0.1}, True),
        ({"a": -1.0}, {"a": 1.0}, True),
        ({"a": "2:1"}, {"a": "1:1"}, True),
        ({"a": None}, {"a": 1.0}, True),
        ({"a": 1.0}, {"b": 1.0}, True),
    ],
)
def test_what_counts_as_a_change(before: dict[str, Any], after: dict[str, Any], *, material: bool) -> None:
    assert is_material(before, after) is material
