"""Functions of vectors and scalars, at each step by itself."""

import re
from collections.abc import Callable, Sequence

import numpy as np

from tierscope.domain.base.patterns import BadPattern, read_pattern
from tierscope.domain.promql.aggregations import ordered
from tierscope.domain.promql.budget import Budget, check_length, value_bytes
from tierscope.domain.promql.nodes import Matcher
from tierscope.domain.promql.series import (
    NAME,
    Bools,
    ExecutionError,
    Floats,
    Labels,
    Scalar,
    Text,
    Value,
    Vector,
    drop_name,
    make_labels,
    merge_rows,
    no_series,
    without,
)

_CALL_FACTOR = 4
"""So many times its largest argument a function makes while it works."""
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_REFERENCE = re.compile(r"\$(?:\$|(\w+)|\{(\w+)\})", re.ASCII)
_OF_EACH: dict[str, Callable[[Floats], Floats]] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "exp": np.exp,
    "ln": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "sgn": np.sign,
}


def call(name: str, arguments: Sequence[Value], n_steps: int, budget: Budget) -> Value:
    """The value of a function of vectors, scalars and texts.

    Raises:
        ExecutionError: an argument is not one that the function can take.
        TooMuch: it needs more than the query may.
        TimedOut: it takes longer than the query may.
    """
    budget.room(_CALL_FACTOR * max(map(value_bytes, arguments), default=0))
    with np.errstate(all="ignore"):
        if name in _OF_EACH:
            return _each(_vector(arguments[0]), _OF_EACH[name])
        if name in _METERED:
            return _METERED[name](arguments, n_steps, budget)
        return _FUNCTIONS[name](arguments, n_steps)


def _vector(value: Value) -> Vector:
    if not isinstance(value, Vector):
        raise ExecutionError("the function takes a vector here")
    return value


def _scalar(value: Value) -> Floats:
    if not isinstance(value, Scalar):
        raise ExecutionError("the function takes a scalar here")
    return value.values


def _text(value: Value) -> str:
    if not isinstance(value, Text):
        raise ExecutionError("the function takes a text here")
    return value.value


def _each(vector: Vector, change: Callable[[Floats], Floats]) -> Vector:
    return merge_rows(tuple(map(drop_name, vector.labels)), change(vector.values), vector.present)


def _round(arguments: Sequence[Value], n_steps: int) -> Value:
    nearest = _scalar(arguments[1]) if len(arguments) > 1 else np.ones(n_steps)
    inverse = 1.0 / nearest
    return _each(_vector(arguments[0]), lambda values: np.floor(values * inverse + 0.5) / inverse)


def _clamp(arguments: Sequence[Value], _: int) -> Value:
    low, high = _scalar(arguments[1]), _scalar(arguments[2])
    vector = _each(_vector(arguments[0]), lambda values: np.maximum(low, np.minimum(high, values)))
    return merge_rows(vector.labels, vector.values, vector.present & (low <= high)[None, :])


def _clamp_low(arguments: Sequence[Value], _: int) -> Value:
    low = _scalar(arguments[1])
    return _each(_vector(arguments[0]), lambda values: np.maximum(low, values))


def _clamp_high(arguments: Sequence[Value], _: int) -> Value:
    high = _scalar(arguments[1])
    return _each(_vector(arguments[0]), lambda values: np.minimum(high, values))


def _as_scalar(arguments: Sequence[Value], _: int) -> Value:
    vector = _vector(arguments[0])
    single = vector.present.sum(axis=0) == 1
    return Scalar(np.where(single, np.where(vector.present, vector.values, 0.0).sum(axis=0), np.nan))


def _as_vector(arguments: Sequence[Value], n_steps: int) -> Value:
    return Vector(((),), _scalar(arguments[0])[None, :], np.ones((1, n_steps), bool))


def _sort(arguments: Sequence[Value], n_steps: int, *, largest_first: bool) -> Value:
    vector = _vector(arguments[0])
    return ordered(vector, largest_first=largest_first) if n_steps == 1 else vector


def absence(present: Bools, matchers: Sequence[Matcher]) -> Vector:
    """1 at each step [t] at which nothing is present, with the labels that the matchers ask for by `=`."""
    asked: dict[str, str] = {}
    for one in matchers:
        asked[one.label] = one.value if one.operator == "=" and one.label not in asked else ""
    asked.pop(NAME, None)
    return merge_rows([make_labels(asked)], np.ones((1, len(present))), ~present[None, :])


def _replace(arguments: Sequence[Value], _: int, budget: Budget) -> Value:
    vector = _vector(arguments[0])
    target, template, source, text = (_text(argument) for argument in arguments[1:])
    _check_label(target)
    try:
        pattern = read_pattern(text, dot_fits_newline=True, captures=True)
    except BadPattern as error:
        raise ExecutionError(f"label_replace: {text[:80]!r}: {error}. {error.next_step}") from error

    def replaced(labels: Labels) -> Labels:
        parts = pattern.parts(dict(labels).get(source, ""))
        if parts is None:
            return labels
        return make_labels(dict(labels) | {target: budget.keep_text(_expand(template, parts))})

    budget.keep_labels(vector.labels)
    return merge_rows([replaced(labels) for labels in vector.labels], vector.values, vector.present)


def _expand(template: str, parts: dict[str, str]) -> str:
    n_characters = 0

    def taken(reference: re.Match[str]) -> str:
        nonlocal n_characters
        name = reference[1] or reference[2]
        found = "$" if name is None else parts.get(name, "")
        n_characters += len(found)
        check_length(n_characters)
        return found

    return _REFERENCE.sub(taken, template)


def _join(arguments: Sequence[Value], _: int, budget: Budget) -> Value:
    vector = _vector(arguments[0])
    target, separator, *sources = (_text(argument) for argument in arguments[1:])
    _check_label(target)

    def joined(labels: Labels) -> Labels:
        known = dict(labels)
        parts = [known.get(source, "") for source in sources]
        check_length(sum(map(len, parts)) + len(separator) * (len(parts) - 1))
        return make_labels(known | {target: budget.keep_text(separator.join(parts))})

    budget.keep_labels(vector.labels)
    return merge_rows([joined(labels) for labels in vector.labels], vector.values, vector.present)


def _check_label(name: str) -> None:
    if _LABEL.fullmatch(name) is None:
        raise ExecutionError(f"invalid label name {name[:80]!r}: it has letters, digits and underscores")


def _histogram_quantile(arguments: Sequence[Value], n_steps: int, budget: Budget) -> Value:
    shares, vector = _scalar(arguments[0]), _vector(arguments[1])
    groups: dict[Labels, list[tuple[float, int]]] = {}
    for row, labels in enumerate(vector.labels):
        try:
            edge = float(dict(labels).get("le", ""))
        except ValueError:
            continue
        groups.setdefault(without(labels, frozenset({NAME, "le"})), []).append((edge, row))
    if not groups:
        return no_series(n_steps)
    values, present = np.zeros((len(groups), n_steps)), np.zeros((len(groups), n_steps), bool)
    for at, members in enumerate(groups.values()):
        members.sort()
        edges, rows = np.array([edge for edge, _ in members]), [row for _, row in members]
        present[at] = vector.present[rows].any(axis=0)
        for step in np.flatnonzero(present[at]):
            budget.check()
            there = vector.present[rows, step]
            values[at, step] = _bucket_quantile(float(shares[step]), edges[there], vector.values[rows, step][there])
    return merge_rows(list(groups), values, present)


def _bucket_quantile(share: float, edges: Floats, counts: Floats) -> float:
    """The quantile of a classic histogram: upper edges [n] ascending, cumulative counts [n]; in a line within one."""
    if np.isnan(share) or len(edges) < 2 or edges[-1] != np.inf:  # noqa: PLR2004 - one edge says nothing
        return float("nan")
    if not 0 <= share <= 1:
        return float("-inf") if share < 0 else float("inf")
    edges, first = np.unique(edges, return_index=True)
    counts = np.maximum.accumulate(np.add.reduceat(counts, first))
    if not counts[-1] > 0 or len(edges) < 2:  # noqa: PLR2004 - one edge says nothing
        return float("nan")
    rank = share * counts[-1]
    at = int(np.searchsorted(counts[:-1], rank, side="left"))
    if at == len(edges) - 1:
        return float(edges[-2])
    if at == 0 and edges[0] <= 0:
        return float(edges[0])
    low, below = (0.0, 0.0) if at == 0 else (float(edges[at - 1]), float(counts[at - 1]))
    return low + (float(edges[at]) - low) * (float(rank) - below) / (float(counts[at]) - below)


_FUNCTIONS: dict[str, Callable[[Sequence[Value], int], Value]] = {
    "round": _round,
    "clamp": _clamp,
    "clamp_min": _clamp_low,
    "clamp_max": _clamp_high,
    "scalar": _as_scalar,
    "vector": _as_vector,
    "sort": lambda arguments, n_steps: _sort(arguments, n_steps, largest_first=False),
    "sort_desc": lambda arguments, n_steps: _sort(arguments, n_steps, largest_first=True),
}
_METERED: dict[str, Callable[[Sequence[Value], int, Budget], Value]] = {
    "label_replace": _replace,
    "label_join": _join,
    "histogram_quantile": _histogram_quantile,
}
