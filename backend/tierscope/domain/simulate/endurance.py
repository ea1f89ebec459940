"""How long a swap drive lasts under its writes, by its rating."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
DAY_SECONDS = 86_400.0

RATED_WRITES_PER_DAY = 1.0
"""Drive sizes a day that a read-intensive drive is rated for [A]."""
RATED_YEARS = 5.0
"""Years that the rating holds for [A]."""
RATED_AMPLIFICATION = 1.0
"""Write amplification that the rating holds for [A]: the conservative reading of a data sheet."""


def drive_life_years(
    flash_writes_per_day: npt.ArrayLike,
    *,
    rated_writes_per_day: npt.ArrayLike = RATED_WRITES_PER_DAY,
    rated_years: npt.ArrayLike = RATED_YEARS,
    rated_amplification: npt.ArrayLike = RATED_AMPLIFICATION,
) -> Floats:
    """Years until a drive has taken the writes that it is rated for, [cases]; infinite where nothing is written.

    Args:
        flash_writes_per_day: writes to flash, amplification included, in sizes of the drive a day, [cases].
        rated_writes_per_day: of the host, in the same unit.
        rated_years: for so long.
        rated_amplification: with so much amplification.
    """
    written = np.asarray(flash_writes_per_day, np.float64)
    rated = np.multiply(np.multiply(rated_writes_per_day, rated_years), rated_amplification)
    return np.divide(rated, written, out=np.full_like(written, np.inf), where=written > 0.0)
