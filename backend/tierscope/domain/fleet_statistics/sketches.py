"""Quantiles that can be merged: sketches are added up, percentiles are never averaged."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from datasketches import kll_floats_sketch

K = 200
"""Size of a sketch; ranks are off by about 1.3 % at most."""
EXACT_UP_TO = 1000
"""Up to so many values all of them are kept."""


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Values of one metric over hosts and hours: all of them while they are few, else a KLL sketch."""

    values: tuple[float, ...] = ()
    sketch: kll_floats_sketch | None = None

    @classmethod
    def of(cls, values: Iterable[float]) -> "Quantiles":
        """The quantiles of these values."""
        kept = tuple(values)
        return cls(kept) if len(kept) <= EXACT_UP_TO else cls((), _sketch_of(kept))

    @property
    def n(self) -> int:
        """Values seen."""
        return int(self.sketch.n) if self.sketch is not None else len(self.values)

    @property
    def is_exact(self) -> bool:
        """Whether all values are kept."""
        return self.sketch is None

    def merged(self, other: "Quantiles") -> "Quantiles":
        """Both together; neither is changed."""
        if self.sketch is None and other.sketch is None:
            return Quantiles.of((*self.values, *other.values))
        sketch = kll_floats_sketch(K)
        for part in (self, other):
            sketch.merge(part.sketch if part.sketch is not None else _sketch_of(part.values))
        return Quantiles((), sketch)

    def at(self, rank: float) -> float | None:
        """The value at a rank in 0..1; None without values."""
        if self.n == 0:
            return None
        if self.sketch is not None:
            return float(self.sketch.get_quantile(rank))
        return float(np.quantile(self.values, rank))

    def to_bytes(self) -> bytes:
        """A form to store."""
        return bytes((self.sketch if self.sketch is not None else _sketch_of(self.values)).serialize())

    @classmethod
    def from_bytes(cls, stored: bytes) -> "Quantiles":
        """Read what `to_bytes` gave."""
        return cls((), kll_floats_sketch.deserialize(stored))


def _sketch_of(values: Iterable[float]) -> kll_floats_sketch:
    sketch = kll_floats_sketch(K)
    for value in values:
        sketch.update(value)
    return sketch
