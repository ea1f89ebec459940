"""Computes conditions on frames, for all subjects and minutes at once.

A result depends on the minutes of its own window alone and never on where the frame begins, so that an evaluation of
one minute and one of thirty days give the same bits: amounts are whole numbers, whose sums are exact, and the values of
a window are always added in the same order.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tierscope.domain.alerts.condition import (
    Absent,
    Arithmetic,
    Comparison,
    Condition,
    Constant,
    Extreme,
    Logic,
    Minute,
    Node,
    Over,
    Window,
)
from tierscope.domain.alerts.frame import Bools, Floats, Frame

AGE_LIMIT_S = 3600.0
KNOWN_SHARE = 0.5
"""Share of a window's minutes that must be known for it to have a value."""
_SECONDS = 60.0
_MILLI = 1e3

Truth = npt.NDArray[np.int8]
FALSE, TRUE, UNKNOWN = 0, 1, 2


def evaluate(condition: Condition, frame: Frame) -> Truth:
    """Whether the condition holds [subjects, minutes]: FALSE, TRUE or UNKNOWN."""
    found = _Evaluation(frame).truth(condition.root)
    return np.where(found.known, found.holds.astype(np.int8), np.int8(UNKNOWN))


def measure(condition: Condition, frame: Frame) -> Floats:
    """The value that the condition looks at [subjects, minutes], NaN where absent."""
    if isinstance(condition.value, Comparison | Logic | Absent):
        return np.full(frame.seconds.shape, np.nan)
    return np.broadcast_to(_Evaluation(frame).value(condition.value), frame.seconds.shape)


@dataclass(frozen=True, slots=True)
class _Truths:
    holds: Bools
    known: Bools


@dataclass(slots=True)
class _Evaluation:
    frame: Frame
    done: dict[Node, Floats] = field(default_factory=dict)

    def value(self, node: Node) -> Floats:
        """A numeric part; each part of a condition is computed once."""
        found = self.done.get(node)
        if found is None:
            with np.errstate(invalid="ignore", divide="ignore"):
                found = self.done[node] = self._value(node)
        return found

    def _value(self, node: Node) -> Floats:
        match node:
            case Constant():
                return np.full((1, 1), node.value)
            case Minute():
                return self._minute(node)
            case Window():
                return self._window(node)
            case Over():
                return self._over(node)
            case Arithmetic():
                return _compute(node.operator, self.value(node.left), self.value(node.right))
            case Extreme():
                left, right = self.value(node.left), self.value(node.right)
                if node.function == "first":
                    return np.where(np.isnan(left), right, left)
                return np.asarray((np.minimum if node.function == "min" else np.maximum)(left, right))
        raise TypeError(f"{type(node).__name__} has no value")

    def truth(self, node: Node) -> _Truths:
        """A condition's part."""
        match node:
            case Comparison():
                left, right = np.broadcast_arrays(self.value(node.left), self.value(node.right))
                known = ~(np.isnan(left) | np.isnan(right))
                return self._full(_compare(node.operator, left, right) & known, known)
            case Logic():
                return _join(node.operator, self.truth(node.left), self.truth(node.right))
            case Absent():
                known = np.broadcast_to(~np.isnan(self.value(node.inner)), self.frame.seconds.shape)
                seen = _known_minutes(known, node.minutes) > 0
                return _Truths(~seen, np.ones_like(seen))
        raise TypeError(f"{type(node).__name__} is no condition")

    def _full(self, holds: Bools, known: Bools) -> _Truths:
        shape = self.frame.seconds.shape
        return _Truths(np.broadcast_to(holds, shape), np.broadcast_to(known, shape))

    def _stored(self, key: str) -> Floats:
        found = self.frame.values.get(key)
        return np.full(self.frame.seconds.shape, np.nan) if found is None else found

    def _minute(self, node: Minute) -> Floats:
        if node.kind == "age":
            return _age(self.frame)
        found = self._stored(node.key)
        if node.kind == "flow":
            found = found / self.frame.seconds
        return found if node.factor == 1.0 else found * node.factor

    def _window(self, node: Window) -> Floats:
        amounts = self._stored(node.key)
        known = ~np.isnan(amounts)
        total = _running(np.where(known, amounts, 0.0), node.minutes)
        enough = _known_minutes(known, node.minutes) >= KNOWN_SHARE * node.minutes
        if node.function == "rate":
            total = total / _running(np.where(known, self.frame.seconds, 0.0), node.minutes, parts=_MILLI)
        return np.where(enough, total * node.factor, np.nan)

    def _over(self, node: Over) -> Floats:
        values = np.broadcast_to(self.value(node.inner), self.frame.seconds.shape)
        known = ~np.isnan(values)
        count = _known_minutes(known, node.minutes)
        enough = count >= KNOWN_SHARE * node.minutes
        if node.function == "avg_over":
            found = _in_order(np.where(known, values, 0.0), node.minutes) / count
        elif node.function == "quantile_over":
            found = _quantiles(values, node.minutes, node.quantile)
        else:
            found = _extremes(values, node.minutes, greatest=node.function == "max_over")
        return np.where(enough, found, np.nan)


def _compute(operator: str, left: Floats, right: Floats) -> Floats:
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    return np.where(right == 0, np.nan, left / np.where(right == 0, np.nan, right))


def _compare(operator: str, left: Floats, right: Floats) -> Bools:
    compare = {
        ">": np.greater,
        ">=": np.greater_equal,
        "<": np.less,
        "<=": np.less_equal,
        "==": np.equal,
        "!=": np.not_equal,
    }[operator]
    return np.asarray(compare(left, right), np.bool_)


def _join(operator: str, left: _Truths, right: _Truths) -> _Truths:
    """A side that is not known counts as false while the other one is known; both unknown is unknown.

    `and` needs both known where the known side holds: only a false side decides alone.
    """
    one, other = left.holds & left.known, right.holds & right.known
    if operator == "or":
        return _Truths(one | other, left.known | right.known)
    if operator == "unless":
        return _Truths(one & ~other, left.known)
    decided = (left.known & right.known) | (left.known & ~one) | (right.known & ~other)
    return _Truths(one & other, decided)


def _known_minutes(known: Bools, minutes: int) -> npt.NDArray[np.int32]:
    """How many of the minutes that end with each are known."""
    if known.all():
        counts = np.minimum(np.arange(1, known.shape[1] + 1, dtype=np.int32), np.int32(minutes))
        return np.broadcast_to(counts, known.shape)
    sums = np.cumsum(known, axis=1, dtype=np.int32)
    sums[:, minutes:] -= sums[:, :-minutes].copy()
    return sums


def _running(amounts: Floats, minutes: int, *, parts: float = 1.0) -> Floats:
    """Sums over the minutes that end with each, as whole numbers of `1 / parts`: exact, wherever the frame begins."""
    if minutes == 1:
        return amounts
    sums = np.cumsum(np.rint(amounts * parts).astype(np.int64), axis=1)
    before = np.zeros_like(sums)
    before[:, minutes:] = sums[:, :-minutes]
    return np.asarray((sums - before) / parts, np.float64)


def _in_order(values: Floats, minutes: int) -> Floats:
    """The same for any numbers: added from the newest to the oldest, wherever the frame begins."""
    total = values.copy()
    for back in range(1, min(minutes, values.shape[1])):
        total[:, back:] += values[:, :-back]
    return total


def _extremes(values: Floats, minutes: int, *, greatest: bool) -> Floats:
    choose = np.fmax if greatest else np.fmin
    found = values.copy()
    for back in range(1, min(minutes, values.shape[1])):
        found[:, back:] = choose(found[:, back:], values[:, :-back])
    return found


def _quantiles(values: Floats, minutes: int, share: float) -> Floats:
    padded = np.concatenate([np.full((len(values), minutes - 1), np.nan), values], axis=1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, minutes, axis=1)
    out = np.full(values.shape, np.nan)
    for place in range(len(values)):
        ordered = np.sort(windows[place], axis=1)
        known = (~np.isnan(ordered)).sum(axis=1)
        at = share * np.maximum(known - 1, 0)
        low = np.floor(at).astype(np.int64)
        high = np.minimum(low + 1, np.maximum(known - 1, 0))
        rows = np.arange(len(ordered))
        below, above = ordered[rows, low], ordered[rows, high]
        out[place] = np.where(low == high, below, below + (above - below) * (at - low))
    return out


def _age(frame: Frame) -> Floats:
    """Seconds since the newest interval, at most an hour; NaN before the subject can have reported."""
    seen = ~np.isnan(frame.seconds)
    places = np.where(seen, np.arange(len(frame.minutes)), -1)
    newest = np.maximum.accumulate(places, axis=1)
    back = (np.arange(len(frame.minutes)) - newest) * _SECONDS
    age = np.where(newest >= 0, np.minimum(back, AGE_LIMIT_S), AGE_LIMIT_S)
    expected = frame.minutes[None, :] >= frame.known_from[:, None]
    waited = (frame.minutes[None, :] - frame.known_from[:, None]) * _SECONDS
    age = np.where(newest >= 0, age, np.minimum(np.maximum(waited, 0.0), AGE_LIMIT_S))
    return np.where((newest >= 0) | expected, age, np.nan)
