"""Reads of heat: the classes of a service by scheme, with method, window, coverage, bounds and grade."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tierscope.core.errors import BadRequest
from tierscope.domain.axis import make_grid
from tierscope.domain.figures import Figure, Series, TimeAxis, Window, gaps_to_none
from tierscope.domain.heat import CLASSES, EDGES, Rule, Scheme, describe, make_rule
from tierscope.domain.heat.classes import WINDOWS, HeatClass
from tierscope.domain.heat.rows import BACKENDS, GRANULARITIES, KINDS, PREFERENCE, HeatSeries, Method
from tierscope.domain.heat.summary import class_series, mean_ages, mean_classes, mean_resident, misplaced, service_share
from tierscope.storage.subjects import SubjectHost, SubjectService
from tierscope.usecases.context import ReadContext
from tierscope.usecases.heat_beside import BesideView, view_beside
from tierscope.usecases.heat_figures import Evidence, gather_evidence
from tierscope.usecases.heat_sampling import SamplingView, read_sampling, view_sampling
from tierscope.usecases.heat_sources import pick_kind, read_heat
from tierscope.usecases.subjects import require_service_hosts
from tierscope.usecases.windows import parse_window

HOT = 0


@dataclass(frozen=True, slots=True)
class SchemeView:
    """The scheme in force, in words."""

    name: Scheme
    hot: str
    warm: str | None
    cold: str
    threshold_intervals: int | None
    snapped: str | None


@dataclass(frozen=True, slots=True)
class ClassView:
    """Bytes and share of one class."""

    heat_class: HeatClass
    bytes: Figure
    ratio: Figure


@dataclass(frozen=True, slots=True)
class KindView:
    """Heat of one page kind."""

    kind: str
    resident_bytes: Figure
    classes: tuple[ClassView, ...]


@dataclass(frozen=True, slots=True)
class WindowView:
    """Share of resident bytes that were active within w intervals."""

    intervals: int
    active_ratio: Figure


@dataclass(frozen=True, slots=True)
class AgeView:
    """One bar of the age histogram."""

    from_intervals: int
    to_intervals: int | None
    active_bytes: int
    never_bytes: int


@dataclass(frozen=True, slots=True)
class HostView:
    """One host's part."""

    host_id: str
    host_name: str
    resident_bytes: int
    hot_ratio: Figure


@dataclass(frozen=True, slots=True)
class HeatView:
    """The answer of the route."""

    service_id: str
    origin: str
    scheme: SchemeView
    method: str
    backend: str
    granularity: str
    interval_seconds: float | None
    window: Window
    coverage: float | None
    classes: tuple[ClassView, ...]
    by_kind: tuple[KindView, ...]
    by_window: tuple[WindowView, ...]
    age_histogram: tuple[AgeView, ...]
    hot_outside_dram_bytes: Figure
    cold_in_dram_bytes: Figure
    beside: BesideView
    sampling: SamplingView | None
    hosts: tuple[HostView, ...]
    axis: TimeAxis
    series: tuple[Series, ...]
    other_methods: tuple[str, ...]
    grounding_notes: tuple[str, ...]


class HeatReads:
    """Heat of services."""

    def __init__(self, context: ReadContext) -> None:
        self._context = context

    def service(
        self,
        service_id: str,
        *,
        scheme: Scheme,
        threshold: int | None,
        kind: str | None,
        host: str | None,
        method: str | None,
        from_: str | None,
        to: str | None,
        max_points: int,
    ) -> HeatView:
        """Heat of a service by one method; others with data are named, never joined.

        Raises:
            NotFound: no such service, or it never ran on that host.
            BadRequest: the window cannot be read, or the method is unknown.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now)
        with self._context.database.read() as session:
            service, ran_on = require_service_hosts(session, service_id, host)
            hosts = {found.id: found for found in ran_on}
            found = read_heat(session, service.id, list(hosts), window, now=now)
            chosen = choose_method(found, method)
            picked = found.get(chosen, {}) if chosen is not None else {}
            sampled = read_sampling(session, service.id, chosen, picked, window)
        series = list(picked.values())
        if kind is not None:
            series = [part for part in (pick_kind(whole, kind) for whole in series) if part is not None]
        rule = make_rule(scheme, threshold)
        others = sorted({_name(other) for other in found if other != chosen})
        view = _view(
            service, hosts, series, chosen, rule, window, max_points=max_points, others=tuple(others), wanted=method
        )
        return replace(view, sampling=view_sampling(sampled, chosen, window, len(picked)))


def choose_method(found: Mapping[Method, Mapping[int, HeatSeries]], wanted: str | None) -> Method | None:
    """The method asked for (a family or a backend), else the one with most intervals, the more telling one on a tie.

    Raises:
        BadRequest: nothing has that name.
    """
    known = {method.family for method in map(_numbered, range(len(BACKENDS)))} | set(BACKENDS)
    if wanted is not None and wanted not in known - {""}:
        raise BadRequest(f"there is no method {wanted!r}", next_step=f"Use one of {', '.join(sorted(known - {''}))}.")
    some = [method for method in found if wanted is None or wanted in (method.family, BACKENDS[method.backend])]

    def weight(method: Method) -> tuple[int, int, int]:
        intervals = sum(int(series.n_intervals.sum()) for series in found[method].values())
        place = PREFERENCE.index(method.backend) if method.backend in PREFERENCE else len(PREFERENCE)
        return intervals, -place, -method.granularity

    return max(some, key=weight, default=None)


def _numbered(backend: int) -> Method:
    return Method(backend, 0, 0)


def _name(method: Method) -> str:
    granularity = GRANULARITIES[method.granularity] if method.granularity < len(GRANULARITIES) else "unknown"
    return (
        f"{method.family} ({BACKENDS[method.backend]}, {granularity})" if method.backend < len(BACKENDS) else "unknown"
    )


def _view(
    service: SubjectService,
    hosts: Mapping[int, SubjectHost],
    series: Sequence[HeatSeries],
    method: Method | None,
    rule: Rule,
    window: Window,
    *,
    max_points: int,
    others: tuple[str, ...],
    wanted: str | None,
) -> HeatView:
    evidence = gather_evidence(series, method, rule, window, wanted)
    interval_s = 60.0 if method is None else method.interval_ns / 1e9
    if series and max(int(part.n_intervals.max()) for part in series) > 1:
        interval_s *= max(int(part.n_intervals.max()) for part in series)
    grid = make_grid(window, interval_s=interval_s, max_points=max_points)
    lines = class_series(series, rule, grid)
    hot, warm, cold = describe(rule)
    kinds = [kind for kind in KINDS[1:] if any(kind in part.kinds for part in series)]
    placed = misplaced(series, rule)
    return HeatView(
        service_id=service.public_id,
        origin=service.origin,
        scheme=SchemeView(rule.scheme, hot, warm, cold, rule.threshold, rule.snapped),
        method="none" if method is None else method.family,
        backend="none" if method is None else BACKENDS[method.backend],
        granularity="none" if method is None else GRANULARITIES[method.granularity],
        interval_seconds=None if method is None else method.interval_ns / 1e9,
        window=window,
        coverage=evidence.coverage,
        classes=_classes(series, rule, evidence),
        by_kind=tuple(_kind(kind, series, rule, evidence) for kind in kinds),
        by_window=tuple(_window(length, series, evidence) for length in WINDOWS) if series else (),
        age_histogram=_ages(series),
        hot_outside_dram_bytes=evidence.placed("heat.hot_outside_dram_bytes/1", None if placed is None else placed[0]),
        cold_in_dram_bytes=evidence.placed("heat.cold_in_dram_bytes/1", None if placed is None else placed[1]),
        beside=view_beside(series, evidence),
        sampling=None,
        hosts=tuple(_host(hosts[part.host_id], part, rule, method, window) for part in series if part.host_id in hosts),
        axis=grid.axis(),
        series=tuple(Series(name, name, "bytes", gaps_to_none(lines[:, i])) for i, name in enumerate(CLASSES)),
        other_methods=others,
        grounding_notes=evidence.notes,
    )


def _classes(series: Sequence[HeatSeries], rule: Rule, evidence: Evidence) -> tuple[ClassView, ...]:
    totals = mean_classes(series, rule)
    return tuple(
        ClassView(
            name,
            evidence.bytes(f"heat.{name}_bytes/1", totals.value[i], totals.lo[i], totals.hi[i], sampled=totals.sampled),
            evidence.share(f"heat.{name}_ratio/1", service_share(series, rule, i)),
        )
        for i, name in enumerate(CLASSES)
        if name != "warm" or describe(rule)[1] is not None
    )


def _kind(kind: str, series: Sequence[HeatSeries], rule: Rule, evidence: Evidence) -> KindView:
    some = [part for part in (pick_kind(whole, kind) for whole in series) if part is not None]
    resident = evidence.bytes("heat.resident_bytes/1", mean_resident(some), None, None)
    return KindView(kind, resident, _classes(some, rule, evidence))


def _window(length: int, series: Sequence[HeatSeries], evidence: Evidence) -> WindowView:
    rule = Rule("cold_age", length, None)
    return WindowView(
        length, evidence.share("heat.active_ratio/1", service_share(series, rule, HOT), always_bounds=True)
    )


def _ages(series: Sequence[HeatSeries]) -> tuple[AgeView, ...]:
    if not series:
        return ()
    active, never = mean_ages(series)
    ends = (*EDGES[1:], None)
    return tuple(
        AgeView(start, end, round(float(active[i])), round(float(never[i])))
        for i, (start, end) in enumerate(zip(EDGES, ends, strict=True))
    )


def _host(host: SubjectHost, series: HeatSeries, rule: Rule, method: Method | None, window: Window) -> HostView:
    evidence = gather_evidence([series], method, rule, window, None)
    share = evidence.share("heat.hot_ratio/1", service_share([series], rule, HOT))
    return HostView(host.public_id, host.name, round(mean_resident([series])), share)
