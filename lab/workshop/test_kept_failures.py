"""What a failed test leaves behind: a line for the closing summary, the logs of its servers, its smallest case."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from architecture.tree import ROOT
from fixtures.properties import FoundCases

PLUGINS = ("_hypothesis_pytestplugin", "fixtures.server_logs", "fixtures.failures", "fixtures.properties")


def run_tests(folder: Path, text: str, *arguments: str) -> tuple[str, list[dict[str, Any]]]:
    """Run a module of tests with the plugins of all tests; return what it printed, and the lines of what failed."""
    module = folder / "test_made.py"
    module.write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    failures = folder / "logs" / "failures.jsonl"
    plugins = [word for plugin in PLUGINS for word in ("-p", plugin)]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, f"--failures={failures}", *arguments, str(module)]
    env = os.environ | {"PYTHONPATH": str(ROOT / "tests"), "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert failures.exists(), done.stdout + done.stderr
    return done.stdout, [json.loads(line) for line in failures.read_text().splitlines()]


SERVERS = """
import contextlib, pathlib, shutil, tempfile, pytest
from fixtures.server_logs import logs_kept

def use(text="started"):
    base = pathlib.Path(tempfile.mkdtemp())
    with logs_kept(base):
        (base / "logs").mkdir()
        (base / "logs" / "api.log").write_text(text)
        (base / "postgres").mkdir()
        (base / "postgres" / "wal.log").write_text("not for people")
        yield
    shutil.rmtree(base)

server = pytest.fixture(use)

def test_fails(server, tmp_path):
    (tmp_path / "worker.log").write_bytes(b"x" * (2 << 20) + b"the end")
    print("seen")
    assert 1 == 2

def test_expects():
    with pytest.raises(ValueError):
        with contextlib.contextmanager(use)("wanted"):
            raise ValueError
"""


def test_a_failed_test_keeps_the_logs_of_its_servers_and_one_that_passes_none(tmp_path: Path) -> None:
    printed, (head, *failed) = run_tests(tmp_path, SERVERS, "--hypothesis-seed=7")
    assert "1 failed, 1 passed" in printed
    assert head == {"seeds": {"--hypothesis-seed": "7"}}
    (line,) = failed
    assert (line["test"], line["when"]) == ("test_made.py::test_fails", "call")
    assert "--- Captured stdout call\nseen\n" in line["output"]
    assert line["output"].endswith("AssertionError")
    kept = Path(line["logs"])
    assert [folder.name for folder in kept.parent.iterdir()] == [kept.name]
    logs = {path.name: path.read_text() for path in kept.rglob("*.log")}
    assert set(logs) == {"api.log", "worker.log"}
    assert logs["api.log"] == "started"
    assert logs["worker.log"].endswith("the end")
    assert len(logs["worker.log"]) == 1 << 20


def test_what_cannot_be_loaded_is_listed(tmp_path: Path) -> None:
    _, (_, line) = run_tests(tmp_path, "import nothing_of_this_name\n")
    assert (line["test"], line["when"]) == ("test_made.py", "collection")


DRAWS = """
import hypothesis, json, pathlib, sys
from hypothesis import strategies as st
drawn = []

@hypothesis.given(st.integers(), st.text())
def test_draws(number, text):
    drawn.append([number, text])

def test_writes():
    pathlib.Path("drawn.json").write_text(json.dumps(drawn))
"""


def test_a_seed_draws_the_same_whatever_else_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text(f"NUMBERS = {list(range(123456, 123956))}\nWORDS = {['word'] * 3}\n")
    drawn = []
    for text, seed in ((DRAWS, 1), (f"import sys; sys.path.append('.')\nimport more\n{DRAWS}", 1), (DRAWS, 2)):
        run_tests(tmp_path, text, f"--hypothesis-seed={seed}")
        drawn.append((tmp_path / "drawn.json").read_text())
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


FINDS = """
import pathlib
from hypothesis import given, settings, strategies as st
from hypothesis.database import ReadOnlyDatabase
from fixtures.properties import FoundCases
cases = FoundCases(pathlib.Path("found"))
seen = []

@settings(database={database}, max_examples={examples})
@given(st.integers())
def test_finds(number):
    seen.append(number)
    print("seen", seen)
    assert {holds}
"""


def test_a_found_case_is_asked_first_in_every_later_run_and_stays_when_it_passes(tmp_path: Path) -> None:
    finds = FINDS.format(database="cases", examples=1000, holds="number < 1000")
    run_tests(tmp_path, finds, "--hypothesis-seed=1")
    (case,) = (tmp_path / "found").rglob("*.case")
    for database in ("ReadOnlyDatabase(cases)", "cases"):
        asks = FINDS.format(database=database, examples=1, holds="number != 1000")
        _, lines = run_tests(tmp_path, asks, "--hypothesis-seed=2")
        assert "seen [1000" in lines[1]["output"]
        mended = FINDS.format(database=database, examples=1, holds="True")
        _, lines = run_tests(tmp_path, mended, "--hypothesis-seed=2")
        assert len(lines) == 1
        assert [*(tmp_path / "found").rglob("*")] == [case.parent, case]


def test_only_the_smallest_failing_cases_are_kept(tmp_path: Path) -> None:
    cases = FoundCases(tmp_path)
    cases.save(b"tests/a.py::test[x/y]", b"large")
    cases.save(b"tests/a.py::test[x/y].pareto", b"aside")
    cases.move(b"tests/a.py::test[x/y]", b"tests/a.py::test[x/y].secondary", b"large")
    cases.save(b"tests/a.py::test[x/y]", b"small")
    cases.delete(b"tests/a.py::test[x/y]", b"small")
    assert list(cases.fetch(b"tests/a.py::test[x/y]")) == [b"small"]
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("a.py-test-x-y-")
