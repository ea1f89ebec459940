"""The checklist of a release finds what would make a bad one."""

import subprocess
import sys
from pathlib import Path

import pytest

from architecture.tree import ROOT, load_script

check = load_script("deploy/release/check.py")
OWN = "backend/tierscope/__init__.py"


def test_every_place_names_the_same_version() -> None:
    assert check.check_version(check.versions(ROOT), None).faults == []


def test_places_are_told_whose_version_reaches_hosts() -> None:
    manifests = ("agent-daemonset", "exporter-daemonset", "service")
    assert {f"images of deploy/kubernetes/{name}.yaml" for name in manifests} <= set(check.versions(ROOT))


@pytest.mark.parametrize(
    ("found", "newest", "word"),
    [
        ({OWN: "0.2.0", "frontend/package.json": "0.1.0"}, None, "frontend/package.json"),
        ({OWN: "0.2.0"}, "0.2.0", "not later"),
        ({OWN: "0.9.0"}, "0.10.0", "not later"),
        ({OWN: "0.2"}, None, "MAJOR.MINOR.PATCH"),
    ],
)
def test_a_wrong_version_is_found(found: dict[str, str], newest: str | None, word: str) -> None:
    [fault] = check.check_version(found, newest).faults
    assert word in fault


@pytest.mark.parametrize(
    ("fragment", "version", "newest", "word"),
    [
        (None, "0.2.0", "0.1.0", "nothing to tell"),
        ("+x.better.md", "0.2.0", "0.1.0", "names no kind"),
        ("+x.breaking.md", "1.1.0", "1.0.0", "new major version"),
        ("+x.breaking.md", "0.1.1", "0.1.0", "new minor version"),
        ("+x.added.md", "1.0.1", "1.0.0", "new minor version"),
        ("+x.breaking.md", "0.2.0", "0.1.0", None),
        ("+x.breaking.md", "2.0.0", "1.4.0", None),
        ("+x.fixed.md", "1.0.1", "1.0.0", None),
        ("+x.added.md", "0.1.0", None, None),
    ],
)
def test_fragments_fit_the_version(
    tmp_path: Path, fragment: str | None, version: str, newest: str | None, word: str | None
) -> None:
    (tmp_path / "changes").mkdir()
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n", encoding="utf-8")
    if fragment:
        (tmp_path / "changes" / fragment).write_text("Something.\n", encoding="utf-8")
    faults = check.check_changelog(tmp_path, version, newest).faults
    assert bool(faults) == (word is not None)
    assert all(word in fault for fault in faults)


def test_fragments_of_this_tree_have_kinds_and_make_a_section() -> None:
    assert check.check_changelog(ROOT, "99.0.0", None).faults == []
    towncrier = Path(sys.executable).with_name("towncrier")
    if not towncrier.exists():
        pytest.skip("towncrier is not installed: run `make setup`")
    done = subprocess.run(
        [towncrier, "build", "--draft", "--version", "99.0.0"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "## 99.0.0" in done.stdout


def test_what_can_be_looked_at_in_this_tree_is_right() -> None:
    assert check.check_schema(ROOT).faults == []
    assert check.check_policy(ROOT).faults == []
    assert check.check_make(ROOT, "test", full=False).faults is None


def test_uncommitted_files_are_named(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "new.txt").write_text("", encoding="utf-8")
    [fault] = check.check_tree(tmp_path).faults
    assert "new.txt" in fault
