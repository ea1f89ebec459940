"""The sampling error of figures that were scaled up from a random sample of pages (analytics a6).

Each stratum (page kind and tier on one host) is a share of its sampled pages: Wilson's interval of that share, times
the resident bytes. Strata are independent, so that the distances from their values add up in squares (Zou and Donner
2008). The same pages are followed from interval to interval: a longer window does not make the sample larger.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.heat.aggregate import LEVEL, wilson_bounds
from tierscope.domain.heat.classes import CLASSES, ClassBytes

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Margins:
    """Squared distances in bytes below and above the values of strata [g, 4]; zero where all pages were scanned."""

    below: Floats
    above: Floats

    def take(self, mask: Bools) -> "Margins":
        """Some of the strata."""
        return Margins(self.below[mask], self.above[mask])

    @property
    def sampled(self) -> bool:
        """Whether anything rests on a sample."""
        return bool(self.below.any() or self.above.any())


def find_margins(classes: ClassBytes, resident: Floats, pages: Floats) -> Margins:
    """Margins of the classes [g, 4] of strata with `resident` bytes [g], seen through `pages` [g]; 0 = all of them."""
    sampled = (pages > 0) & (resident > 0)
    whole = np.where(resident > 0, resident, 1.0)[:, None]
    shares = np.clip(classes.value / whole, 0.0, 1.0)
    lo, hi = wilson_bounds(shares, np.where(sampled, pages, 1.0)[:, None], LEVEL)
    # How much is unknown follows from missing intervals, not from the sample.
    scale = np.where(sampled, resident, 0.0)[:, None] * (np.array(CLASSES) != "unknown")
    return Margins((scale * (shares - lo)) ** 2, (scale * (hi - shares)) ** 2)


def join_margins(parts: Sequence[Margins]) -> Margins:
    """The strata of several hosts."""
    if not parts:
        return Margins(np.zeros((0, len(CLASSES))), np.zeros((0, len(CLASSES))))
    return Margins(np.concatenate([part.below for part in parts]), np.concatenate([part.above for part in parts]))


def widen(total: ClassBytes, margins: Margins, resident: float) -> ClassBytes:
    """Hard bounds of sums [4], widened by the error of the strata that they are made of; within 0..`resident`."""
    below = np.sqrt(margins.below.sum(axis=0))
    above = np.sqrt(margins.above.sum(axis=0))
    return ClassBytes(
        total.value, np.maximum(total.lo - below, 0.0), np.maximum(np.minimum(total.hi + above, resident), total.value)
    )
