"""Rates of the ledger as figures: promotions, demotions and memory pressure of one host or of several."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from tierscope.domain.counters import Cause
from tierscope.domain.figures import Figure, Grade, Window, absent
from tierscope.domain.tier_moves import Ledger

GOOD_INTERVALS = 60


@dataclass(frozen=True, slots=True)
class RateDefinition:
    """A rate of one ledger column: `factor` turns its unit per second into `unit`."""

    definition: str
    column: str
    unit: str
    factor: float
    needs_tiers: bool


PROMOTION = RateDefinition("tier_moves.promoted_pages_per_s/1", "promoted_pages", "pages_per_s", 1.0, needs_tiers=True)
DEMOTION = RateDefinition("tier_moves.demoted_pages_per_s/1", "demoted_pages", "pages_per_s", 1.0, needs_tiers=True)
PSI_SOME = RateDefinition("psi.memory_some_ratio/1", "psi_some_us", "ratio", 1e-6, needs_tiers=False)


@dataclass(frozen=True, slots=True)
class MoveFigures:
    """The three rates that lists show."""

    promotion: Figure
    demotion: Figure
    psi: Figure


def figures_of(ledgers: Sequence[Ledger], *, one_tier: bool) -> MoveFigures:
    """Rates over the newest rows of hosts. `one_tier` says that no host has a second tier to move pages to."""
    return MoveFigures(*(_rate(ledgers, what, one_tier=one_tier) for what in (PROMOTION, DEMOTION, PSI_SOME)))


def _rate(ledgers: Sequence[Ledger], what: RateDefinition, *, one_tier: bool) -> Figure:
    """Pages per second add up over hosts; pressure is the mean over observed seconds."""
    if what.needs_tiers and one_tier:
        return absent(what.definition, what.unit, "not_supported", "One memory tier: there is nowhere to move pages.")
    rows = [ledger for ledger in ledgers if len(ledger.times_s)]
    if not rows:
        return absent(what.definition, what.unit, "not_collected", "No two samples of counters arrived recently.")
    measured = [(ledger.total(what.column), ledger.seconds(what.column), ledger) for ledger in rows]
    known = [(total, seconds, ledger) for total, seconds, ledger in measured if total is not None and seconds > 0]
    if not known:
        return _unknown(rows, what)
    if what.unit == "ratio":
        value = sum(total for total, _, _ in known) / sum(seconds for _, seconds, _ in known) * what.factor
        value = min(max(value, 0.0), 1.0)
    else:
        value = sum(max(total / seconds, 0.0) for total, seconds, _ in known)
    start = min(float(ledger.times_s[0] - ledger.dt_seconds[0]) for _, _, ledger in known)
    end = max(float(ledger.times_s[-1]) for _, _, ledger in known)
    intervals = sum(int(np.isfinite(ledger.column(what.column)).sum()) for _, _, ledger in known)
    seconds = sum(observed for _, observed, _ in known)
    grade: Grade = "good" if intervals >= GOOD_INTERVALS * len(known) else "early"
    return Figure(
        what.definition,
        "ok",
        value,
        what.unit,
        method="counters",
        window=Window(datetime.fromtimestamp(start, UTC), datetime.fromtimestamp(end, UTC)),
        n_hosts=len(known),
        n_intervals=intervals,
        coverage=min(seconds / ((end - start) * len(rows)), 1.0) if end > start else None,
        grade=grade,
        grounding="L",
    )


def _unknown(rows: Sequence[Ledger], what: RateDefinition) -> Figure:
    broken = {int(cause) for ledger in rows for cause in ledger.cause} - {int(Cause.NONE), int(Cause.GAP)}
    if broken & {int(Cause.REBOOT), int(Cause.WENT_BACKWARDS), int(Cause.FIRST)}:
        return absent(what.definition, what.unit, "not_enough_data", "The counters began anew: no interval to compare.")
    return absent(what.definition, what.unit, "not_supported", "This kernel does not count it.")
