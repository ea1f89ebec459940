"""Rates of the ledger as figures: promotions, demotions, swap and memory pressure of one host or of several."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from tierscope.domain.base.figures import Figure, Grade, Window, absent
from tierscope.domain.base.page_size import NOT_KNOWN
from tierscope.domain.counters.monotonic import Cause
from tierscope.domain.ledger import Ledger
from tierscope.domain.ledger.machine import Machine
from tierscope.domain.ledger.plan import NO_DAMON

GOOD_INTERVALS = 60
NOWHERE = "One memory tier: there is nowhere to move pages."
_BEGAN_ANEW = {int(Cause.REBOOT), int(Cause.WENT_BACKWARDS), int(Cause.FIRST)}


@dataclass(frozen=True, slots=True)
class RateDefinition:
    """A rate of one ledger column: `factor` turns its unit per second into `unit`.

    `of_damon`: counted in bytes by DAMON's schemes, which most hosts do not have, and never more than a bound.
    """

    definition: str
    column: str
    unit: str
    factor: float
    needs_tiers: bool
    of_damon: bool = False


PROMOTION = RateDefinition("tier_moves.promoted_pages_per_s/1", "promoted_pages", "pages_per_s", 1.0, needs_tiers=True)
DEMOTION = RateDefinition("tier_moves.demoted_pages_per_s/1", "demoted_pages", "pages_per_s", 1.0, needs_tiers=True)
PSI_SOME = RateDefinition("psi.memory_some_ratio/1", "psi_some_us", "ratio", 1e-6, needs_tiers=False)


@dataclass(frozen=True, slots=True)
class MoveFigures:
    """The three rates that lists show."""

    promotion: Figure
    demotion: Figure
    psi: Figure


RATES = (PROMOTION, DEMOTION, PSI_SOME)

FLOWS = (
    RateDefinition("tier_moves.promoted_bytes_per_s/1", "promoted_pages", "bytes_per_s", 1.0, needs_tiers=True),
    RateDefinition("tier_moves.demoted_bytes_per_s/1", "demoted_pages", "bytes_per_s", 1.0, needs_tiers=True),
    RateDefinition("swap.in_bytes_per_s/1", "swap_in_pages", "bytes_per_s", 1.0, needs_tiers=False),
    RateDefinition("swap.out_bytes_per_s/1", "swap_out_pages", "bytes_per_s", 1.0, needs_tiers=False),
    RateDefinition(
        "tier_moves.damon_promoted_bytes_per_s/1",
        "damon_promoted_bytes",
        "bytes_per_s",
        1.0,
        needs_tiers=True,
        of_damon=True,
    ),
    RateDefinition(
        "tier_moves.damon_demoted_bytes_per_s/1",
        "damon_demoted_bytes",
        "bytes_per_s",
        1.0,
        needs_tiers=True,
        of_damon=True,
    ),
)
"""What moves between tiers, and between memory and swap: bytes, of pages by the page size of each host."""


@dataclass(frozen=True, slots=True)
class TierFlow:
    """Bytes per second between DRAM, slower tiers and swap, in both directions.

    The kernel does not count which tier swapped pages left or came to. Promotion and demotion leave out what DAMON's
    schemes moved.
    """

    promotion_bytes_per_s: Figure
    demotion_bytes_per_s: Figure
    swap_in_bytes_per_s: Figure
    swap_out_bytes_per_s: Figure
    damon_promotion_bytes_per_s: Figure
    damon_demotion_bytes_per_s: Figure


@dataclass(frozen=True, slots=True)
class RateSum:
    """A rate of several hosts together; sums of two are the sums of both their hosts.

    `n_hosts` have ledger rows, of which `n_known` count this; `per_s` adds up their own rates. `start_s` and `end_s`
    bound their rows, in Unix seconds. `broken`: counters of some restarted. `unsent`: why nobody sends what it is made
    of, though their kernels may count it.
    """

    n_hosts: int = 0
    n_known: int = 0
    per_s: float = 0.0
    total: float = 0.0
    seconds: float = 0.0
    intervals: int = 0
    start_s: float = math.inf
    end_s: float = -math.inf
    broken: bool = False
    unsent: str | None = None

    def __add__(self, other: "RateSum") -> "RateSum":
        return RateSum(
            self.n_hosts + other.n_hosts,
            self.n_known + other.n_known,
            self.per_s + other.per_s,
            self.total + other.total,
            self.seconds + other.seconds,
            self.intervals + other.intervals,
            min(self.start_s, other.start_s),
            max(self.end_s, other.end_s),
            self.broken or other.broken,
            self.unsent or other.unsent,
        )


def rate_of(ledger: Ledger, what: RateDefinition, machine: Machine | None = None) -> RateSum:
    """A rate of one host over its newest rows; `machine` says who sends them."""
    if not len(ledger.times_s):
        return RateSum()
    unsent = None if machine is None else machine.unsent(what.column)
    broken = bool({int(cause) for cause in ledger.cause} & _BEGAN_ANEW)
    total, seconds = ledger.total(what.column), ledger.seconds(what.column)
    if total is None or seconds <= 0:
        return RateSum(n_hosts=1, broken=broken, unsent=unsent)
    start = float(ledger.times_s[0] - ledger.dt_seconds[0])
    intervals = int(np.isfinite(ledger.column(what.column)).sum())
    per_s = max(total / seconds, 0.0)
    return RateSum(1, 1, per_s, float(total), seconds, intervals, start, float(ledger.times_s[-1]), broken)


def flow_of(ledger: Ledger, what: RateDefinition, machine: Machine) -> RateSum:
    """A rate of one host over its newest rows in bytes; its ledger counts pages of the machine's size."""
    found, page_bytes = rate_of(ledger, what, machine), machine.page_bytes
    if what.of_damon:
        return found
    if page_bytes is None:
        unsent = NOT_KNOWN if found.n_known else found.unsent
        return RateSum(n_hosts=found.n_hosts, broken=found.broken, unsent=unsent)
    return replace(found, per_s=found.per_s * page_bytes, total=found.total * page_bytes)


def tier_flow_of_sums(sums: Sequence[RateSum], *, one_tier: bool) -> TierFlow:
    """Figures from sums in bytes, in the order of `FLOWS`. `one_tier` as for `figures_of`."""
    return TierFlow(*(_figure(found, what, one_tier=one_tier) for found, what in zip(sums, FLOWS, strict=True)))


def figures_of(ledgers: Sequence[Ledger], *, one_tier: bool, machine: Machine | None = None) -> MoveFigures:
    """Rates over the newest rows of hosts. `one_tier` says that no host has a second tier to move pages to.

    `machine`: what is known of a single host.
    """
    sums = [sum((rate_of(ledger, what, machine) for ledger in ledgers), RateSum()) for what in RATES]
    return figures_of_sums(sums, one_tier=one_tier)


def figures_of_sums(sums: Sequence[RateSum], *, one_tier: bool) -> MoveFigures:
    """The same from sums, in the order of `RATES`."""
    return MoveFigures(*(_figure(found, what, one_tier=one_tier) for found, what in zip(sums, RATES, strict=True)))


def _figure(found: RateSum, what: RateDefinition, *, one_tier: bool) -> Figure:
    """Pages and bytes per second add up over hosts; pressure is the mean over observed seconds."""
    if what.needs_tiers and one_tier:
        return absent(what.definition, what.unit, "not_supported", NOWHERE)
    if not found.n_hosts:
        return absent(what.definition, what.unit, "not_collected", "No two samples of counters arrived recently.")
    if not found.n_known:
        return _unknown(found, what)
    mean = found.total / found.seconds * what.factor
    value = min(max(mean, 0.0), 1.0) if what.unit == "ratio" else found.per_s
    start, end = found.start_s, found.end_s
    enough: Grade = "partial" if what.of_damon else "good"
    grade = enough if found.intervals >= GOOD_INTERVALS * found.n_known else "early"
    return Figure(
        what.definition,
        "ok",
        value,
        what.unit,
        method="counters",
        window=Window(datetime.fromtimestamp(start, UTC), datetime.fromtimestamp(end, UTC)),
        n_hosts=found.n_known,
        n_intervals=found.intervals,
        coverage=min(found.seconds / ((end - start) * found.n_hosts), 1.0) if end > start else None,
        grade=grade,
        grounding="L",
    )


def _unknown(found: RateSum, what: RateDefinition) -> Figure:
    if found.unsent is not None:
        return absent(what.definition, what.unit, "not_collected", found.unsent)
    if what.of_damon:
        return absent(what.definition, what.unit, "not_supported", NO_DAMON)
    if found.broken:
        return absent(what.definition, what.unit, "not_enough_data", "The counters restarted: no interval to compare.")
    return absent(what.definition, what.unit, "not_supported", "This kernel does not count it.")
