"""Several methods as one: each counts by how little it erred in the backtest, and the spread is what the past warrants.

No method is right for a service that grows, bends, steps and rests; those that did about as well share the forecast
(Bates and Granger 1969). The spread is made of what they say of themselves, how far they lie apart, and how far their
combination missed on days that it had not seen, in which it may be narrower than what they say.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from tierscope.domain.capacity.backtest import Score
from tierscope.domain.capacity.methods import Method
from tierscope.domain.capacity.smoothing import WEEK, Ahead

Floats = npt.NDArray[np.float64]

STRENGTH = 8.0
"""A method with twice the error of another counts 2^-8 as much. [A]"""
SEEN = 0.6
"""Part of the variance that is what the combination missed; the rest is what its methods say. [A]"""
PRIOR_ORIGINS = 4.0
"""Origins' worth of trust in what methods say of their spread. [A]"""
WITHIN = (0.5, 3.0)
"""What methods say of their spread is stretched by a factor within these. [A]"""
FREEDOM = 6.0
"""Degrees of freedom of the Student distribution about the median. [A]"""
INDEPENDENT_DAYS = 14
"""Origins closer than this, or than the horizon, tell the same."""
MOST_JUMPS = 6
_LEAST_SHARE = 0.05
_HALVINGS = 50


@dataclass(frozen=True, slots=True)
class Jumps:
    """Level shifts that were seen before: how often, per day, and the mean square of their sizes on the logarithm."""

    per_day: float
    mean_square: float


NO_JUMPS = Jumps(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Combined:
    """Days ahead [h] on the scale of the forecast: median, deviation, and the jumps that may come besides."""

    mean: Floats
    sd: Floats
    jumps: Jumps
    by_backtest: float
    in_all: float

    def half_width(self, tail: float) -> Floats:
        """Distance from the median that is exceeded on one side with probability `tail` [h]."""
        first = float(scipy.special.stdtrit(FREEDOM, 1.0 - tail)) * self.sd
        if self.jumps.per_day == 0.0:
            return first
        low, high = np.zeros_like(first), 2.0 * first + 6.0 * np.sqrt(MOST_JUMPS * self.jumps.mean_square)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            is_far = self._beyond(middle) < tail
            low, high = np.where(is_far, low, middle), np.where(is_far, middle, high)
        return np.asarray(high, np.float64)

    def chance_above(self, value: float) -> Floats:
        """Probability of each day [h] to lie at or above a value on the scale."""
        distance = value - self.mean
        return np.asarray(np.where(distance >= 0, self._beyond(np.abs(distance)), 1.0 - self._beyond(np.abs(distance))))

    def _beyond(self, distance: Floats) -> Floats:
        """Probability of each day to lie so far above its median: Student's, with jumps that come at their rate."""
        expected = self.jumps.per_day * np.arange(1, len(self.mean) + 1)
        total = np.zeros(len(self.mean))
        weight = np.exp(-expected)
        for count in range(MOST_JUMPS):
            sd = np.sqrt(np.maximum(self.sd**2 + count * self.jumps.mean_square, np.finfo(float).tiny))
            # A jump is as good as normal: its size was seen, its sign is not known.
            far = scipy.special.stdtr(FREEDOM, -distance / sd) if count == 0 else scipy.special.ndtr(-distance / sd)
            total += weight * far
            weight = weight * expected / (count + 1)
        return total


def combine(values: Floats, scores: Sequence[Score], ahead: Sequence[Ahead], jumps: Jumps, *, log: bool) -> Combined:
    """The combination of methods.

    Args:
        values: daily points without gaps, bytes.
        scores: of the backtest, one for each method.
        ahead: what each says of the days ahead, on its own scale, in the same order.
        jumps: level shifts that may come again; none on a scale of bytes.
        log: whether to combine on the logarithm, for which all values have to be positive.
    """
    scaled = np.log(values) if log else values
    floor = _LEAST_SHARE * float(values.min()) if log else 0.0
    methods = [score.method for score in scores]
    told = [[_on_scale(score.method, one, floor, log=log) for one in score.told] for score in scores]
    origins = scores[0].origins
    weights = _weigh(scaled, origins, told)
    before = [_mix([one[place] for one in told], weights) for place in range(len(origins))]
    said = _mix([_on_scale(method, one, floor, log=log) for method, one in zip(methods, ahead, strict=True)], weights)
    missed = [scaled[origin : origin + len(one.mean)] - one.mean for origin, one in zip(origins, before, strict=True)]
    horizon = len(said.mean)
    factor = _stretch(missed, before, (len(values) - origins[0]) / min(max(horizon, WEEK), INDEPENDENT_DAYS))
    sd = np.sqrt((1.0 - SEEN) * (factor * said.sd) ** 2 + SEEN * _grown(missed, horizon))
    uncertain = said.sd > 0
    in_all = float(np.mean(sd[uncertain] / said.sd[uncertain])) if uncertain.any() else 1.0
    return Combined(said.mean, sd, jumps if log else NO_JUMPS, factor, in_all)


def _on_scale(method: Method, ahead: Ahead, floor: float, *, log: bool) -> Ahead:
    """What a method says on the common scale; of bytes the logarithm, with deviations as shares."""
    if method.log == log:
        return ahead
    mean = np.maximum(ahead.mean, floor)
    return Ahead(np.log(mean), ahead.sd / mean)


def _weigh(scaled: Floats, origins: Sequence[int], told: Sequence[Sequence[Ahead]]) -> Floats:
    """What each method counts, in all 1: by its mean error, in which the last origin counts twice the first."""
    recent = np.linspace(1.0, 2.0, len(origins))
    errors = []
    for one in told:
        off = [
            np.abs(scaled[origin : origin + len(part.mean)] - part.mean).mean()
            for origin, part in zip(origins, one, strict=True)
        ]
        errors.append(float(np.average(off, weights=recent)))
    # Below a billionth of what values are, a method is exact.
    least = max(min(errors), 1e-9 * float(np.abs(scaled).mean()), np.finfo(float).tiny)
    found = (np.maximum(np.array(errors), least) / least) ** -STRENGTH
    return np.asarray(found / found.sum(), np.float64)


def _mix(parts: Sequence[Ahead], weights: Floats) -> Ahead:
    """The mean of all, and the deviation of a mixture of them."""
    means, deviations = np.stack([part.mean for part in parts]), np.stack([part.sd for part in parts])
    mean = weights @ means
    return Ahead(np.asarray(mean), np.sqrt(weights @ (deviations**2 + (means - mean) ** 2)))


def _stretch(missed: Sequence[Floats], before: Sequence[Ahead], independent: float) -> float:
    """By what factor the spread that is said was missed, drawn to 1 where few origins tell."""
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = [(off / one.sd) ** 2 for off, one in zip(missed, before, strict=True)]
    known = [float(square[np.isfinite(square)].mean()) for square in squares if np.isfinite(square).any()]
    if not known:
        return 1.0
    worth = max(independent, 1.0)
    square = (float(np.mean(known)) * worth + PRIOR_ORIGINS) / (worth + PRIOR_ORIGINS)
    return float(np.clip(np.sqrt(square), *WITHIN))


def _grown(missed: Sequence[Floats], horizon: int) -> Floats:
    """The variance of what was missed [h], which grows by the day as that of a walk, or not at all."""
    days = np.concatenate([np.arange(1, len(off) + 1, dtype=np.float64) for off in missed])
    squares = np.concatenate(missed) ** 2
    # Far days are missed by more and vary by more: each counts by what it may be.
    design = np.column_stack([np.ones(len(days)), days]) / (1.0 + days)[:, None]
    size = float(squares.max())
    if size == 0.0:
        return np.zeros(horizon)
    found, _ = scipy.optimize.nnls(design, squares / size / (1.0 + days))
    return np.asarray(size * (found[0] + found[1] * np.arange(1, horizon + 1)), np.float64)
