"""Share of accesses on slow memory at a DRAM share: the seam between a placement and the advice that rests on it.

A placement is read from a replay of the service's sampled pages under the policy that its hosts run, where there is
one, with the best static one beside it; else from the best static one alone, and the answer says why.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, Grade, Interval, Window
from tierscope.domain.heat.aggregate import MIN_HOSTS
from tierscope.domain.heat.unseen import MIN_SAMPLES
from tierscope.domain.ratio import Placement
from tierscope.domain.ratio.slow_share import LEVEL, share_on_slow
from tierscope.domain.slowdown import ShareOnSlow
from tierscope.usecases.curve.pages import NOT_SAMPLED, NoCurve, PagesOfHosts, scale_hosts
from tierscope.usecases.curve.sources import read_curve_samples
from tierscope.usecases.heat.sources import read_heat
from tierscope.usecases.ratio.answers import RatioAssumption, RatioPlacement
from tierscope.usecases.simulate.placements import FoundPlacement, ReplayedPlacement, find_replay

GROWTH_RANGE = (0.0, 0.2)
"""Of memory, for the sensitivity of an answer."""
BEST_STATIC = "best_static"
GRID = np.arange(0, 101) / 100.0
"""Parts of memory in DRAM at which a placement is computed; between them it is interpolated."""


@dataclass(frozen=True, slots=True)
class PlacementFacts:
    """A placement of a service's pages. `at` gives the share on slow memory at the part of memory that DRAM holds.

    `coverage`: share of the traffic on pages with samples, None where none was missed. `beside`: the best static
    placement, where this is a replayed one. `why`: how this placement was come by.
    """

    source: str
    why: str
    grounding: str
    at: Placement
    coverage: float | None
    n_hosts: int
    n_samples: int
    n_intervals: int
    method: str
    assumptions: tuple[RatioAssumption, ...]
    made_at: datetime | None = None
    beside: "PlacementFacts | None" = None

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
            grounding=self.grounding,
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
        RatioAssumption(
            "placement",
            "the densest pages stay in DRAM",
            "",
            "A",
            "the best that a static placement can do; real policies come near it where hot sets are stable",
        )
    ]
    if not pages.samples.counts:
        assumptions.append(
            RatioAssumption(
                "accesses",
                "active intervals of pages stand for accesses",
                "",
                "A",
                "accessed bits count no accesses; busy pages have more of them per interval, so that slow memory"
                " serves less than this says",
            )
        )
    return PlacementFacts(
        source=BEST_STATIC,
        why="the densest pages of each host stay in DRAM",
        grounding="A the densest pages stay in DRAM",
        at=at,
        coverage=pages.traffic_coverage,
        n_hosts=len(pages.hosts),
        n_samples=pages.n_samples,
        n_intervals=pages.n_intervals,
        method=pages.samples.method.family,
        assumptions=tuple(assumptions),
    )


def read_replayed(session: ReadSession, service_id: int, window: Window, now: datetime) -> PlacementFacts | NoCurve:
    """The placement that the hosts' own policy comes to, by replay; the best static one where there is no replay."""
    best = read_best_static(session, service_id, window, now)
    if isinstance(best, NoCurve):
        return best
    found = find_replay(session, service_id, now)
    if found.placement is None:
        why = f"the best static placement was taken, because {found.why_not}"
        assumed = RatioAssumption(
            "placement_policy", BEST_STATIC, "", "A", f"{why}: real policies serve less from DRAM"
        )
        return replace(best, why=why, assumptions=(*best.assumptions, assumed))
    return _place_by_replay(found, found.placement, best)


def _place_by_replay(found: FoundPlacement, placement: ReplayedPlacement, best: PlacementFacts) -> PlacementFacts:
    """The replayed shares, interpolated; less DRAM never serves more. Nothing is away where DRAM holds everything."""
    parts = np.array([0.0, *(share for share, _ in placement.shares), 1.0])

    def column(name: str) -> tuple[float, ...]:
        values = [1.0, *(float(getattr(away, name)) for _, away in placement.shares)]
        return tuple(np.maximum.accumulate([*values, values[-1] if name == "hi" else 0.0][::-1])[::-1].tolist())

    columns = {name: column(name) for name in ("value", "lo", "hi")}

    def at(dram_ratio: float) -> ShareOnSlow:
        value, lo, hi = (float(np.interp(dram_ratio, parts, columns[name])) for name in ("value", "lo", "hi"))
        return ShareOnSlow(value, min(lo, value), max(hi, value), LEVEL)

    running = found.running
    label = running.policy.label
    kept = tuple(item for item in best.assumptions if item.name == "accesses")
    hosts = f"{running.n_running} of {running.n_hosts} hosts run it: {running.policy.why}"
    return PlacementFacts(
        source=f"simulated:{placement.policy}",
        why=f"sampled pages replayed under {label}; {hosts}",
        grounding=f"A sampled pages replayed under {label}",
        at=at,
        coverage=best.coverage,
        n_hosts=placement.n_hosts,
        n_samples=placement.n_samples,
        n_intervals=placement.n_intervals,
        method=placement.method,
        assumptions=(*_assume_replay(label, placement), *kept),
        made_at=found.made_at,
        beside=best,
    )


def _assume_replay(label: str, placement: ReplayedPlacement) -> tuple[RatioAssumption, ...]:
    """What a replay takes to be so."""
    return (
        RatioAssumption(
            "placement",
            f"replayed under {label}",
            "",
            "A",
            "simulated: policy and settings are those that hosts run now, also where they have no slower tier yet; with"
            " others the share is another one",
        ),
        RatioAssumption(
            "first_placement",
            "random",
            "",
            "A",
            "in which order memory was allocated before the samples begin is not known; the first"
            f" {placement.warm_up_intervals} intervals are not counted",
        ),
    )


def view_placement(placement: PlacementFacts, chosen_beside: str | None) -> RatioPlacement:
    """Which placement an answer used. `chosen_beside`: what would be advised with the best static one."""
    return RatioPlacement(
        source=placement.source,
        why=placement.why,
        made_at=placement.made_at,
        n_hosts=placement.n_hosts,
        beside=None if placement.beside is None else placement.beside.source,
        chosen_beside=chosen_beside,
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
