"""Heat against placement: hot bytes outside DRAM and cold bytes in DRAM."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tierscope.domain.heat.classes import ClassBytes

FAST_TIERS = frozenset({"dram", "hbm"})


@dataclass(frozen=True, slots=True)
class Misplaced:
    """Bytes in the wrong place, with hard bounds. None where placement is not known at all."""

    value: float
    lo: float
    hi: float
    unplaced_share: float


def find_misplaced(classes: ClassBytes, tiers: Sequence[str]) -> tuple[Misplaced, Misplaced] | None:
    """Return (hot outside DRAM, cold in DRAM) of groups [g, 4] with a tier label each; "" is unknown.

    Bytes without a label count in the upper bound alone. None where no byte has a label.
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
    return hot, cold
