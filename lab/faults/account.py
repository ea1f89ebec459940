"""The account of acknowledged samples: many drawn orders of what may end them, with requests as full as agents' are."""

import tempfile
from collections import Counter
from pathlib import Path

from factories.acknowledged import METRICS, Counts, Way
from factories.drawn_orders import STEPS, play
from fixtures.servers import Template, running_cluster

ROWS = 60
"""Samples of each series in a request."""
TITLES: dict[Way, str] = {
    "agent": "agents' batches",
    "remote_write": "remote write 1.0",
    "remote_write_2": "remote write 2.0",
    "otlp": "OTLP",
}


def run_orders(count: int, seed: int) -> tuple[dict[Way, Counts], Counter[str], list[str]]:
    """Plays so many orders; what became of the samples of each way, how often each step was taken, what is wrong."""
    total: dict[Way, Counts] = {way: Counts() for way in METRICS}
    steps: Counter[str] = Counter()
    failures: list[str] = []
    with running_cluster("native", asks_passwords=False) as cluster:
        template = Template(cluster)
        for number in range(seed, seed + count):
            with tempfile.TemporaryDirectory(prefix="tsf-") as folder:
                order, counts = play(template, "native", Path(folder), seed=number, rows=ROWS)
            steps.update(_kind(step) for step in order)
            for way, told in counts.items():
                total[way] += told
                failures += [f"order {number}, {TITLES[way]}: {fault}; {', '.join(order)}" for fault in told.faults()]
            acknowledged = sum(told.acknowledged for told in total.values())
            print(f"  order {number}: {', '.join(order)}; {acknowledged:,} samples so far", flush=True)
    return total, steps, failures


def _kind(step: str) -> str:
    """The step without whom it is done to."""
    verb, _, whom = step.partition(" of ")
    return step if not whom or whom.startswith("a ") else f"{verb} of hosts"


def table(counts: dict[Way, Counts], steps: Counter[str], seeds: range) -> str:
    """One line for each way, and one for all."""
    head = (
        "| Way | Requests acknowledged | Refused | Samples acknowledged | Stored | Gone with a restore | Gone with a"
        " purge | Acknowledged beside one, and gone | Lost | Doubled | Misplaced | Back although ended |\n"
        f"|---|{'--:|' * 11}\n"
    )
    total = Counts()
    for told in counts.values():
        total += told
    lines = [_line(TITLES[way], told) for way, told in counts.items()]
    of_two = sum(seed % 2 for seed in seeds)
    drawn = (
        f"{len(seeds)} orders of {STEPS} steps, {len(seeds) - of_two} on one server and {of_two} on two, drawn by the"
        f" seeds {seeds[0]} to {seeds[-1]}: {', '.join(f'{count} {step}' for step, count in steps.most_common())}."
    )
    return head + "\n".join([*lines, _line("**all**", total)]) + f"\n\n{drawn}"


def _line(title: str, told: Counts) -> str:
    cells = (
        told.requests,
        told.refused,
        told.acknowledged,
        told.stored,
        told.restored_away,
        told.purged,
        told.either,
        told.lost,
        told.doubled,
        told.misplaced,
        told.returned,
    )
    return f"| {title} | " + " | ".join(f"{cell:,}" for cell in cells) + " |"
