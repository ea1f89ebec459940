"""Samples and values of PromQL: series as they come from a store, and vectors over the steps of a query."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.ingest.prometheus.stale import STALE_BITS

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Labels = tuple[tuple[str, str], ...]
"""(name, value) in order of names, without empty values; the metric's name is `__name__`."""

NAME = "__name__"
LOOKBACK_MS = 300_000
"""How old the newest sample may be at a moment, as in Prometheus; longer for series whose samples lie further apart."""


class QueryError(ValueError):
    """What is asked is no query, or not one that is answered here: the message names the cause."""


class ExecutionError(QueryError):
    """A query that has no value with the series that there are: the message names the cause."""


class TooMuch(ExecutionError):
    """A query that needs more series or samples than one may."""


def make_labels(pairs: dict[str, str]) -> Labels:
    """Labels of a mapping; empty values are none."""
    return tuple(sorted((name, value) for name, value in pairs.items() if value))


@dataclass(frozen=True, slots=True)
class Series:
    """One series as stored. `times_ms` [n] ascend, milliseconds since 1970; `values` [n].

    `lookback_ms`: how long a sample stands for what follows.
    """

    labels: Labels
    times_ms: Ints
    values: Floats
    lookback_ms: int = LOOKBACK_MS

    def known(self) -> "Series":
        """Without the marks of its ends."""
        stale = self.values.view(np.uint64) == STALE_BITS
        if not stale.any():
            return self
        return Series(self.labels, self.times_ms[~stale], self.values[~stale], self.lookback_ms)


@dataclass(frozen=True, slots=True)
class Vector:
    """s series over t steps: `values` and `present` [s, t]. A value that is not present says nothing."""

    labels: tuple[Labels, ...]
    values: Floats
    present: Bools

    def __len__(self) -> int:
        return len(self.labels)

    def anywhere(self) -> Bools:
        """The steps [t] at which some series has a value."""
        found: Bools = np.logical_or.reduce(self.present, axis=0)
        return found


@dataclass(frozen=True, slots=True)
class Scalar:
    """One number at each of t steps: `values` [t]."""

    values: Floats


@dataclass(frozen=True, slots=True)
class Text:
    """A text, as some functions take it."""

    value: str


Value = Vector | Scalar | Text


def no_series(n_steps: int) -> Vector:
    """A vector without series."""
    return Vector((), np.zeros((0, n_steps)), np.zeros((0, n_steps), bool))


def without(labels: Labels, names: frozenset[str]) -> Labels:
    """Labels but these."""
    return tuple(pair for pair in labels if pair[0] not in names)


def only(labels: Labels, names: frozenset[str]) -> Labels:
    """These labels alone."""
    return tuple(pair for pair in labels if pair[0] in names)


def drop_name(labels: Labels) -> Labels:
    """Labels without the metric's name."""
    return labels[1:] if labels and labels[0][0] == NAME else without(labels, frozenset({NAME}))


def merge_rows(labels: Sequence[Labels], values: Floats, present: Bools) -> Vector:
    """A vector in which rows of the same labels are one, and rows without any value are left out.

    Raises:
        ExecutionError: two rows of the same labels have a value at one step.
    """
    kept: dict[Labels, int] = {}
    place = np.array([kept.setdefault(one, len(kept)) for one in labels], np.int64)
    if len(kept) < len(labels):
        counts = np.zeros((len(kept), values.shape[1]), np.int64)
        np.add.at(counts, place, present)
        if (counts > 1).any():
            raise ExecutionError("vector cannot contain metrics with the same labelset")
        joined = np.zeros((len(kept), values.shape[1]))
        for row, at in enumerate(place.tolist()):
            joined[at, present[row]] = values[row, present[row]]
        values, present = joined, counts > 0
    some: Bools = np.logical_or.reduce(present, axis=1)
    names = tuple(one for one, has in zip(kept, some.tolist(), strict=True) if has)
    return Vector(names, values[some], present[some])
