"""The answer of heat: classes, kinds, page sizes, windows, ages, hosts and lines, as figures with their evidence."""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from tierscope.domain.base.axis import make_grid
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Origin, Series, TimeAxis, Window, gaps_to_none
from tierscope.domain.base.page_size import LARGEST_BASE_PAGE_BYTES
from tierscope.domain.base.vocabulary import PageKind
from tierscope.domain.heat import CLASSES, EDGES, WINDOWS, Estimate, HeatClass, Rule, Scheme, describe
from tierscope.domain.heat.rows import BACKENDS, GRANULARITIES, PAGE_KINDS, Method
from tierscope.domain.heat.source import HeatSource
from tierscope.domain.heat.summary import MeanClasses, ServiceShare, weighted_share
from tierscope.storage.base.subjects import SubjectHost, SubjectService
from tierscope.usecases.heat.auxiliary import BesideHeat, HugePages, view_beside, view_huge_pages
from tierscope.usecases.heat.figures import Evidence, gather_evidence, host_evidence
from tierscope.usecases.heat.sampling import Sampling

HOT = 0
_NO_CLASSES = MeanClasses(np.zeros(4), np.zeros(4), np.zeros(4), sampled=False)


@dataclass(frozen=True, slots=True)
class SchemeInfo:
    """The scheme in force, in words and thresholds (intervals), and what was snapped to bucket edges."""

    name: Scheme
    hot: str
    warm: str | None
    cold: str
    threshold_intervals: int | None
    snapped: str | None


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """Bytes of one class; its share as the median over hosts, and in all bytes together (hosts weigh by memory)."""

    heat_class: HeatClass
    bytes: Figure
    ratio: Figure
    weighted_ratio: Figure


@dataclass(frozen=True, slots=True)
class KindHeat:
    """Heat of one page kind."""

    kind: PageKind
    resident_bytes: Figure
    classes: tuple[ClassFigures, ...]


@dataclass(frozen=True, slots=True)
class SizeHeat:
    """Heat of pages of one size. One touch makes a whole huge page hot: `huge_pages` bounds what that may hide."""

    page_size_bytes: Annotated[int | None, Described("Null where rows were stored before sizes were kept apart.")]
    resident_bytes: Figure
    classes: tuple[ClassFigures, ...]
    huge_pages: Annotated[HugePages | None, Described("Null for base pages.")]


@dataclass(frozen=True, slots=True)
class WindowHeat:
    """HF_w: share of resident bytes active within w intervals (analytics a2)."""

    intervals: int
    active_ratio: Figure


@dataclass(frozen=True, slots=True)
class AgeBucket:
    """One bar of the age histogram: [from, to) intervals since last activity; `to` null = open end."""

    from_intervals: int
    to_intervals: int | None
    active_bytes: int
    never_bytes: int


@dataclass(frozen=True, slots=True)
class HostHeat:
    """A host's share in the service's heat."""

    host_id: str
    host_name: str
    resident_bytes: int
    hot_ratio: Figure


@dataclass(frozen=True, slots=True)
class UnmeasuredHost:
    """A host that measures no heat of the service, or not of all its processes there."""

    host_id: str
    host_name: str
    heat_measured: Annotated[bool, Described("True: of some of the processes; `reason` is of the others.")]
    reason: str


@dataclass(frozen=True, slots=True)
class ServiceHeat:
    """Hot, warm and cold memory of a service by one method."""

    service_id: str
    origin: Origin
    scheme: SchemeInfo
    method: str
    backend: str
    granularity: str
    interval_seconds: Annotated[float | None, Described("Nominal length of a measured interval.")]
    window: Window
    coverage: float | None
    classes: tuple[ClassFigures, ...]
    by_kind: tuple[KindHeat, ...]
    by_size: tuple[SizeHeat, ...]
    by_window: tuple[WindowHeat, ...]
    age_histogram: tuple[AgeBucket, ...]
    hot_outside_dram_bytes: Figure
    cold_in_dram_bytes: Figure
    beside: BesideHeat
    sampling: Annotated[Sampling | None, Described("Null where the method does not sample in hardware.")]
    hosts: tuple[HostHeat, ...]
    not_measured: Annotated[
        tuple[UnmeasuredHost, ...], Described("Who is not measured now, whatever the window; by the name of the host.")
    ]
    axis: TimeAxis
    series: tuple[Series, ...]
    other_methods: tuple[str, ...]
    grounding_notes: tuple[str, ...]


def make_view(
    service: SubjectService,
    hosts: Mapping[int, SubjectHost],
    source: HeatSource | None,
    method: Method | None,
    rule: Rule,
    window: Window,
    *,
    max_points: int,
    max_hosts: int | None,
    others: tuple[str, ...],
    wanted: str | None,
) -> ServiceHeat:
    """The answer without what hardware samplers say and who is not measured; `source` None where nothing was measured.

    `max_hosts`: that many of the hosts are listed, the largest ones; all figures are of all hosts.
    """
    evidence = gather_evidence(source, method, rule, window, wanted)
    interval_s = 60.0 if method is None else method.interval_ns / 1e9
    interval_s *= 1 if source is None else source.longest_bucket
    grid = make_grid(window, interval_s=interval_s, max_points=max_points)
    lines = np.full((len(grid), len(CLASSES)), np.nan) if source is None else source.lines(rule, grid)
    hot, warm, cold = describe(rule)
    hot_outside, cold_inside = evidence.misplaced(None if source is None else source.misplaced(rule))
    return ServiceHeat(
        service_id=service.public_id,
        origin=service.origin,
        scheme=SchemeInfo(rule.scheme, hot, warm, cold, rule.threshold, rule.snapped),
        method="none" if method is None else method.family,
        backend="none" if method is None else BACKENDS[method.backend],
        granularity="none" if method is None else GRANULARITIES[method.granularity],
        interval_seconds=None if method is None else method.interval_ns / 1e9,
        window=window,
        coverage=evidence.coverage,
        classes=_classes(source, rule, evidence),
        by_kind=_by_kind(source, rule, evidence),
        by_size=_by_size(source, rule, evidence),
        by_window=() if source is None else tuple(_window(length, source, evidence) for length in WINDOWS),
        age_histogram=_ages(source),
        hot_outside_dram_bytes=hot_outside,
        cold_in_dram_bytes=cold_inside,
        beside=view_beside(source, rule, evidence),
        sampling=None,
        hosts=() if source is None else _hosts(hosts, source, rule, evidence, max_hosts),
        not_measured=(),
        axis=grid.axis(),
        series=tuple(Series(name, name, "bytes", gaps_to_none(lines[:, i])) for i, name in enumerate(CLASSES)),
        other_methods=others,
        grounding_notes=evidence.notes,
    )


def _classes(source: HeatSource | None, rule: Rule, evidence: Evidence) -> tuple[ClassFigures, ...]:
    totals = _NO_CLASSES if source is None else source.classes(rule)
    resident = 0.0 if source is None else source.resident()
    return tuple(
        ClassFigures(
            name,
            evidence.bytes(f"heat.{name}_bytes/1", totals.value[i], totals.lo[i], totals.hi[i], sampled=totals.sampled),
            evidence.class_share(name, None if source is None else source.share(rule, i)),
            evidence.weighted_share(name, weighted_share(totals, i, resident)),
        )
        for i, name in enumerate(CLASSES)
        if name != "warm" or describe(rule)[1] is not None
    )


def _by_kind(source: HeatSource | None, rule: Rule, evidence: Evidence) -> tuple[KindHeat, ...]:
    found = []
    for kind in PAGE_KINDS:
        part = None if source is None or kind not in source.kinds else source.pick(kind=kind)
        if part is not None:
            resident = evidence.resident(part.resident())
            found.append(KindHeat(kind, resident, _classes(part, rule, evidence)))
    return tuple(found)


def _by_size(source: HeatSource | None, rule: Rule, evidence: Evidence) -> tuple[SizeHeat, ...]:
    found = []
    for size in sorted(() if source is None else source.sizes):
        part = None if source is None else source.pick(size=size)
        if part is not None:
            resident = evidence.resident(part.resident())
            huge = view_huge_pages(part, evidence) if size > LARGEST_BASE_PAGE_BYTES else None
            found.append(SizeHeat(size or None, resident, _classes(part, rule, evidence), huge))
    return tuple(found)


def _window(length: int, source: HeatSource, evidence: Evidence) -> WindowHeat:
    rule = Rule("cold_age", length, None)
    return WindowHeat(length, evidence.share("heat.active_ratio/1", source.share(rule, HOT), always_bounds=True))


def _ages(source: HeatSource | None) -> tuple[AgeBucket, ...]:
    if source is None:
        return ()
    active, never = source.ages()
    ends = (*EDGES[1:], None)
    return tuple(
        AgeBucket(start, end, round(float(active[i])), round(float(never[i])))
        for i, (start, end) in enumerate(zip(EDGES, ends, strict=True))
    )


def _hosts(
    hosts: Mapping[int, SubjectHost], source: HeatSource, rule: Rule, evidence: Evidence, most: int | None
) -> tuple[HostHeat, ...]:
    """The hosts with heat, each with its own evidence; the largest ones where not all are asked for."""
    shares, resident = source.host_share(rule, HOT), source.host_resident()
    start, end = evidence.window.start.timestamp(), evidence.window.end.timestamp()
    seen = source.observed(start, end)
    if most is not None:
        seen = heapq.nlargest(most, seen, key=lambda observed: resident.get(observed.host_id, 0.0))
    found = []
    for observed in seen:
        host = hosts.get(observed.host_id)
        if host is None:
            continue
        share = shares.get(observed.host_id)
        own = None
        if share is not None:
            own = ServiceShare(Estimate(share.value, None, None, None), share.lo, share.hi, 1, share.sampled)
        figure = host_evidence(observed, evidence, rule).class_share("hot", own)
        found.append(HostHeat(host.public_id, host.name, round(resident.get(observed.host_id, 0.0)), figure))
    return tuple(found)
