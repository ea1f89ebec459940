"""A straight line through daily points, with Student prediction intervals."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Line:
    """Least squares of y on x. `sd` is the residual one over n - 2; `spread` the sum of squares of x about its mean."""

    slope: float
    intercept: float
    sd: float
    n: int
    middle: float
    spread: float

    def at(self, x: Floats) -> Floats:
        """The line's values."""
        return self.intercept + self.slope * x

    def half_width(self, x: Floats, tail: float) -> Floats:
        """Half of a prediction interval with `tail` on one side: t_{n-2} s sqrt(1 + 1/n + (x - mean)^2 / Sxx)."""
        quantile = float(scipy.special.stdtrit(self.n - 2, 1.0 - tail))
        return np.asarray(quantile * self.sd * np.sqrt(1.0 + 1.0 / self.n + (x - self.middle) ** 2 / self.spread))

    def chance_above(self, x: Floats, value: float) -> Floats:
        """Probability that a point at each x lies at or above a value, by the same distribution."""
        deviation = self.sd * np.sqrt(1.0 + 1.0 / self.n + (x - self.middle) ** 2 / self.spread)
        distance = (value - self.at(x)) / np.maximum(deviation, np.finfo(float).tiny)
        return np.asarray(scipy.special.stdtr(self.n - 2, -distance))


def fit_line(x: Floats, y: Floats) -> Line:
    """The line through at least three points of which two differ in x."""
    n, middle, mean = len(x), float(x.mean()), float(y.mean())
    spread = float(((x - middle) ** 2).sum())
    slope = float(((x - middle) * (y - mean)).sum()) / spread
    intercept = mean - slope * middle
    residual = y - intercept - slope * x
    return Line(slope, intercept, math.sqrt(float((residual**2).sum()) / (n - 2)), n, middle, spread)
