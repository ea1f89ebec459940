"""The districts of the service: the same names in every layer, and no folder that one cannot take in at a glance."""

import re
import tomllib
from collections import Counter
from pathlib import Path

from architecture.tree import ROOT, tracked

PACKAGE = Path("backend/tierscope")
MOST_FILES = 25
LAYERS = ("api", "cli", "domain", "storage", "usecases")


def districts_in_order() -> list[str]:
    """Return the names that import-linter orders, the lowest last."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    found = next(contract for contract in contracts if contract["id"] == "districts")
    assert {name.removeprefix("tierscope.") for name in found["containers"]} == set(LAYERS)
    return [name.strip().strip("()") for line in found["layers"] for name in line.split("|")]


def files() -> list[Path]:
    """Return the Python files of the package, by their path within it."""
    return sorted(path.relative_to(ROOT / PACKAGE) for path in (ROOT / PACKAGE).rglob("*.py"))


def test_every_district_has_its_place_in_the_order() -> None:
    named = set(districts_in_order())
    found = {path.parts[1] for path in files() if path.parts[0] in LAYERS and len(path.parts) > 2}
    assert sorted(found - named) == [], "give them a place in the contract `districts` of pyproject.toml"
    loose = {path.stem for path in files() if path.parts[0] in LAYERS and len(path.parts) == 2}
    assert sorted(loose - named - {"__init__", "__main__"}) == [], "put them into a district"
    assert sorted(named - found - loose) == [], "no layer has these districts any more"


def test_no_folder_has_more_files_than_one_takes_in_at_a_glance() -> None:
    counts = Counter(path.parent for path in files() if path.name != "__init__.py")
    assert {str(folder): count for folder, count in counts.items() if count > MOST_FILES} == {}
    assert len(counts) > len(LAYERS)


def test_nothing_imports_the_lab_but_the_lab() -> None:
    lab = {path.parts[1] for path in tracked(".py") if path.parts[0] == "lab"}
    imports = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(sorted(lab))})\b", re.MULTILINE)
    others = [path for path in tracked(".py") if path.parts[0] != "lab"]
    assert [path for path in others if imports.search((ROOT / path).read_text(encoding="utf-8"))] == []
    assert imports.search("from bench.ingest import serving")
