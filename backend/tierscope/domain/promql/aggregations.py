"""Aggregations: over groups of series at each step."""

from collections.abc import Callable

import numpy as np

from tierscope.domain.promql.budget import Budget, value_bytes
from tierscope.domain.promql.series import (
    NAME,
    Bools,
    ExecutionError,
    Floats,
    Ints,
    Labels,
    Vector,
    merge_rows,
    only,
    without,
)
from tierscope.domain.promql.windows import quantile

_FACTOR, _RANKED_FACTOR = 4, 9
"""So many times its vector an aggregation makes while it works."""
RANKED = frozenset({"topk", "bottomk"})


def aggregate(
    vector: Vector, operator: str, labels: frozenset[str], parameter: Floats | None, budget: Budget, *, apart: bool
) -> Vector:
    """The value of each group of series; `apart`: groups by all labels but these. `parameter` [t].

    Raises:
        ExecutionError: the parameter is not one that the operator can take.
        TooMuch: it needs more than the query may.
        TimedOut: it takes longer than the query may.
    """
    budget.room((_RANKED_FACTOR if operator in RANKED else _FACTOR) * value_bytes(vector))
    budget.keep_labels(vector.labels)
    groups: dict[Labels, int] = {}
    place = np.array(
        [groups.setdefault(_key(one, labels, apart=apart), len(groups)) for one in vector.labels], np.int64
    )
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if operator in RANKED:
            assert parameter is not None
            return _ranked(vector, place, len(groups), parameter, budget, largest=operator == "topk")
        n_steps = vector.values.shape[1]
        counts = np.zeros((len(groups), n_steps))
        np.add.at(counts, place, vector.present)
        if operator == "quantile":
            assert parameter is not None
            values = _by_cell(vector, place, len(groups), parameter, budget)
        else:
            values = _OPERATORS[operator](vector, place, counts)
    return merge_rows(list(groups), values, counts > 0)


def _key(labels: Labels, names: frozenset[str], *, apart: bool) -> Labels:
    return without(labels, names | {NAME}) if apart else only(labels, names)


def _sums(values: Floats, present: Bools, place: Ints, counts: Floats) -> Floats:
    found = np.zeros_like(counts)
    np.add.at(found, place, np.where(present, values, 0.0))
    return found


def _sum(vector: Vector, place: Ints, counts: Floats) -> Floats:
    return _sums(vector.values, vector.present, place, counts)


def _mean(vector: Vector, place: Ints, counts: Floats) -> Floats:
    return _sum(vector, place, counts) / np.maximum(counts, 1)


def _variance(vector: Vector, place: Ints, counts: Floats) -> Floats:
    away = vector.values - _mean(vector, place, counts)[place]
    return _sums(away * away, vector.present, place, counts) / np.maximum(counts, 1)


def _extreme(vector: Vector, place: Ints, counts: Floats, fold: np.ufunc) -> Floats:
    found = np.full_like(counts, np.nan)
    fold.at(found, place, np.where(vector.present, vector.values, np.nan))
    return found


_OPERATORS: dict[str, Callable[[Vector, Ints, Floats], Floats]] = {
    "sum": _sum,
    "avg": _mean,
    "count": lambda _, __, counts: counts,
    "group": lambda _, __, counts: np.ones_like(counts),
    "min": lambda vector, place, counts: _extreme(vector, place, counts, np.fmin),
    "max": lambda vector, place, counts: _extreme(vector, place, counts, np.fmax),
    "stdvar": _variance,
    "stddev": lambda vector, place, counts: np.sqrt(_variance(vector, place, counts)),
}


def _by_cell(vector: Vector, place: Ints, n_groups: int, shares: Floats, budget: Budget) -> Floats:
    found = np.zeros((n_groups, vector.values.shape[1]))
    for group in range(n_groups):
        budget.check()
        rows = place == group
        values, present = vector.values[rows], vector.present[rows]
        for step in np.flatnonzero(present.any(axis=0)):
            budget.check()
            found[group, step] = quantile(values[present[:, step], step], float(shares[step]))
    return found


def _ranked(vector: Vector, place: Ints, n_groups: int, parameter: Floats, budget: Budget, *, largest: bool) -> Vector:
    """The k largest or smallest of each group at each step, with all their labels; no number comes last."""
    if np.isnan(parameter).any():
        raise ExecutionError("the parameter of topk and bottomk is a number")
    kept = np.zeros_like(vector.present)
    wanted = np.clip(parameter, 0, len(vector)).astype(np.int64)
    for group in range(n_groups):
        budget.check()
        rows = np.flatnonzero(place == group)
        values = np.where(vector.present[rows], vector.values[rows], np.nan)
        unknown = np.isnan(values)
        keys = np.where(unknown, np.inf, -values if largest else values)
        behind = unknown.astype(np.int8) + ~vector.present[rows]
        order = np.lexsort((keys, behind), axis=0)
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(len(rows))[:, None] + np.zeros_like(order), axis=0)
        kept[rows] = vector.present[rows] & (ranks < wanted[None, :])
    found = merge_rows(vector.labels, vector.values, kept)
    return ordered(found, largest_first=largest) if vector.values.shape[1] == 1 else found


def ordered(vector: Vector, *, largest_first: bool) -> Vector:
    """A vector of one step in order of its values; no number comes last."""
    values = vector.values[:, 0]
    rows = np.lexsort((-values if largest_first else values, np.isnan(values)))
    return Vector(tuple(vector.labels[row] for row in rows.tolist()), vector.values[rows], vector.present[rows])
