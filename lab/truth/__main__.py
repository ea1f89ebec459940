"""`make truth`: fleets whose truth is known go over the wire, and what is answered is judged; 1 where a row fails."""

import argparse
import json
import signal
import sys
from dataclasses import asdict
from pathlib import Path

from bench.figures import describe_run, record_between
from faults.programs import ROOT
from faults.stage import NotHereError
from truth import fleet_laws, rows_losses
from truth.asking import Asked
from truth.drawn import draw_laws
from truth.fleets import JudgedFleet, folder_of, run_fleet
from truth.programs import FleetPlan, ProgramFailedError
from truth.rows_losses import observe_losses
from truth.rows_series import observe_series, observe_twin
from truth.rows_states import confusion
from truth.scoring import Judged, Observed, collect, judge
from truth.table import judge_all, judge_series, observe, render

DOCUMENT = ROOT / "docs" / "truth.md"
RESULTS = ROOT / ".build" / "truth"
DRAWN = "drawn"
"""In place of laws: each fleet has its own, from ranges, and is asked about sizes and settings alone."""


def main() -> int:
    """Runs and judges what is asked for."""
    parser = argparse.ArgumentParser(prog="make truth", description=__doc__)
    named = ",".join(fleet_laws.NAMED)
    parser.add_argument("--laws", default="default", help=f"a file (TOML), or one of {named},{DRAWN}")
    parser.add_argument("--seed", type=int, default=1, help="of the first fleet; 800 to 999 are used once each")
    parser.add_argument("--fleets", type=int, default=1, help="number of fleets, each with a seed of its own")
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--panel-every", type=int, default=4, help="one page of the twin in so many is looked at")
    parser.add_argument("--series", type=int, help="judge so many series of each kind and seed instead of fleets")
    parser.add_argument(
        "--twins", type=int, default=3, help="with --series: so many of the seeds with months of the twin"
    )
    parser.add_argument(
        "--losses", action="store_true", help="judge what is believed of losses on drawn fleets, without a service"
    )
    parser.add_argument("--alerts", action="store_true", help="ask fleets about alerts alone")
    parser.add_argument("--results", type=Path, default=RESULTS, help="fleets that are there are not run again")
    parser.add_argument("--keep", action="store_true", help="keep databases too, and ask fleets that have one anew")
    parser.add_argument("--json", type=Path, help="where to write the table and all observations")
    parser.add_argument("--record", metavar="MARKS", help=f"write the table into {DOCUMENT.relative_to(ROOT)}")
    arguments = parser.parse_args()
    if arguments.series is not None:
        return _judge_series(arguments)
    if arguments.losses:
        return _judge_losses(arguments)
    # Ended from outside it still ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        fleets = _run(arguments)
    except (NotHereError, ProgramFailedError, OSError) as reason:
        parser.error(str(reason))
    observed = collect(observe(fleet) for fleet in fleets)
    rows = [row for row in judge_all(observed) if row.n or not arguments.alerts or row.row.startswith("alerts")]
    options = f"--laws {arguments.laws} --seed {arguments.seed} --fleets {arguments.fleets}"
    options += f" --hours {arguments.hours} --panel-every {arguments.panel_every}{' --alerts' * arguments.alerts}"
    _tell(rows, observed, arguments, options)
    print("\nstates of the twin and what they were called:")
    for (state, word), count in sorted(confusion(fleets).items(), key=lambda item: (item[0][0], -item[1])):
        print(f"  {state} -> {word}: {count}")
    return 1 if any(row.met is False for row in rows) else 0


def _judge_series(arguments: argparse.Namespace) -> int:
    """Series instead of fleets: what they say is kept nowhere, it is made anew in minutes."""
    parts: list[Observed] = []
    arguments.results.mkdir(parents=True, exist_ok=True)
    for number in range(arguments.fleets):
        seed = arguments.seed + number
        print(f"seed {seed}: {number + 1} of {arguments.fleets}", flush=True)
        parts.append(observe_series(seed, arguments.series))
        if number < arguments.twins:
            parts.append(observe_twin(seed, arguments.results))
    observed = collect(parts)
    rows = judge_series(observed)
    options = f"--series {arguments.series} --twins {arguments.twins}"
    options += f" --seed {arguments.seed} --fleets {arguments.fleets}"
    _tell(rows, observed, arguments, options)
    return 1 if any(row.met is False for row in rows) else 0


def _judge_losses(arguments: argparse.Namespace) -> int:
    """The twin's losses alone: a fleet takes seconds."""
    arguments.results.mkdir(parents=True, exist_ok=True)
    seeds = range(arguments.seed, arguments.seed + arguments.fleets)
    observed = collect(observe_losses(seed, arguments.results) for seed in seeds)
    rows = [judge(goal, observed[goal.row]) for goal in rows_losses.GOALS]
    _tell(rows, observed, arguments, f"--losses --seed {arguments.seed} --fleets {arguments.fleets}")
    return 1 if any(row.met is False for row in rows) else 0


def _tell(rows: list[Judged], observed: Observed, arguments: argparse.Namespace, options: str) -> None:
    """Prints the table, and writes it where that was asked for."""
    print("\n" + render(rows))
    if arguments.json:
        document = {"schema": "tierscope.truth-table/1", "rows": [asdict(row) for row in rows], "observed": observed}
        arguments.json.write_text(json.dumps(document), encoding="utf-8")
    if arguments.record:
        said = describe_run(f'make truth ARGS="{options}"')
        record_between(DOCUMENT, arguments.record, f"{said}\n\n{render(rows)}")


def _run(arguments: argparse.Namespace) -> list[JudgedFleet]:
    fleets: list[JudgedFleet] = []
    asked: Asked = "alerts" if arguments.alerts else "sizes" if arguments.laws == DRAWN else "all"
    for seed in range(arguments.seed, arguments.seed + arguments.fleets):
        laws = draw_laws(seed, arguments.hours) if arguments.laws == DRAWN else fleet_laws.read(arguments.laws)
        plan = FleetPlan(laws, seed, arguments.hours, arguments.panel_every)
        folder = folder_of(arguments.results, plan)
        print(f"fleet {len(fleets) + 1} of {arguments.fleets}, seed {seed}: {folder}", flush=True)
        fleets.append(run_fleet(plan, folder, asked=asked, keep=arguments.keep))
    return fleets


if __name__ == "__main__":
    raise SystemExit(main())
