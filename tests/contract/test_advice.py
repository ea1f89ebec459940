"""Charters of advice are well-formed, and the tables and the page that are made from them are up to date."""

import importlib
import tomllib
from pathlib import Path
from shutil import copytree
from types import ModuleType

import pytest

from tierscope.domain._generated.advice import CHARTERS, HAZARDS, KEEP_SYSCTL
from tierscope.domain.knobs.advice import _NOTICES

CONTRACT = Path(__file__).resolve().parents[2] / "contract"


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The generator, which is a script and not part of a package."""
    monkeypatch.syspath_prepend(str(CONTRACT))
    return importlib.import_module("gen_advice")


def entry(rule: str) -> dict[str, object]:
    return tomllib.loads((CONTRACT / "advice" / f"{rule}.toml").read_text(encoding="utf-8"))


def test_every_generated_file_is_up_to_date(generator: ModuleType) -> None:
    texts = generator.render_all(generator.load())
    stale = [str(path) for path, text in texts.items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run contract/gen_advice.py and commit the result"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"must_not": {}}, "must_not"),
        ({"source": []}, "names its sources"),
        ({"must_not": {"weather": "silent"}}, "no hazard"),
        ({"must_not": {"one-tier": "perhaps"}}, "not one of"),
        ({"harm": []}, "`harm`"),
        ({"measure": ""}, "`measure`"),
        ({"together_why": ""}, "together_why"),
        ({"kernel": "new ones"}, "mainline release"),
        ({"stray": 1}, "stray"),
    ],
)
def test_a_charter_without_its_parts_ends_the_run(
    generator: ModuleType, change: dict[str, object], message: str
) -> None:
    with pytest.raises(generator.CharterError, match=message):
        generator.parse_charter("F2", entry("F2") | change, tuple(HAZARDS))


def test_a_hazard_that_no_rule_names_and_a_rule_without_charter_end_the_run(
    generator: ModuleType, tmp_path: Path
) -> None:
    folder = copytree(generator.CHARTERS, tmp_path / "advice")
    hazards = folder / "hazards.toml"
    text = hazards.read_text(encoding="utf-8")
    hazards.write_text(f'{text}\n[weather]\nsays = "It rains."\nseen = ""\nsources = ["window"]\n', encoding="utf-8")
    with pytest.raises(generator.CharterError, match="weather"):
        generator.load(folder)
    hazards.write_text(text, encoding="utf-8")
    (folder / "F1.toml").unlink()
    with pytest.raises(generator.CharterError, match="no charter"):
        generator.load(folder)


def test_what_belongs_together_names_each_other_where_both_need_it() -> None:
    assert "F1" in CHARTERS["F2"].together
    assert "F2" in CHARTERS["F1"].together
    assert CHARTERS["F2"].order < CHARTERS["F1"].order
    orders = [charter.order for charter in CHARTERS.values()]
    assert orders == sorted(orders)


def test_a_drop_in_sorts_behind_the_file_of_the_system() -> None:
    assert Path(KEEP_SYSCTL).name > "99-sysctl.conf"


def test_what_no_window_is_needed_for_is_said_by_doctor_too() -> None:
    rules = CONTRACT.parent / "collector-agent" / "crates" / "agent" / "src" / "doctor"
    source = "".join(path.read_text(encoding="utf-8") for path in rules.rglob("*.rs"))
    page = (CONTRACT.parent / "docs" / "agent-json.md").read_text(encoding="utf-8")
    told = {name for charter in CHARTERS.values() for name in charter.doctor}
    assert [name for name in told if f'"{name}"' not in source or f"`{name}`" not in page] == []
    notices = {advice_of.__name__ for advice_of in _NOTICES}
    assert {rule for rule in notices if not (CHARTERS[rule].doctor and CHARTERS[rule].fix)} == set()
