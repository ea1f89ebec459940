"""All rows, and one pass over them on one service."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from faults import golden, rows, rows_hosts, rows_nodes
from faults.oracle import read_sent
from faults.scene import Outcome, Row, play
from faults.stage import NotHereError, Stage

ON_ONE_SERVER: tuple[Row, ...] = (*rows.ROWS, *rows_hosts.ROWS)
ON_TWO_SERVERS: tuple[Row, ...] = rows_nodes.ROWS
ROWS: tuple[Row, ...] = (*ON_ONE_SERVER, *ON_TWO_SERVERS)

# Small enough that an overload reaches the limits with batches that a test can make.
SETTINGS = {"TIERSCOPE_LIMITS__QUEUE_BATCHES": "32", "TIERSCOPE_LOG_LEVEL": "warning"}


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row that cannot run here."""

    row: Row
    reason: str


def run_rows(stage: Stage, chosen: Iterable[Row], seed: int) -> Iterator[Outcome | Skipped]:
    """Plays rows one after the other."""
    for row in chosen:
        try:
            yield play(stage, row, seed)
        except NotHereError as reason:
            yield Skipped(row, str(reason))


def compare_with_undisturbed(stage: Stage, outcomes: Iterable[Outcome]) -> list[str]:
    """Stores what was sent in these rows once more, undisturbed; how ledger and rollups differ, and marks that stay."""
    hosts = sorted({host for outcome in outcomes if outcome.compare for host in outcome.hosts})
    golden.replay(stage.golden_url(), read_sent(stage.proxy.tap, set(hosts)))
    found = [
        f"{left} marks stay in the {name} database"
        for name, url in (("disturbed", stage.cluster.url()), ("undisturbed", stage.golden_url()))
        if (left := golden.drain(url))
    ]
    ours, theirs = golden.rollups(stage.cluster.url(), hosts), golden.rollups(stage.golden_url(), hosts)
    found += [f"no rows in {table}" for table, rows_of in theirs.items() if not rows_of]
    return found + golden.differences(ours, theirs)
