"""Heat classes from age histograms: hot, warm, cold and unknown bytes by scheme, with hard bounds.

A histogram has nine buckets of intervals since last activity (`EDGES` are their lower ends). `never` has the same
buckets for bytes never seen active, by the run of newest valid intervals: cold once that run reaches the threshold,
unknown before. Thresholds are bucket edges; others are snapped, and the scheme says so.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Scheme = Literal["recency", "frequency", "cold_age"]
HeatClass = Literal["hot", "warm", "cold", "unknown"]
CLASSES: tuple[HeatClass, ...] = ("hot", "warm", "cold", "unknown")

EDGES = (0, 1, 2, 3, 5, 10, 20, 40, 64)
"""Lower edges of the age buckets, in intervals; the last is open."""
BUCKETS = len(EDGES)
COUNTS = 11
WINDOWS = (1, 2, 5, 10)
WARM_END = 10
"""Recency: from this age on memory is cold."""
DEFAULTS: dict[Scheme, int] = {"recency": 2, "frequency": 5, "cold_age": 2}


@dataclass(frozen=True, slots=True)
class Rule:
    """A scheme with its threshold in force. `snapped` says what was asked for where that is no bucket edge."""

    scheme: Scheme
    threshold: int
    snapped: str | None

    @property
    def warm_end(self) -> int:
        """The age in intervals from which memory is cold."""
        return max(WARM_END, self.threshold) if self.scheme == "recency" else self.threshold

    @property
    def history(self) -> int:
        """Valid intervals that are needed before anything can be called cold."""
        return 10 if self.scheme == "frequency" else self.warm_end


def make_rule(scheme: Scheme, threshold: int | None = None) -> Rule:
    """Return the rule in force: the default threshold, or the nearest possible one (the lower of two equally near)."""
    wanted = DEFAULTS[scheme] if threshold is None else threshold
    choices = range(1, COUNTS) if scheme == "frequency" else EDGES[1:]
    taken = min(choices, key=lambda edge: (abs(edge - wanted), edge))
    note = None if taken == wanted else f"{wanted} intervals asked for; {taken} is the nearest bucket edge"
    return Rule(scheme, taken, note)


USUAL_RULE = make_rule("recency")
"""What lists and the fleet page class by."""


def describe(rule: Rule) -> tuple[str, str | None, str]:
    """Return what hot, warm and cold mean under the rule, in words."""
    t = rule.threshold
    if rule.scheme == "frequency":
        warm = f"active in 1 to {t - 1} of the last 10 intervals" if t > 1 else None
        return f"active in at least {t} of the last 10 intervals", warm, "active in none of the last 10 intervals"
    if rule.scheme == "cold_age":
        return f"active within the last {t} intervals", None, f"idle for {t} intervals or longer"
    warm = f"idle for {t} to {rule.warm_end - 1} intervals" if rule.warm_end > t else None
    return f"active within the last {t} intervals", warm, f"idle for {rule.warm_end} intervals or longer"


@dataclass(frozen=True, slots=True)
class Folded:
    """Histograms over any leading shape [...]. All int64 bytes.

    `resident` [...]; `age`, `never` [..., 9]; `count` [..., 11]; `lo`, `hi` [..., 4] active bytes within 1, 2, 5 and
    10 intervals. `lo` and `hi` differ where pages are not told apart (mapping granularity).
    """

    resident: Ints
    age: Ints
    never: Ints
    count: Ints
    lo: Ints
    hi: Ints

    def sum(self, axis: int | tuple[int, ...]) -> "Folded":
        """Add up along leading axes."""
        return Folded(*(getattr(self, name).sum(axis=axis) for name in _FIELDS))

    def take(self, index: object) -> "Folded":
        """Index the leading axes."""
        return Folded(*(getattr(self, name)[index] for name in _FIELDS))


FOLDED_COLUMNS = {
    "resident_bytes": ("resident", 1),
    "age_bytes": ("age", BUCKETS),
    "never_bytes": ("never", BUCKETS),
    "active_count_bytes": ("count", COUNTS),
    "active_lo_bytes": ("lo", len(WINDOWS)),
    "active_hi_bytes": ("hi", len(WINDOWS)),
}
"""Fields of `Folded` with their number of values, by the columns of rows that they are sums of."""
_FIELDS = tuple(name for name, _ in FOLDED_COLUMNS.values())


@dataclass(frozen=True, slots=True)
class ClassBytes:
    """Bytes of the four classes over the leading shape, each with hard bounds `lo` and `hi`; order of `CLASSES`."""

    value: Floats
    lo: Floats
    hi: Floats


def valid_run(validity: npt.NDArray[np.uint64]) -> Ints:
    """Length of the newest unbroken run of valid intervals, 0..64."""
    holes = ~validity
    lowest = holes & (~holes + np.uint64(1))
    run = np.full(validity.shape, 64, np.int64)
    some = lowest != 0
    run[some] = np.log2(lowest[some].astype(np.float64)).astype(np.int64)
    return run


def file_partial(age: Ints, never: Ints, validity: npt.NDArray[np.uint64]) -> tuple[Ints, Ints]:
    """Move bytes whose last known activity lies behind a missing interval to `never`, by the run since the hole.

    Such memory may have been active in the hole: it is unknown until the run reaches the threshold. A missing interval
    is not an idle one.
    """
    run = valid_run(validity)
    behind = np.array(EDGES)[None, :] > run[:, None]
    moved = np.where(behind, age, 0)
    if not moved.any():
        return age, never
    bucket = np.searchsorted(np.array(EDGES), run, side="right") - 1
    never = never.copy()
    np.add.at(never, (np.arange(len(run)), bucket), moved.sum(axis=1))
    return age - moved, never


def classify(folded: Folded, rule: Rule) -> ClassBytes:
    """Split resident bytes into classes. What the histograms do not cover is unknown, never cold."""
    if rule.scheme == "frequency":
        return _classify_frequency(folded, rule)
    hot = _below(folded.age, rule.threshold)
    warm = _below(folded.age, rule.warm_end) - hot
    cold = folded.age.sum(axis=-1) - hot - warm + folded.never.sum(axis=-1) - _below(folded.never, rule.warm_end)
    unknown = np.maximum(folded.resident - hot - warm - cold, 0)
    value = np.stack([hot, warm, cold, unknown], axis=-1).astype(np.float64)
    return _bound(folded, rule, value)


def _classify_frequency(folded: Folded, rule: Rule) -> ClassBytes:
    hot = folded.count[..., rule.threshold :].sum(axis=-1)
    warm = folded.count[..., 1 : rule.threshold].sum(axis=-1)
    short = np.minimum(_below(folded.never, 10), folded.count[..., 0])
    cold = folded.count[..., 0] - short
    unknown = np.maximum(folded.resident - hot - warm - cold, 0)
    value = np.stack([hot, warm, cold, unknown], axis=-1).astype(np.float64)
    return _bound(folded, rule, value)


def _below(histogram: Ints, edge: int) -> Ints:
    """Bytes in the buckets below an edge."""
    total: Ints = histogram[..., : EDGES.index(edge)].sum(axis=-1)
    return total


def _bound(folded: Folded, rule: Rule, value: Floats) -> ClassBytes:
    """Unknown bytes may belong to any class; where pages are not told apart, activity is only known within lo..hi."""
    hot, warm, cold, unknown = np.moveaxis(value, -1, 0)
    lo, hi = value.copy(), value + unknown[..., None]
    hi[..., 3] = unknown
    coarse = folded.hi != folded.lo
    if coarse.any():
        resident = folded.resident.astype(np.float64)
        hot_hi = _active_hi(folded, rule.threshold if rule.scheme != "frequency" else 10)
        warm_hi = _active_hi(folded, rule.warm_end if rule.scheme != "frequency" else 10)
        hi[..., 0] = np.minimum(np.maximum(hot_hi, hot) + unknown, resident)
        lo[..., 1] = np.maximum(hot + warm - hot_hi, 0)
        hi[..., 1] = np.minimum(np.maximum(warm_hi, hot + warm) - hot + unknown, resident)
        lo[..., 2] = np.clip(resident - np.maximum(warm_hi, hot + warm) - unknown, 0, cold)
        lo[..., 3] = 0
    return ClassBytes(value, lo, hi)


def _active_hi(folded: Folded, window: int) -> Floats:
    """Most bytes that may have been active within `window` intervals; all of them where no window covers it."""
    for place, length in enumerate(WINDOWS):
        if window <= length:
            return folded.hi[..., place].astype(np.float64)
    return folded.resident.astype(np.float64)


MOST_UNKNOWN = 0.5
"""Where more than this part of the memory has no class, the share of one has no value: it may be off by as much. [A]"""


def class_shares(classes: Floats, name: HeatClass) -> Floats:
    """The share of a class in resident bytes, over bytes by class [..., 4]; nan where too few of them have a class."""
    resident = classes.sum(axis=-1)
    known = (resident > 0) & (classes[..., CLASSES.index("unknown")] <= MOST_UNKNOWN * resident)
    return np.where(known, classes[..., CLASSES.index(name)] / np.where(known, resident, 1.0), np.nan)
