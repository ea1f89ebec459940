"""Compare how many tests each suite ran with the fewest it may have (floors.toml), from the logs of `make test`.

python lab/workshop/floors.py LOGS           fails when a suite has fewer tests than its floor
python lab/workshop/floors.py LOGS --record  raises the floors to what the logs show
python lab/workshop/floors.py LOGS --long  fails when `make test-long` did not run each case that `make test` left to it
"""

import re
import sys
import tomllib
from pathlib import Path

FLOORS = Path(__file__).with_name("floors.toml")
_PYTEST = re.compile(r"(\d+) (?:passed|skipped|failed|xfailed|errors?)\b")
_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
_VITEST = re.compile(r"^\s*Tests\s+.*\((\d+)\)\s*$", re.MULTILINE)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def count_python(log: str) -> int:
    """Return the number of tests in a pytest log: whatever became of them."""
    lines = [line for line in log.splitlines() if re.search(r"\d+ \w+.* in [\d.]+s", line)]
    return sum(int(number) for number in _PYTEST.findall(lines[-1])) if lines else 0


def count_rust(log: str) -> int:
    """Return the number of tests in a log of `cargo test` over all crates."""
    return sum(sum(map(int, match)) for match in _CARGO.findall(log))


def count_web(log: str) -> int:
    """Return the number of tests in a vitest log."""
    found = _VITEST.findall(_ANSI.sub("", log))
    return int(found[-1]) if found else 0


def count_elsewhere(log: str) -> int:
    """Return the number of cases in a pytest log that were left to another verb."""
    return sum(map(int, re.findall(r"^not run here: (\d+), because `make [\w-]+` runs it$", log, re.MULTILINE)))


def count_long(log: str) -> int:
    """Return the number of cases in a pytest log that were left to `make test-long`."""
    return sum(map(int, re.findall(r"^not run here: (\d+), because `make test-long` runs it$", log, re.MULTILINE)))


def not_run(log: str, long_log: str) -> list[str]:
    """Return one sentence where `make test` left another number of cases to `make test-long` than that ran."""
    left, ran = count_long(log), count_python(long_log)
    return [] if left == ran else [f"long: `make test` left {left} cases to `make test-long`, which ran {ran}"]


def rust_skips(log: str) -> list[str]:
    """Return one sentence for each reason for which Rust tests did not run to their end here, with their number."""
    reasons: dict[str, int] = {}
    for reason in re.findall(r"^(?:test \S+ \.\.\. )?skipped: (.+)$", log, re.MULTILINE):
        reasons[reason] = reasons.get(reason, 0) + 1
    return [f"rust: {number} not run here: {reason}" for reason, number in reasons.items()]


def times(suites: str) -> str:
    """Return one line of how long each suite and the whole run took, from the lines that `make test` wrote."""
    took = {name: int(seconds) for name, _, seconds in (line.split() for line in suites.splitlines())}
    whole = took.pop("all", max(took.values(), default=0))
    return ", ".join(f"{name} {seconds} s" for name, seconds in took.items()) + f"; all {whole} s"


COUNTERS = {"python": count_python, "rust": count_rust, "web": count_web}


def compare(counts: dict[str, int], floors: dict[str, int]) -> list[str]:
    """Return one sentence for each suite that has fewer tests than its floor."""
    return [
        f"{suite}: {counts.get(suite, 0)} tests, the floor is {floor}"
        for suite, floor in floors.items()
        if counts.get(suite, 0) < floor
    ]


def too_many_elsewhere(log: str, most: int) -> list[str]:
    """Return one sentence where more cases than agreed are left to other verbs, for floors count these as tests."""
    count = count_elsewhere(log)
    return [f"elsewhere: {count} cases are left to other verbs, at most {most} may be"] if count > most else []


def record(counts: dict[str, int], floors: dict[str, int]) -> None:
    """Raise the floors; they are never lowered here."""
    text = FLOORS.read_text(encoding="utf-8")
    for suite, floor in floors.items():
        text = re.sub(rf"^{suite} = \d+$", f"{suite} = {max(floor, counts[suite])}", text, flags=re.MULTILINE)
    FLOORS.write_text(text, encoding="utf-8")


def compare_long(logs: Path) -> int:
    """Compare the cases of the two verbs, where both have run."""
    log, long_log = logs / "python.log", logs / "long.log"
    if not log.exists():
        return 0
    short = not_run(*(path.read_text(encoding="utf-8", errors="replace") for path in (log, long_log)))
    for sentence in short:
        sys.stdout.write(f"fewer tests than before: {sentence}\n")
    return 1 if short else 0


def main(arguments: list[str]) -> int:
    """Compare, or record."""
    logs = Path(arguments[0])
    if "--long" in arguments:
        return compare_long(logs)
    counts = {
        suite: count((logs / f"{suite}.log").read_text(encoding="utf-8", errors="replace"))
        for suite, count in COUNTERS.items()
        if (logs / f"{suite}.log").exists()
    }
    document = tomllib.loads(FLOORS.read_text(encoding="utf-8"))
    floors = {suite: int(document[suite]) for suite in COUNTERS}
    sys.stdout.write("tests: " + ", ".join(f"{suite} {number}" for suite, number in counts.items()) + "\n")
    if (logs / "suites").exists():
        sys.stdout.write(f"times: {times((logs / 'suites').read_text(encoding='utf-8'))}\n")
    if (logs / "rust.log").exists():
        for sentence in rust_skips((logs / "rust.log").read_text(encoding="utf-8", errors="replace")):
            sys.stdout.write(f"{sentence}\n")
    if "--record" in arguments:
        record(counts, floors)
        return 0
    short = compare(counts, floors)
    if (logs / "python.log").exists():
        log = (logs / "python.log").read_text(encoding="utf-8", errors="replace")
        short += too_many_elsewhere(log, int(document["most"]["elsewhere"]))
    for sentence in short:
        sys.stdout.write(f"fewer tests than before: {sentence}\n")
    return 1 if short else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
