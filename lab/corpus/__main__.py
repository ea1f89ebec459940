"""`make corpus`: record what the corpus still lacks, and write the truth of what it has."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from corpus.alerts import describe_alerts
from corpus.guest import SLOW_NS, SNAPSHOT_S, GuestError, Lab, record
from corpus.packing import pack, read_stream, unpack
from corpus.plan import MOST_BYTES, Scenario, by_guest, choose, matrix
from corpus.score import describe
from corpus.truth import document

KEPT = Path(__file__).resolve().parents[2] / "tests" / "data" / "kernel-corpus"
TRUTH = KEPT / "truth.json"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tierscope" / "kernel-lab"


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make corpus", description=__doc__)
    parser.add_argument("--plan", action="store_true", help="print what is there and what is missing, and end")
    parser.add_argument(
        "--score", action="store_true", help="judge what is there, print how often it is right, and end"
    )
    parser.add_argument(
        "--alerts",
        action="store_true",
        help="put what is there before the shipped alert rules, print how often they are right, and end",
    )
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="names that begin so; repeatable")
    parser.add_argument("--limit", type=int, metavar="N", help="record at most so many")
    parser.add_argument("--lab", type=Path, default=_CACHE, help="where the guest is unpacked (1.5 GB)")
    return parser.parse_args(words)


def done_in(directory: Path) -> frozenset[str]:
    """Return the names of the recordings that a directory holds."""
    return frozenset(path.name.removesuffix(".tar.zst") for path in directory.glob("*.tar.zst"))


def print_plan(scenarios: Sequence[Scenario], done: frozenset[str], only: Sequence[str]) -> None:
    """Print a line for each recording that is asked for."""
    for scenario in scenarios:
        if not only or scenario.name.startswith(tuple(only)):
            print(f"{'there  ' if scenario.name in done else 'missing'}  {scenario.name}")
    print(f"{len(done & {scenario.name for scenario in scenarios})} of {len(scenarios)} recordings are there")


def make(lab: Lab, scenarios: Sequence[Scenario], directory: Path) -> Iterator[int | GuestError]:
    """Record the scenarios of one guest into a directory. Yields the size of each in bytes, or why it is not there.

    Raises:
        ValueError: the guest gave a damaged recording, or one that cannot be made small enough.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for scenario, recorded in zip(scenarios, record(lab, scenarios), strict=True):
        if isinstance(recorded, GuestError):
            yield recorded
            continue
        facts = {
            **asdict(scenario),
            "scenario": scenario.name,
            "release": recorded.kernel_release,
            "slow_ns": SLOW_NS,
            "snapshot_s": SNAPSHOT_S,
        }
        texts = {"workload.log": recorded.workload_log, "events.log": recorded.events_log}
        packed = pack(scenario.name, read_stream(recorded.snapshots), texts, facts, most_bytes=MOST_BYTES)
        part = directory / f"{scenario.name}.part"
        part.write_bytes(packed)
        # Complete, or not there: the next run goes on with what is missing.
        part.replace(directory / f"{scenario.name}.tar.zst")
        yield len(packed)


def write_truth(directory: Path) -> None:
    """Write the truth of all recordings of a directory beside them."""
    logs = {name: unpack(directory / f"{name}.tar.zst")["workload.log"] for name in done_in(directory)}
    (directory / TRUTH.name).write_text(json.dumps(document(logs), indent=1) + "\n", encoding="utf-8")


def main(words: Sequence[str]) -> int:
    """Plan, or record. Returns the exit status: 1 where a recording failed."""
    arguments = _arguments(words)
    scenarios, done = list(matrix()), done_in(KEPT)
    if arguments.score:
        print(describe(KEPT))
        return 0
    if arguments.alerts:
        print(describe_alerts(KEPT))
        return 0
    if arguments.plan:
        print_plan(scenarios, done, arguments.only)
        return 0
    wanted = choose(scenarios, done, only=arguments.only, limit=arguments.limit)
    lab, failed = Lab(arguments.lab), 0
    try:
        lab.build(sorted({scenario.kernel for scenario in wanted}))
        for guest in by_guest(wanted):
            if not lab.has(guest[0].kernel):
                print(f"{guest[0].kernel}: no package of this kernel here", flush=True)
                continue
            try:
                for scenario, made in zip(guest, make(lab, guest, KEPT), strict=True):
                    if isinstance(made, GuestError):
                        failed += 1
                        print(made, file=sys.stderr, flush=True)
                        continue
                    print(f"{scenario.name}: {made:,} bytes", flush=True)
                    write_truth(KEPT)
            except ValueError as error:
                failed += 1
                print(error, file=sys.stderr, flush=True)
    except GuestError as error:
        print(error, file=sys.stderr)
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
