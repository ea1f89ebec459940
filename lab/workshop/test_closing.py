"""The closing summary names what failed in each language, and tells a constant fault from one by chance."""

import json
import re
import sys
from pathlib import Path

import pytest

from workshop import closing
from workshop.closing import (
    FAILED,
    PASSED,
    TOO_LONG,
    UNKNOWN,
    Alone,
    Failure,
    close,
    run_again,
    run_alone,
    rust_failures,
)

RUST = """
   Compiling tierscope-sample v0.1.0
     Running unittests src/lib.rs (target/debug/deps/tierscope_sample-1a)

running 1 test
test fold::adds ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out

     Running tests/any_text.rs (target/debug/deps/any_text-2b)

running 3 tests
test counts ... FAILED
test reads ... ok
test writes ... FAILED

failures:

---- counts stdout ----
what counts printed

---- writes stdout ----
failures:
printed by writes itself


failures:
    counts
    writes

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out

error: test failed, to rerun pass `-p tierscope-procfs --test any_text`
     Running tests/live.rs (target/debug/deps/live-3c)

running 2 tests
error: test failed, to rerun pass `-p tierscope-perf --test live`

Caused by:
  process didn't exit successfully: `live-3c` (signal: 6, SIGABRT: process abort signal)
   Doc-tests tierscope_wire

running 1 test
test src/lib.rs - seal (line 3) ... FAILED

failures:

---- src/lib.rs - seal (line 3) stdout ----
not sealed

failures:
    src/lib.rs - seal (line 3)

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out

error: doctest failed, to rerun pass `-p tierscope-wire --doc`
"""
WEB = {
    "success": False,
    "testResults": [
        {
            "name": str(closing.ROOT / "frontend/src/lib/a.spec.ts"),
            "status": "failed",
            "assertionResults": [
                {
                    "fullName": "units adds (1 + 2)",
                    "status": "failed",
                    "failureMessages": ["expected 3\n  at a.spec.ts"],
                },
                {"fullName": "units holds", "status": "passed", "failureMessages": []},
            ],
        },
        {
            "name": str(closing.ROOT / "frontend/src/b.spec.ts"),
            "status": "failed",
            "message": "no b",
            "assertionResults": [],
        },
        {
            "name": str(closing.ROOT / "frontend/src/c.spec.ts"),
            "status": "passed",
            "message": "",
            "assertionResults": [],
        },
    ],
}
PYTHON = [
    {"seeds": {"--hypothesis-seed": "5", "-p randomly --randomly-seed": 6}},
    {"test": "tests/a.py::test_a[x y]", "when": "call", "output": "\n".join(map(str, range(99))), "logs": "kept/here"},
    {"test": "tests/a.py::test_a[x y]", "when": "teardown", "output": "again", "logs": None},
    {"test": "tests/b.py", "when": "collection", "output": "no module", "logs": None},
]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """What a run with faults in all languages left."""
    (tmp_path / "rust.log").write_text(RUST)
    (tmp_path / "web.json").write_text(json.dumps(WEB))
    (tmp_path / "python.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in PYTHON))
    (tmp_path / "suites").write_text("rust FAILED 9\nagent FAILED 3\nweb FAILED 2\npython FAILED 1\n")
    (tmp_path / "agent.log").write_text("the linker is missing\n")
    return tmp_path


def names(lines: list[str]) -> list[str]:
    last = next(at for at, line in enumerate(lines) if re.match(r"==> \d+ failed", line))
    return lines[last:]


def test_each_failure_is_named_with_the_end_of_its_output_and_run_alone(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROPTEST_RNG_SEED", "8")
    asked: list[Failure] = []

    def run(failure: Failure, _: float) -> Alone:
        asked.append(failure)
        if failure.suite == "rust":
            return Alone(0, "     Running x (target/debug/deps/any_text-2b)\ntest result: ok. 1 passed; 0 failed;\n")
        if failure.suite == "web":
            (logs / "alone" / "alone.json").write_text('{"success": false, "numPassedTests": 1}')
            return Alone(1, "")
        return Alone(0, "1 passed in 2.00s")

    lines = close(logs, run)
    seeds = "--hypothesis-seed=5, -p randomly --randomly-seed=6, PROPTEST_RNG_SEED=8"
    assert names(lines) == [
        f"==> 9 failed; seeds: {seeds}",
        f"  rust: -p tierscope-procfs --test any_text: counts: {PASSED} (seeds: {seeds})",
        f"  rust: -p tierscope-procfs --test any_text: writes: {PASSED} (seeds: {seeds})",
        "  rust: -p tierscope-perf --test live: ended before its tests did: it cannot be run alone",
        "  rust: -p tierscope-wire --doc: src/lib.rs - seal (line 3): it cannot be run alone",
        f"  web: src/lib/a.spec.ts: units adds (1 + 2): {FAILED}",
        f"  web: src/b.spec.ts: {FAILED}",
        f"  python: tests/a.py::test_a[x y]: {PASSED} (seeds: {seeds})",
        "  python: tests/b.py: it cannot be run alone",
        "  agent: the suite as a whole: it cannot be run alone",
    ]
    assert [failure.command[-1] for failure in asked] == [
        "counts",
        "writes",
        r"^units\ adds\ \(1\ \+\ 2\)$",
        "src/b.spec.ts",
        "tests/a.py::test_a[x y]",
    ]
    assert list(asked[0].command)[-5:-1] == ["--test", "any_text", "--", "--exact"]
    assert list(asked[-1].command)[3:8] == ["-q", "-n0", "--hypothesis-seed=5", "-p", "randomly"]
    text = "\n".join(lines)
    for output in ("what counts printed", "SIGABRT", "not sealed", "expected 3", "no b", "no module", "linker"):
        assert output in text
    assert "    69\n" in text
    assert "    68\n" not in text
    assert "  logs of its servers: kept/here\n" in text


def test_nothing_is_said_of_a_run_in_which_all_passed(tmp_path: Path) -> None:
    (tmp_path / "rust.log").write_text(RUST.partition("     Running tests/any_text.rs")[0])
    (tmp_path / "python.jsonl").write_text(f"{json.dumps(PYTHON[0])}\n")
    (tmp_path / "suites").write_text("rust passed 9\npython passed 1\n")
    assert close(tmp_path) == []


def test_a_rust_test_counts_as_passed_where_it_was_seen_to_pass_in_its_own_program(tmp_path: Path) -> None:
    failure = rust_failures(RUST)[0]
    program, other = "any_text-2b", "any_text-9f"
    for binary, result, said in (
        (program, "ok. 1 passed; 0 failed;", PASSED),
        (program, "ok. 0 passed; 0 failed;", UNKNOWN),
        (other, "ok. 1 passed; 0 failed;", UNKNOWN),
        (program, "FAILED. 0 passed; 1 failed;", FAILED),
    ):
        output = f"     Running tests/any_text.rs (target/debug/deps/{binary})\n\ntest result: {result}\n"
        assert closing.verdict(failure, Alone(0, output), tmp_path) == said


def test_runs_are_bounded_in_number_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [Failure("python", f"t{number}", "", ["x"]) for number in range(12)]
    sentences = run_again(failures, tmp_path, lambda *_: Alone(1, ""))
    assert sentences == [FAILED] * 10 + ["not run alone: 10 others were"] * 2
    monkeypatch.setattr(closing, "MOST_SECONDS", 0.0)
    assert run_again(failures[:1], tmp_path, lambda *_: Alone(1, "")) == ["not run alone: the others took 0 s"]


def test_a_command_is_run_for_its_status_and_output_and_ended_when_the_time_is_over(tmp_path: Path) -> None:
    prints = Failure("python", "t", "", [sys.executable, "-c", "print('1 passed')"], tmp_path)
    assert run_alone(prints, 60) == Alone(0, "1 passed\n")
    waits = Failure("python", "t", "", [sys.executable, "-c", "import time; time.sleep(600)"], tmp_path)
    assert closing.verdict(waits, run_alone(waits, 0.2), tmp_path) == TOO_LONG
    missing = Failure("python", "t", "", [str(tmp_path / "none")], tmp_path)
    assert "it cannot be run alone" in run_again([missing], tmp_path)[0]


def test_long_cases_are_closed_like_all_others(tmp_path: Path) -> None:
    (tmp_path / "long.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in PYTHON[:2]))
    (tmp_path / "suites").write_text("python passed 1\nlong FAILED 9\n")
    asked: list[Failure] = []

    def run(failure: Failure, _: float) -> Alone:
        asked.append(failure)
        return Alone(0, "1 passed in 0.1s")

    lines = close(tmp_path, run)
    assert [(failure.suite, failure.command[-1]) for failure in asked] == [("long", "tests/a.py::test_a[x y]")]
    assert f"  long: tests/a.py::test_a[x y]: {PASSED}" in lines[-1]
    assert "    98" in lines
