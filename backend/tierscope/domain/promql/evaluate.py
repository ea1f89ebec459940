"""The value of an expression at the steps of a query, from the series that its selectors mean.

First `demands` says which samples are needed, then `evaluate` takes them. Limits hold before arrays are made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tierscope.domain.ingest.prometheus.stale import STALE_BITS
from tierscope.domain.promql.aggregations import aggregate
from tierscope.domain.promql.binaries import combine
from tierscope.domain.promql.budget import CELL_BYTES, Budget, value_bytes
from tierscope.domain.promql.functions import absence, call
from tierscope.domain.promql.nodes import (
    Aggregation,
    At,
    Binary,
    Call,
    Matcher,
    Negation,
    Node,
    Number,
    Selector,
    String,
    Subquery,
)
from tierscope.domain.promql.parsing import FUNCTIONS_OF_RANGES, children
from tierscope.domain.promql.series import (
    ExecutionError,
    Floats,
    Ints,
    QueryError,
    Scalar,
    Series,
    Text,
    TooMuch,
    Value,
    Vector,
    drop_name,
    merge_rows,
)
from tierscope.domain.promql.windows import KEEPS_NAME, cut, reduce_windows

POINTS_MAX = 11_000
"""Steps of a query, and so points of a series, as in Prometheus."""
CELLS_MAX = 10_000_000
"""Series times steps of one vector."""
WINDOW_SAMPLES_MAX = 50_000_000
"""Samples in all windows of a function that looks at each of them, as often as windows hold it."""
SINGLE_WINDOWS_MAX = 200_000
"""Windows of functions that look at each by itself."""
SUBQUERY_STEP_MS = 60_000
"""Steps of a subquery that names none."""
_SAMPLE_BYTES = 16
"""Of a time and a value."""
_WINDOW_BYTES = 64
"""What functions of ranges make beside each step, and beside each sample of a series, while they go through it."""
_STEP_BYTES = 4 * CELL_BYTES
"""Of each step of a subquery at the least: its time, a value, and both again as a series."""
_SLOW = frozenset({"deriv", "predict_linear", "quantile_over_time", "stddev_over_time", "stdvar_over_time"})
_THOROUGH = _SLOW | {"avg_over_time", "min_over_time", "max_over_time", "sum_over_time"}


@dataclass(frozen=True, slots=True)
class Steps:
    """The moments of a query, milliseconds since 1970. `step_ms` is 0 where there is one."""

    start_ms: int
    end_ms: int
    step_ms: int

    def times_ms(self) -> Ints:
        """All of them [t]."""
        if not self.step_ms:
            return np.array([self.start_ms], np.int64)
        return np.arange(self.start_ms, self.end_ms + 1, self.step_ms, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Demand:
    """Which samples a selector needs: those of (first_ms, last_ms], with its range already taken off `first_ms`.

    A selector without range needs what stands at `first_ms` too, which may be a lookback older.
    """

    first_ms: int
    last_ms: int
    range_ms: int | None


def make_steps(start_ms: int, end_ms: int, step_ms: int) -> Steps:
    """The steps of a query over a range.

    Raises:
        QueryError: the range is empty, the step is none, or there are too many.
    """
    if end_ms < start_ms:
        raise QueryError("end timestamp must not be before start time")
    if step_ms <= 0:
        raise QueryError("zero or negative query resolution step widths are not accepted; try a positive integer")
    if (end_ms - start_ms) // step_ms + 1 > POINTS_MAX:
        raise QueryError(
            f"exceeded maximum resolution of {POINTS_MAX:,} points per timeseries; try decreasing the query resolution"
            " (?step=XX)"
        )
    return Steps(start_ms, end_ms, step_ms)


def demands(node: Node, steps: Steps) -> dict[Selector, Demand]:
    """The samples that each selector of an expression needs."""
    found: dict[Selector, Demand] = {}
    _collect(node, steps, (steps.start_ms, steps.end_ms), found)
    return found


def _collect(node: Node, steps: Steps, span: tuple[int, int], found: dict[Selector, Demand]) -> None:
    if isinstance(node, Selector):
        first, last = _moved(node.at, node.offset_ms, span, steps)
        wanted = Demand(first - (node.range_ms or 0), last, node.range_ms)
        known = found.get(node, wanted)
        found[node] = Demand(min(known.first_ms, wanted.first_ms), max(known.last_ms, wanted.last_ms), node.range_ms)
    elif isinstance(node, Subquery):
        first, last = _moved(node.at, node.offset_ms, span, steps)
        _collect(node.inner, steps, (first - node.range_ms, last), found)
    else:
        for child in children(node):
            _collect(child, steps, span, found)


def _moved(at: At, offset_ms: int, span: tuple[int, int], steps: Steps) -> tuple[int, int]:
    fixed = _fixed(at, steps)
    first, last = span if fixed is None else (fixed, fixed)
    return first - offset_ms, last - offset_ms


def _fixed(at: At, steps: Steps) -> int | None:
    if at == "start":
        return steps.start_ms
    return steps.end_ms if at == "end" else at


def evaluate(
    node: Node, steps: Steps, series: Mapping[Selector, Sequence[Series]], budget: Budget | None = None
) -> Value:
    """The value of an expression; `series` has those of each of its selectors.

    Raises:
        ExecutionError: the expression has no value: sides do not match, or an argument is not possible.
        TooMuch: it needs more than one query may.
        TimedOut: it takes longer than one query may.
    """
    return _Evaluation(steps, series, steps.times_ms(), budget or Budget()).value(node)


class _Evaluation:
    """One expression at some moments `times_ms` [t]: those of the query, or of a subquery."""

    def __init__(
        self, steps: Steps, series: Mapping[Selector, Sequence[Series]], times_ms: Ints, budget: Budget
    ) -> None:
        self._budget = budget
        self._steps = steps
        self._series = series
        self._times_ms = times_ms

    def value(self, node: Node) -> Value:
        """What it is of lives until it is made, then it does alone."""
        before = self._budget.held_bytes
        self._budget.room(len(self._times_ms) * CELL_BYTES)
        value = self._value(node)
        self._budget.held_bytes = before + value_bytes(value)
        return value

    def _value(self, node: Node) -> Value:
        match node:
            case Number():
                return Scalar(np.full(len(self._times_ms), node.value))
            case String():
                return Text(node.value)
            case Selector():
                return self._newest(node)
            case Call():
                return self._call(node)
            case Aggregation():
                return self._aggregation(node)
            case Binary():
                left, right = self.value(node.left), self.value(node.right)
                return combine(node.operator, left, right, node.matching, self._budget, as_bool=node.as_bool)
            case Negation():
                return self._negative(self.value(node.inner))
            case Subquery():
                raise ExecutionError("a subquery stands within a function of ranges")

    def _moments(self, at: At, offset_ms: int) -> Ints:
        fixed = _fixed(at, self._steps)
        times = self._times_ms if fixed is None else np.full(len(self._times_ms), fixed, np.int64)
        return times - offset_ms

    def _newest(self, node: Selector, *, as_times: bool = False) -> Vector:
        """The newest sample of each series at each step, or its time in seconds."""
        if node.range_ms is not None:
            raise ExecutionError("a range of samples stands within a function of ranges")
        some = self._series[node]
        self._check_cells(len(some))
        self._budget.room(len(some) * len(self._times_ms) * 2 * CELL_BYTES)
        moments = self._moments(node.at, node.offset_ms)
        values = np.zeros((len(some), len(moments)))
        present = np.zeros(values.shape, bool)
        for row, one in enumerate(some):
            self._budget.check()
            if not len(one.times_ms):
                continue
            place = np.searchsorted(one.times_ms, moments, side="right") - 1
            found = np.maximum(place, 0)
            fresh = (place >= 0) & (one.times_ms[found] > moments - one.lookback_ms)
            present[row] = fresh & (one.values.view(np.uint64)[found] != STALE_BITS)
            values[row] = one.times_ms[found] / 1e3 if as_times else one.values[found]
        return merge_rows([one.labels for one in some], values, present)

    def _call(self, node: Call) -> Value:
        if node.name in FUNCTIONS_OF_RANGES:
            return self._of_ranges(node)
        n_steps = len(self._times_ms)
        if node.name == "time":
            return Scalar(self._times_ms / 1e3)
        inner = node.arguments[0]
        if node.name == "timestamp":
            return self._timestamp(inner)
        arguments = [self.value(argument) for argument in node.arguments]
        if node.name == "absent":
            found = arguments[0]
            assert isinstance(found, Vector)
            return absence(found.anywhere(), _asked(inner))
        return call(node.name, arguments, n_steps, self._budget)

    def _timestamp(self, inner: Node) -> Vector:
        if isinstance(inner, Selector):
            found = self._newest(inner, as_times=True)
            values = found.values
        else:
            value = self.value(inner)
            assert isinstance(value, Vector)
            found = value
            values = np.broadcast_to(self._times_ms / 1e3, value.values.shape)
        return merge_rows(tuple(map(drop_name, found.labels)), values, found.present)

    def _of_ranges(self, node: Call) -> Value:
        ranges = next(one for one in node.arguments if isinstance(one, Selector | Subquery))
        if ranges.range_ms is None:
            raise ExecutionError(f"{node.name}() takes a range of samples, such as [5m]")
        parameter = None
        for argument in node.arguments:
            if argument is not ranges:
                value = self.value(argument)
                assert isinstance(value, Scalar)
                parameter = value.values
        some = self._inner_series(ranges) if isinstance(ranges, Subquery) else self._series[ranges]
        self._check_cells(len(some))
        if node.name in _SLOW and len(some) * len(self._times_ms) > SINGLE_WINDOWS_MAX:
            raise TooMuch(f"{node.name}() over more than {SINGLE_WINDOWS_MAX:,} windows (series times steps)")
        return self._reduce(node.name, ranges, some, parameter)

    def _reduce(
        self, name: str, ranges: Selector | Subquery, some: Sequence[Series], parameter: Floats | None
    ) -> Value:
        self._budget.room(len(some) * len(self._times_ms) * 2 * CELL_BYTES + len(self._times_ms) * _WINDOW_BYTES)
        ends = self._moments(ranges.at, ranges.offset_ms)
        values = np.zeros((len(some), len(ends)))
        present = np.zeros(values.shape, bool)
        n_samples = 0
        absent = name == "absent_over_time"
        assert ranges.range_ms is not None
        for row, one in enumerate(some):
            self._budget.room(len(one.times_ms) * _WINDOW_BYTES)
            windows = cut(one, ends, ranges.range_ms)
            n_samples += int(windows.counts.sum()) if name in _THOROUGH else 0
            if n_samples > WINDOW_SAMPLES_MAX:
                raise TooMuch(f"{name}() over more than {WINDOW_SAMPLES_MAX:,} samples in all its windows")
            values[row], present[row] = reduce_windows(
                "present_over_time" if absent else name, windows, parameter, self._budget.check
            )
        if absent:
            return absence(np.logical_or.reduce(present, axis=0), _asked(ranges))
        labels = [one.labels if name in KEEPS_NAME else drop_name(one.labels) for one in some]
        return merge_rows(labels, values, present)

    def _inner_series(self, node: Subquery) -> list[Series]:
        ends = self._moments(node.at, node.offset_ms)
        step_ms = node.step_ms or SUBQUERY_STEP_MS
        first = (int(ends.min()) - node.range_ms) // step_ms + 1
        last = int(ends.max()) // step_ms
        if last - first + 1 > CELLS_MAX:
            raise TooMuch(f"a subquery of more than {CELLS_MAX:,} steps")
        n_steps = max(last - first + 1, 0)
        self._budget.room(n_steps * _STEP_BYTES)
        self._budget.held_bytes += n_steps * 8
        times = np.arange(first, last + 1, dtype=np.int64) * step_ms
        value = _Evaluation(self._steps, self._series, times, self._budget).value(node.inner)
        if isinstance(value, Scalar):
            return [Series((), times, value.values)]
        assert isinstance(value, Vector)
        n_bytes = int(value.present.sum()) * _SAMPLE_BYTES
        self._budget.room(n_bytes)
        self._budget.held_bytes += n_bytes
        return [
            Series(labels, times[value.present[row]], value.values[row, value.present[row]])
            for row, labels in enumerate(value.labels)
        ]

    def _aggregation(self, node: Aggregation) -> Vector:
        inner = self.value(node.inner)
        assert isinstance(inner, Vector)
        parameter = None
        if node.parameter is not None:
            value = self.value(node.parameter)
            if not isinstance(value, Scalar):
                raise ExecutionError(f"the parameter of {node.operator} is a number")
            parameter = value.values
        return aggregate(inner, node.operator, node.labels, parameter, self._budget, apart=node.without)

    @staticmethod
    def _negative(value: Value) -> Value:
        if isinstance(value, Scalar):
            return Scalar(-value.values)
        assert isinstance(value, Vector)
        return merge_rows(tuple(map(drop_name, value.labels)), -value.values, value.present)

    def _check_cells(self, n_series: int) -> None:
        if n_series * len(self._times_ms) > CELLS_MAX:
            raise TooMuch(
                f"{n_series:,} series at {len(self._times_ms):,} steps are more than {CELLS_MAX:,} values; add"
                " conditions to the selector, or take a longer step"
            )


def _asked(node: Node) -> Sequence[Matcher]:
    return node.matchers if isinstance(node, Selector) else ()
