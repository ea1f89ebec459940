"""Write amplification of swap drives by use, as the model of swap devices gives it (docs/method/swap-devices.md).

It is read from the points that are kept of the model, so that costs and advice need neither the compiled core nor
seconds.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from tierscope.domain.simulate.swap_points import KEPT_LOADS, KEPT_UTILISATIONS, kept_points

Drive = Literal["block", "zns"]
MODELLED: dict[Drive, Literal["block_trim_coarse", "zns"]] = {"block": "block_trim_coarse", "zns": "zns"}
"""Which device of the model a drive is."""


@dataclass(frozen=True, slots=True)
class Amplification:
    """Slots written to flash for each page swapped out: under a mixed load, and the ends over loads and seeds.

    `utilisation` is that of the drive, held within what was simulated.
    """

    value: float
    low: float
    high: float
    utilisation: float


def amplification_at(drive: Drive, utilisation: float) -> Amplification:
    """Write amplification of a drive at a use in 0..1, between simulated uses by straight lines.

    Raises:
        ValueError: a use outside 0..1.
    """
    if not 0.0 <= utilisation <= 1.0:
        raise ValueError(f"the share of a drive in use is in 0..1, not {utilisation:g}")
    uses, *columns = np.array(simulated_rows(drive)).T
    at = float(np.clip(utilisation, uses[0], uses[-1]))
    value, low, high = (float(np.interp(at, uses, column)) for column in columns)
    return Amplification(value, low, high, at)


@cache
def simulated_rows(drive: Drive) -> tuple[tuple[float, float, float, float], ...]:
    """As simulated: utilisation; mean of a mixed load; lowest and highest end of the intervals over the loads."""
    points = kept_points()
    rows = []
    for use in KEPT_UTILISATIONS:
        found = {load: points[MODELLED[drive], load, use].write_amplification for load in KEPT_LOADS}
        known = {load: one for load, one in found.items() if one is not None}
        middle = known.get("mixed")
        if middle is not None:
            ends = [one.lo for one in known.values()], [one.hi for one in known.values()]
            rows.append((use, middle.value, min(ends[0]), max(ends[1])))
    return tuple(rows)
