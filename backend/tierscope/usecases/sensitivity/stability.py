"""Reads of stability: the mix of a service's memory over time, its warm-up, the overlap of its hot sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.axis import Grid
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import (
    Figure,
    Grade,
    Interval,
    Origin,
    Series,
    TimeAxis,
    Window,
    absent,
    gaps_to_none,
)
from tierscope.domain.base.vocabulary import PageKind
from tierscope.domain.heat import estimate_median, judge_enough
from tierscope.domain.heat.rows import PREFERENCE, Method
from tierscope.domain.sensitivity import stability
from tierscope.domain.sensitivity.kind_residency import KINDS
from tierscope.domain.sensitivity.stability import HotSetState
from tierscope.storage.base.subjects import SubjectService
from tierscope.storage.heat.sums import LAGS, Overlap, read_overlaps
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import require_service_hosts
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.counters.service_lines import line_grid, read_service_lines, service_scopes
from tierscope.usecases.heat.sources import LIVE_KEPT
from tierscope.usecases.sensitivity.kind_residency import HostResidency, is_residency, name_sources, read_residency

Floats = npt.NDArray[np.float64]
MAX_HOSTS = 100
MAX_OVERLAP_INTERVALS = 60_000
"""Host-intervals of overlaps that one request adds up; longer windows are cut to their end."""
GROUNDING = "S Fig 9 of the source paper; A five points, 0.7 and 0.4"
_INDEPENDENT = "the interval takes points as independent; slow waves make it too narrow"
_NO_BYTES = (
    "Neither control groups nor heat told how much memory of which kind this service has in the window. Services are"
    " measured where the agent finds their control groups, or walks their memory."
)
_NO_OVERLAPS = (
    "No hot sets were compared in the window. It needs a back end that tells pages apart (abit_walk, idle_page,"
    " damon_pages or a page trace), and a history longer than the lag."
)


@dataclass(frozen=True, slots=True)
class KindStability:
    """One kind's share; `stable` None where it cannot be told."""

    kind: PageKind
    slope_per_hour: Annotated[Figure, Described("Theil-Sen slope of its share of resident memory.")]
    iqr: Annotated[Figure, Described("Interquartile range of the share over the last 24 hours.")]
    stable: Annotated[
        bool | None, Described("Slope below 5 points a day and range below 5 points; null where unknown.")
    ]


@dataclass(frozen=True, slots=True)
class WarmUpEnd:
    """When the mix had settled; `at` is null where it was settled before, or has not yet."""

    at: datetime | None
    why: str


@dataclass(frozen=True, slots=True)
class HotSetOverlap:
    """Byte-weighted Jaccard of the hot set now and some time before."""

    lag_minutes: float
    jaccard: Figure
    state: HotSetState | None


@dataclass(frozen=True, slots=True)
class Stability:
    """How steady a mix of memory and its hot set are."""

    service_id: str
    origin: Origin
    window: Window
    residency: Annotated[str | None, Described("Where the resident bytes come from.")]
    axis: TimeAxis
    series: tuple[Series, ...]
    kinds: tuple[KindStability, ...]
    warm_up_end: WarmUpEnd
    hot_set: tuple[HotSetOverlap, ...]
    missing: Annotated[Figure | None, Described("Why there are no shares.")]
    notes: tuple[str, ...]


class StabilityReads(ContextUseCase):
    """Stability of services."""

    def service(self, service_id: str, *, from_: str | None, to: str | None, max_points: int) -> Stability:
        """Shares, trends, warm-up and overlaps over the hosts of a service.

        Raises:
            NotFound: no such service.
            BadRequest: the window cannot be read.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now)
        with self._context.database.read() as session:
            service, every = require_service_hosts(session, service_id)
            hosts = every[:MAX_HOSTS]
            scopes = service_scopes(session, service)
            lines = read_service_lines(session, hosts, scopes, is_residency, window, now=now, max_points=max_points)
            grid = line_grid(window, now=now, max_points=max_points)
            parts = read_residency(session, service.id, hosts, lines, grid, window, now=now)
            span = _overlap_span(window, now, len(hosts))
            overlaps = read_overlaps(session, service.id, [host.id for host in hosts], span.start, span.end)
        notes = () if len(every) <= MAX_HOSTS else (f"The first {MAX_HOSTS} of {len(every)} hosts.",)
        return _view(service, parts, overlaps, window, span, grid, notes)


def _overlap_span(window: Window, now: datetime, n_hosts: int) -> Window:
    """The newest part of the window of which single intervals are kept, and not too many."""
    budget = timedelta(minutes=MAX_OVERLAP_INTERVALS / max(n_hosts, 1))
    start = max(window.start, now - LIVE_KEPT, window.end - budget)
    return Window(min(start, window.end), window.end)


def _view(
    service: SubjectService,
    parts: Sequence[HostResidency],
    overlaps: Sequence[Overlap],
    window: Window,
    span: Window,
    grid: Grid,
    notes: tuple[str, ...],
) -> Stability:
    shares = _shares(parts, len(grid))
    known = np.asarray(np.isfinite(shares).any(axis=0), bool)
    missing = None
    if not known.any():
        missing = absent("stability.kind_ratio/1", "ratio", "not_collected", _NO_BYTES, window=window)
    hot_set = _hot_set(overlaps, window, span)
    if span.start > window.start and overlaps:
        notes = (*notes, f"Hot sets are compared from {span.start:%Y-%m-%d %H:%M} UTC on: older intervals are summed.")
    return Stability(
        service_id=service.public_id,
        origin=service.origin,
        window=window,
        residency=name_sources(parts),
        axis=grid.axis(),
        series=tuple(
            Series(f"{kind}_ratio", f"{kind} of resident memory", "ratio", gaps_to_none(shares[:, i]))
            for i, kind in enumerate(KINDS)
        ),
        kinds=tuple(_kind(kind, shares[:, i], grid, window, parts) for i, kind in enumerate(KINDS) if known[i]),
        warm_up_end=_warm_up(shares[:, known], grid),
        hot_set=hot_set,
        missing=missing,
        notes=notes,
    )


def _shares(parts: Sequence[HostResidency], length: int) -> Floats:
    """Shares of resident memory by kind [b, 3]: bytes of all hosts that were measured in a bucket."""
    if not parts:
        return np.full((length, len(KINDS)), np.nan)
    stacked = np.stack([part.bytes.resident for part in parts])
    known = np.isfinite(stacked).any(axis=0)
    sums = np.where(known, np.nansum(stacked, axis=0), np.nan)
    whole = np.nansum(sums, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Floats = np.where(whole[:, None] > 0, sums / whole[:, None], np.nan)
    return out


def _kind(kind: PageKind, shares: Floats, grid: Grid, window: Window, parts: Sequence[HostResidency]) -> KindStability:
    times_s = grid.ends_s.astype(np.float64)
    n = int(np.isfinite(shares).sum())
    enough = judge_enough(
        n_hosts=len(parts), n_intervals=n, coverage=n / max(len(grid), 1), history=n, needed_history=1
    )
    grade: Grade = enough.grade or "early"
    newest_day = stability.last_day(times_s, shares)
    slope = stability.theil_sen(times_s / stability.HOUR_S, shares) if n >= stability.MIN_POINTS else None
    iqr = stability.interquartile_range(newest_day) if n >= stability.MIN_POINTS else None

    def figure(name: str, unit: str, value: float, interval: Interval | None, warnings: tuple[str, ...]) -> Figure:
        return Figure(
            name,
            "ok",
            value,
            unit,
            method="counters",
            window=window,
            interval=interval,
            n_hosts=len(parts),
            n_intervals=n,
            coverage=n / max(len(grid), 1),
            grade=grade,
            grounding=GROUNDING,
            warnings=warnings,
        )

    if slope is None or iqr is None:
        reason = f"{n} points in the window; {stability.MIN_POINTS} are needed."
        return KindStability(
            kind,
            absent("stability.slope_ratio_per_hour/1", "ratio_per_h", "not_enough_data", reason, window=window),
            absent("stability.iqr_ratio/1", "ratio", "not_enough_data", reason, window=window),
            None,
        )
    hours = len(newest_day) * grid.step_s / stability.HOUR_S
    short = () if hours >= 0.9 * stability.HOURS_PER_DAY else (f"over {hours:.1f} hours, not 24",)
    interval = Interval(slope.lo, slope.hi, stability.LEVEL, "confidence")
    return KindStability(
        kind,
        figure(
            "stability.slope_ratio_per_hour/1",
            "ratio_per_h",
            slope.value,
            interval,
            (*enough.warnings, _INDEPENDENT),
        ),
        figure("stability.iqr_ratio/1", "ratio", iqr, None, (*enough.warnings, *short)),
        stability.is_stable(slope.value, iqr),
    )


def _warm_up(shares: Floats, grid: Grid) -> WarmUpEnd:
    """The mix has settled when the last of its kinds has."""
    times_s = grid.ends_s.astype(np.float64)
    ends = [stability.warm_up_end(times_s, shares[:, i]) for i in range(shares.shape[1])]
    outcomes = {end.outcome for end in ends}
    if not ends or "unknown" in outcomes:
        return WarmUpEnd(None, "Less than two hours of data: warm-up cannot be told.")
    if "not_yet" in outcomes:
        return WarmUpEnd(None, "The mix still changes: the last hour is over 5 points off the last day's median.")
    settled = [end.at_s for end in ends if end.at_s is not None]
    if not settled:
        return WarmUpEnd(None, "The mix was within 5 points of the last day's median from the first hour on.")
    at = datetime.fromtimestamp(max(settled), UTC)
    return WarmUpEnd(at, "From then on the hourly mean of every kind is within 5 points of the last day's median.")


def _hot_set(overlaps: Sequence[Overlap], window: Window, span: Window) -> tuple[HotSetOverlap, ...]:
    method = _most_used(overlaps)
    interval_s = 60.0 if method is None else method.interval_ns / 1e9
    by_lag: dict[int, dict[int, list[float]]] = {lag: {} for lag in LAGS}
    for overlap in overlaps:
        value = stability.jaccard(overlap.intersection_bytes, overlap.union_bytes)
        if overlap.method == method and value is not None:
            by_lag[overlap.lag_intervals].setdefault(overlap.host_id, []).append(value)
    found = []
    for lag, by_host in by_lag.items():
        figure = _jaccard_figure(by_host, method, window if not by_host else span)
        state = None if figure.value is None else stability.name_overlap(figure.value)
        found.append(HotSetOverlap(lag * interval_s / 60.0, figure, state))
    return tuple(found)


def _most_used(overlaps: Sequence[Overlap]) -> Method | None:
    """Methods are never joined: the one with most overlaps, the more telling one on a tie."""
    counts: dict[Method, int] = {}
    for overlap in overlaps:
        counts[overlap.method] = counts.get(overlap.method, 0) + 1

    def weight(method: Method) -> tuple[int, int]:
        place = PREFERENCE.index(method.backend) if method.backend in PREFERENCE else len(PREFERENCE)
        return counts[method], -place

    return max(counts, key=weight, default=None)


def _jaccard_figure(by_host: dict[int, list[float]], method: Method | None, window: Window) -> Figure:
    """Median over intervals on each host, then over hosts; one host shows the spread over its intervals instead."""
    name = "stability.hot_set_jaccard/1"
    if not by_host or method is None:
        return absent(name, "ratio", "not_collected", _NO_OVERLAPS, window=window)
    medians = [float(np.median(values)) for values in by_host.values()]
    estimate = estimate_median(medians)
    if estimate.lo is not None and estimate.hi is not None:
        interval = Interval(estimate.lo, estimate.hi, estimate.level, "confidence")
    else:
        only = next(iter(by_host.values()))
        interval = Interval(float(np.percentile(only, 10)), float(np.percentile(only, 90)), 0.8, "range")
    longest = max(len(values) for values in by_host.values())
    enough = judge_enough(n_hosts=len(by_host), n_intervals=longest, coverage=1.0, history=longest, needed_history=1)
    return Figure(
        name,
        "ok",
        estimate.value,
        "ratio",
        method=method.family,
        window=window,
        interval=interval,
        n_hosts=len(by_host),
        n_intervals=sum(len(values) for values in by_host.values()),
        grade=enough.grade or "early",
        grounding=GROUNDING,
        warnings=enough.warnings,
    )
