"""`make attack`: every attack on an instance of its own, watched all the time; 1 where one went through."""

import argparse
import signal
import sys
from pathlib import Path

from attack import report
from attack.arena import running_arena
from attack.matrix import ATTACKS
from attack.play import Played, play
from bench.figures import describe_run, record_between
from faults.programs import ROOT, shipped_agent
from faults.stage import NotHereError
from fixtures.servers import STORAGE_MODES

DOCUMENT = ROOT / "docs" / "operating" / "security.md"


def main() -> int:
    """Plays what is asked for."""
    parser = argparse.ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help="passes over all attacks, each with a seed of its own")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; one more for each")
    parser.add_argument("--only", help=f"attacks, out of {','.join(attack.name for attack in ATTACKS)}")
    parser.add_argument("--storage", choices=STORAGE_MODES, default="native", help="of the instance's database")
    parser.add_argument("--small", action="store_true", help="a few of everything, as `make test` plays it")
    parser.add_argument("--record", action="store_true", help=f"write the table into {DOCUMENT.relative_to(ROOT)}")
    arguments = parser.parse_args()
    wanted = set(arguments.only.split(",")) if arguments.only else {attack.name for attack in ATTACKS}
    if unknown := wanted - {attack.name for attack in ATTACKS}:
        parser.error(f"no such attack: {', '.join(sorted(unknown))}")
    if arguments.record and (arguments.only or arguments.storage != "native"):
        parser.error("a table of all attacks on native storage is recorded, or none")
    binary = shipped_agent()
    if binary is None:
        parser.error("no agent is compiled: make agent")
    # Ended from outside it still ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        results = _play(binary, wanted, arguments)
    except NotHereError as reason:
        parser.error(str(reason))
    print("\n" + report.table(results))
    failures = [f"{played.attack.name}: {finding}" for played in results for finding in played.findings]
    if arguments.record:
        options = f"--rounds {arguments.rounds} --seed {arguments.seed} --record"
        said = describe_run(f'make attack ARGS="{options}"')
        record_between(DOCUMENT, "attacked", f"{said}\n\n{report.table(results)}")
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if failures else 0


def _play(binary: Path, wanted: set[str], arguments: argparse.Namespace) -> list[Played]:
    """All rounds on one instance, as long as it lives."""
    results: list[Played] = []
    with running_arena(binary, arguments.storage) as arena:
        for number in range(arguments.rounds):
            seed = arguments.seed + number
            print(f"round {number + 1} of {arguments.rounds}, seed {seed}", flush=True)
            for attack in (attack for attack in ATTACKS if attack.name in wanted):
                played = play(arena, attack, seed, small=arguments.small)
                results.append(played)
                answers = ", ".join(f"{status}: {count}" for status, count in sorted(played.answers.items()))
                print(f"  {attack.name}: {'FAILED' if played.findings else 'held'}; {answers}", flush=True)
                for note in [*played.notes, *played.findings]:
                    print(f"    {note}", flush=True)
                if not arena.alive():
                    print("  the instance does not live any more: the rest is not played", flush=True)
                    return results
    return results


if __name__ == "__main__":
    raise SystemExit(main())
