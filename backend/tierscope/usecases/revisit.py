"""Reads of revisit: how soon idle memory of a service is accessed again, with its band over hosts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tierscope.core.errors import NotFound
from tierscope.domain import revisit
from tierscope.domain.figures import Figure, Interval, Window, absent, gaps_to_none
from tierscope.domain.heat import judge_enough
from tierscope.domain.heat.rows import BACKENDS, GRANULARITIES, KINDS, Method
from tierscope.domain.revisit import LENGTHS, Band, Curve, Gaps
from tierscope.storage.gaps import GapBlock, read_gaps
from tierscope.storage.subjects import SubjectService, find_service, hosts_of_service
from tierscope.usecases.context import ReadContext
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
            service = find_service(session, service_id)
            if service is None:
                raise NotFound(f"there is no service {service_id}")
            hosts = [found for found in hosts_of_service(session, service.id) if host in (None, found.public_id)]
            if host is not None and not hosts:
                raise NotFound(f"service {service_id} was never found on host {host}")
            blocks = read_gaps(session, service.id, window.start, window.end, [found.id for found in hosts])
        chosen = _choose(blocks, method)
        some = [block for block in blocks if block.method == chosen]
        return _view(service, some, chosen, window, clock, idle_intervals, _others(blocks, chosen))


def _choose(blocks: Sequence[GapBlock], wanted: str | None) -> Method | None:
    """The method asked for, else the one with most intervals."""
    weights: dict[Method, int] = {}
    for block in blocks:
        if wanted in (None, block.method.family, BACKENDS[block.method.backend]):
            weights[block.method] = weights.get(block.method, 0) + block.intervals
    return max(weights, key=lambda method: (weights[method], -method.backend), default=None)


def _others(blocks: Sequence[GapBlock], chosen: Method | None) -> tuple[str, ...]:
    return tuple(sorted({BACKENDS[block.method.backend] for block in blocks if block.method != chosen}))


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
        evidence = _Evidence.of(blocks, method, window)
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


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What all figures of one answer share."""

    method: Method
    window: Window
    n_hosts: int
    n_intervals: int
    coverage: float
    grade: Literal["early", "partial", "good"]
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, blocks: Sequence[GapBlock], method: Method, window: Window) -> "_Evidence":
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
        return cls(method, window, len(by_host), longest, coverage, enough.grade or "early", warnings)


def _curve(blocks: Sequence[GapBlock], kind: str, clock: Clock, idle_intervals: int, evidence: _Evidence) -> CurveView:
    hosts = list(_by_host(blocks, kind).values())
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


def _by_host(blocks: Sequence[GapBlock], kind: str) -> Mapping[int, Gaps]:
    """Gaps of each host: ended ones add up over blocks, open ones are those of the newest block."""
    found: dict[int, Gaps] = {}
    for block in blocks:
        rows = np.array([kind in ("all", name) for name in block.kinds], bool)
        closed, freed, censored, open_ = (
            getattr(block, name)[rows].sum(axis=0).astype(np.float64)
            for name in ("closed", "freed", "censored", "open")
        )
        is_last = not any(later.host_id == block.host_id and later.end_us > block.end_us for later in blocks)
        gaps = Gaps(closed, freed, censored + open_ if is_last else censored)
        found[block.host_id] = found[block.host_id] + gaps if block.host_id in found else gaps
    return found


def _figure(lag: int, curve: Curve, band: Band, evidence: _Evidence) -> Figure:
    definition, value = f"revisit.reaccessed_within_{lag}_ratio/1", curve.share[lag - 1]
    if not np.isfinite(value):
        reason = f"No memory was watched for {lag} intervals after its last access."
        return absent(definition, "ratio", "not_enough_data", reason, window=evidence.window)
    lo, hi = float(band.lo[lag - 1]), float(band.hi[lag - 1])
    interval = Interval(lo, hi, band.level, "confidence") if np.isfinite(lo) else None
    return Figure(
        definition,
        "ok",
        float(value),
        "ratio",
        method=evidence.method.family,
        window=evidence.window,
        interval=interval,
        n_hosts=evidence.n_hosts,
        n_intervals=evidence.n_intervals,
        coverage=evidence.coverage,
        grade=evidence.grade,
        grounding=GROUNDING,
        warnings=evidence.warnings,
    )
