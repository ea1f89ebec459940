"""Reads of served accesses against DRAM size: what page samples say of a service."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.curve import DRAM_SHARES
from tierscope.domain.curve_bands import ServedBand, serve_by_sample, serve_exactly
from tierscope.domain.figures import Window
from tierscope.usecases.curve_pages import NOT_SAMPLED, NoCurve, PagesOfHosts, scale_hosts
from tierscope.usecases.curve_sources import read_curve_samples
from tierscope.usecases.heat_sources import read_heat

Measure = Literal["accesses", "page_intervals"]


@dataclass(frozen=True, slots=True)
class ServedCurve:
    """Share of accesses served at shares of DRAM, as a lower bound with its band: what advice is made from.

    `served` counts no traffic that samples missed. `lo`, `hi` and `level` are None where the curve is exact.
    `measure`: shares of accesses, or of active intervals of pages where the back end counts none. `coverage`: share of
    the traffic on pages with samples, None where nothing is missed; `observed_ratio`: share of intervals observed.
    """

    dram_ratios: tuple[float, ...]
    served: tuple[float, ...]
    lo: tuple[float, ...] | None
    hi: tuple[float, ...] | None
    level: float | None
    measure: Measure
    method: str
    n_hosts: int
    n_pages: int
    n_samples: int
    n_intervals: int
    coverage: float | None
    observed_ratio: float

    def at(self, dram_ratio: float) -> tuple[float, float, float]:
        """Served share at any share of DRAM with its band, by lines between the points; nothing without DRAM."""
        x = np.concatenate([[0.0], self.dram_ratios])
        found = [
            float(np.interp(dram_ratio, x, np.concatenate([[0.0], values])))
            for values in (self.served, self.lo or self.served, self.hi or self.served)
        ]
        return found[0], found[1], found[2]


def read_served(
    session: ReadSession,
    service_id: int,
    window: Window,
    now: datetime,
    *,
    host_ids: Sequence[int] | None = None,
    dram_ratios: Sequence[float] | None = None,
) -> ServedCurve | NoCurve:
    """What DRAM of a share of the service's memory serves at least; `service_id` and `host_ids` are numbers.

    Hosts place their own pages: the curve is the mean of theirs, weighted by traffic.
    """
    found = read_curve_samples(session, service_id, window, host_ids=host_ids)
    if found.samples is None:
        return NoCurve("not_collected", NOT_SAMPLED)
    heat = read_heat(session, service_id, list(found.samples.hosts), window, now=now)
    pages = scale_hosts(found.samples, heat.get(found.samples.method, {}))
    if isinstance(pages, NoCurve):
        return pages
    shares = DRAM_SHARES if dram_ratios is None else np.array(sorted(dram_ratios), np.float64)
    band = serve(pages, shares)
    return band if isinstance(band, NoCurve) else _served_curve(pages, shares.tolist(), band)


def serve(pages: PagesOfHosts, shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> ServedBand | NoCurve:
    """The curve of these hosts: in-sample where it is exact, else cross-fitted."""
    hosts = list(pages.hosts.values())
    band = serve_exactly(hosts, shares) if pages.samples.exact else serve_by_sample(hosts, shares)
    if band is None:
        return NoCurve("not_enough_data", "No accesses in every other interval: a longer window is needed.")
    return band


def _served_curve(pages: PagesOfHosts, shares: Sequence[float], band: ServedBand) -> ServedCurve:
    samples = pages.samples
    return ServedCurve(
        dram_ratios=tuple(shares),
        served=tuple(band.low.tolist()),
        lo=None if band.lo is None else tuple(band.lo.tolist()),
        hi=None if band.hi is None else tuple(band.hi.tolist()),
        level=band.level,
        measure="accesses" if samples.counts else "page_intervals",
        method=samples.method.family,
        n_hosts=len(pages.hosts),
        n_pages=pages.n_pages,
        n_samples=pages.n_samples,
        n_intervals=pages.n_intervals,
        coverage=pages.traffic_coverage,
        observed_ratio=samples.coverage,
    )
