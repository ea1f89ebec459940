"""Reads of revisit: how soon idle memory of a service is accessed again, with its band over hosts and sampled pages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Interval, Origin, Window, absent, gaps_to_none
from tierscope.domain.base.vocabulary import PageKind
from tierscope.domain.curve import reaccess
from tierscope.domain.curve.reaccess import LENGTHS, Band, Curve
from tierscope.domain.heat import judge_enough
from tierscope.domain.heat.rows import BACKENDS, GRANULARITIES, PAGE_KINDS, HeatSeries, Method
from tierscope.domain.heat.sampled_pages import SampledPages, count_pages
from tierscope.storage.base.subjects import SubjectService
from tierscope.storage.curve.reuse_intervals import GapBlock, read_gaps
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import require_service_hosts
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.curve.reuse_intervals import (
    choose_gaps,
    curve_of_hosts,
    gaps_by_host,
    name_others,
)
from tierscope.usecases.curve.sources import spread_hosts
from tierscope.usecases.heat.figures import Evidence
from tierscope.usecases.heat.sources import read_heat

Clock = Literal["last_access", "turned_cold"]
Kind = Literal["all"] | PageKind
LAGS = (1, 2, 5, 10, 20)
NEEDED_INTERVALS = 60
GROUNDING = "L Kaplan-Meier, Aalen-Johansen; A cold after 2 idle intervals"
STRETCHED = (
    "Samples of misses see only part of the accesses, so that gaps between them look longer than they are. "
    "Measure with accessed bits (abit_walk, idle_page or damon_pages) for revisit times."
)
OF_SEEN = (
    "Of the memory accessed in an interval, samples show {ratio:.0%} or more: bands reach to what the rest may do."
)
FROM_LAG = (
    "Samples see an active page in {chance:.0%} of the intervals or more: lags below {lag} intervals, within which "
    "such a page is seen with less than {limit:.0%}, are not shown. Gaps are those of pages with samples."
)


@dataclass(frozen=True, slots=True)
class RevisitCurve:
    """Share of memory re-accessed within each lag, with its band; null where nothing was left to watch."""

    kind: Kind
    clock: Annotated[Clock, Described("Lag since the last access, or since the memory turned cold.")]
    method: Annotated[str, Described("kaplan_meier, or cumulative_incidence where memory was unmapped.")]
    share: tuple[float | None, ...]
    lo: tuple[float | None, ...]
    hi: tuple[float | None, ...]
    at_risk_bytes: tuple[float, ...]
    last_known_lag: int
    figures: Annotated[tuple[Figure, ...], Described("At lags of 1, 2, 5, 10 and 20 intervals.")]


@dataclass(frozen=True, slots=True)
class Revisit:
    """How soon idle memory of a service is accessed again, of all its memory and by page kind."""

    service_id: str
    origin: Origin
    method: str
    backend: str
    granularity: str
    interval_seconds: float | None
    window: Window
    lags: Annotated[tuple[int, ...], Described("Intervals, for all curves.")]
    curves: tuple[RevisitCurve, ...]
    missing: Annotated[Figure | None, Described("Why there are no curves.")]
    other_methods: tuple[str, ...]
    notes: tuple[str, ...]


class RevisitReads:
    """Revisit times of services."""

    def __init__(self, context: ReadContext) -> None:
        self._context = context

    def service(
        self,
        service_id: str,
        *,
        clock: Clock,
        idle_intervals: int,
        host: str | None,
        method: str | None,
        from_: str | None,
        to: str | None,
        by_kind: bool = True,
    ) -> Revisit:
        """Curves of all memory and, `by_kind`, of each page kind, by one method.

        Raises:
            NotFound: no such service, or it never ran on that host.
            BadRequest: the window cannot be read.
        """
        window = parse_window(from_, to, now=self._context.clock())
        with self._context.database.read() as session:
            service, hosts = require_service_hosts(session, service_id, host)
            ids = [found.id for found in hosts]
            blocks = read_gaps(session, service.id, window.start, window.end, ids)
            chosen = choose_gaps(blocks, method)
            seen = _Seen(1.0, None, {})
            if chosen is not None:
                seen = self._read_seen(session, service.id, spread_hosts(ids), chosen, window)
        some = [block for block in blocks if block.method == chosen]
        shown = _Shown(clock, idle_intervals, by_kind, seen)
        return _view(service, some, chosen, window, shown, name_others(blocks, chosen))

    def _read_seen(
        self, session: ReadSession, service_id: int, host_ids: Sequence[int], method: Method, window: Window
    ) -> "_Seen":
        now = self._context.clock()
        heat = read_heat(session, service_id, host_ids, window, now=now).get(method, {})
        pages = count_pages(map(SampledPages.of_series, heat.values()))
        if not method.is_sampler:
            return _Seen(1.0, None, pages)
        return _Seen(_detection(heat.values()), _seen_ratio(heat.values()), pages)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a method sees: the chance that an active page is seen in an interval (None: not known), and sampled pages.

    `ratio`: of the bytes active in an interval at least this part is seen; None where all of them are. `pages` by kind.
    """

    chance: float | None
    ratio: float | None
    pages: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Shown:
    """The clock and the kinds asked for, and what the method sees."""

    clock: Clock
    idle_intervals: int
    by_kind: bool
    seen: _Seen

    @property
    def first_lag(self) -> int | None:
        """The shortest lag that may be shown; None for none."""
        first = None if self.seen.chance is None else reaccess.publishable_from(self.seen.chance)
        if first is not None and self.clock == "turned_cold" and first > self.idle_intervals:
            return None
        return first


def _detection(heat: Iterable[HeatSeries]) -> float | None:
    """The chance that a sampler sees an active page in one interval, from how often pages were seen of late."""
    counts = [series.folded.count.sum(axis=(0, 1)).astype(np.float64) for series in heat]
    return reaccess.detection(sum(counts[1:], counts[0])) if counts else None


def _seen_ratio(heat: Iterable[HeatSeries]) -> float:
    """The least part of the bytes active in one interval that had samples: lower over upper bounds, of all hosts."""
    found = list(heat)
    lo, hi = (sum(float(getattr(series.folded, side)[..., 0].sum()) for series in found) for side in ("lo", "hi"))
    return lo / hi if hi > 0 else 0.0


def _view(
    service: SubjectService,
    blocks: Sequence[GapBlock],
    method: Method | None,
    window: Window,
    shown: _Shown,
    others: tuple[str, ...],
) -> Revisit:
    missing = _missing(method, window, shown)
    curves: tuple[RevisitCurve, ...] = ()
    if method is not None and missing is None:
        evidence = _gather(blocks, method, window)
        kinds: list[Kind] = [kind for kind in PAGE_KINDS if any(kind in block.kinds for block in blocks)]
        if len(kinds) > 1:
            kinds = ["all", *kinds] if shown.by_kind else ["all"]
        curves = tuple(_curve(blocks, kind, shown, evidence) for kind in kinds)
    return Revisit(
        service_id=service.public_id,
        origin=service.origin,
        method="none" if method is None else method.family,
        backend="none" if method is None else BACKENDS[method.backend],
        granularity="none" if method is None else GRANULARITIES[method.granularity],
        interval_seconds=None if method is None else method.interval_ns / 1e9,
        window=window,
        lags=tuple(range(1, LENGTHS + 1)),
        curves=curves,
        missing=missing,
        other_methods=others,
        notes=_notes(shown),
    )


def _notes(shown: _Shown) -> tuple[str, ...]:
    notes = ["Beyond the last lag with memory left to watch nothing is known: it is not drawn."]
    if shown.first_lag is not None and shown.first_lag > 1 and shown.seen.chance is not None:
        notes.append(FROM_LAG.format(chance=shown.seen.chance, lag=shown.first_lag, limit=reaccess.DETECTION_LIMIT))
    if shown.first_lag is not None and shown.seen.ratio is not None:
        notes.append(OF_SEEN.format(ratio=shown.seen.ratio))
    return tuple(notes)


def _missing(method: Method | None, window: Window, shown: _Shown) -> Figure | None:
    if method is None:
        reason = (
            "No reuse gaps were measured in the window. They need a back end that tells pages apart "
            "(abit_walk, idle_page, damon_pages or a page trace) and at least ten intervals."
        )
        return absent("revisit.reaccessed_ratio/1", "ratio", "not_collected", reason, window=window)
    if shown.first_lag is None:
        return absent("revisit.reaccessed_ratio/1", "ratio", "not_supported", STRETCHED, window=window)
    return None


def _gather(blocks: Sequence[GapBlock], method: Method, window: Window) -> Evidence:
    """What all figures of one answer share."""
    by_host: dict[int, int] = {}
    for block in blocks:
        by_host[block.host_id] = by_host.get(block.host_id, 0) + block.intervals
    longest = max(by_host.values())
    expected = max(window.seconds / (method.interval_ns / 1e9), 1.0)
    coverage = min(sum(by_host.values()) / (len(by_host) * expected), 1.0)
    enough = judge_enough(
        n_hosts=len(by_host), n_intervals=longest, coverage=coverage, history=longest, needed_history=1
    )
    warnings = enough.warnings
    if longest < NEEDED_INTERVALS:
        warnings = (*warnings, f"gaps longer than {longest} intervals could not be seen yet")
    return Evidence(method.family, window, len(by_host), longest, coverage, enough.grade or "early", warnings, None, ())


def _curve(blocks: Sequence[GapBlock], kind: Kind, shown: _Shown, evidence: Evidence) -> RevisitCurve:
    hosts = list(gaps_by_host(blocks, kind).values())
    shift = shown.idle_intervals if shown.clock == "turned_cold" else None
    curve, band = curve_of_hosts(hosts, shift, shown.seen.pages.get(kind))
    if shown.seen.ratio is not None:
        band = reaccess.open_band(curve, shown.seen.ratio, band)
    first = shown.first_lag or 1
    if first > 1:
        hidden = np.arange(1, LENGTHS + 1) < first
        curve = replace(curve, share=np.where(hidden, np.nan, curve.share))
        band = replace(band, lo=np.where(hidden, np.nan, band.lo), hi=np.where(hidden, np.nan, band.hi))
    known = np.flatnonzero(np.isfinite(curve.share))
    return RevisitCurve(
        kind=kind,
        clock=shown.clock,
        method=curve.method,
        share=gaps_to_none(curve.share),
        lo=gaps_to_none(band.lo),
        hi=gaps_to_none(band.hi),
        at_risk_bytes=tuple(float(value) for value in curve.at_risk),
        last_known_lag=int(known[-1]) + 1 if len(known) else 0,
        figures=tuple(_figure(lag, curve, band, evidence, first) for lag in LAGS),
    )


def _figure(lag: int, curve: Curve, band: Band, evidence: Evidence, first: int) -> Figure:
    definition, value = f"revisit.reaccessed_within_{lag}_ratio/1", curve.share[lag - 1]
    if lag < first:
        reason = f"Samples stretch gaps: shares are told from {first} intervals on."
        return absent(definition, "ratio", "not_supported", reason, window=evidence.window)
    if not np.isfinite(value):
        reason = f"No memory was watched for {lag} intervals after its last access."
        return absent(definition, "ratio", "not_enough_data", reason, window=evidence.window)
    lo, hi = float(band.lo[lag - 1]), float(band.hi[lag - 1])
    interval = Interval(lo, hi, band.level, "confidence") if np.isfinite(lo) else None
    return evidence.figure(definition, "ratio", float(value), interval, grounding=GROUNDING)
