"""How the share of slow accesses goes within a window: what the moves of pages buy shows there first.

Where a hot set moves the share rises, and falls as promotion follows; where placement gains it ends lower. Pages that
are exchanged while it stands buy nothing. docs/method/verdict-rules.md gives the reasons.
"""

from dataclasses import dataclass

import numpy as np

from tierscope.domain.counters.monotonic import Floats
from tierscope.domain.ledger.columns import LOADS, TRAFFIC
from tierscope.domain.ledger.evidence import BINS_OF_COURSE, in_bins
from tierscope.domain.ledger.ledger import Ledger

CHANGED = 0.10
"""By so much the share of slow accesses rises or falls where pages, or what is hot, change place [A]."""
PARTS_MIN = 2
"""Of a course: a share that is told once goes nowhere."""
LOADS_OF_PART = 600
"""Sampled loads of a part, from which the standard error of its share is 2 points at most: ten parts of a share that
stands hardly ever differ by a tenth."""


@dataclass(frozen=True, slots=True)
class SlowCourse:
    """The share of slow accesses, 0 to 1, in parts of equal time.

    `first`, `last`: of the first and the last part. `rose`, `fell`: the most from any part to a later one.
    """

    first: float
    last: float
    rose: float
    fell: float

    @property
    def comes_and_goes(self) -> bool:
        """Whether it rose and fell: pages moved, or became hot elsewhere, and others took their place."""
        return min(self.rose, self.fell) >= CHANGED

    @property
    def falls(self) -> bool:
        """Whether it ends lower than it began."""
        return self.first - self.last >= CHANGED

    @property
    def rises(self) -> bool:
        """Whether it ends higher than it began."""
        return self.last - self.first >= CHANGED


def slow_course(ledger: Ledger) -> SlowCourse | None:
    """The course of the rows, by sampled loads before bytes; None where there are not two parts that tell a share."""
    return _course(ledger, LOADS, LOADS_OF_PART) or _course(ledger, TRAFFIC, 1)


def _course(ledger: Ledger, keys: tuple[str, str], least: int) -> SlowCourse | None:
    fast, slow = (ledger.column(key) for key in keys)
    known = np.isfinite(fast) & np.isfinite(slow)
    dt_seconds = ledger.dt_seconds[known]
    count = min(BINS_OF_COURSE, int((fast + slow)[known].sum()) // least)
    if count < PARTS_MIN:
        return None
    fasts, slows = in_bins(fast[known], dt_seconds, count), in_bins(slow[known], dt_seconds, count)
    told = fasts + slows > 0
    if told.sum() < PARTS_MIN:
        return None
    shares: Floats = slows[told] / (fasts + slows)[told]
    rose = float((shares - np.minimum.accumulate(shares)).max())
    fell = float((np.maximum.accumulate(shares) - shares).max())
    return SlowCourse(float(shares[0]), float(shares[-1]), rose, fell)
