"""Share of accesses on slow memory at a DRAM share: the seam between a placement and the advice that rests on it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.figures import Figure, Grade, Interval, Window
from tierscope.domain.heat.aggregate import MIN_HOSTS
from tierscope.domain.heat.unseen import MIN_SAMPLES
from tierscope.domain.ratio import Placement, ShareOnSlow
from tierscope.domain.ratio.slow_share import LEVEL, share_on_slow
from tierscope.usecases.curve_pages import NOT_SAMPLED, NoCurve, PagesOfHosts, scale_hosts
from tierscope.usecases.curve_sources import read_curve_samples
from tierscope.usecases.heat_sources import read_heat
from tierscope.usecases.ratio_views import AssumptionView

GROWTH_RANGE = (0.0, 0.2)
"""Of memory, for the sensitivity of an answer."""
GRID = np.arange(0, 101) / 100.0
"""Parts of memory in DRAM at which a placement is computed; between them it is interpolated."""


@dataclass(frozen=True, slots=True)
class PlacementFacts:
    """A placement of a service's pages. `at` gives the share on slow memory at the part of memory that DRAM holds.

    `coverage`: share of the traffic on pages with samples, None where none was missed.
    """

    source: str
    at: Placement
    coverage: float | None
    n_hosts: int
    n_samples: int
    n_intervals: int
    method: str
    assumptions: tuple[AssumptionView, ...]

    def with_headroom(self, headroom: float) -> Placement:
        """By the DRAM share of a ratio: that part of it stays free."""
        return lambda dram_share: self.at(dram_share * (1.0 - headroom))

    def figure(self, share: ShareOnSlow, window: Window, grade: Grade | None) -> Figure:
        """A share with its evidence."""
        interval = None
        if share.lo < share.hi:
            interval = Interval(share.lo, share.hi, share.level, "confidence")
        return Figure(
            "ratio.share_on_slow/1",
            "ok",
            share.value,
            "ratio",
            method=self.method,
            window=window,
            interval=interval,
            n_hosts=self.n_hosts,
            n_intervals=self.n_intervals,
            n_samples=self.n_samples,
            coverage=self.coverage,
            grade=grade,
            grounding="A the densest pages stay in DRAM",
        )


ReadPlacement = Callable[[ReadSession, int, Window, datetime], PlacementFacts | NoCurve]
"""Reads a placement of a service, by its number. A simulated policy is one too."""


def read_best_static(session: ReadSession, service_id: int, window: Window, now: datetime) -> PlacementFacts | NoCurve:
    """Best static placement, from page samples: each host keeps its densest pages in DRAM."""
    found = read_curve_samples(session, service_id, window)
    if found.samples is None:
        return NoCurve("not_collected", NOT_SAMPLED)
    heat = read_heat(session, service_id, list(found.samples.hosts), window, now=now)
    pages = scale_hosts(found.samples, heat.get(found.samples.method, {}))
    return pages if isinstance(pages, NoCurve) else place_by_density(pages)


def place_by_density(pages: PagesOfHosts) -> PlacementFacts | NoCurve:
    """The placement that keeps the densest of these pages in DRAM."""
    shares = share_on_slow(list(pages.hosts.values()), GRID)
    if shares is None:
        return NoCurve("not_enough_data", "No accesses in every other interval: a longer window is needed.")
    columns = {name: [getattr(share, name) for share in shares] for name in ("value", "lo", "hi")}

    def at(dram_ratio: float) -> ShareOnSlow:
        value, lo, hi = (float(np.interp(dram_ratio, GRID, columns[name])) for name in ("value", "lo", "hi"))
        return ShareOnSlow(value, lo, hi, LEVEL)

    assumptions = [
        AssumptionView(
            "placement",
            "the densest pages stay in DRAM",
            "",
            "A",
            "the best that a static placement can do; real policies come near it where hot sets are stable",
        )
    ]
    if not pages.samples.counts:
        assumptions.append(
            AssumptionView(
                "accesses",
                "active intervals of pages stand for accesses",
                "",
                "A",
                "accessed bits count no accesses; busy pages have more of them per interval, so that slow memory"
                " serves less than this says",
            )
        )
    return PlacementFacts(
        source="best_static",
        at=at,
        coverage=pages.traffic_coverage,
        n_hosts=len(pages.hosts),
        n_samples=pages.n_samples,
        n_intervals=pages.n_intervals,
        method=pages.samples.method.family,
        assumptions=tuple(assumptions),
    )


def find_missing(placement: PlacementFacts | NoCurve) -> tuple[str, ...]:
    """What the samples lack for a claim about the service."""
    if isinstance(placement, NoCurve):
        return (placement.reason,)
    out = []
    if placement.n_hosts < MIN_HOSTS:
        plural = "" if placement.n_hosts == 1 else "s"
        out.append(f"pages were sampled on {placement.n_hosts} host{plural}; {MIN_HOSTS} are needed")
    if placement.n_samples < MIN_SAMPLES:
        out.append(f"{placement.n_samples} accesses were sampled; {MIN_SAMPLES} are needed")
    return tuple(out)
