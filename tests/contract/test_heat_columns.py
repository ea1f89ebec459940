"""The columns of heat are well-formed, and what is generated from them is up to date."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tierscope.domain._generated.heat_columns import HEAT_COLUMNS

ROOT = Path(__file__).resolve().parents[2]

ENTRY = {
    "name": "pinned_bytes",
    "number": 99,
    "type": "sint64",
    "presence": "optional",
    "absent": -1,
    "meaning": "Pinned.",
}


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The generator, which is a script and not part of a package."""
    monkeypatch.syspath_prepend(str(ROOT / "contract"))
    before = set(sys.modules)
    yield importlib.import_module("gen_heat")
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_every_generated_file_is_up_to_date(generator: ModuleType) -> None:
    texts = generator.render_all(generator.load_columns())
    stale = [str(path) for path, text in texts.items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run contract/gen_heat.py and commit the result"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"type": "float"}, "type `float` is unknown"),
        ({"presence": "maybe"}, "presence `maybe` is unknown"),
        ({"meaning": ""}, "`meaning` is missing"),
        ({"colour": "red"}, "`colour` is not a key"),
        ({"type": "matrix"}, "has a `width`"),
        ({"presence": "required"}, "of optional columns alone"),
        ({"rollup": {"rule": "part", "columns": ["pinned_bytes"]}}, "`rollup` is a rule"),
        ({"absent": None, "rollup": {"rule": "part", "columns": ["a", "b"]}}, "add `absent`"),
    ],
)
def test_a_broken_entry_is_refused_with_its_name(
    generator: ModuleType, change: dict[str, object], message: str
) -> None:
    with pytest.raises(generator.ColumnError, match=message) as error:
        generator.parse_column(ENTRY | change)
    assert "pinned_bytes" in str(error.value)


def test_a_number_of_the_wire_is_given_once(generator: ModuleType, tmp_path: Path) -> None:
    table = "[[column]]\n" + "\n".join(f"{key} = {value!r}" for key, value in ENTRY.items())
    columns = tmp_path / "columns.toml"
    columns.write_text(f"{table}\n{table.replace('pinned_bytes', 'other_bytes')}\n", encoding="utf-8")
    with pytest.raises(generator.ColumnError, match="duplicate `99`"):
        generator.load_columns(columns)


def test_the_first_columns_keep_their_places_in_packed_bodies() -> None:
    names = [column.name for column in HEAT_COLUMNS]
    assert names[:6] == [
        "validity",
        "resident_bytes",
        "age_bytes",
        "never_bytes",
        "active_count_bytes",
        "active_lo_bytes",
    ]
    assert names[14:17] == ["sampled_pages", "written_bytes", "subpage_active_bytes"]
