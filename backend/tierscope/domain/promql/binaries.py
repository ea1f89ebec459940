"""Operators between two values: arithmetic, comparison and sets, with vectors matched by their labels."""

from collections.abc import Callable

import numpy as np

from tierscope.domain.promql.budget import CELL_BYTES, Budget, value_bytes
from tierscope.domain.promql.nodes import Matching
from tierscope.domain.promql.series import (
    NAME,
    Bools,
    ExecutionError,
    Floats,
    Labels,
    Scalar,
    Value,
    Vector,
    drop_name,
    make_labels,
    merge_rows,
    no_series,
    only,
    without,
)

PAIRS_MAX = 1_000_000
_PAIR_BYTES = 250
"""Of two series that match: where they are, and the labels of what they make."""
_FACTOR = 5
"""So many times its sides, or its pairs, an operator makes while it works."""
_ARITHMETIC: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
    "^": np.power,
    "atan2": np.arctan2,
}
_COMPARISONS: dict[str, Callable[[Floats, Floats], Bools]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
SETS = frozenset({"and", "or", "unless"})


def combine(operator: str, left: Value, right: Value, matching: Matching, budget: Budget, *, as_bool: bool) -> Value:
    """The value of an operator between two others.

    Raises:
        ExecutionError: the sides do not go together, or series match more than they may.
        TooMuch: it needs more than the query may.
        TimedOut: it takes longer than the query may.
    """
    budget.room(_FACTOR * (value_bytes(left) + value_bytes(right)))
    with np.errstate(all="ignore"):
        if isinstance(left, Scalar) and isinstance(right, Scalar):
            values, _ = _apply(operator, left.values, right.values, as_bool=True)
            return Scalar(values)
        if isinstance(left, Vector) and isinstance(right, Vector):
            if operator in SETS:
                return _set(operator, left, right, matching, budget)
            return _matched(operator, left, right, matching, budget, as_bool=as_bool)
        if isinstance(left, Vector) and isinstance(right, Scalar):
            values, holds = _apply(operator, left.values, right.values[None, :], as_bool=as_bool)
            return _with_scalar(operator, left, values, holds, as_bool=as_bool)
        if isinstance(left, Scalar) and isinstance(right, Vector):
            values, holds = _apply(operator, left.values[None, :], right.values, as_bool=as_bool)
            if operator in _COMPARISONS and not as_bool:
                values = right.values
            return _with_scalar(operator, right, values, holds, as_bool=as_bool)
    raise ExecutionError(f"{operator} does not take a text")


def _apply(operator: str, left: Floats, right: Floats, *, as_bool: bool) -> tuple[Floats, Bools]:
    """The value, and where it holds: a comparison keeps the left value."""
    if operator in _ARITHMETIC:
        values = _ARITHMETIC[operator](left, right)
        return values, np.ones(values.shape, bool)
    holds = _COMPARISONS[operator](left, right)
    if as_bool:
        return holds.astype(np.float64), np.ones(holds.shape, bool)
    return np.broadcast_to(left, holds.shape), holds


def _with_scalar(operator: str, vector: Vector, values: Floats, holds: Bools, *, as_bool: bool) -> Vector:
    keeps = operator in _COMPARISONS and not as_bool
    labels = vector.labels if keeps else tuple(map(drop_name, vector.labels))
    return merge_rows(labels, values, vector.present & holds)


def _signature(labels: Labels, matching: Matching) -> Labels:
    return only(labels, matching.labels) if matching.on else without(labels, matching.labels | {NAME})


def _by_signature(vector: Vector, matching: Matching) -> dict[Labels, list[int]]:
    found: dict[Labels, list[int]] = {}
    for row, labels in enumerate(vector.labels):
        found.setdefault(_signature(labels, matching), []).append(row)
    return found


def _set(operator: str, left: Vector, right: Vector, matching: Matching, budget: Budget) -> Vector:
    budget.keep_labels((*left.labels, *right.labels))
    mine, other = _by_signature(left, matching), _by_signature(right, matching)
    if operator == "or":
        taken = {key: left.present[rows].any(axis=0) for key, rows in mine.items()}
        free = right.present.copy()
        for key, rows in other.items():
            if key in taken:
                free[rows] &= ~taken[key]
        return merge_rows(
            (*left.labels, *right.labels), np.vstack((left.values, right.values)), np.vstack((left.present, free))
        )
    kept = left.present.copy()
    for key, rows in mine.items():
        found = other.get(key)
        there = right.present[found].any(axis=0) if found else np.zeros(left.present.shape[1], bool)
        kept[rows] &= there if operator == "and" else ~there
    return merge_rows(left.labels, left.values, kept)


def _matched(
    operator: str, left: Vector, right: Vector, matching: Matching, budget: Budget, *, as_bool: bool
) -> Vector:
    """Pairs of series with equal signatures. At one step, one side has at most one series of a signature."""
    n_steps = left.values.shape[1]
    if not len(left) or not len(right):
        return no_series(n_steps)
    swapped = matching.many == "right"
    many, one = (right, left) if swapped else (left, right)
    budget.keep_labels((*many.labels, *one.labels))
    many_rows, one_rows = _by_signature(many, matching), _by_signature(one, matching)
    both = many.anywhere() & one.anywhere()
    for key, rows in one_rows.items():
        _check_single(one, rows, both, key, "left" if swapped else "right")
    n_pairs = sum(len(rows) * len(one_rows.get(key, ())) for key, rows in many_rows.items())
    if n_pairs > PAIRS_MAX:
        raise ExecutionError(f"the sides of {operator} match in more than {PAIRS_MAX} pairs of series")
    budget.keep(n_pairs * _PAIR_BYTES)
    budget.room(n_pairs * n_steps * _FACTOR * CELL_BYTES)
    pairs = [(m, o) for key, rows in many_rows.items() for m in rows for o in one_rows.get(key, ())]
    if matching.many is None:
        for key, rows in many_rows.items():
            if key in one_rows:
                _check_explicit(many, rows, np.logical_or.reduce(one.present[one_rows[key]], axis=0))
    if not pairs:
        return no_series(n_steps)
    at_many, at_one = (np.array(places, np.int64) for places in zip(*pairs, strict=True))
    sides = (many.values[at_many], one.values[at_one])
    values, holds = _apply(operator, *(sides[::-1] if swapped else sides), as_bool=as_bool)
    keeps = operator in _COMPARISONS and not as_bool
    labels = [_result_labels(many.labels[m], one.labels[o], matching, keeps_name=keeps) for m, o in pairs]
    return merge_rows(labels, values, many.present[at_many] & one.present[at_one] & holds)


def _check_single(vector: Vector, rows: list[int], both: Bools, key: Labels, side: str) -> None:
    if len(rows) > 1 and (vector.present[rows].sum(axis=0) > 1)[both].any():
        shown = ", ".join(f'{name}="{value}"' for name, value in key)
        raise ExecutionError(
            f"found duplicate series for the match group {{{shown}}} on the {side} hand-side of the operation: "
            "many-to-many matching not allowed: matching labels must be unique on one side"
        )


def _check_explicit(vector: Vector, rows: list[int], found: Bools) -> None:
    if len(rows) > 1 and ((vector.present[rows].sum(axis=0) > 1) & found).any():
        raise ExecutionError(
            "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)"
        )


def _result_labels(many: Labels, one: Labels, matching: Matching, *, keeps_name: bool) -> Labels:
    kept = many if keeps_name else drop_name(many)
    if matching.many is None:
        return only(kept, matching.labels) if matching.on else without(kept, matching.labels)
    if not matching.include:
        return kept
    of_one = dict(one)
    return make_labels(dict(kept) | {name: of_one.get(name, "") for name in matching.include})
