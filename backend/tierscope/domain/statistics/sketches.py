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
"""Up to so many values all of them are kept."""
_RAW, _SKETCH = b"r", b"k"


def _nothing() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False)
class Quantiles:
    """Values of one metric over hosts and hours: all of them while they are few, else a KLL sketch."""

    values: Floats = field(default_factory=_nothing)
    sketch: kll_floats_sketch | None = None

    @classmethod
    def of(cls, values: Iterable[float]) -> "Quantiles":
        """The quantiles of these values."""
        kept = np.fromiter(values, np.float64) if not isinstance(values, np.ndarray) else values.astype(np.float64)
        return cls(kept) if len(kept) <= EXACT_UP_TO else cls(_nothing(), _sketch_of([kept]))

    @classmethod
    def merge_all(cls, parts: Sequence["Quantiles"]) -> "Quantiles":
        """All of them together; none is changed."""
        raw = [part.values for part in parts if part.sketch is None]
        sketches = [part.sketch for part in parts if part.sketch is not None]
        if not sketches and sum(map(len, raw)) <= EXACT_UP_TO:
            return cls(np.concatenate(raw) if raw else _nothing())
        merged = _sketch_of(raw)
        for sketch in sketches:
            merged.merge(sketch)
        return cls(_nothing(), merged)

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
        return Quantiles.merge_all([self, other])

    def at(self, rank: float) -> float | None:
        """The value at a rank in 0..1; None without values."""
        if self.n == 0:
            return None
        if self.sketch is not None:
            return float(self.sketch.get_quantile(rank))
        return float(np.quantile(self.values, rank))

    def at_all(self, ranks: Sequence[float]) -> tuple[float, ...] | None:
        """The values at several ranks; None without values."""
        if self.n == 0:
            return None
        found = self.sketch.get_quantiles(list(ranks)) if self.sketch is not None else np.quantile(self.values, ranks)
        return tuple(float(value) for value in found)

    def to_bytes(self) -> bytes:
        """A form to store: all values, or the sketch."""
        if self.sketch is None:
            return _RAW + self.values.astype("<f8").tobytes()
        return _SKETCH + bytes(self.sketch.serialize())

    @classmethod
    def from_bytes(cls, stored: bytes) -> "Quantiles":
        """Read what `to_bytes` gave."""
        if stored[:1] == _RAW:
            return cls(np.frombuffer(stored, "<f8", offset=1).astype(np.float64))
        return cls(_nothing(), kll_floats_sketch.deserialize(stored[1:]))


def _sketch_of(parts: Sequence[Floats]) -> kll_floats_sketch:
    sketch = kll_floats_sketch(K)
    for part in parts:
        if len(part):
            sketch.update(part.astype(np.float32))
    return sketch
