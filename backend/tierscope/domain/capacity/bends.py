"""Growth that bends: a line whose slope changes once, and the level of the last days, on daily points without gaps."""

import numpy as np
import numpy.typing as npt

from tierscope.domain.capacity.smoothing import Ahead

Floats = npt.NDArray[np.float64]

MIN_PIECE = 10
"""Days on either side of a bend."""
EVERY = 2
"""Days between places that are tried."""
MOST_AUTOCORRELATED = 0.9
LAST_DAYS = 3


def worth_of(residual: Floats) -> float:
    """How many points about a line tell as much as one that is alone, from what is left about the line.

    With an autocorrelation r of one day n points are worth n (1 - r) / (1 + r). The estimate falls short of the truth
    in short series, by (1 + 3 r) / n and more with a trend taken out, which is made up for.
    """
    n, square = len(residual), float((residual**2).sum())
    r = float((residual[1:] * residual[:-1]).sum()) / square if square > 0 else 0.0
    r = min(max(r + (2.0 + 4.0 * r) / n, 0.0), MOST_AUTOCORRELATED)
    return (1.0 + r) / (1.0 - r)


def extend_bend(values: Floats, horizon: int) -> Ahead:
    """A line, bent once where that explains more than chance would (BIC, in points that are worth one each)."""
    n = len(values)
    line = _Fit.of(values, None)
    places = range(MIN_PIECE, n - MIN_PIECE + 1, EVERY)
    bent = min((_Fit.of(values, place) for place in places), key=lambda fit: fit.square, default=line)
    best = line
    if 0.0 < bent.square < line.square:
        points = n / worth_of(bent.residual)
        if points * np.log(line.square / bent.square) > 2.0 * np.log(points) + 2.0:
            best = bent
    return best.ahead(horizon)


def hold_level(values: Floats, horizon: int) -> Ahead:
    """The mean of the last days goes on; what it may move by grows with the days, as half of its steps stay."""
    steps = np.arange(1, horizon + 1)
    deviation = float(np.diff(values).std())
    return Ahead(np.full(horizon, values[-LAST_DAYS:].mean()), deviation * np.sqrt(1.0 + 0.5 * steps))


class _Fit:
    """Least squares of a line, bent at a place or not."""

    def __init__(self, values: Floats, place: int | None, design: Floats, found: Floats) -> None:
        self.place = place
        self.n = len(values)
        self.design, self.found = design, found
        self.residual: Floats = values - design @ found
        self.square = float((self.residual**2).sum())

    @classmethod
    def of(cls, values: Floats, place: int | None) -> "_Fit":
        design = _design(np.arange(len(values), dtype=np.float64), place)
        found, *_ = np.linalg.lstsq(design, values, rcond=None)
        return cls(values, place, design, np.asarray(found, np.float64))

    def ahead(self, horizon: int) -> Ahead:
        """The days ahead; a bend takes as many degrees of freedom as its slope and its place."""
        design = _design(np.arange(self.n, self.n + horizon, dtype=np.float64), self.place)
        worth = worth_of(self.residual)
        constants = 2.0 if self.place is None else 4.0
        variance = self.square / max(self.n - constants * worth, self.n * (1.0 - MOST_AUTOCORRELATED))
        spread = np.einsum("ij,jk,ik->i", design, np.linalg.inv(self.design.T @ self.design), design)
        return Ahead(np.asarray(design @ self.found), np.asarray(np.sqrt(variance * (1.0 + worth * spread))))


def _design(x: Floats, place: int | None) -> Floats:
    columns = [np.ones(len(x)), x]
    if place is not None:
        columns.append(np.maximum(x - place, 0.0))
    return np.column_stack(columns)
