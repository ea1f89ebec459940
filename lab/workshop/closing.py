"""Close a run of all tests: name each test that failed with the end of its output, and run it once more, alone.

python lab/workshop/closing.py LOGS   reads what `make test` and `make test-long` left; ends with 1 when anything failed

A test that passes alone has failed by chance. That is a fault too: the seeds of the run are printed with it.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHOWN_LINES = 30
MOST_RERUNS = 10
MOST_SECONDS = 1200.0
"""For all that is run again."""
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_BINARY = re.compile(r"^ +(?:Running (?P<target>.+) \((?P<path>\S+)\)|Doc-tests (?P<crate>\S+))$", re.MULTILINE)
_HINT = re.compile(r"to rerun pass `([^`]+)`")
_RUST_OUTPUT = re.compile(r"^---- (.+?) stdout ----$", re.MULTILINE)
_RUST_RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed", re.MULTILINE)

PASSED = "it passes alone, so it failed BY CHANCE"
FAILED = "it fails alone, too"
UNKNOWN = "alone it neither passed nor failed"
TOO_LONG = "it did not end in time alone"


@dataclass(frozen=True, slots=True)
class Failure:
    """A test that failed, with the command that runs it alone; without one it cannot be run alone."""

    suite: str
    name: str
    output: str
    command: Sequence[str] = ()
    folder: Path = ROOT
    logs: str | None = None
    """Where the logs of its servers are."""
    binary: str = ""
    """The Rust program that it is part of."""


@dataclass(frozen=True, slots=True)
class Alone:
    """How a command ended, and what it printed."""

    status: int | None
    output: str


Run = Callable[[Failure, float], Alone]


def python_failures(lines: Sequence[Mapping[str, Any]], scratch: Path) -> list[Failure]:
    """Return the tests in the lines of `pytest --failures`: each once, as what it needs may fail at its end too."""
    options = [f"{option}={seed}" for line in lines for option, seed in line.get("seeds", {}).items()]
    seeds = [word for option in options for word in option.split()]
    found: dict[str, Failure] = {}
    for line in lines:
        if "test" not in line or line["test"] in found:
            continue
        report = f"--failures={scratch / 'alone.jsonl'}"
        command = [sys.executable, "-m", "pytest", "-q", "-n0", *seeds, report, line["test"]]
        alone = line["when"] != "collection"
        output = f"failed in {line['when']}\n{line['output']}"
        found[line["test"]] = Failure(
            "python", line["test"], output, command if alone else (), ROOT, logs=line.get("logs")
        )
    return list(found.values())


def rust_sections(log: str) -> dict[str, str]:
    """Return what each test program printed in a log of `cargo test`."""
    starts = list(_BINARY.finditer(log))
    ends = [*(start.start() for start in starts[1:]), len(log)][: len(starts)]
    return {
        start["path"] or f"doc tests of {start['crate']}": log[start.end() : end]
        for start, end in zip(starts, ends, strict=True)
    }


def rust_failures(log: str) -> list[Failure]:
    """Return the tests that failed in a log of `cargo test --no-fail-fast`."""
    workspace = Path(os.environ.get("CARGO_DIR") or ROOT / "collector-agent")
    found = []
    for binary, text in rust_sections(log).items():
        hint = _HINT.search(text)
        if hint is None:
            continue
        blocks = _RUST_OUTPUT.split(text)
        outputs = dict(zip(blocks[1::2], blocks[2::2], strict=True))
        names = text.rpartition("\nfailures:\n")[2].partition("\ntest result:")[0]
        named = re.findall(r"^    (\S.*)$", names, re.MULTILINE) if _RUST_RESULT.search(text) else []
        words = hint[1].split()
        selector = words[2:] if words[0] == "-p" else words
        # The whole workspace, as in the run: cargo compiles a crate alone with other features.
        command = ["cargo", "test", "--workspace", "--locked", "--no-fail-fast", *selector]
        for name in named:
            output = outputs.get(name, "").partition("\nfailures:\n")[0]
            # Names of tests in documentation have spaces, at which rustdoc splits its arguments.
            exact = () if " " in name else [*command, "--", "--exact", name]
            found.append(Failure("rust", f"{hint[1]}: {name}", output, exact, workspace, binary=binary))
        if not named:
            found.append(Failure("rust", f"{hint[1]}: ended before its tests did", text))
    return found


def web_failures(report: Mapping[str, Any], scratch: Path) -> list[Failure]:
    """Return the tests that failed in a report of `vitest --reporter=json`."""
    found = []
    folder = ROOT / "frontend"
    vitest = ["node_modules/.bin/vitest", "run", "--reporter=json", f"--outputFile.json={scratch / 'alone.json'}"]
    for file in report.get("testResults", []):
        path = os.path.relpath(file["name"], folder)
        failed = [test for test in file["assertionResults"] if test["status"] == "failed"]
        for test in failed:
            # A description of several words is one pattern; nothing in it has a meaning of its own.
            exact = f"^{re.escape(test['fullName'])}$"
            output = "\n".join(test.get("failureMessages") or [])
            found.append(Failure("web", f"{path}: {test['fullName']}", output, [*vitest, path, "-t", exact], folder))
        if file["status"] == "failed" and not failed:
            found.append(Failure("web", path, file.get("message", ""), [*vitest, path], folder))
    return found


def verdict(failure: Failure, alone: Alone, scratch: Path) -> str:
    """Say what running a test alone has shown. Only a test that was seen to pass did so."""
    if alone.status is None:
        return TOO_LONG
    if failure.suite in {"python", "long"}:
        passed, failed = bool(re.search(r"\b1 passed", alone.output)), alone.status == 1
    elif failure.suite == "rust":
        results = _RUST_RESULT.findall(rust_sections(alone.output).get(failure.binary, ""))
        passed, failed = results == [("1", "0")], any(int(number) > 0 for _, number in results)
    else:
        report = _json(scratch / "alone.json")
        passed, failed = report.get("numPassedTests", 0) > 0, not report.get("success", True)
    return FAILED if failed else PASSED if passed and alone.status == 0 else UNKNOWN


def run_alone(failure: Failure, seconds: float) -> Alone:
    """Run the command of a test, and end it with all its children when the time is over."""
    with subprocess.Popen(
        failure.command,
        cwd=failure.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return Alone(None, "")
        return Alone(process.returncode, output)


def run_again(failures: Sequence[Failure], scratch: Path, run: Run = run_alone) -> list[str]:
    """Run each test alone, within the limits of number and time; return a sentence for each."""
    end = time.monotonic() + MOST_SECONDS
    sentences = []
    runs = 0
    for failure in failures:
        left = end - time.monotonic()
        if not failure.command:
            sentences.append("it cannot be run alone")
        elif runs >= MOST_RERUNS:
            sentences.append(f"not run alone: {MOST_RERUNS} others were")
        elif left <= 0:
            sentences.append(f"not run alone: the others took {MOST_SECONDS:.0f} s")
        else:
            runs += 1
            (scratch / "alone.json").unlink(missing_ok=True)
            try:
                sentences.append(verdict(failure, run(failure, left), scratch))
            except OSError as error:
                sentences.append(f"it cannot be run alone: {error}")
    return sentences


def seeds_of(lines: Sequence[Mapping[str, Any]], environment: Mapping[str, str] = os.environ) -> str:
    """Return the seeds of a run, as one would set them again."""
    seeds = {option: seed for line in lines for option, seed in line.get("seeds", {}).items()}
    configured = ROOT / ".cargo" / "config.toml"
    cargo = tomllib.loads(configured.read_text(encoding="utf-8")).get("env", {}) if configured.exists() else {}
    fixed = cargo.get("PROPTEST_RNG_SEED")
    seed = environment.get("PROPTEST_RNG_SEED", fixed["value"] if isinstance(fixed, dict) else fixed)
    return ", ".join(f"{name}={value}" for name, value in {**seeds, "PROPTEST_RNG_SEED": seed}.items() if value)


def unnamed(logs: Path, failures: Sequence[Failure]) -> list[Failure]:
    """Return the suites that failed without naming a test: one that did not compile, or was ended."""
    named = {failure.suite for failure in failures}
    path = logs / "suites"
    suites = [line.split() for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    return [
        Failure(suite, "the suite as a whole", _text(logs / f"{suite}.log"))
        for suite, outcome, _ in suites
        if outcome == "FAILED" and suite not in named
    ]


def close(logs: Path, run: Run = run_alone) -> list[str]:
    """Return the lines of the summary; none when nothing failed."""
    scratch = logs / "alone"
    scratch.mkdir(parents=True, exist_ok=True)
    lines, long = (
        [json.loads(line) for line in _text(logs / f"{suite}.jsonl").splitlines()] for suite in ("python", "long")
    )
    failures = [*rust_failures(_text(logs / "rust.log")), *web_failures(_json(logs / "web.json"), scratch)]
    failures += python_failures(lines, scratch)
    failures += [replace(failure, suite="long") for failure in python_failures(long, scratch)]
    failures += unnamed(logs, failures)
    shown = []
    sentences = run_again(failures, scratch, run)
    seeds = seeds_of([*lines, *long])
    for failure in failures:
        shown += [f"==> {failure.suite}: {failure.name}"]
        shown += [f"    {line}" for line in _ANSI.sub("", failure.output).strip("\n").splitlines()[-SHOWN_LINES:]]
        shown += [f"  logs of its servers: {failure.logs}"] if failure.logs else []
    if failures:
        shown.append(f"==> {len(failures)} failed; seeds: {seeds or 'none'}")
    for failure, sentence in zip(failures, sentences, strict=True):
        with_seeds = f" (seeds: {seeds})" if sentence == PASSED and seeds else ""
        shown.append(f"  {failure.suite}: {failure.name}: {sentence}{with_seeds}")
    return shown


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(_text(path))
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def main(arguments: list[str]) -> int:
    lines = close(Path(arguments[0]).resolve())
    sys.stdout.write("\n".join(lines or ["no test failed"]) + "\n")
    return 1 if lines else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
