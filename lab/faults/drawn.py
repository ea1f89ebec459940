"""What is drawn by seed: pairs of work and fault, and orders of what may end samples; each with its account."""

import argparse
import time
from pathlib import Path

from bench.figures import describe_run, record_between
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
        played, failed = run_pairs(binary, chosen, arguments.seed, arguments.rounds)
        failures += failed
        if chosen == pairs:
            words = f"--pairs {arguments.pairs} --rounds {arguments.rounds} --seed {arguments.seed}"
            said = describe_run(f'make faults ARGS="{words}"')
            record_between(arguments.record, report.PAIRS, f"{said}\n\n{report.pairs_table(pairs, played)}")
    return failures


def run_account(orders: int, seed: int, document: Path) -> list[str]:
    """Plays drawn orders and records what became of what was acknowledged; what is wrong."""
    counts, steps, failures = account.run_orders(orders, seed)
    said = describe_run(f'make faults ARGS="--orders {orders} --seed {seed}"')
    table = account.table(counts, steps, range(seed, seed + orders))
    record_between(document, report.ACCOUNT, f"{said}\n\n{table}")
    return failures


def run_pairs(binary: Path, chosen: list[Pair], seed: int, rounds: int) -> tuple[list[Played], list[str]]:
    """Plays pairs in so many rounds, first those on one server; a stage on which one did not end is not used again."""
    played: list[Played] = []
    failures: list[str] = []
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}, pairs drawn by seed {seed}", flush=True)
        for two_servers in (False, True):
            waiting = [pair for pair in chosen if pair.two_servers == two_servers]
            while waiting:
                with pair_stage(binary, SETTINGS, two_servers=two_servers) as (stage, clock):
                    while waiting:
                        pair = waiting.pop(0)
                        begin, name = time.monotonic(), f"pair {pair.number}: {pair.title}"
                        try:
                            result = play_pair(stage, clock, pair, seed + number)
                        except NotHereError as reason:
                            print(f"  {name}: not run here, because {reason}", flush=True)
                            continue
                        except (TierscopeError, AssertionError) as error:
                            failures.append(f"{name}, round {number + 1}: {error}")
                            print(f"  {name}: FAILED {error}\n{stage.logs()}", flush=True)
                            break
                        played.append(result)
                        failures += [f"{name}, round {number + 1}: {fault}" for fault in result.faults]
                        told_so = f", done again {result.repeats} times: {'; '.join(result.notes[:2])}"
                        seconds = time.monotonic() - begin
                        verdict = "; ".join(result.faults) or "passed"
                        print(f"  {name}: {verdict}{told_so if result.repeats else ''} ({seconds:.0f} s)", flush=True)
    return played, failures
