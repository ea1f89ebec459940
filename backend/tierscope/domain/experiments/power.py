"""How many hosts an experiment needs, and what the hosts that it has can find."""

import math

import numpy as np
import numpy.typing as npt
import scipy

Floats = npt.NDArray[np.float64]
POWER = 0.8
LEVEL = 0.95
SMALL_ARMS = 20
"""Up to so many hosts per arm the spread is itself estimated badly enough to cost a host in each."""
MIN_HOSTS = 5


def _z() -> float:
    return float(scipy.special.ndtri((1 + LEVEL) / 2) + scipy.special.ndtri(POWER))


def _left(correlation: float, *, adjusted: bool) -> float:
    """What the value before leaves of the variance."""
    return 1 - correlation**2 if adjusted else 2 * (1 - correlation)


def hosts_per_arm(sd: float, delta: float, *, correlation: float = 0.0, adjusted: bool = True) -> int:
    """Hosts that each arm needs to find `delta` with power 0.8 at the 5 % level, two-sided.

    `correlation` r of the values before and after shrinks the variance to 1 - r^2 when the value before is a regressor
    (`adjusted`), and to 2 (1 - r) for plain differences.

    Raises:
        ValueError: the spread or the difference to find is not above zero.
    """
    if sd <= 0 or delta <= 0:
        raise ValueError("the spread and the difference to find must be above zero")
    return math.ceil(2 * _z() ** 2 * (sd / delta) ** 2 * _left(correlation, adjusted=adjusted))


def planned_hosts_per_arm(sd: float, delta: float, *, correlation: float = 0.0, adjusted: bool = True) -> int:
    """`hosts_per_arm` with what small arms need on top, and never fewer than an experiment takes."""
    needed = hosts_per_arm(sd, delta, correlation=correlation, adjusted=adjusted)
    extra = (1 + adjusted) if needed <= SMALL_ARMS else 0
    return max(needed + extra, MIN_HOSTS)


def detectable_effect(
    sd: float, n_treated: int, n_control: int, *, correlation: float = 0.0, adjusted: bool = True
) -> float:
    """The smallest effect, in units of `sd`'s metric, that arms of these sizes find with power 0.8."""
    spread = sd * math.sqrt(max(_left(correlation, adjusted=adjusted), 0.0))
    return _z() * spread * math.sqrt(1 / n_treated + 1 / n_control)


def correlate(first: Floats, second: Floats) -> float | None:
    """Correlation of host means in two windows; None where one of them does not vary or hosts are fewer than four."""
    if len(first) < 4 or np.ptp(first) == 0 or np.ptp(second) == 0:  # noqa: PLR2004 - a line through three says little
        return None
    return float(np.clip(np.corrcoef(first, second)[0, 1], -0.999, 0.999))
