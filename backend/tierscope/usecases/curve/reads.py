"""Reads of served accesses against DRAM size: what page samples, and reuse gaps, say of a service."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Origin, Window, absent
from tierscope.domain.curve.bands import ServedBand, serve_by_sample, serve_exactly
from tierscope.domain.curve.hit_ratio import DRAM_SHARES
from tierscope.domain.heat.rows import BACKENDS, HeatSeries, Method
from tierscope.domain.ratio import RATIOS
from tierscope.storage.base.subjects import SubjectService
from tierscope.storage.curve.reuse_intervals import read_gaps
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import require_service_hosts
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.curve.answers import (
    LOG2,
    LRU_NOTE,
    SERVED,
    KindDensity,
    ServedAtRatio,
    ServedCurve,
    absent_ratios,
    gather,
    notes_of,
    view_densities,
    view_lru,
    view_ratios,
    view_top,
)
from tierscope.usecases.curve.lru import LruCurve, lru_curve
from tierscope.usecases.curve.pages import NOT_SAMPLED, NoCurve, PagesOfHosts, scale_hosts
from tierscope.usecases.curve.sources import FoundSamples, read_curve_samples, spread_hosts
from tierscope.usecases.heat.sources import read_heat

Floats = npt.NDArray[np.float64]
_ALL_SHARES: Floats = np.unique(np.concatenate([DRAM_SHARES, [share for _, share in RATIOS]]))


def serve(pages: PagesOfHosts, shares: Floats) -> ServedBand | NoCurve:
    """The curve of these hosts: in-sample where it is exact, else cross-fitted."""
    hosts = list(pages.hosts.values())
    band = serve_exactly(hosts, shares) if pages.samples.exact else serve_by_sample(hosts, shares)
    if band is None:
        return NoCurve("not_enough_data", "No accesses in every other interval: a longer window is needed.")
    return band


@dataclass(frozen=True, slots=True)
class Curve:
    """Served accesses against DRAM size, with figures at ratios that are sold."""

    service_id: str
    origin: Origin
    method: str
    backend: str
    window: Window
    interval_seconds: float | None
    sampled_ratio: Annotated[float | None, Described("Share of the pages that the hash selects, the mean over pages.")]
    n_hosts: int
    n_pages: int
    n_accesses: Annotated[int | None, Described("Counted accesses; null where the back end counts none.")]
    traffic_coverage: Annotated[float | None, Described("Share of the traffic on pages with samples; null if all is.")]
    curves: tuple[ServedCurve, ...]
    at_ratios: tuple[ServedAtRatio, ...]
    density: tuple[KindDensity, ...]
    log2_density_anon_file: Figure
    missing: Annotated[Figure | None, Described("Why there is no curve of accesses.")]
    other_methods: tuple[str, ...]
    notes: tuple[str, ...]


class CurveReads:
    """Served-accesses curves of services."""

    def __init__(self, context: ReadContext) -> None:
        self._context = context

    def service(
        self,
        service_id: str,
        *,
        host: str | None,
        kind: str | None,
        method: str | None,
        from_: str | None,
        to: str | None,
    ) -> Curve:
        """The curves of a service by one method, of all its memory or of one page kind.

        Raises:
            NotFound: no such service, or it never ran on that host.
            BadRequest: the window cannot be read.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now)
        with self._context.database.read() as session:
            service, hosts = require_service_hosts(session, service_id, host)
            ids = [found.id for found in hosts]
            found = read_curve_samples(session, service.id, window, host_ids=ids, method=method)
            taken = spread_hosts(ids) if found.samples is None else list(found.samples.hosts)
            heat = read_heat(session, service.id, taken, window, now=now)
            blocks = read_gaps(session, service.id, window.start, window.end, taken)
        lru = lru_curve(blocks, heat, DRAM_SHARES, kind=kind, method=method)
        return _view(service, window, found, heat, kind=kind, lru=lru)


def _view(
    service: SubjectService,
    window: Window,
    found: FoundSamples,
    heat: Mapping[Method, Mapping[int, HeatSeries]],
    *,
    kind: str | None,
    lru: LruCurve | None,
) -> Curve:
    samples = found.samples
    pages: PagesOfHosts | NoCurve = NoCurve("not_collected", NOT_SAMPLED)
    if samples is not None:
        pages = scale_hosts(samples, heat.get(samples.method, {}), kind=kind)
    curves = () if lru is None else (view_lru(lru, DRAM_SHARES),)
    notes = () if lru is None else (LRU_NOTE,)
    by = samples.method if samples is not None else None if lru is None else lru.method
    head = Curve(
        service_id=service.public_id,
        origin=service.origin,
        method="none" if by is None else by.family,
        backend="none" if by is None else BACKENDS[by.backend],
        window=window,
        interval_seconds=None if by is None else by.interval_ns / 1e9,
        sampled_ratio=None if samples is None else samples.sampled_ratio,
        n_hosts=0 if samples is None else len(samples.hosts),
        n_pages=0 if samples is None else sum(host.n_pages for host in samples.hosts.values()),
        n_accesses=None,
        traffic_coverage=None,
        curves=curves,
        at_ratios=(),
        density=(),
        log2_density_anon_file=absent(LOG2, "log2_ratio", "not_collected", NOT_SAMPLED, window=window),
        missing=None,
        other_methods=found.others,
        notes=notes,
    )
    if isinstance(pages, NoCurve):
        return _without(head, pages)
    band = serve(pages, _ALL_SHARES)
    if isinstance(band, NoCurve):
        return _without(head, band)
    evidence = gather(pages, window)
    density, log2 = view_densities(pages, evidence)
    return replace(
        head,
        n_hosts=len(pages.hosts),
        n_pages=pages.n_pages,
        n_accesses=pages.n_samples if pages.samples.counts else None,
        traffic_coverage=pages.traffic_coverage,
        curves=(view_top(pages, band, _ALL_SHARES, DRAM_SHARES), *curves),
        at_ratios=view_ratios(evidence, band, _ALL_SHARES),
        density=density,
        log2_density_anon_file=log2,
        notes=(*notes_of(pages, band), *notes),
    )


def _without(head: Curve, nothing: NoCurve) -> Curve:
    """The answer without a curve of accesses, and why."""
    return replace(
        head,
        at_ratios=absent_ratios(nothing, head.window),
        log2_density_anon_file=absent(LOG2, "log2_ratio", nothing.status, nothing.reason, window=head.window),
        missing=absent(SERVED, "ratio", nothing.status, nothing.reason, window=head.window),
    )
