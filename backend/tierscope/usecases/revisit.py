"""Reads of revisit: how soon idle memory of a service is accessed again, with its band over hosts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tierscope.domain import revisit
from tierscope.domain.figures import Figure, Interval, Window, absent, gaps_to_none
from tierscope.domain.heat import judge_enough
from tierscope.domain.heat.rows import BACKENDS, GRANULARITIES, KINDS, Method
from tierscope.domain.revisit import LENGTHS, Band, Curve
from tierscope.storage.gaps import GapBlock, read_gaps
from tierscope.storage.subjects import SubjectService
from tierscope.usecases.context import ReadContext
from tierscope.usecases.gap_sources import choose_gaps, gaps_by_host, name_others
from tierscope.usecases.heat_figures import Evidence
from tierscope.usecases.subjects import require_service_hosts
from tierscope.usecases.windows import parse_window

Clock = Literal["last_access", "turned_cold"]
LAGS = (1, 2, 5, 10, 20)
NEEDED_INTERVALS = 60
GROUNDING = "L Kaplan-Meier, Aalen-Johansen; A cold after 2 idle intervals"
STRETCHED = (
    "Samples of misses see only part of the accesses, so that gaps between them look longer than they are. "
    "Measure with accessed bits (abit_walk, idle_page or damon_pages) for revisit times."
)


@dataclass(frozen=True, slots=True)
class CurveView:
    """One curve: share re-accessed within 1..63 intervals. None where nothing was left to watch."""

    kind: str
    clock: Clock
    method: str
    share: tuple[float | None, ...]
    lo: tuple[float | None, ...]
    hi: tuple[float | None, ...]
    at_risk_bytes: tuple[float, ...]
    last_known_lag: int
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class RevisitView:
    """The answer of the route."""

    service_id: str
    origin: str
    method: str
    backend: str
    granularity: str
    interval_seconds: float | None
    window: Window
    lags: tuple[int, ...]
    curves: tuple[CurveView, ...]
    missing: Figure | None
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
    ) -> RevisitView:
        """Curves of all memory and of each page kind, by one method.

        Raises:
            NotFound: no such service, or it never ran on that host.
            BadRequest: the window cannot be read.
        """
        window = parse_window(from_, to, now=self._context.clock())
        with self._context.database.read() as session:
            service, hosts = require_service_hosts(session, service_id, host)
            blocks = read_gaps(session, service.id, window.start, window.end, [found.id for found in hosts])
        chosen = choose_gaps(blocks, method)
        some = [block for block in blocks if block.method == chosen]
        return _view(service, some, chosen, window, clock, idle_intervals, name_others(blocks, chosen))


def _view(
    service: SubjectService,
    blocks: Sequence[GapBlock],
    method: Method | None,
    window: Window,
    clock: Clock,
    idle_intervals: int,
    others: tuple[str, ...],
) -> RevisitView:
    missing = _missing(method, window)
    curves: tuple[CurveView, ...] = ()
    if method is not None and missing is None:
        evidence = _gather(blocks, method, window)
        kinds = [kind for kind in KINDS[1:] if any(kind in block.kinds for block in blocks)]
        curves = tuple(
            _curve(blocks, kind, clock, idle_intervals, evidence)
            for kind in (["all", *kinds] if len(kinds) > 1 else kinds)
        )
    return RevisitView(
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
        notes=("Beyond the last lag with memory left to watch nothing is known: it is not drawn.",),
    )


def _missing(method: Method | None, window: Window) -> Figure | None:
    if method is None:
        reason = (
            "No reuse gaps were measured in the window. They need a back end that tells pages apart "
            "(abit_walk, idle_page, damon_pages or a page trace) and at least ten intervals."
        )
        return absent("revisit.reaccessed_ratio/1", "ratio", "not_collected", reason, window=window)
    if method.is_sampler:
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


def _curve(blocks: Sequence[GapBlock], kind: str, clock: Clock, idle_intervals: int, evidence: Evidence) -> CurveView:
    hosts = list(gaps_by_host(blocks, kind).values())
    shift = idle_intervals if clock == "turned_cold" else None
    pooled = sum(hosts[1:], hosts[0])
    curve = revisit.reaccess_curve(revisit.cold_start(pooled, shift) if shift else pooled)
    band = revisit.host_band(hosts, idle_intervals=shift)
    known = np.flatnonzero(np.isfinite(curve.share))
    return CurveView(
        kind=kind,
        clock=clock,
        method=curve.method,
        share=gaps_to_none(curve.share),
        lo=gaps_to_none(band.lo),
        hi=gaps_to_none(band.hi),
        at_risk_bytes=tuple(float(value) for value in curve.at_risk),
        last_known_lag=int(known[-1]) + 1 if len(known) else 0,
        figures=tuple(_figure(lag, curve, band, evidence) for lag in LAGS),
    )


def _figure(lag: int, curve: Curve, band: Band, evidence: Evidence) -> Figure:
    definition, value = f"revisit.reaccessed_within_{lag}_ratio/1", curve.share[lag - 1]
    if not np.isfinite(value):
        reason = f"No memory was watched for {lag} intervals after its last access."
        return absent(definition, "ratio", "not_enough_data", reason, window=evidence.window)
    lo, hi = float(band.lo[lag - 1]), float(band.hi[lag - 1])
    interval = Interval(lo, hi, band.level, "confidence") if np.isfinite(lo) else None
    return evidence.figure(definition, "ratio", float(value), interval, grounding=GROUNDING)
