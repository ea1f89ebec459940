"""Heat against placement: hot bytes outside DRAM and cold bytes in DRAM."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tierscope.domain.heat.classes import ClassBytes
from tierscope.domain.heat.panel import Margins
from tierscope.domain.heat.rows import HeatSeries

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
FAST_TIERS = frozenset({"dram", "hbm"})
_HOT_WINDOW = 1
"""Place of "active within two intervals" among the stored windows."""


def hot_by_group(series: HeatSeries) -> tuple[Floats, Bools] | None:
    """Hot bytes at least, summed over the intervals of each time [n, g], and which groups lie in DRAM [g].

    None where the tier of a group is not known.
    """
    tiers = np.array(series.tiers)
    if (tiers == "").any():
        return None
    return series.folded.lo[..., _HOT_WINDOW].astype(np.float64), np.isin(tiers, list(FAST_TIERS))


@dataclass(frozen=True, slots=True)
class Misplaced:
    """Bytes in the wrong place, with hard bounds. None where placement is not known at all."""

    value: float
    lo: float
    hi: float
    unplaced_share: float
    sampled: bool = False
    """Whether the bounds hold the error of a random sample of pages, with its confidence."""


def find_misplaced(
    classes: ClassBytes, tiers: Sequence[str], margins: Margins | None = None
) -> tuple[Misplaced, Misplaced] | None:
    """Return (hot outside DRAM, cold in DRAM) of groups [g, 4] with a tier label each; "" is unknown.

    Bytes without a label count in the upper bound alone. None where no byte has a label. `margins` [g, 4] are the
    sampling errors of the groups.
    """
    labels = np.array(tiers)
    fast = np.isin(labels, list(FAST_TIERS))
    unplaced = labels == ""
    total = classes.value.sum()
    if total <= 0 or not (~unplaced).any() or classes.value[~unplaced].sum() <= 0:
        return None
    share = float(classes.value[unplaced].sum() / total)
    slow = ~fast & ~unplaced
    hot = Misplaced(
        float(classes.value[slow, 0].sum()),
        float(classes.lo[slow, 0].sum()),
        float(classes.hi[slow | unplaced, 0].sum()),
        share,
    )
    cold = Misplaced(
        float(classes.value[fast, 2].sum()),
        float(classes.lo[fast, 2].sum()),
        float(classes.hi[fast | unplaced, 2].sum()),
        share,
    )
    if margins is None or not margins.sampled:
        return hot, cold
    return _widen(hot, margins.take(slow), 0), _widen(cold, margins.take(fast), 2)


def _widen(found: Misplaced, margins: Margins, place: int) -> Misplaced:
    below = float(np.sqrt(margins.below[:, place].sum()))
    above = float(np.sqrt(margins.above[:, place].sum()))
    return replace(found, lo=max(found.lo - below, 0.0), hi=found.hi + above, sampled=True)
