"""Analysis of recordings without a database: page traces here, snapshot trees in `analyze_moves`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from tierscope.core.errors import ConfigurationError, Unprocessable
from tierscope.domain.base.figures import Interval
from tierscope.domain.curve.hit_ratio import DRAM_SHARES, Pages, density_curve
from tierscope.domain.curve.page_traces import (
    KINDS,
    PageGaps,
    PageTrace,
    count_active,
    count_halves,
    group_gaps,
    list_gaps,
)
from tierscope.domain.curve.reaccess import Band, Gaps, cold_start, host_band, reaccess_curve
from tierscope.domain.curve.trace_samples import (
    LEVEL,
    MIN_ACCESSES,
    MIN_PAGES,
    Shares,
    TraceSample,
    draw_sample,
    group_at_random,
    sampled_curve,
    share_interval,
)
from tierscope.domain.heat.classes import WARM_END, WINDOWS
from tierscope.storage.curve.page_traces import RecordedTrace, read_recorded

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LAGS = (1, 2, 5, 10, 20)
IDLE_INTERVALS = 2
"""Idle age at which a page turns cold."""
FULL_HISTORY = 10
"""The median is taken over intervals from this one on: before it windows are not full."""
ALL = "all"
CLASSES = ("hot", "warm", "cold")


@dataclass(frozen=True, slots=True)
class Value:
    """A number with its method; `interval` None where it is exact, `value` None with the `reason`."""

    value: float | None
    method: str
    interval: Interval | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Heat:
    """Bytes of one kind by class for one window, at one time."""

    window_intervals: int
    kind: str
    at: Literal["last", "median"]
    resident_bytes: float | None
    hot_bytes: Value
    warm_bytes: Value
    cold_bytes: Value


@dataclass(frozen=True, slots=True)
class Reaccess:
    """Share of the bytes of one kind that was accessed again within a lag of the clock's start."""

    since: Literal["last_access", "turning_cold"]
    kind: str
    lag_intervals: int
    share: Value
    at_risk_bytes: float


@dataclass(frozen=True, slots=True)
class Served:
    """Share of the accesses that DRAM of a share of the resident bytes serves, with the best static placement."""

    dram_share: float
    share: Value


@dataclass(frozen=True, slots=True)
class TraceAnalysis:
    """What a page trace says; `sample` None where every page and access counted."""

    recorded: RecordedTrace
    sample: TraceSample | None
    resident_bytes: dict[str, int]
    heat: tuple[Heat, ...]
    revisit: tuple[Reaccess, ...]
    served: tuple[Served, ...]


def analyze_page_trace(path: Path, *, one_in: int | None = None, seed: int = 0) -> TraceAnalysis:
    """Heat, revisit and curve of a page trace; of one access in `one_in` and a sample of pages where given.

    Raises:
        Unprocessable: the file is no page trace.
        ConfigurationError: the compiled core is missing or old.
    """
    try:
        recorded = read_recorded(path)
    except ValueError as error:
        raise Unprocessable(
            str(error), next_step="Compare the file with the description of page traces in docs/method/heat.md."
        ) from error
    except RuntimeError as error:
        raise ConfigurationError(str(error), next_step="Run `make simcore`, then this command again.") from error
    trace = recorded.trace
    sample = None if one_in is None else draw_sample(trace, one_in=one_in, seed=seed)
    resident = np.bincount(trace.page_kinds, minlength=len(KINDS)) * trace.page_size_bytes
    return TraceAnalysis(
        recorded=recorded,
        sample=sample,
        resident_bytes={**dict(zip(KINDS, resident.tolist(), strict=True)), ALL: int(resident.sum())},
        heat=tuple(_heat(trace, sample)),
        revisit=tuple(_revisit(trace, sample)),
        served=tuple(_served(trace, sample)),
    )


def _heat(trace: PageTrace, sample: TraceSample | None) -> list[Heat]:
    if trace.pages == 0:
        return []
    counted = count_active(trace)
    resident = _with_all(counted.resident) * trace.page_size_bytes
    drawn = counted if sample is None else count_active(sample.pages)
    found = []
    for window in WINDOWS:
        pages = _with_all(drawn.classes(window))
        if sample is None:
            figures = _exact(pages * trace.page_size_bytes)
        else:
            figures = _scaled(share_interval(pages, _with_all(drawn.resident)[:, None]), resident)
        for number, kind in enumerate((*KINDS, ALL)):
            for at, pick in _TIMES.items():
                hot, warm, cold = (figures(pick, of, number) for of in range(len(CLASSES)))
                bytes_ = pick(resident[:, number].astype(np.float64))
                found.append(Heat(window, kind, at, bytes_, hot, warm, cold))
    return found


def _with_all(by_kind: Ints) -> Ints:
    """The last axis with the sum over kinds at its end."""
    return np.concatenate([by_kind, by_kind.sum(axis=-1, keepdims=True)], axis=-1)


def _last(series: Floats) -> float | None:
    return None if np.isnan(series[-1]) else float(series[-1])


def _median(series: Floats) -> float | None:
    full = series[FULL_HISTORY - 1 :]
    full = full[np.isfinite(full)]
    return float(np.median(full)) if len(full) else None


_Pick = Callable[[Floats], float | None]
_TIMES: dict[Literal["last", "median"], _Pick] = {"last": _last, "median": _median}
_Figures = Callable[[_Pick, int, int], Value]


def _exact(bytes_: Ints) -> _Figures:
    def figure(pick: _Pick, of: int, kind: int) -> Value:
        value = pick(bytes_[:, of, kind].astype(np.float64))
        return Value(value, "trace", reason=None if value is not None else _TOO_SHORT)

    return figure


_TOO_SHORT = f"The trace has fewer than {FULL_HISTORY} intervals."


def _scaled(shares: Shares, resident: Ints) -> _Figures:
    """Shares of sampled pages as bytes. The median's interval has the medians of the ends of single intervals."""

    def figure(pick: _Pick, of: int, kind: int) -> Value:
        value, lo, hi = (pick(part[:, of, kind] * resident[:, kind]) for part in (shares.value, shares.lo, shares.hi))
        if lo is None or hi is None:
            return Value(None, "page_sample", reason=_TOO_SHORT)
        interval = Interval(lo, hi, shares.level, "confidence")
        return Value(value, "page_sample", interval, None if value is not None else "No page of it was drawn.")

    return figure


def _revisit(trace: PageTrace, sample: TraceSample | None) -> list[Reaccess]:
    followed = trace if sample is None else sample.pages
    if followed.pages == 0 and sample is None:
        return []
    gaps, of_kind = list_gaps(followed), followed.page_kinds
    found = []
    for number, kind in enumerate((*KINDS, ALL)):
        chosen = np.where(of_kind == number, 0, -1) if number < len(KINDS) else np.zeros_like(of_kind)
        pooled = group_gaps(gaps, chosen, 1, followed.page_size_bytes)[0]
        units = None if sample is None else _units(gaps, chosen, followed, sample.seed)
        for since in ("last_access", "turning_cold"):
            idle = IDLE_INTERVALS if since == "turning_cold" else None
            found += _reaccess(pooled, units, sample, since, kind, idle)
    return found


def _units(gaps: PageGaps, chosen: Ints, followed: PageTrace, seed: int) -> list[Gaps]:
    """Gaps by random group of the chosen pages that have any: the units of a jackknife."""
    having = np.zeros(followed.pages, np.bool_)
    having[gaps.page] = True
    pages = np.flatnonzero(having & (chosen >= 0))
    if len(pages) < MIN_PAGES:
        return []
    numbers, count = group_at_random(len(pages), seed)
    groups = np.full(followed.pages, -1)
    groups[pages] = numbers
    return group_gaps(gaps, groups, count, followed.page_size_bytes)


def _reaccess(
    pooled: Gaps,
    units: list[Gaps] | None,
    sample: TraceSample | None,
    since: Literal["last_access", "turning_cold"],
    kind: str,
    idle: int | None,
) -> list[Reaccess]:
    curve = reaccess_curve(cold_start(pooled, idle) if idle else pooled)
    # Each lag at a level that makes all of them hold together at the stated one.
    level = 1.0 - (1.0 - LEVEL) / len(LAGS)
    band = host_band(units, idle_intervals=idle, level=level) if units and sample else None
    found = []
    for lag in LAGS:
        share, at_risk = float(curve.share[lag - 1]), float(curve.at_risk[lag - 1])
        value = _share_value(share, curve.method, units, band, lag)
        found.append(Reaccess(since, kind, lag, value, at_risk))
    return found


def _share_value(share: float, method: str, units: list[Gaps] | None, band: Band | None, lag: int) -> Value:
    if units is None:
        reason = "No gap of this length or longer." if np.isnan(share) else None
        return Value(None if reason else share, method, reason=reason)
    method = f"{method}, page_sample"
    if band is None:
        return Value(None, method, reason=f"Fewer than {MIN_PAGES} pages with gaps were drawn.")
    lo, hi = float(band.lo[lag - 1]), float(band.hi[lag - 1])
    if np.isnan([share, lo, hi]).any():
        return Value(None, method, reason="No gap of this length or longer was drawn.")
    return Value(share, method, Interval(lo, hi, LEVEL, "confidence"))


def _served(trace: PageTrace, sample: TraceSample | None) -> list[Served]:
    if sample is None:
        if trace.pages == 0:
            return []
        sizes = np.full(trace.pages, float(trace.page_size_bytes))
        shares = density_curve(Pages(count_halves(trace, trace.row_accesses), sizes), DRAM_SHARES)
        return [
            Served(at, Value(float(share), "top_density") if np.isfinite(share) else _no_access("top_density"))
            for at, share in zip(DRAM_SHARES.tolist(), shares, strict=True)
        ]
    found = sampled_curve(trace, sample.row_accesses, DRAM_SHARES)
    if found is None:
        return [Served(at, _no_access("top_density_cross_fitted")) for at in DRAM_SHARES.tolist()]
    return [
        Served(
            at,
            Value(float(value), "top_density_cross_fitted", Interval(float(lo), float(hi), found.level, "confidence")),
        )
        for at, value, lo, hi in zip(DRAM_SHARES.tolist(), found.value, found.lo, found.hi, strict=True)
    ]


def _no_access(method: str) -> Value:
    few = f"Fewer than {MIN_ACCESSES} accesses were sampled, or none in every other interval."
    return Value(None, method, reason="No access was recorded." if method == "top_density" else few)


HOT_MEANS = "accessed within the window"
WARM_MEANS = f"accessed within {WARM_END} intervals, but not within the window"
COLD_MEANS = f"not accessed for {WARM_END} intervals or longer"
