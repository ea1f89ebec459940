"""Run the Python tests at the times of a day and a year at which programs err, in random order, on a busy machine.

python lab/workshop/soak.py [ROUND...] [--seed N] [--no-burners] [--pytest ARGUMENTS]

All programs of a round tell its time (fixtures/shifted_clock.c); downloads are over before. Two processes keep both
cores busy; where rounds run beside each other, each in a clone of its own, `--no-burners` leaves that to them.
Clocks that stand still for a module stand within seconds of an edge: the round's, or that of a ten-minute bucket.
The exit status is 1 where a round has failed; its log is in .build/logs/soak.
"""

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from fixtures.shifted_clock import can_shift, run_variables

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / ".build" / "logs" / "soak"
PROCESSES = 2
_LONGEST_S = 3 * 3600
_BURN = """
import os, sys, time
parent, end = os.getppid(), time.monotonic() + float(sys.argv[1])
while os.getppid() == parent and time.monotonic() < end:
    sum(range(1_000_000))
"""


@dataclass(frozen=True, slots=True)
class Round:
    """A moment at which a run begins, the edge of time that it meets, and the time zone of its programs."""

    begins: datetime
    edge: datetime
    zone: str
    what: str


ROUNDS = {
    "midnight": Round(
        datetime(2027, 11, 25, 23, 58, tzinfo=UTC),
        datetime(2027, 11, 26, tzinfo=UTC),
        "UTC",
        "two minutes before midnight",
    ),
    "after-midnight": Round(
        datetime(2027, 11, 26, 0, 4, tzinfo=UTC),
        datetime(2027, 11, 26, 0, 5, tzinfo=UTC),
        "UTC",
        "the last hour and the last day are over, and late samples of them are waited for",
    ),
    "month": Round(
        datetime(2027, 1, 31, 23, 56, tzinfo=UTC), datetime(2027, 2, 1, tzinfo=UTC), "UTC", "the end of a month"
    ),
    "leap-day": Round(
        datetime(2028, 2, 28, 23, 57, tzinfo=UTC), datetime(2028, 2, 29, tzinfo=UTC), "UTC", "the night to 29 February"
    ),
    "daylight-saving": Round(
        datetime(2027, 10, 31, 0, 57, tzinfo=UTC),
        datetime(2027, 10, 31, 1, tzinfo=UTC),
        "Europe/Berlin",
        "clocks go back from 3:00 to 2:00",
    ),
}


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keep as many cores busy as the machine has; what burns ends by itself, too: with this process, or in the end."""
    command = [sys.executable, "-c", _BURN, str(_LONGEST_S)]
    burners = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for burner in burners:
            burner.terminate()
        for burner in burners:
            burner.wait()


def play(name: str, seed: int, arguments: list[str], folder: Path, *, burns: bool) -> int:
    """Run the tests in one round; return pytest's exit status. `folder` is where all accounts read the time."""
    chosen = ROUNDS[name]
    LOGS.mkdir(parents=True, exist_ok=True)
    offset_s = int(chosen.begins.timestamp() - time.time())
    clock = run_variables(folder / name, offset_s, chosen.edge)
    command = [
        *(sys.executable, "-m", "pytest", "-n", str(PROCESSES), "--dist", "loadscope"),
        *("-p", "randomly", f"--randomly-seed={seed}", "-p", "no:cacheprovider", f"--failures={LOGS / name}.jsonl"),
        *arguments,
    ]
    sys.stdout.write(f"soak: {name}: {chosen.what}, {chosen.begins:%Y-%m-%d %H:%M} UTC, order by seed {seed}\n")
    load = busy_cores() if burns else nullcontext()
    with load, (LOGS / f"{name}.log").open("w", encoding="utf-8") as log:
        running = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | clock | {"TZ": chosen.zone},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert running.stdout is not None
        for line in running.stdout:
            log.write(line)
            log.flush()
            sys.stdout.write(line)
            sys.stdout.flush()
        return running.wait()


def main() -> int:
    """Play the rounds that are named, or all; say at the end how each went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", nargs="*", metavar="ROUND", help=f"some of {', '.join(ROUNDS)}; all by default")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="of the order; drawn by default")
    parser.add_argument(
        "--no-burners",
        action="store_true",
        help="leave it to other programs, such as another round, to keep cores busy",
    )
    parser.add_argument("--pytest", default="", help="arguments of pytest, such as tests/usecases")
    chosen = parser.parse_args()
    if unknown := set(chosen.rounds) - ROUNDS.keys():
        parser.error(f"no such round: {', '.join(sorted(unknown))}; there are {', '.join(ROUNDS)}")
    if not can_shift():
        parser.error("there is no C compiler, with which programs are told another time: install gcc")
    ended = {}
    for name in chosen.rounds or ROUNDS:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="tsc-soak-", dir="/tmp") as folder:
            Path(folder).chmod(0o755)
            status = play(name, chosen.seed, chosen.pytest.split(), Path(folder), burns=not chosen.no_burners)
        outcome = "passed" if status == 0 else f"FAILED with status {status}"
        ended[name] = f"{outcome} in {time.monotonic() - begin:.0f} s"
        sys.stdout.write(f"soak: {name}: {ended[name]}\n")
    sys.stdout.write("soak, order by seed " + str(chosen.seed) + ":\n")
    sys.stdout.writelines(f"  {name}: {outcome}\n" for name, outcome in ended.items())
    return int(any("FAILED" in outcome for outcome in ended.values()))


if __name__ == "__main__":
    raise SystemExit(main())
