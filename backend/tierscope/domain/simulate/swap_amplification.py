"""Write amplification of swap drives by use, as the model of swap devices gives it (docs/method/swap-devices.md).

The table is an output of `simulate_device`, kept so that costs and advice need neither the compiled core nor seconds;
a test runs the model again and compares.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

Drive = Literal["block", "zns"]
MODELLED: dict[Drive, Literal["block_trim_coarse", "zns"]] = {"block": "block_trim_coarse", "zns": "zns"}
"""Which device of the model a drive is."""
MODELLED_LOADS = ("read_mostly", "mixed", "write_heavy")


@dataclass(frozen=True, slots=True)
class Amplification:
    """Slots written to flash for each page swapped out: under a mixed load, and the ends over loads and seeds.

    `utilisation` is that of the drive, held within what was simulated.
    """

    value: float
    low: float
    high: float
    utilisation: float


# Utilisation; mean of a mixed load; lowest and highest end of the 95 % intervals over the three loads.
_TABLE: dict[Drive, tuple[tuple[float, float, float, float], ...]] = {
    "block": (
        (0.1, 1.0, 1.0, 1.18),
        (0.2, 1.05, 1.02, 1.46),
        (0.3, 1.17, 1.09, 2.59),
        (0.4, 1.59, 1.06, 2.61),
        (0.5, 1.57, 1.0, 2.22),
        (0.6, 1.95, 1.17, 2.74),
        (0.7, 3.0, 1.81, 4.19),
        (0.8, 3.48, 2.61, 4.35),
        (0.9, 4.11, 3.95, 4.27),
        (0.95, 4.63, 4.55, 4.72),
    ),
    "zns": (
        (0.1, 1.0, 1.0, 1.03),
        (0.2, 1.03, 1.02, 1.1),
        (0.3, 1.11, 1.07, 1.16),
        (0.4, 1.22, 1.16, 1.23),
        (0.5, 1.37, 1.28, 1.38),
        (0.6, 1.55, 1.43, 1.56),
        (0.7, 1.8, 1.75, 1.93),
        (0.8, 2.3, 2.13, 2.61),
        (0.9, 3.4, 3.07, 3.64),
        (0.95, 4.31, 3.92, 5.16),
    ),
}


def amplification_at(drive: Drive, utilisation: float) -> Amplification:
    """Write amplification of a drive at a use in 0..1, between simulated uses by straight lines.

    Raises:
        ValueError: a use outside 0..1.
    """
    if not 0.0 <= utilisation <= 1.0:
        raise ValueError(f"the share of a drive in use is in 0..1, not {utilisation:g}")
    uses, *columns = np.array(_TABLE[drive]).T
    at = float(np.clip(utilisation, uses[0], uses[-1]))
    value, low, high = (float(np.interp(at, uses, column)) for column in columns)
    return Amplification(value, low, high, at)


def simulated_rows(drive: Drive) -> tuple[tuple[float, float, float, float], ...]:
    """The rows as simulated: utilisation, value, low, high."""
    return _TABLE[drive]
