"""The wheel `tierscope` and the chart are the same bytes, whenever and wherever the same files are packed."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from architecture.tree import ROOT

TOOLS = ROOT / ".build" / "dist-tools"
FILES = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE")
FOLDERS = ("backend/tierscope", "migrations", "deploy/dist", "deploy/helm")
COMMIT_SECONDS = 1_750_000_000


def copy_of_the_tree(target: Path, mtime_seconds: int) -> None:
    """Copy what wheel and chart are made of, with a time of its own on every file."""
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, target / folder, ignore=ignored)
    for file in FILES:
        shutil.copy(ROOT / file, target / file)
    for path in target.rglob("*"):
        os.utime(path, (mtime_seconds, mtime_seconds))
    (target / ".build").mkdir()
    (target / ".build" / "dist-tools").symlink_to(TOOLS)


def packed(tree: Path, command: list[str], results: str) -> dict[str, str]:
    env = os.environ | {"SOURCE_DATE_EPOCH": str(COMMIT_SECONDS)}
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (tree / results).iterdir()}


@pytest.mark.parametrize(
    ("command", "results", "tool"),
    [
        ([str(TOOLS / "bin" / "python"), "-m", "hatchling", "build", "--target", "wheel"], "dist", "hatchling"),
        (["deploy/dist/chart.sh"], ".build/dist/chart", "helm.helm@v3.19.0"),
    ],
    ids=["wheel", "chart"],
)
def test_other_times_and_places_change_no_byte(tmp_path: Path, command: list[str], results: str, tool: str) -> None:
    if not (TOOLS / "bin" / tool).exists():
        pytest.skip("the tools that pack are not installed: make dist brings them")
    found = []
    for name, mtime_seconds in (("one", 1_600_000_000), ("another", 1_700_000_000)):
        tree = tmp_path / name
        copy_of_the_tree(tree, mtime_seconds)
        found.append(packed(tree, command, results))
    assert len(found[0]) == 1
    assert found[0] == found[1]
