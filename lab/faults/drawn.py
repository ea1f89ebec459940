"""What is drawn by seed: pairs of work and fault, and orders of what may end samples; each with its account."""

import argparse
import time
from pathlib import Path

from bench.figures import describe_run, record_between
from factories.acknowledged import Counts
from faults import account, report
from faults.matrix import SETTINGS
from faults.pairs import Pair, Played, draw_pairs, pair_stage, play_pair
from faults.stage import NotHereError
from tierscope.core.errors import TierscopeError


def run_drawn(arguments: argparse.Namespace, binary: Path) -> list[str]:
    """Plays and records what is asked for; what is wrong."""
    failures: list[str] = []
    if arguments.orders:
        failures += run_account(arguments.orders, arguments.seed, arguments.record)
    if arguments.pairs:
        pairs = draw_pairs(arguments.pairs, arguments.seed)
        chosen = [pair for pair in pairs if arguments.pair in (None, pair.number)]
        words = f"--pairs {arguments.pairs} --rounds {arguments.rounds} --seed {arguments.seed}"
        played: list[Played] = []
        for number in range(arguments.rounds):
            print(f"round {number + 1} of {arguments.rounds}, pairs drawn by seed {arguments.seed}", flush=True)
            played += run_pairs(binary, chosen, arguments.seed + number)
            if chosen == pairs:
                said = describe_run(f'make faults ARGS="{words}"')
                record_between(arguments.record, report.PAIRS, f"{said}\n\n{report.pairs_table(pairs, played)}")
        failures += [f"pair {one.pair.number}, seed {one.seed}: {fault}" for one in played for fault in one.faults]
    return failures


def run_account(orders: int, seed: int, document: Path) -> list[str]:
    """Plays drawn orders and records what became of what was acknowledged; what is wrong."""
    counts, steps, failures = account.run_orders(orders, seed)
    said = describe_run(f'make faults ARGS="--orders {orders} --seed {seed}"')
    table = account.table(counts, steps, range(seed, seed + orders))
    record_between(document, report.ACCOUNT, f"{said}\n\n{table}")
    return failures


def run_pairs(binary: Path, chosen: list[Pair], seed: int) -> list[Played]:
    """Plays pairs once, first those on one server; a stage on which one did not end is not used again."""
    played: list[Played] = []
    for two_servers in (False, True):
        waiting = [pair for pair in chosen if pair.two_servers == two_servers]
        while waiting:
            with pair_stage(binary, SETTINGS, two_servers=two_servers) as (stage, clock):
                ended = True
                while waiting and ended:
                    pair, begin = waiting.pop(0), time.monotonic()
                    try:
                        result = play_pair(stage, clock, pair, seed)
                    except NotHereError as reason:
                        print(f"  pair {pair.number}: {pair.title}: not run here, because {reason}", flush=True)
                        continue
                    except (TierscopeError, AssertionError) as error:
                        ended, result = False, Played(pair, seed, Counts(), faults=(f"did not end: {error}",))
                        print(stage.logs(), flush=True)
                    played.append(result)
                    print(f"  {result} ({time.monotonic() - begin:.0f} s)", flush=True)
    return played
