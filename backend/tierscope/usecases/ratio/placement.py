"""Share of accesses on slow memory at a DRAM share: the seam between a placement and the advice that rests on it.

A placement is read from a replay of the service's sampled pages under the policy that its hosts run, where there is
one, with the best static one beside it. Without a replay there are bounds: from the best static placement to one that
knows nothing of heat.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, Grade, Interval, Window
from tierscope.domain.knobs.policy import HostPolicy
from tierscope.domain.ratio import ACTIVE_SD, Placement, Seen, total_sd, unseen_sd
from tierscope.domain.ratio.placed_share import Interpolated, MeasuredShare, interpolate_shares
from tierscope.domain.ratio.slow_share import share_on_slow
from tierscope.domain.simulate import PolicyName
from tierscope.domain.slowdown import ShareOnSlow
from tierscope.usecases.curve.pages import NOT_SAMPLED, NoCurve, PagesOfHosts, scale_hosts
from tierscope.usecases.curve.sources import read_curve_samples
from tierscope.usecases.heat.sources import read_heat
from tierscope.usecases.ratio.answers import RatioAssumption, RatioPlacement
from tierscope.usecases.ratio.measured import read_measured_share
from tierscope.usecases.simulate.placements import FoundPlacement, ReplayedPlacement, find_replay

GROWTH_RANGE = (0.0, 0.2)
"""Of memory, for the sensitivity of an answer."""
BEST_STATIC = "best_static"
GRID = np.arange(0, 101) / 100.0
"""Parts of memory in DRAM at which a placement is computed; between them it is interpolated."""


@dataclass(frozen=True, slots=True)
class PlacementFacts:
    """A placement of a service's pages. `at` gives the share on slow memory at the part of memory that DRAM holds.

    `seen`: what the page samples behind it showed. `beside`: the best static placement, where this is a replayed one.
    `why`: how this placement was come by. `are_bounds`: pages may also lie as by chance. `replay_lacks`: what would
    have to be sampled before a replay can take their place. `counts`: whether accesses were counted; else active
    intervals of pages stand for them, and slow memory serves less than `at` says. `policy`: the replayed one.
    `measured`: what hosts measure at the DRAM that they have, through which `at` passes; None where none does.
    """

    source: str
    why: str
    grounding: str
    at: Interpolated
    seen: Seen
    n_hosts: int
    n_samples: int
    n_intervals: int
    method: str
    counts: bool
    assumptions: tuple[RatioAssumption, ...]
    made_at: datetime | None = None
    beside: "PlacementFacts | None" = None
    are_bounds: bool = False
    replay_lacks: str | None = None
    policy: HostPolicy | None = None
    measured: MeasuredShare | None = None

    def for_ratio(self, headroom: float) -> Placement:
        """By the DRAM share of a ratio, of which a part stays free; widened for what was not seen."""
        unseen = total_sd(unseen_sd(self.seen))
        # Where less DRAM is asked about than was measured at, what was measured bounds the share from below.
        known_to = 0.0 if self.measured is None else self.measured.held
        exchanges = self.policy is not None and self.policy.exchanges

        def at(dram_share: float) -> ShareOnSlow:
            held = dram_share * (1.0 - headroom)
            active = 0.0 if self.counts or held <= known_to else ACTIVE_SD
            share = self.at(held).widened(unseen, less_sd=active, most=1.0 - held if exchanges else 1.0)
            return share.as_bounds(1.0 - held) if self.are_bounds else share

        return at

    def figure(self, share: ShareOnSlow, window: Window, grade: Grade | None) -> Figure:
        """A share with its evidence."""
        interval = None
        if share.level >= 1.0:
            interval = Interval(share.lo, share.hi, None, "bounds")
        elif share.lo < share.hi:
            interval = Interval(share.lo, share.hi, share.level, "confidence")
        return Figure(
            "ratio.share_on_slow/1",
            "ok",
            share.value,
            "ratio",
            method=self.method,
            window=window.seen_from(self.seen.start),
            interval=interval,
            n_hosts=self.n_hosts,
            n_intervals=self.n_intervals,
            n_samples=self.n_samples,
            coverage=self.seen.coverage,
            grade=grade,
            grounding=self.grounding,
        )


ReadPlacement = Callable[[ReadSession, int, Window, datetime, Sequence[int] | None], PlacementFacts | NoCurve]
"""Reads a placement of a service, by its number, on hosts by number. A simulated policy is one too."""


def read_best_static(
    session: ReadSession, service_id: int, window: Window, now: datetime, host_ids: Sequence[int] | None = None
) -> PlacementFacts | NoCurve:
    """Best static placement, from page samples: each host keeps its densest pages in DRAM."""
    found = read_curve_samples(session, service_id, window, host_ids=host_ids)
    if found.samples is None:
        return NoCurve("not_collected", NOT_SAMPLED)
    heat = read_heat(session, service_id, list(found.samples.hosts), window, now=now)
    pages = scale_hosts(found.samples, heat.get(found.samples.method, {}), may_have_gaps=True)
    return pages if isinstance(pages, NoCurve) else place_by_density(pages)


def place_by_density(pages: PagesOfHosts) -> PlacementFacts | NoCurve:
    """The placement that keeps the densest of these pages in DRAM."""
    shares = share_on_slow(list(pages.hosts.values()), GRID)
    if shares is None:
        return NoCurve("not_enough_data", "No accesses in every other interval: a longer window is needed.")
    columns = (tuple(getattr(share, name) for share in shares) for name in ("value", "lo", "hi"))
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
                " serves less than this says, in one of twenty traces a sixtieth of it: the lower end allows for that",
            )
        )
    return PlacementFacts(
        source=BEST_STATIC,
        why="the densest pages of each host stay in DRAM",
        grounding="A the densest pages stay in DRAM",
        at=Interpolated(tuple(GRID.tolist()), *columns),
        seen=_seen(pages),
        n_hosts=len(pages.hosts),
        n_samples=pages.n_samples,
        n_intervals=pages.n_intervals,
        method=pages.samples.method.family,
        counts=pages.samples.counts,
        assumptions=tuple(assumptions),
    )


def _seen(pages: PagesOfHosts) -> Seen:
    """What the samples showed, from the first instant of any host to the last."""
    start, end = (datetime.fromtimestamp(at / 1e6, UTC) for at in (pages.samples.start_us, pages.samples.end_us))
    return Seen(
        start=start,
        days=(end - start) / timedelta(days=1),
        n_hosts=len(pages.hosts),
        gaps_ratio=1.0 - pages.samples.coverage,
        coverage=pages.traffic_coverage,
    )


def read_replayed(
    session: ReadSession,
    service_id: int,
    window: Window,
    now: datetime,
    host_ids: Sequence[int] | None = None,
    *,
    asked: PolicyName | None = None,
) -> PlacementFacts | NoCurve:
    """The placement that the hosts' own policy comes to, by replay of all kinds of hosts; bounds without one.

    `asked`: the policy where the hosts' settings are not known.
    """
    best = read_best_static(session, service_id, window, now, host_ids)
    if isinstance(best, NoCurve):
        return best
    found = find_replay(session, service_id, now, asked)
    if found.placement is None:
        bounds = _as_bounds(best, f"bounds, because {found.why_not}")
        return replace(bounds, replay_lacks=found.lacks)
    placed = place_by_replay(found, found.placement, best)
    seen = Window(found.placement.start, found.placement.end)
    measured = read_measured_share(session, service_id, found.running.policy, seen)
    return placed if measured is None else _pass_through(placed, measured)


def _pass_through(placed: PlacementFacts, measured: MeasuredShare) -> PlacementFacts:
    """The placement bent to what hosts measure."""
    share, hosts = measured.share, "1 host" if measured.n_hosts == 1 else f"{measured.n_hosts} hosts"
    counted = {"memory_traffic": "bytes at memory", "sampled_loads": "sampled loads"}[measured.source]
    before = placed.at(measured.held).value
    assumed = RatioAssumption(
        "measured_share",
        share.value,
        "ratio",
        "A",
        f"{counted} of {hosts} on which DRAM holds {measured.held:.0%} of the memory; {before:.2g} by the replay, which"
        " is bent to pass through it, in proportion above and below",
    )
    return replace(
        placed, at=placed.at.through(measured), measured=measured, assumptions=(*placed.assumptions, assumed)
    )


def _as_bounds(best: PlacementFacts, why: str) -> PlacementFacts:
    """From the best static placement to pages placed by chance, of which accesses fall as memory is divided."""
    assumed = RatioAssumption(
        "placement_policy",
        "best static to heat-blind",
        "",
        "A",
        f"{why}: the densest pages in DRAM are the most that a static placement can do, pages placed by chance the"
        " least that a policy should do",
    )
    return replace(best, why=why, are_bounds=True, assumptions=(*best.assumptions, assumed))


def place_by_replay(found: FoundPlacement, placement: ReplayedPlacement, best: PlacementFacts) -> PlacementFacts:
    """The replayed shares with what they rest on."""
    running = found.running
    policy = (running.policy.stand_in() if placement.stand_in else None) or running.policy
    label = policy.label
    kept = tuple(item for item in best.assumptions if item.name == "accesses")
    runs = "it" if policy is running.policy else running.policy.label
    hosts = policy.why
    if policy.origin == "configured":
        hosts = f"{running.n_running} of {running.n_hosts} hosts run {runs}: {policy.why}"
    return PlacementFacts(
        source=f"simulated:{policy.policy}",
        why=f"sampled pages replayed under {label}; {hosts}",
        grounding=f"A sampled pages replayed under {label}",
        at=interpolate_shares(placement.shares),
        n_hosts=placement.n_hosts,
        n_samples=placement.n_samples,
        n_intervals=placement.n_intervals,
        method=placement.method,
        counts=best.counts,
        assumptions=(
            *assume_replay(label, placement.warm_up_intervals),
            *_assume_stand_in(policy, running.policy),
            *kept,
        ),
        seen=replace(best.seen, n_hosts=min(best.n_hosts, placement.n_hosts), share_days=placement.observed_days),
        made_at=found.made_at,
        beside=best,
        policy=policy,
    )


def assume_replay(label: str, warm_up_intervals: int) -> tuple[RatioAssumption, ...]:
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
            f" {warm_up_intervals} intervals are not counted",
        ),
    )


def _assume_stand_in(policy: HostPolicy, runs: HostPolicy) -> tuple[RatioAssumption, ...]:
    """What it costs that the policy of the hosts itself could not be replayed."""
    if policy is runs:
        return ()
    why = f"{policy.why}: the share may be 2.2 times as large; sample accesses (pebs, ibs, spe) to replay it"
    return (RatioAssumption("stand_in", f"{policy.label} in place of {runs.label}", "", "A", why),)


def view_placement(placement: PlacementFacts, chosen_beside: str | None) -> RatioPlacement:
    """Which placement an answer used. `chosen_beside`: what would be advised with the best static one."""
    return RatioPlacement(
        source=placement.source,
        why=placement.why,
        made_at=placement.made_at,
        n_hosts=placement.n_hosts,
        beside=None if placement.beside is None else placement.beside.source,
        chosen_beside=chosen_beside,
        policy=None if placement.policy is None else placement.policy.label,
        policy_from=None if placement.policy is None else placement.policy.origin,
    )
