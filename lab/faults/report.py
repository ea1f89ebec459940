"""docs/faults.md: the head is written by people and kept, what stands between marks is measured.

Matrix and outage have marks of their own, so that a run of one leaves the other as it is.
"""

import statistics
from collections.abc import Iterable, Sequence

from factories.acknowledged import Counts
from faults.matrix import ROWS, Skipped
from faults.outage import Loss
from faults.pairs import Pair, Played
from faults.scene import Outcome, Row
from faults.supervised import Recovered

MATRIX, SUPERVISED, OUTAGE = "measured, matrix", "measured, supervised", "measured, outage"
PAIRS, ACCOUNT = "measured, pairs", "measured, account"
"""Marks of what is measured."""


def _passes(results: Sequence[Outcome | Skipped], row: Row) -> list[Outcome]:
    return [result for result in results if isinstance(result, Outcome) and result.row == row]


def _line(row: Row, results: Sequence[Outcome | Skipped]) -> str:
    passes = _passes(results, row)
    if not passes:
        reasons = [result.reason for result in results if isinstance(result, Skipped) and result.row == row]
        return f"| {row.title} | 0 | | | | | | | | | not run: {reasons[0] if reasons else 'not chosen'} |"
    verdicts = [outcome.verdict for outcome in passes]
    total = {name: sum(getattr(verdict, name) for verdict in verdicts) for name in verdicts[0].__slots__}
    slowest = max(outcome.recovery_seconds for outcome in passes)
    middle = statistics.median(outcome.recovery_seconds for outcome in passes)
    failed = [fault for outcome in passes for fault in outcome.faults()]
    cells = [
        row.title,
        len(passes),
        total["sent"],
        total["acknowledged"],
        total["stored"],
        total["deliveries"] - total["sent"],
        total["stored_twice"],
        total["lost"],
        sum(outcome.reported_losses for outcome in passes),
        f"{middle:.1f} (at most {slowest:.1f})",
        _verdict(failed),
    ]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def matrix_table(results: Sequence[Outcome | Skipped]) -> str:
    """One line per fault over all rounds."""
    head = (
        "| Fault | Rounds | Batches sent | Acknowledged | Stored | Sent again | Stored twice | Acknowledged and lost |"
        " Lost on the host and counted | Recovery, s | Verdict |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n"
    )
    notes = [
        f"- {row.title}: {'; '.join(outcome.notes)}"
        for row in ROWS
        for outcome in _passes(results, row)[:1]
        if outcome.notes
    ]
    return head + "\n".join(_line(row, results) for row in ROWS) + "\n\nFrom the first round:\n\n" + "\n".join(notes)


def supervised_table(results: Sequence[Recovered]) -> str:
    """One line per fault of what `tierscope up` stands on, over all rounds."""
    head = (
        "| Fault | Rounds | Acknowledged | Acknowledged and lost | Stored twice | All parts back after, s | Verdict |\n"
        "|---|--:|--:|--:|--:|--:|---|\n"
    )
    lines = []
    for row in dict.fromkeys(result.row for result in results):
        passes = [result for result in results if result.row == row]
        back = [result.back_seconds for result in passes]
        failed = [fault for result in passes for fault in result.faults()]
        cells = [
            row.title,
            len(passes),
            sum(result.acknowledged for result in passes),
            sum(result.lost for result in passes),
            sum(result.stored_twice for result in passes),
            f"{statistics.median(back):.1f} (at most {max(back):.1f})",
            _verdict(failed),
        ]
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return head + "\n".join(lines)


def comparison(rounds: int, failures: Sequence[str]) -> str:
    """What the comparison with an undisturbed run found."""
    if failures:
        return "Failures:\n\n" + "\n".join(f"- {failure[:300]}" for failure in failures)
    return (
        f"In each of {rounds} rounds ledger, metrics and heat rollups of all rows but those of the clocks were equal,"
        " row by row, to those of the same batches stored once and undisturbed; no mark was left."
    )


def outage_table(losses: Iterable[Loss], outage_seconds: float) -> str:
    """Collectors side by side."""
    head = (
        f"{outage_seconds:g} s at one scrape a second, which stand for as many minutes at one a minute. Where it says"
        " SIGKILL, both collectors are killed in the middle and started again.\n\n"
        "| Collector | Case | Scrapes answered | Samples stored | Lost | Delivered more than once | Stored twice |\n"
        "|---|---|--:|--:|--:|--:|--:|\n"
    )
    return head + "\n".join(
        f"| {loss.collector} | {loss.case} | {loss.scraped} | {loss.stored} | {loss.lost} | {loss.delivered_again} |"
        f" {loss.stored_twice} |"
        for loss in losses
    )


def pairs_table(pairs: Sequence[Pair], played: Sequence[Played]) -> str:
    """One line per pair over all rounds."""
    head = (
        "| | Work | Fault | Servers | Rounds | Rounds in which it came before the work was done | Samples acknowledged"
        " | Stored | Gone with the restore or purge | Acknowledged beside it, and gone | Lost | Doubled | Misplaced |"
        " Back although ended | Rounds in which the work said that it failed, and was done again | Verdict |\n"
        f"|--:|---|---|{'--:|' * 12}---|\n"
    )
    return head + "\n".join(_pair_line(pair, [one for one in played if one.pair == pair]) for pair in pairs)


def _pair_line(pair: Pair, rounds: Sequence[Played]) -> str:
    total = Counts()
    for one in rounds:
        total += one.counts
    failed = [fault for one in rounds for fault in one.faults]
    cells = (
        f"{pair.number} | {pair.work.title} | {pair.fault.title} | {1 + pair.two_servers}",
        f"{len(rounds)}",
        f"{sum(one.hit for one in rounds)}",
        f"{total.acknowledged:,}",
        f"{total.stored:,}",
        f"{total.restored_away + total.purged:,}",
        f"{total.either:,}",
        f"{total.lost:,}",
        f"{total.doubled:,}",
        f"{total.misplaced:,}",
        f"{total.returned:,}",
        f"{sum(one.repeats > 0 for one in rounds)}",
        _verdict(failed) if failed or rounds else "not run here",
    )
    return "| " + " | ".join(cells) + " |"


def _verdict(failed: Sequence[str]) -> str:
    """Faults may bring the tail of a log."""
    return "FAILED: " + "; ".join(" ".join(fault[:200].split()) for fault in failed) if failed else "passed"
