"""Quantiles that can be merged: sketches are added up, percentiles are never averaged."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from datasketches import kll_floats_sketch

Floats = npt.NDArray[np.float64]

K = 200
"""Size of a sketch; ranks are off by about 1.3 % at most."""
EXACT_UP_TO = 1000
"""Up to so many values all of them are stored."""
_STEPS = ((np.arange(512) + 0.5) / 512).tolist()
"""Ranks at which a sketch is asked beside others: its values stand for equal shares, off by 0.1 % at most."""
_RAW, _SKETCH = b"r", b"k"


def _nothing() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False)
class Quantiles:
    """Values of one metric over hosts and hours: single ones, and KLL sketches of more.

    Sketches are asked together and not merged to be asked: a merge draws at random what it keeps, and two who ask for
    the same would get two answers.
    """

    values: Floats = field(default_factory=_nothing)
    sketches: tuple[kll_floats_sketch, ...] = ()

    @classmethod
    def of(cls, values: Iterable[float]) -> "Quantiles":
        """The quantiles of these values."""
        return cls(np.fromiter(values, np.float64) if not isinstance(values, np.ndarray) else values.astype(np.float64))

    @classmethod
    def merge_all(cls, parts: Sequence["Quantiles"]) -> "Quantiles":
        """All of them together; none is changed."""
        values = np.concatenate([part.values for part in parts]) if parts else _nothing()
        return cls(values, tuple(sketch for part in parts for sketch in part.sketches))

    @property
    def n(self) -> int:
        """Values seen."""
        return len(self.values) + sum(int(sketch.n) for sketch in self.sketches)

    @property
    def is_exact(self) -> bool:
        """Whether all values are kept."""
        return not self.sketches

    def merged(self, other: "Quantiles") -> "Quantiles":
        """Both together; neither is changed."""
        return Quantiles.merge_all([self, other])

    def at(self, rank: float) -> float | None:
        """The value at a rank in 0..1; None without values."""
        found = self.at_all([rank])
        return None if found is None else found[0]

    def at_all(self, ranks: Sequence[float]) -> tuple[float, ...] | None:
        """The values at several ranks; None without values."""
        if self.n == 0:
            return None
        if self.is_exact:
            return tuple(float(value) for value in np.quantile(self.values, ranks))
        if len(self.sketches) == 1 and not len(self.values):
            return tuple(float(value) for value in self.sketches[0].get_quantiles(list(ranks)))
        items = np.concatenate([self.values, *(sketch.get_quantiles(_STEPS) for sketch in self.sketches)])
        shares = [np.full(len(_STEPS), sketch.n / len(_STEPS)) for sketch in self.sketches]
        weights = np.concatenate([np.ones(len(self.values)), *shares])
        order = np.argsort(items, kind="stable")
        below = np.cumsum(weights[order])
        places = np.minimum(np.searchsorted(below, np.asarray(ranks) * below[-1]), len(order) - 1)
        return tuple(float(value) for value in items[order][places])

    def to_bytes(self) -> bytes:
        """A form to store: all values while they are few, else one sketch."""
        if self.is_exact and len(self.values) <= EXACT_UP_TO:
            return _RAW + self.values.astype("<f8").tobytes()
        stored = kll_floats_sketch(K)
        if len(self.values):
            stored.update(self.values.astype(np.float32))
        for sketch in self.sketches:
            stored.merge(sketch)
        return _SKETCH + bytes(stored.serialize())

    @classmethod
    def from_bytes(cls, stored: bytes) -> "Quantiles":
        """Read what `to_bytes` gave."""
        if stored[:1] == _RAW:
            return cls(np.frombuffer(stored, "<f8", offset=1).astype(np.float64))
        return cls(_nothing(), (kll_floats_sketch.deserialize(stored[1:]),))
