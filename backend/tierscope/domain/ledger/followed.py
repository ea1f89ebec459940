"""Ping-pong by pages that are followed: the share of promotions that end a round trip, from a sample of pages.

Counts are those of the agent (contract/metrics/page_moves.toml): docs/method/ping-pong.md says what each misses.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tierscope.domain.heat.aggregate import LEVEL, wilson_bounds


@dataclass(frozen=True, slots=True)
class FollowedMoves:
    """What is known of one host, or of a service on it.

    `promotions`, `promotions_squared` (summed over pages), `round_trips` and `unsure` are of followed pages and 0 where
    none are; `promoted_pages` and its bounds `returned_pages` and `churn_pages` are counts of the kernel.
    """

    promotions: int
    promotions_squared: int
    round_trips: int
    unsure: int
    promoted_pages: int
    returned_pages: int
    churn_pages: int


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """Share of promotions of pages that had been demoted within ten minutes before, and its interval at `LEVEL`.

    `unfollowed_ratio` of the promoted pages are on hosts that followed none: the interval holds their bounds.
    """

    value: float
    lo: float
    hi: float
    promotions: int
    unfollowed_ratio: float


def share_of_round_trips(parts: Sequence[FollowedMoves]) -> RoundTrips | None:
    """The share over hosts, each by the pages that it promoted; None where no followed page was promoted."""
    seen = [part for part in parts if part.promotions > 0 and part.promoted_pages > 0]
    if not seen:
        return None
    weights = np.array([part.promoted_pages for part in seen], float)
    promoted = sum(part.promoted_pages for part in parts)
    followed = float(weights.sum()) / promoted
    weights /= weights.sum()
    shares = np.array([part.round_trips / part.promotions for part in seen])
    bounds = np.array([_bounds(part) for part in seen])
    value = float(weights @ shares)
    # Errors of hosts are independent: they add up as squares, each way (Zou and Donner 2008).
    down, up = (math.sqrt(float(np.sum((weights * (side - shares)) ** 2))) for side in bounds.T)
    rest = [part for part in parts if part.promotions <= 0]
    lo = (value - down) * followed + sum(min(part.returned_pages, part.promoted_pages) for part in rest) / promoted
    hi = (value + up) * followed + sum(min(part.churn_pages, part.promoted_pages) for part in rest) / promoted
    lo, hi = max(lo, 0.0), min(hi, 1.0)
    promotions = sum(part.promotions for part in seen)
    return RoundTrips(min(max(value, lo), hi), lo, hi, promotions, 1.0 - followed)


def _bounds(part: FollowedMoves) -> tuple[float, float]:
    """The interval of one host: sampling error, over what the share is if the unsure moves were the worst ones.

    As many of the promotions may be none, and as many round trips may have been missed. Promotions of one page are
    taken for one observation between them: so many independent ones are as good as these (Kish 1965).
    """
    n, k, unsure = part.promotions, part.round_trips, part.unsure
    share = k / n
    if unsure >= n:
        return 0.0, 1.0
    least = max(k - unsure, 0) / (n - unsure)
    most = min(max(k / (n - unsure), (k + unsure) / (n + unsure)), 1.0)
    independent = max(n * n / max(part.promotions_squared, n), 1.0)
    lo, _ = wilson_bounds(np.array([least]), np.array([independent]), LEVEL)
    _, hi = wilson_bounds(np.array([most]), np.array([independent]), LEVEL)
    return min(float(lo[0]), share), max(float(hi[0]), share)
