"""Reads of service levels of tiered memory: promotions per working set, slow accesses, slow residency."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import Grid, make_grid
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Grade, Interval, Series, TimeAxis, Window, absent, gaps_to_none
from tierscope.domain.curve.reaccess import PROMOTION_TARGET_PER_MINUTE
from tierscope.domain.heat import judge_enough, make_rule
from tierscope.domain.heat.rows import HeatSeries, Method
from tierscope.domain.heat.sampled_pages import SampledPages, count_pages
from tierscope.domain.heat.summary import observed_share
from tierscope.domain.heat.unseen import MIN_SAMPLES
from tierscope.domain.ledger.columns import TRAFFIC
from tierscope.domain.ratio import ServiceClass
from tierscope.domain.sensitivity import objectives
from tierscope.domain.sensitivity.objectives import Ratio, Reaccessed, TierLoads
from tierscope.storage.curve.reuse_intervals import GapBlock, read_gaps
from tierscope.storage.heat.sums import LoadsByTier, read_loads_by_tier
from tierscope.storage.ledger.days import Moves, read_moves
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import require_service_hosts
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.curve.published_points import Comparison, compare
from tierscope.usecases.curve.reuse_intervals import choose_gaps
from tierscope.usecases.curve.sources import spread_hosts
from tierscope.usecases.heat.columns import read_host_heat
from tierscope.usecases.heat.figures import Evidence
from tierscope.usecases.heat.reads import choose_method
from tierscope.usecases.heat.sources import LIVE_KEPT
from tierscope.usecases.ratio.hardware import KnownMemory, read_hardware_facts

_LOW = "Whether a service limited by latency cares follows from its slowdown, which the ratio advice judges."


@dataclass(frozen=True, slots=True)
class ObjectiveClass:
    """What limits the service; null with the reason where it is not known."""

    name: ServiceClass | None
    grade: Grade | None
    why: str


def read_class(session: ReadSession, host_ids: Sequence[int], window: Window, memory: KnownMemory) -> ObjectiveClass:
    """The class that the memory of the service's hosts has."""
    bound = read_hardware_facts(session, host_ids, window, memory_of=memory.newest(session, host_ids)).bound
    why = f"{bound.sentence} {_LOW}" if bound.name == "latency" else bound.sentence
    return ObjectiveClass(bound.name, bound.grade, why)


MAX_HOSTS = 200
MAX_LIVE_ROWS = 150_000
"""Rows of single intervals whose loads are added up; a longer window is cut to the newest ones."""
RATE, ACCESSES, RESIDENCY = (
    "revisit.promotion_rate_per_min/1",
    "revisit.slow_access_ratio/1",
    "revisit.slow_residency_ratio/1",
)
GROUNDING = "L service levels of cold-memory systems; A 120 s"
OF_WHOLE_HOSTS = "by bytes at memory controllers of whole hosts: other services, prefetches and page moves are in it"
IF_DEMOTED = (
    "The rate of promotions is that of a policy which demotes all memory idle for 120 s, measured whether or not any "
    "memory is demoted now."
)


@dataclass(frozen=True, slots=True)
class Objectives:
    """The answer of the route."""

    service_id: str
    window: Window
    axis: TimeAxis
    series: tuple[Series, ...]
    promotion_rate: Annotated[
        Figure,
        Described("Memory accessed again after 120 s of idleness or more, per minute and byte active within 120 s."),
    ]
    slow_access_ratio: Figure
    slow_residency_ratio: Figure
    target_per_min: float
    meets_target: Annotated[bool | None, Described("Null without a rate, and where its interval holds the target.")]
    service_class: ObjectiveClass
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """What was read: gaps by one method, heat by method and host, loads by tier, and the window's buckets."""

    window: Window
    grid: Grid
    blocks: Sequence[GapBlock]
    gap_method: Method | None
    heat: Mapping[Method, Mapping[int, HeatSeries]]
    loads: Sequence[LoadsByTier]
    traffic: Sequence[Moves]


class ObjectiveReads:
    """Service levels of services."""

    def __init__(self, context: ReadContext, memory: KnownMemory | None = None) -> None:
        self._context = context
        self._memory = memory or KnownMemory()

    def service(self, service_id: str, *, from_: str | None, to: str | None, max_points: int) -> Objectives:
        """The three series with their figures, and published points beside what was measured.

        Raises:
            NotFound: no such service.
            BadRequest: the window cannot be read.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now)
        with self._context.database.read() as session:
            service, hosts = require_service_hosts(session, service_id)
            ids = spread_hosts([host.id for host in hosts], MAX_HOSTS)
            blocks = read_gaps(session, service.id, window.start, window.end, ids)
            method = choose_gaps([block for block in blocks if not block.method.is_sampler], None)
            some = [block for block in blocks if block.method == method]
            grid = make_grid(window, interval_s=_step_s(some), max_points=max_points)
            heat = read_host_heat(session, service.id, ids, window, now=now)
            start = max(window.start, now - LIVE_KEPT, window.end - timedelta(minutes=MAX_LIVE_ROWS / max(len(ids), 1)))
            loads = read_loads_by_tier(session, service.id, ids, start, window.end, step_s=grid.step_s)
            few = sum(part.known_samples for part in loads) < MIN_SAMPLES
            traffic = read_moves(session, ids, 0, start, window.end, TRAFFIC) if few else []
            service_class = read_class(session, ids, window, self._memory)
        notes = [IF_DEMOTED]
        if len(ids) < len(hosts):
            notes.append(f"{len(ids)} of {len(hosts)} hosts were taken.")
        if start > window.start and (loads or traffic):
            notes.append(f"Slow accesses are those since {start:%Y-%m-%d %H:%M} UTC: single intervals are kept 8 days.")
        known = _Known(window, grid, some, method, heat, loads, traffic)
        return _view(service.public_id, known, service_class, notes)


def _sampled_pages(known: _Known) -> Mapping[str, float]:
    if known.gap_method is None:
        return {}
    return count_pages(map(SampledPages.of_series, known.heat.get(known.gap_method, {}).values()))


def _step_s(blocks: Sequence[GapBlock]) -> float:
    """The usual length of a block of gaps, in seconds: no bucket is shorter."""
    lengths = [block.intervals * block.method.interval_ns / 1e9 for block in blocks]
    return float(np.median(lengths)) if lengths else 60.0


def _view(service_id: str, known: _Known, service_class: ObjectiveClass, notes: list[str]) -> Objectives:
    rate, rate_figure = _promotions(known)
    accesses, accesses_figure = _accesses(known)
    residency, residency_figure = _residency(known)
    empty = np.full(len(known.grid), np.nan)
    meets = None if rate is None else objectives.meets_target(rate)
    if rate is not None and meets is None:
        notes.append("The interval of the rate of promotions holds the target: neither met nor missed.")
    named = (
        ("promotion_rate_per_min", "Promotions per minute of the working set", "per_min", rate),
        ("slow_access_ratio", "Loads served by slower tiers", "ratio", accesses),
        ("slow_residency_ratio", "Bytes on slower tiers", "ratio", residency),
    )
    return Objectives(
        service_id=service_id,
        window=known.window,
        axis=known.grid.axis(),
        series=tuple(
            Series(key, label, unit, gaps_to_none(empty if found is None else found.series))
            for key, label, unit, found in named
        ),
        promotion_rate=rate_figure,
        slow_access_ratio=accesses_figure,
        slow_residency_ratio=residency_figure,
        target_per_min=PROMOTION_TARGET_PER_MINUTE,
        meets_target=meets,
        service_class=service_class,
        comparisons=compare(known.blocks, known.gap_method, known.window, _sampled_pages(known)),
        notes=tuple(notes),
    )


def _promotions(known: _Known) -> tuple[Ratio | None, Figure]:
    method = known.gap_method
    if method is None:
        reason = (
            "No reuse gaps by a back end that tells pages apart (abit_walk, idle_page, damon_pages or a page trace): "
            "samples of misses stretch them."
        )
        return None, absent(RATE, "per_min", "not_collected", reason, window=known.window)
    idle = objectives.idle_intervals(method.interval_ns)
    if idle is None:
        reason = f"Histories of {method.interval_ns / 1e9:g} s intervals are too short to hold 120 s of idleness."
        return None, absent(RATE, "per_min", "not_supported", reason, window=known.window)
    heat = known.heat.get(method, {})
    by_host: dict[int, list[GapBlock]] = defaultdict(list)
    for block in known.blocks:
        if block.host_id in heat:
            by_host[block.host_id].append(block)
    rule = make_rule("cold_age", idle)
    series = [heat[host] for host in by_host]
    found = objectives.promotion_rate([_reaccessed(by_host[host]) for host in by_host], series, idle, rule, known.grid)
    if found is None:
        reason = "No heat by the method of the gaps, so that the working set is not known."
        return None, absent(RATE, "per_min", "not_enough_data", reason, window=known.window)
    warnings = [] if rule.snapped is None else [f"working set: {rule.snapped}"]
    if method.interval_ns > objectives.IDLE_NS:
        warnings.append(f"intervals of {method.interval_ns / 1e9:g} s cannot tell 120 s of idleness: theirs is taken")
    return found, _figure(RATE, "per_min", found, _gather(series, method, known.window), warnings)


def _reaccessed(blocks: Sequence[GapBlock]) -> Reaccessed:
    return Reaccessed(
        ends_s=np.array([block.end_us / 1e6 for block in blocks]),
        # Kinds of one host may lie in rows of their own, which end together: their time counts once.
        minutes=_minutes(blocks),
        closed=np.array([block.closed.sum(axis=0) for block in blocks], np.float64),
    )


def _minutes(blocks: Sequence[GapBlock]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    rows: dict[int, int] = defaultdict(int)
    for block in blocks:
        rows[block.end_us] += 1
    lengths = [block.intervals * block.method.interval_ns / 60e9 / rows[block.end_us] for block in blocks]
    return np.array(lengths, np.float64)


def _residency(known: _Known) -> tuple[Ratio | None, Figure]:
    method = choose_method(known.heat, None)
    series = [] if method is None else list(known.heat[method].values())
    found = objectives.slow_residency(series, known.grid)
    if method is None or found is None:
        reason = "No heat was measured, or the collector did not say in which tier the pages are."
        return None, absent(RESIDENCY, "ratio", "not_collected", reason, window=known.window)
    ratio, placed = found
    warnings = [] if placed >= 1.0 else [f"the tier of {1 - placed:.0%} of the bytes is unknown"]
    return ratio, _figure(RESIDENCY, "ratio", ratio, _gather(series, method, known.window), warnings)


def _accesses(known: _Known) -> tuple[Ratio | None, Figure]:
    hosts: dict[int, list[LoadsByTier]] = defaultdict(list)
    for part in known.loads:
        hosts[part.host_id].append(part)
    found = objectives.slow_accesses([_by_bucket(parts, known.grid) for parts in hosts.values()])
    samples = sum(part.known_samples for part in known.loads)
    if samples < MIN_SAMPLES and (by_bytes := _accesses_by_bytes(known)) is not None:
        return by_bytes
    if found is None:
        reason = (
            "No hardware samples (pebs, ibs, spe) of pages whose tier is known in the window, and no counters of bytes "
            "at both fast and slow memory."
        )
        return None, absent(ACCESSES, "ratio", "not_collected", reason, window=known.window)
    if samples < MIN_SAMPLES:
        reason = f"{samples} samples of loads on known tiers: {MIN_SAMPLES} are needed."
        return None, absent(ACCESSES, "ratio", "not_enough_data", reason, window=known.window)
    sampler = choose_method({method: hosts for method, hosts in known.heat.items() if method.is_sampler}, None)
    series = [] if sampler is None else list(known.heat[sampler].values())
    return found, _figure(ACCESSES, "ratio", found, _gather(series, sampler, known.window, samples), [])


def _accesses_by_bytes(known: _Known) -> tuple[Ratio, Figure] | None:
    """What memory controllers of the service's hosts say where samples lack: of all services there, prefetches too."""
    hosts, intervals, seconds = [], 0, 0.0
    for part in known.traffic:
        counted = part.present.all(axis=1)
        if not counted.any():
            continue
        place = known.grid.place(part.times_us[counted] / 1e6)
        fast, slow = (
            np.asarray(np.bincount(place, weights=part.values[counted, side], minlength=len(known.grid)), np.float64)
            for side in (0, 1)
        )
        hosts.append(TierLoads(slow, fast + slow, 0))
        intervals = max(intervals, int(counted.sum()))
        seconds += float(part.seconds[counted].sum())
    found = objectives.slow_accesses(hosts)
    if found is None:
        return None
    window_s = (known.window.end - known.window.start).total_seconds()
    coverage = min(seconds / (window_s * found.n_hosts), 1.0) if window_s > 0 else None
    evidence = Evidence("memory_traffic", known.window, found.n_hosts, intervals, coverage, "partial", (), None, ())
    return found, _figure(ACCESSES, "ratio", found, evidence, [OF_WHOLE_HOSTS])


def _by_bucket(parts: Sequence[LoadsByTier], grid: Grid) -> TierLoads:
    place = grid.place(np.array([part.end_s for part in parts], np.float64))
    slow, known = (
        np.asarray(np.bincount(place, weights=events, minlength=len(grid)), np.float64)
        for events in ([part.slow_events for part in parts], [part.known_events for part in parts])
    )
    return TierLoads(slow, known, sum(part.known_samples for part in parts))


def _gather(
    series: Sequence[HeatSeries], method: Method | None, window: Window, n_samples: int | None = None
) -> Evidence:
    """What stands behind a figure; intervals are those of the host that was observed most."""
    start, end = window.start.timestamp(), window.end.timestamp()
    coverage = sum(observed_share(part, start, end) for part in series) / max(len(series), 1)
    longest = max((int(part.n_intervals.sum()) for part in series), default=0)
    enough = judge_enough(
        n_hosts=len(series), n_intervals=longest, coverage=coverage, history=longest, needed_history=1
    )
    family = None if method is None else method.family
    return Evidence(
        family, window, len(series), longest, coverage, enough.grade or "early", enough.warnings, None, (), n_samples
    )


def _figure(definition: str, unit: str, found: Ratio, evidence: Evidence, warnings: Sequence[str]) -> Figure:
    interval = None
    if found.lo is not None and found.hi is not None:
        interval = Interval(min(found.lo, found.value), max(found.hi, found.value), found.level, "confidence")
    return evidence.figure(
        definition, unit, found.value, interval, (*evidence.warnings, *warnings), grounding=GROUNDING
    )
