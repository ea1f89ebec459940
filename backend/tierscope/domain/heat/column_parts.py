"""Classes from columns: the parts of resident bytes under a rule, per bucket or as means over the window."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tierscope.domain.heat.classes import EDGES, WINDOWS, ClassBytes, Rule
from tierscope.domain.heat.columns import FULL, HeatColumns, index_of

Floats = npt.NDArray[np.floating[Any]]
Doubles = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Column = Callable[[int], Floats]

_HOT, _WARM, _COLD, _UNKNOWN = range(4)
_COUNTED_WINDOW = 10
"""The frequency scheme looks at so many intervals."""
_NOTHING = 1e-6


@dataclass(frozen=True, slots=True)
class Parts:
    """Bytes of the classes under one rule, over any leading shape.

    `hot_high`, `warm_high`: at most this was active within the window of hot, and of hot or warm; None where activity
    is known exactly. `coarse` broadcasts over the shape: where it is not.
    """

    resident: Floats
    hot: Floats
    warm: Floats
    cold: Floats
    unknown: Floats
    hot_high: Floats | None
    warm_high: Floats | None
    coarse: Bools

    def value(self, place: int) -> Floats:
        """Bytes of a class, in the order of CLASSES."""
        return (self.hot, self.warm, self.cold, self.unknown)[place]

    def of(self, place: int) -> tuple[Floats, Floats, Floats]:
        """Value, lower and upper bound of a class: see `classes.classify`, of which this is the twin for columns."""
        value = self.value(place)
        low, high = value, self.unknown if place == _UNKNOWN else value + self.unknown
        if self.hot_high is None or self.warm_high is None:
            return value, low, high
        active = np.maximum(self.warm_high, self.hot + self.warm)
        if place == _HOT:
            high = self._where(np.maximum(self.hot_high, self.hot) + self.unknown, high)
        elif place == _WARM:
            low = np.where(self.coarse, np.maximum(self.hot + self.warm - self.hot_high, 0), low)
            high = self._where(active - self.hot + self.unknown, high)
        elif place == _COLD:
            low = np.where(self.coarse, np.clip(self.resident - active - self.unknown, 0, self.cold), low)
        else:
            low = np.where(self.coarse, 0, low)
        return value, low, high

    def _where(self, bound: Floats, exact: Floats) -> Floats:
        return np.where(self.coarse, np.minimum(bound, self.resident), exact)

    def split(self) -> ClassBytes:
        """All classes along a last axis."""
        found = [self.of(place) for place in range(4)]
        return ClassBytes(*(np.stack([part[i] for part in found], axis=-1).astype(np.float64) for i in range(3)))


@dataclass(frozen=True, slots=True)
class MeanColumns:
    """Means over the window [.., g, h] of what the columns of `HeatColumns` stand for, in bytes."""

    resident: Doubles
    below: Doubles
    known: Doubles
    counts: Doubles
    high: Doubles | None
    beside: Doubles | None
    coarse: Bools

    def take(self, places: Sequence[int]) -> "MeanColumns":
        """Some of the groups."""
        index = index_of(places)
        arrays = (self.below, self.known, self.counts, self.high, self.beside)
        below, known, counts, high, beside = (None if values is None else values[:, index] for values in arrays)
        assert below is not None
        assert known is not None
        assert counts is not None
        return MeanColumns(self.resident[index], below, known, counts, high, beside, self.coarse)

    def parts(self, rule: Rule, *, summed: bool) -> Parts:
        """Classes by group and host [g, h], or by host [h] over all groups."""

        def reader(values: Doubles) -> Column:
            return lambda column: values[column].sum(axis=0) if summed else values[column]

        return _parts(
            rule,
            self.resident.sum(axis=0) if summed else self.resident,
            below=reader(self.below),
            known=reader(self.known),
            counts=reader(self.counts),
            high=None if self.high is None else reader(self.high),
            coarse=self.coarse,
        )


def mean_columns(columns: HeatColumns) -> MeanColumns:
    """Means over the window: buckets weigh by their intervals, each host over its own."""
    # [t, h]: weights of a host add up to one over its own buckets, so that gaps neither count as zero nor thin it out.
    n = columns.n_intervals.astype(np.float64)
    weight = n / np.maximum(n.sum(axis=0), 1.0)
    bytes_ = columns.resident * weight[:, None, :]
    # Columns hold 65535ths of resident bytes: times this [t, g, h], they are weighted bytes.
    scale = (bytes_ / FULL).astype(np.float32)

    def mean(values: npt.NDArray[np.uint16]) -> Doubles:
        # [t, k, g, h] to [k, g, h]. Bucket by bucket: the product of all at once would take t times the memory.
        total: Doubles = np.zeros(values.shape[1:])
        for at in range(len(values)):
            np.add(total, values[at] * scale[at], out=total)
        return total

    beside = columns.beside
    return MeanColumns(
        resident=bytes_.sum(axis=0),
        below=mean(columns.below),
        known=mean(columns.known),
        counts=mean(columns.counts),
        high=None if columns.high is None else mean(columns.high),
        beside=None if beside is None else np.einsum("tkgh,th->kgh", beside, weight),
        coarse=np.asarray(columns.coarse.any(axis=0)),
    )


def parts_over_time(columns: HeatColumns, rule: Rule) -> Parts:
    """Classes of each bucket and host [t, h], over all groups."""
    scale = columns.resident / np.float32(FULL)

    def reader(values: npt.NDArray[np.uint16]) -> Column:
        def read(column: int) -> Floats:
            # One column of [t, k, g, h], in bytes, summed over groups: [t, h]. Single precision is exact to 1e-7, finer
            # than the shares themselves.
            total = np.zeros((values.shape[0], values.shape[3]), np.float32)
            for group in range(values.shape[2]):
                total += values[:, column, group] * scale[:, group]
            return total

        return read

    return _parts(
        rule,
        columns.resident.sum(axis=1),
        below=reader(columns.below),
        known=reader(columns.known),
        counts=reader(columns.counts),
        high=None if columns.high is None else reader(columns.high),
        coarse=np.asarray(columns.coarse.any(axis=0)),
    )


def sum_classes(columns: HeatColumns, rule: Rule) -> Doubles:
    """Bytes of the classes of each bucket [t, 4], summed over hosts."""
    parts = parts_over_time(columns, rule)
    return np.stack([parts.value(place).sum(axis=1, dtype=np.float64) for place in range(4)], axis=-1)


def median_over_time(bytes_: Floats, resident: Floats) -> Doubles:
    """The median share of each host over its buckets [t, h] with memory; NaN for a host without any."""
    # Hosts first, so that each is sorted along contiguous memory. NaN sorts last: the first n of a host are its shares.
    valid = resident > 0
    shares = np.divide(bytes_, resident, out=np.full(resident.shape, np.nan, np.float32), where=valid)
    ordered = np.sort(np.ascontiguousarray(shares.T), axis=1)
    n = valid.sum(axis=0)
    host = np.arange(len(n))
    # The two middle places, one and the same where n is odd.
    low, high = np.maximum((n - 1) // 2, 0), np.minimum(n // 2, ordered.shape[1] - 1)
    middle = (ordered[host, low].astype(np.float64) + ordered[host, high].astype(np.float64)) / 2
    found: Doubles = np.where(n > 0, middle, np.nan)
    return found


def _parts(
    rule: Rule, resident: Floats, *, below: Column, known: Column, counts: Column, high: Column | None, coarse: Bools
) -> Parts:
    """Put the columns of a rule together: the twin of `classes.classify`."""
    hot: Floats
    warm: Floats
    cold: Floats
    if rule.scheme == "frequency":
        # `counts` is cumulated: counts(i) are bytes active in at most i of the last ten intervals. Never active memory
        # is cold only where ten intervals were seen: `known` less what was known for less long is not.
        never, short = counts(0), np.minimum(known(0) - known(EDGES.index(_COUNTED_WINDOW)), counts(0))
        warm = counts(rule.threshold - 1) - never
        hot, cold = counts(-1) - warm - never, never - short
        reach = (_COUNTED_WINDOW, _COUNTED_WINDOW)
    else:
        # `below` is cumulated by age: bytes accessed less than so many intervals ago. Cold needs a history that long.
        hot, active = below(EDGES.index(rule.threshold) - 1), below(EDGES.index(rule.warm_end) - 1)
        warm, cold = active - hot, known(EDGES.index(rule.warm_end)) - active
        reach = (rule.threshold, rule.warm_end)
    left = resident - hot - warm - cold
    # What single precision leaves over of known memory is not unknown.
    unknown = np.where(left <= resident * _NOTHING, 0, left)
    bounds = [None if high is None else _active_high(length, high, resident) for length in reach]
    return Parts(resident, hot, warm, cold, unknown, bounds[0], bounds[1], coarse)


def _active_high(window: int, high: Column, resident: Floats) -> Floats:
    """Most bytes that may have been active within `window` intervals; all of them where no window covers it."""
    for place, length in enumerate(WINDOWS):
        if window <= length:
            return high(place)
    return resident
