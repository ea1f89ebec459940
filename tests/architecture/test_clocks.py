"""Tests wait for events and read one clock: `sleep` and clocks of other origin stand in a short list, with reasons."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from architecture.tree import ROOT, tracked

REASONS = Path(__file__).with_name("clocks.toml")
WALL = {
    "datetime.now",
    "datetime.today",
    "datetime.utcnow",
    "date.today",
    "time.localtime",
    "time.gmtime",
    "time.time",
    "time.time_ns",
}
STOPWATCHES = {"time.monotonic", "time.monotonic_ns", "time.perf_counter", "time.perf_counter_ns"}
SLEEPS = {"time.sleep", "asyncio.sleep", "wait_for_timeout"}
_NEAR_CLOCKS = re.compile(
    r"\.(?:now|today|utcnow|localtime|gmtime)\b|\b(?:time\.\w|from (?:time|asyncio) import)|sleep|wait_for_timeout"
)
_RUST_TESTS = re.compile(r"^#\[cfg\(test\)\]\s*\n(?:pub )?mod \w+ \{", re.MULTILINE)
_RUST = re.compile(r"\b(?:thread::sleep|SystemTime::now)\b")
_WEB = re.compile(r"\b(?:setTimeout\(|Date\.now\(|new Date\(\)|performance\.now\()")


def python_calls(text: str) -> Iterator[str]:
    """Yield the dotted names that a Python file calls or hands on: `time.sleep`, also where `sleep` was imported."""
    if not _NEAR_CLOCKS.search(text):
        return  # parsing takes a hundred times as long
    tree = ast.parse(text)
    origins = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in {"time", "asyncio", "datetime"}
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
            yield node.attr if node.attr in SLEEPS else f"{owner}.{node.attr}"
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield origins.get(node.id, "")


def rust_tests(path: Path, text: str) -> str:
    """Return what of a Rust file is test code: all of it in folders and files of tests, else the module at its end."""
    if {"testing", "tests", "tests.rs"} & set(path.parts):
        return text
    found = _RUST_TESTS.search(text)
    return text[found.start() :] if found else ""


def used(path: Path) -> set[str]:
    """Return the clocks and sleeps that the test code of one file uses."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.suffix == ".py":
        return set(python_calls(text)) & (WALL | STOPWATCHES | SLEEPS)
    if path.suffix == ".rs":
        return set(_RUST.findall(rust_tests(path, text)))
    return set(_WEB.findall(text)) if ".test." in path.name else set()


def reasons() -> dict[str, dict[str, str]]:
    """Return the list of `clocks.toml`: file or folder, what it may use, and why."""
    return tomllib.loads(REASONS.read_text(encoding="utf-8"))


def allowed(path: Path, listed: dict[str, dict[str, str]]) -> set[str]:
    """Return what the list lets a file use."""
    places = [str(path), *(f"{parent}/" for parent in path.parents)]
    return {name for place in places for name in listed.get(place, {})}


def files_of_tests() -> list[Path]:
    ours = [path for path in tracked(".py") if path.parts[0] in {"tests", "lab"}]
    return ours + tracked(".rs", ".ts", ".tsx")


def test_tests_neither_sleep_nor_read_a_clock_of_their_own() -> None:
    listed = reasons()
    strangers = {str(path): sorted(rest) for path in files_of_tests() if (rest := used(path) - allowed(path, listed))}
    assert strangers == {}, "wait with factories.waiting, read tierscope.core.clock; or give a reason in clocks.toml"


def test_every_line_of_the_list_is_needed_and_has_a_reason() -> None:
    listed = reasons()
    files = files_of_tests()
    for place, names in listed.items():
        here = [path for path in files if str(path) == place or str(path).startswith(place.rstrip("/") + "/")]
        found = Counter(name for path in here for name in used(path))
        assert [name for name in names if not found[name]] == [], f"{place} no longer needs it"
        assert all(len(reason.split()) > 3 for reason in names.values()), place


def test_the_product_reads_the_wall_clock_in_one_place() -> None:
    product = [path for path in tracked(".py") if path.parts[:2] == ("backend", "tierscope")]
    readers = {
        str(path): sorted(found)
        for path in product
        if (found := set(python_calls((ROOT / path).read_text(encoding="utf-8"))) & WALL)
    }
    assert readers == {
        "backend/tierscope/api/base/rate_limits.py": [
            "time.time"
        ],  # the library of rate limits tells times by this clock
        "backend/tierscope/core/clock.py": ["datetime.now"],
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import time\ntime.sleep(1)", "time.sleep"),
        ("from time import sleep as nap\nnap(1)", "time.sleep"),
        ("import asyncio\nawait asyncio.sleep(1)", "asyncio.sleep"),
        ("import datetime\ndatetime.datetime.now()", "datetime.now"),
        ("from datetime import datetime\nfield(default_factory=datetime.now)", "datetime.now"),
        ("page.wait_for_timeout(100)", "wait_for_timeout"),
    ],
)
def test_the_check_finds_what_it_is_for(text: str, found: str) -> None:
    assert found in set(python_calls(text))


def test_only_test_code_of_a_rust_file_is_looked_at() -> None:
    product = "fn wait() { std::thread::sleep(PAUSE); }\n"
    assert rust_tests(Path("src/wait.rs"), product) == ""
    tests = "#[cfg(test)]\nmod tests {\n    fn nap() { std::thread::sleep(PAUSE); }\n}\n"
    assert _RUST.findall(rust_tests(Path("src/wait.rs"), product + tests)) == ["thread::sleep"]
    assert rust_tests(Path("crates/damon/tests/live.rs"), product) == product
