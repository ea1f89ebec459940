"""The dashboard's sources: no folder too full to be taken in at once, and no imports in a loop."""

import os
import re
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from architecture.tree import ROOT, tracked

SOURCES = Path("frontend/src")
# Every file but specs counts, styles of a component too: they all stand in the listing that a reader looks through.
FOLDER_FILES = 25
# The dashboard imports its own files by relative paths alone. Imports of types count: they are read together as well.
_IMPORTED = re.compile(r"\b(?:from|import)\s*\(?\s*'(?P<path>\.[^']+)'")


def full_folders(paths: list[Path]) -> list[str]:
    """Return the folders that hold more files than one listing should."""
    counts = Counter(path.parent for path in paths if ".spec." not in path.name and "__mocks__" not in path.parts)
    return [
        f"{folder}: {count} files, at most {FOLDER_FILES}" for folder, count in counts.items() if count > FOLDER_FILES
    ]


def imports(sources: dict[Path, str]) -> dict[Path, set[Path]]:
    """Return for each file of TypeScript the ones that it imports."""
    graph: dict[Path, set[Path]] = {}
    for path, text in sources.items():
        named = [Path(os.path.normpath(path.parent / match["path"])) for match in _IMPORTED.finditer(text)]
        candidates = {name.with_name(name.name + suffix) for name in named for suffix in (".ts", ".tsx")}
        graph[path] = candidates & sources.keys()
    return graph


def loop(graph: dict[Path, set[Path]]) -> list[str]:
    """Return the files of one loop of imports, the first one again at the end; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [str(path) for path in error.args[1]]
    return []


def test_no_folder_of_the_dashboard_is_too_full() -> None:
    paths = [path for path in tracked("") if path.is_relative_to(SOURCES)]
    assert full_folders(paths) == []


def test_the_dashboard_imports_nothing_in_a_loop() -> None:
    paths = [path for path in tracked(".ts", ".tsx") if path.is_relative_to(SOURCES)]
    graph = imports({path: (ROOT / path).read_text(encoding="utf-8") for path in paths})
    assert sum(map(len, graph.values())) > len(paths), "imports are no longer recognised"
    assert loop(graph) == []


def test_a_folder_is_too_full_by_one_file() -> None:
    files = [SOURCES / f"ui/Part{number}.tsx" for number in range(FOLDER_FILES)]
    files += [SOURCES / "ui/Part0.spec.tsx", SOURCES / "ui/__mocks__/Part0.tsx"]
    assert full_folders(files) == []
    assert full_folders([*files, SOURCES / "ui/Part0.module.css"]) == ["frontend/src/ui: 26 files, at most 25"]


@pytest.mark.parametrize(
    "line",
    [
        "import { b } from './b'",
        "import type {\n  B,\n} from '../x/b'",
        "const { b } = await import('./b')",
        "import './b'",
    ],
)
def test_a_loop_is_found_however_it_is_imported(line: str) -> None:
    a, b = Path("x/a.tsx"), Path("x/b.ts")
    assert loop(imports({a: line, b: ""})) == []
    assert set(loop(imports({a: line, b: "import { a } from './a'"}))) == {str(a), str(b)}
