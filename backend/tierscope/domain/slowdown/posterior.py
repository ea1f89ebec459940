"""What is believed of a service's slowdown at any share of accesses on slow memory, from a prior and its own points.

ln o(h) = ln a + b ln h + f(ln h): the prior's line, and f, by which a service departs from it. f is a Gaussian process
of a level (the prior's variance of ln a), a slope, because services do not share the prior's exponent, and bends. At a
measured share a point does what the conjugate update of `slowdown` does; away from it, and away from the shares that
the prior was fitted to, the belief widens.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tierscope.domain.slowdown.loss import (
    MIDDLE_SHARE,
    UPPER_LEVEL,
    Point,
    Posterior,
    loss_of,
    normal_quantile,
    odds_of,
)

Floats = npt.NDArray[np.float64]

EXPONENT_SD = 0.31
"""Of the exponent: fitted freely to the published pairs its 95 % interval is 0.71 to 1.92."""
BEND_SD, BEND_LENGTH = 0.2, 1.0
"""Departures from a straight line, and over which distance in ln h they turn [A]."""
FIT_EXPONENT_FROM = 3
"""Distinct shares from which on the exponent itself is fitted."""
_SMALLEST_SHARE = 1e-6
"""Shares below are taken as this one: their logarithm would say nothing of a loss that is none."""
_FLOOR_OF_UPPER = 0.25
"""Where the estimate of a share is far below its upper bound, this part of the bound stands for it."""


@dataclass(frozen=True, slots=True)
class ShareOnSlow:
    """Share of accesses on slow memory with its two-sided interval; `level` its confidence, 0..1."""

    value: float
    lo: float
    hi: float
    level: float

    @classmethod
    def exactly(cls, value: float) -> "ShareOnSlow":
        """A share that is known."""
        return cls(value, value, value, UPPER_LEVEL)

    @property
    def log_centre(self) -> float:
        """Logarithm of the share, for upper bounds."""
        return math.log(max(self.value, self.hi * _FLOOR_OF_UPPER, _SMALLEST_SHARE))

    @property
    def log_sd(self) -> float:
        """Standard deviation of the logarithm, from the upper half of the interval."""
        if self.hi <= self.value or self.level <= 0.0:
            return 0.0
        above = math.log(max(self.hi, _SMALLEST_SHARE)) - self.log_centre
        return max(above, 0.0) / normal_quantile((1.0 + self.level) / 2)


@dataclass(frozen=True)
class Belief:
    """Prior at the latency of the hosts, and the owner's usable points."""

    prior: Posterior
    points: tuple[Point, ...] = ()

    @classmethod
    def of(cls, prior: Posterior, points: Sequence[Point]) -> "Belief":
        """From all points; those that cannot be used are left out."""
        return cls(prior, tuple(point for point in points if point.is_usable))

    @property
    def fits_exponent(self) -> bool:
        """Whether enough distinct shares were measured to fit the exponent too."""
        return len({round(point.share_on_cxl, 3) for point in self.points}) >= FIT_EXPONENT_FROM

    @property
    def exponent(self) -> float:
        """Slope of ln odds against ln share over the measured shares; the prior's where it is not fitted."""
        if not self.fits_exponent:
            return self.prior.exponent
        lo, hi = float(self._logs.min()), float(self._logs.max())
        return (self._log_odds(hi)[0] - self._log_odds(lo)[0]) / (hi - lo)

    def at(self, share: float) -> Posterior:
        """The belief about ln a at one share, in the prior's form."""
        log_share = math.log(max(share, _SMALLEST_SHARE))
        mean, variance = self._log_odds(log_share)
        return Posterior(mean - self.prior.exponent * log_share, variance, self.prior.exponent)

    def loss_median(self, share: ShareOnSlow) -> float:
        """Median loss at the estimate of the share."""
        if share.value <= 0.0:
            return 0.0
        return loss_of(math.exp(self._log_odds(math.log(max(share.value, _SMALLEST_SHARE)))[0]))

    def loss_upper(self, share: ShareOnSlow, level: float = UPPER_LEVEL) -> float:
        """Loss that is not exceeded with this probability, the uncertainty of the share included."""
        if share.hi <= 0.0:
            return 0.0
        mean, variance = self._log_odds(share.log_centre)
        spread = math.sqrt(variance + (self.prior.exponent * share.log_sd) ** 2)
        return loss_of(math.exp(mean + normal_quantile(level) * spread))

    def loss_lower(self, share: ShareOnSlow, level: float = UPPER_LEVEL) -> float:
        """Loss that is exceeded with this probability, the uncertainty of the share included."""
        if share.lo <= 0.0 or share.value <= 0.0:
            return 0.0
        log_share = math.log(max(share.value, _SMALLEST_SHARE))
        mean, variance = self._log_odds(log_share)
        below = (log_share - math.log(max(share.lo, _SMALLEST_SHARE))) if share.level > 0.0 else 0.0
        log_sd = max(below, 0.0) / normal_quantile((1.0 + share.level) / 2) if below > 0.0 else 0.0
        spread = math.sqrt(variance + (self.prior.exponent * log_sd) ** 2)
        return loss_of(math.exp(mean - normal_quantile(level) * spread))

    def _log_odds(self, log_share: float) -> tuple[float, float]:
        """Mean and variance of ln o at ln h."""
        mean = self.prior.mean_ln_a + self.prior.exponent * log_share
        own = float(self._covariance(np.array([log_share]), np.array([log_share]))[0, 0])
        if not self.points:
            return mean, own
        here = self._covariance(np.array([log_share]), self._logs)[0]
        gain = np.linalg.solve(self._measured, here)
        return mean + float(gain @ self._residuals), max(own - float(gain @ here), 0.0)

    @cached_property
    def _logs(self) -> Floats:
        return np.log([point.share_on_cxl for point in self.points])

    @cached_property
    def _residuals(self) -> Floats:
        seen = np.log([odds_of(point.loss) for point in self.points])
        return np.asarray(seen - self.prior.mean_ln_a - self.prior.exponent * self._logs, np.float64)

    @cached_property
    def _measured(self) -> Floats:
        errors = np.diag([point.variance for point in self.points])
        return np.asarray(self._covariance(self._logs, self._logs) + errors, np.float64)

    def _covariance(self, first: Floats, second: Floats) -> Floats:
        """Of the departures at two lists of ln h: a level and a slope of the service's own, and bends."""
        middle = math.log(MIDDLE_SHARE)
        slopes = EXPONENT_SD**2 * np.outer(first - middle, second - middle)
        bends = BEND_SD**2 * np.exp(-((first[:, None] - second[None, :]) ** 2) / (2.0 * BEND_LENGTH**2))
        return np.asarray(self.prior.variance - BEND_SD**2 + slopes + bends, np.float64)
