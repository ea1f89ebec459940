"""What is believed of a service's slowdown at any share of accesses on slow memory, from a prior and its own points.

ln o(h) = ln a + b ln h + f(ln h), with b one of two exponents: 1 (every access costs the same) and 1.5 (placement
leaves the least critical accesses on slow memory). Both are as likely until the service's own points tell. f, by
which a service departs from its line, is a Gaussian process of a level, a slope and bends. At a measured share a point
does what the conjugate update of `slowdown` does; away from it, and away from the published shares, the belief widens.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from tierscope.domain.slowdown.loss import (
    MIDDLE_SHARE,
    PRIOR,
    UPPER_LEVEL,
    Point,
    Posterior,
    loss_of,
    normal_quantile,
    odds_of,
)

Floats = npt.NDArray[np.float64]

EXPONENTS = (1.0, 1.5)
LEVEL_SD = 1.35
"""Of ln a over services. The published pairs alone scatter by 0.92; with this the upper loss also holds for services
that lose in proportion to the share, and for those of Pond (tests/domain/test_ratio_coverage.py)."""
SLOPE_SD = 0.18
"""Of a service's exponent about that of its line: with the two lines 0.31, as the published pairs fitted freely."""
BEND_SD, BEND_LENGTH = 0.2, 1.0
"""Departures from a straight line, and over which distance in ln h they turn [A]."""
LATENCY_SD = 0.28
"""Of ln(rho - 1) where no host has measured it: from 1.5 to 2.5 with 95 % confidence [A]."""
_SMALLEST_SHARE = 1e-6
"""Shares below are taken as this one: their logarithm would say nothing of a loss that is none."""
_FLOOR_OF_UPPER = 0.25
"""Where the estimate of a share is far below its upper bound, this part of the bound stands for it."""
_STEPS = 60
"""At most, for a quantile: halves are then smaller than a float can tell."""
_CLOSE = 1e-14
"""Of ln o: a step that changes a loss by no digit that anybody is told."""


@dataclass(frozen=True, slots=True)
class ShareOnSlow:
    """Share of accesses on slow memory with its two-sided interval; `level` its confidence, 0..1.

    At level 1 the ends are bounds: losses are then judged at the ends themselves.
    """

    value: float
    lo: float
    hi: float
    level: float

    @classmethod
    def exactly(cls, value: float) -> "ShareOnSlow":
        """A share that is known."""
        return cls(value, value, value, UPPER_LEVEL)

    def as_bounds(self, most: float) -> "ShareOnSlow":
        """The ends as bounds, the upper one at least `most`."""
        return replace(self, hi=max(self.hi, most), level=1.0)

    @property
    def log_centre(self) -> float:
        """Logarithm of the share, for upper bounds."""
        if self.level >= 1.0:
            return math.log(max(self.hi, _SMALLEST_SHARE))
        return math.log(max(self.value, self.hi * _FLOOR_OF_UPPER, _SMALLEST_SHARE))

    @property
    def log_sd(self) -> float:
        """Standard deviation of the logarithm, from the upper half of the interval."""
        if self.hi <= self.value or self.level <= 0.0:
            return 0.0
        above = math.log(max(self.hi, _SMALLEST_SHARE)) - self.log_centre
        return max(above, 0.0) / normal_quantile((1.0 + self.level) / 2)

    def at_most(self, level: float = UPPER_LEVEL) -> float:
        """The share that is not exceeded with this probability; the upper end where ends are bounds."""
        return self.hi if self.level >= 1.0 else math.exp(self.log_centre + normal_quantile(level) * self.log_sd)

    @property
    def log_centre_below(self) -> float:
        """Logarithm of the share, for lower bounds."""
        return math.log(max(self.lo if self.level >= 1.0 else self.value, _SMALLEST_SHARE))

    @property
    def log_sd_below(self) -> float:
        """The same from the lower half of the interval."""
        if self.lo >= self.value or self.level <= 0.0:
            return 0.0
        below = self.log_centre_below - math.log(max(self.lo, _SMALLEST_SHARE))
        return max(below, 0.0) / normal_quantile((1.0 + self.level) / 2)

    def widened(self, log_sd: float, *, less_sd: float = 0.0, most: float = 1.0) -> "ShareOnSlow":
        """The same with an error of its logarithm more, `log_sd` its standard deviation.

        `less_sd`: that of an error by which the true share can only be smaller. `most`: what the share is where pages
        lie by chance, under a policy that does no worse unless this share says so: above, the error is then one of the
        odds of the part of `most`, the same where that part is small and none where it is whole.
        """
        if log_sd <= 0.0 and less_sd <= 0.0 and most >= 1.0:
            return self
        z = normal_quantile((1.0 + self.level) / 2)
        below, above = z * math.hypot(log_sd, less_sd), z * log_sd
        if self.lo > 0.0:
            below = math.hypot(below, math.log(self.value / self.lo))
        if 0.0 < self.value < self.hi:
            above = math.hypot(above, math.log(self.hi / self.value))
        top = self.value if self.value > 0.0 else self.hi
        whole = min(max(most, self.hi if self.value > most else 0.0), 1.0)
        raised = top * math.exp(above)
        hi = whole * raised / (whole - top + raised) if 0.0 < top < whole else whole * (top > 0.0)
        return replace(self, lo=self.lo and self.value * math.exp(-below), hi=min(max(hi, self.hi), whole))


@dataclass(frozen=True)
class _Line:
    """The belief of one exponent: its line at the latency of the hosts, and what the points say of f."""

    prior: Posterior
    points: tuple[Point, ...]

    def log_odds(self, log_share: float) -> tuple[float, float]:
        """Mean and variance of ln o at ln h."""
        mean = self.prior.mean_ln_a + self.prior.exponent * log_share
        own = float(self._covariance(np.array([log_share]), np.array([log_share]))[0, 0])
        if not self.points:
            return mean, own
        here = self._covariance(np.array([log_share]), self._logs)[0]
        gain = np.linalg.solve(self._measured, here)
        return mean + float(gain @ self._residuals), max(own - float(gain @ here), 0.0)

    @cached_property
    def log_evidence(self) -> float:
        """Logarithm of how well the line foretells the points, but for a constant."""
        if not self.points:
            return 0.0
        _, determinant = np.linalg.slogdet(self._measured)
        fit = float(self._residuals @ np.linalg.solve(self._measured, self._residuals))
        return -0.5 * (fit + float(determinant))

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
        slopes = SLOPE_SD**2 * np.outer(first - middle, second - middle)
        bends = BEND_SD**2 * np.exp(-((first[:, None] - second[None, :]) ** 2) / (2.0 * BEND_LENGTH**2))
        return np.asarray(self.prior.variance - BEND_SD**2 + slopes + bends, np.float64)


@dataclass(frozen=True)
class Belief:
    """The line of the published pairs at the latency of the hosts, and the owner's usable points.

    `exponents` are as likely as each other; `latency_measured` whether `prior` stands at a measured latency.
    `device_sd`: doubt about ln o because of the device, beside that of services.
    """

    prior: Posterior = PRIOR
    points: tuple[Point, ...] = ()
    exponents: tuple[float, ...] = EXPONENTS
    latency_measured: bool = True
    device_sd: float = 0.0

    @classmethod
    def of(cls, prior: Posterior, points: Sequence[Point]) -> "Belief":
        """From all points; those that cannot be used are left out."""
        return cls(prior, tuple(point for point in points if point.is_usable))

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """How likely each exponent is, given the points."""
        evidence = np.array([line.log_evidence for line in self._lines])
        found = np.exp(evidence - evidence.max())
        return tuple((found / found.sum()).tolist())

    @property
    def exponent(self) -> float:
        """The mean exponent."""
        return math.fsum(weight * exponent for weight, exponent in zip(self.weights, self.exponents, strict=True))

    def at(self, share: float) -> Posterior:
        """Mean and variance of ln a at one share, in the form of the prior with the mean exponent."""
        log_share = math.log(max(share, _SMALLEST_SHARE))
        parts = self._parts(log_share, 0.0)
        mean = math.fsum(weight * middle for weight, middle, _ in parts)
        variance = math.fsum(weight * (sd**2 + (middle - mean) ** 2) for weight, middle, sd in parts)
        return Posterior(mean - self.exponent * log_share, variance, self.exponent)

    def loss_median(self, share: ShareOnSlow) -> float:
        """Median loss at the estimate of the share."""
        if share.value <= 0.0:
            return 0.0
        return self._quantile(math.log(max(share.value, _SMALLEST_SHARE)), 0.0, 0.5)

    def loss_upper(self, share: ShareOnSlow, level: float = UPPER_LEVEL) -> float:
        """Loss that is not exceeded with this probability, the uncertainty of the share included."""
        return 0.0 if share.hi <= 0.0 else self._quantile(share.log_centre, share.log_sd, level)

    def loss_lower(self, share: ShareOnSlow, level: float = UPPER_LEVEL) -> float:
        """Loss that is exceeded with this probability, the uncertainty of the share included."""
        if share.lo <= 0.0 or share.value <= 0.0:
            return 0.0
        return self._quantile(share.log_centre_below, share.log_sd_below, 1.0 - level)

    @cached_property
    def _lines(self) -> tuple[_Line, ...]:
        variance = LEVEL_SD**2 + self.device_sd**2 + (0.0 if self.latency_measured else LATENCY_SD**2)
        lines = (replace(self.prior.turned(exponent), variance=variance) for exponent in self.exponents)
        return tuple(_Line(line, self.points) for line in lines)

    def _parts(self, log_share: float, log_sd: float) -> list[tuple[float, float, float]]:
        """Weight, mean and standard deviation of ln o of each line; `log_sd` is the error of the share itself."""
        found = []
        for weight, line in zip(self.weights, self._lines, strict=True):
            mean, variance = line.log_odds(log_share)
            found.append((weight, mean, math.hypot(math.sqrt(variance), line.prior.exponent * log_sd)))
        return found

    def _quantile(self, log_share: float, log_sd: float, level: float) -> float:
        """Loss at a quantile of the mixture: Newton's method, by bisection where that leaves the ends of its parts."""
        parts = self._parts(log_share, log_sd)
        ends = [mean + normal_quantile(level) * sd for _, mean, sd in parts]
        low, high = min(ends), max(ends)
        middle = (low + high) / 2.0
        spread = [(weight, NormalDist(mean, sd)) for weight, mean, sd in parts if sd > 0.0]
        certain = [(weight, mean) for weight, mean, sd in parts if sd <= 0.0]
        for _ in range(_STEPS if low < high else 0):
            below = sum(weight * part.cdf(middle) for weight, part in spread)
            below += sum(weight for weight, mean in certain if middle >= mean)
            density = sum(weight * part.pdf(middle) for weight, part in spread)
            low, high = (middle, high) if below < level else (low, middle)
            step = middle + (level - below) / density if density > 0.0 else low
            if not low < step < high:
                step = (low + high) / 2.0
            moved, middle = abs(step - middle), step
            if moved <= _CLOSE:
                break
        return loss_of(math.exp(middle))
