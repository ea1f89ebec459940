"""What memory costs under a run against what it loses: the runs that no other one beats in both."""

from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.domain.simulate.policies import POLICIES
from tierscope.domain.simulate.sweep import SweepRun

SLOW_PRICE_RATIO, SWAP_PRICE_RATIO = 0.5, 0.03
"""Price of a byte over that of DRAM [A]: enter quotes of your own."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Price of a byte of slow memory and of swap over that of DRAM."""

    slow_ratio: float = SLOW_PRICE_RATIO
    swap_ratio: float = SWAP_PRICE_RATIO


def cost_ratio(run: SweepRun, prices: Prices) -> float:
    """Price of the memory that holds the service at its peak, over the price of all of it in DRAM.

    What DRAM does not hold lies on the slower tier, or on swap where there is none. A policy that may use swap beside a
    slower tier pays for the part that the service's peak may take there, too.
    """
    kind, rest = POLICIES[run.policy], 1.0 - run.dram_ratio
    if run.policy == "all_dram":
        return 1.0
    swap = run.make_policy().settings.get("swap_ratio", 0.0) * prices.swap_ratio if kind.swap else 0.0
    return run.dram_ratio + (rest * prices.slow_ratio if kind.has_slow_tier else 0.0) + swap


@dataclass(frozen=True, slots=True)
class Point:
    """A run with its cost and its loss; `loss` None where it is not known."""

    number: int
    cost_ratio: float
    loss: float | None


def find_frontier(points: Sequence[Point]) -> list[Point]:
    """The points that no other one beats, by rising cost: each loses less than all cheaper ones. Of equals one."""
    known = [point for point in points if point.loss is not None]
    known.sort(key=lambda point: (point.cost_ratio, point.loss, point.number))
    found: list[Point] = []
    for point in known:
        if not found or (point.loss or 0.0) < (found[-1].loss or 0.0):
            found.append(point)
    return found
