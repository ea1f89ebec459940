"""`make faults`: every fault in several rounds, the outage beside vmagent, and the record of both in docs/faults.md.

`--pairs` plays drawn pairs of work and fault in their place, `--orders` the account of what was acknowledged.
"""

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path

from bench.figures import describe_run, record_between
from factories.waiting import NeverHappenedError
from faults import report, supervised
from faults.drawn import run_drawn
from faults.matrix import ON_ONE_SERVER, ON_TWO_SERVERS, ROWS, SETTINGS, Skipped, compare_with_undisturbed, run_rows
from faults.outage import CASES, Loss, run_case
from faults.programs import ROOT, dynamic_agent, shipped_agent
from faults.scene import Outcome, Row
from faults.stage import NotHereError, staged

DOCUMENT = ROOT / "docs" / "faults.md"


def main() -> int:
    """Runs what is asked for; 1 where anything failed."""
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help="passes over the matrix; 0 leaves it out")
    parser.add_argument(
        "--seed", type=int, default=time.time_ns() // 10**9, help="of the first round; one more for each"
    )
    names = [*(row.name for row in ROWS), *(row.name for row in supervised.ROWS)]
    parser.add_argument("--only", help=f"rows, out of {','.join(names)}; all of them without")
    parser.add_argument("--outage-seconds", type=float, default=60.0, help="0 leaves the comparison out")
    parser.add_argument("--pairs", type=int, default=0, help="drawn pairs of work and fault; nothing else is run")
    parser.add_argument("--pair", type=int, help="of the pairs, the one of this number alone")
    parser.add_argument("--orders", type=int, default=0, help="drawn orders of restores and so on; nothing else is run")
    parser.add_argument("--record", type=Path, default=DOCUMENT, help="document that the tables go to")
    arguments = parser.parse_args()
    # Ended from outside it still ends what it started, and gives its disks back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    wanted = set(arguments.only.split(",")) if arguments.only else set(names)
    if unknown := wanted - set(names):
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    binary = shipped_agent()
    if binary is None:
        parser.error("no agent is compiled: make agent")
    if arguments.pairs or arguments.orders:
        return told(run_drawn(arguments, binary))
    results: list[Outcome | Skipped] = []
    recovered: list[supervised.Recovered] = []
    failures: list[str] = []
    for number in range(arguments.rounds):
        seed = arguments.seed + number
        print(f"round {number + 1} of {arguments.rounds}, seed {seed}", flush=True)
        for listed in (ON_ONE_SERVER, ON_TWO_SERVERS):
            if some := [row for row in listed if row.name in wanted]:
                found, failed = run_round(binary, some, seed, two_servers=listed is ON_TWO_SERVERS)
                results += found
                failures += failed
        recovered += run_supervised(wanted, seed, failures)
    if arguments.rounds and not arguments.only:
        failures += run_worker_kills()
    command = f'make faults ARGS="--rounds {arguments.rounds} --seed {arguments.seed}'
    if arguments.rounds and not arguments.only:
        parts = [report.matrix_table(results), report.comparison(arguments.rounds, failures)]
        record_between(arguments.record, report.MATRIX, "\n\n".join([describe_run(f'{command}"'), *parts]))
    if {result.row for result in recovered} == set(supervised.ROWS):
        chosen = f" --only {arguments.only}" if arguments.only else ""
        table = report.supervised_table(recovered)
        said = describe_run(f'{command}{chosen}"')
        record_between(arguments.record, report.SUPERVISED, f"{said}\n\n{table}")
    if arguments.outage_seconds:
        losses = run_outages(binary, arguments.outage_seconds, arguments.seed)
        failures += [
            f"{loss.collector}: {loss.stored_twice} samples stored twice" for loss in losses if loss.counts_twice
        ]
        if losses:
            table = report.outage_table(losses, arguments.outage_seconds)
            command = f'{command} --outage-seconds {arguments.outage_seconds:g}"'
            record_between(arguments.record, report.OUTAGE, f"{describe_run(command)}\n\n{table}")
    return told(failures)


def told(failures: list[str]) -> int:
    """Prints what failed; the status to end with."""
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if failures else 0


def run_round(
    binary: Path, chosen: list[Row], seed: int, *, two_servers: bool
) -> tuple[list[Outcome | Skipped], list[str]]:
    """One pass on a fresh service, and the comparison with an undisturbed run."""
    results: list[Outcome | Skipped] = []
    failures: list[str] = []
    with staged(binary, dynamic_agent(), SETTINGS, two_servers=two_servers) as stage:
        for row in chosen:
            begin = time.monotonic()
            try:
                (result,) = run_rows(stage, [row], seed)
            except (NeverHappenedError, AssertionError) as error:
                failures.append(f"{row.name}, seed {seed}: {error}")
                print(f"  {row.name}: FAILED {error}\n{stage.logs()}", flush=True)
                break
            results.append(result)
            if isinstance(result, Skipped):
                print(f"  {row.name}: not run here, because {result.reason}", flush=True)
                continue
            failures += [f"{row.name}, seed {seed}: {fault}" for fault in result.faults()]
            seconds = time.monotonic() - begin
            print(f"  {row.name}: {result.verdict} {result.faults() or 'passed'} ({seconds:.0f} s)", flush=True)
        else:
            outcomes = [result for result in results if isinstance(result, Outcome)]
            failures += [f"seed {seed}: {fault}" for fault in compare_with_undisturbed(stage, outcomes)]
            print("  ledger and rollups compared with an undisturbed run", flush=True)
    return results, failures


def run_supervised(wanted: set[str], seed: int, failures: list[str]) -> list[supervised.Recovered]:
    """One pass over what `tierscope up` stands on."""
    chosen = [row for row in supervised.ROWS if row.name in wanted]
    results: list[supervised.Recovered] = []
    if not chosen:
        return results
    try:
        with supervised.supervised(seed) as scene:
            for row in chosen:
                try:
                    result = supervised.play(scene, row, seed)
                except NotHereError as reason:
                    print(f"  {row.name}: not run here, because {reason}", flush=True)
                    continue
                results.append(result)
                failures += [f"{row.name}, seed {seed}: {fault}" for fault in result.faults()]
                print(
                    f"  {row.name}: {result.faults() or 'passed'}, back after {result.back_seconds:.1f} s", flush=True
                )
    except NotHereError as reason:
        print(f"  `tierscope up`: not run here, because {reason}", flush=True)
    except (NeverHappenedError, AssertionError) as error:
        failures.append(f"`tierscope up`, seed {seed}: {error}")
        print(f"  `tierscope up`: FAILED {error}", flush=True)
    return results


def run_worker_kills() -> list[str]:
    """Kills two API processes and four workers while hosts send and hours are rebuilt: a test of its own."""
    path = Path(__file__).with_name("test_worker_kills.py")
    done = subprocess.run([sys.executable, "-m", "pytest", "--elsewhere", str(path)], cwd=ROOT, check=False)
    return [] if done.returncode == 0 else [f"{path.name}: see above"]


def run_outages(binary: Path, seconds: float, seed: int) -> list[Loss]:
    """Both collectors through each case."""
    losses: list[Loss] = []
    with staged(binary, None, SETTINGS) as stage:
        for case in CASES:
            try:
                losses += run_case(stage, case, outage_seconds=seconds, seed=seed)
            except NotHereError as reason:
                print(f"  outage: not run here, because {reason}", flush=True)
                break
            print(f"  outage, {case.title}: {losses[-2:]}", flush=True)
    return losses


if __name__ == "__main__":
    raise SystemExit(main())
