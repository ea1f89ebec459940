"""One replay: a compiled trace under a policy on a machine, and its figures for each interval and in total."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tierscope.domain.curve.page_traces import KINDS
from tierscope.domain.simulate.machine import Machine
from tierscope.domain.simulate.policies import Policy

if TYPE_CHECKING:
    from tierscope_simcore import SimulationTrace

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint32]

INTERVAL_SECONDS = 60.0
"""The kernel's scanner comes to every page once in such an interval at least."""
SWAP_FAULT_SECONDS = 80e-6
DRAM, SLOW, AWAY = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of t intervals; pages are base pages.

    `accesses` [t, kinds, places DRAM, slower tier, away]; `promoted`, `demoted` [t, kinds]; `used` [t, tiers DRAM and
    slower, kinds]. `others` by name, [t] each, among them `round_trips_short` (within a minute), `round_trips_long`
    (within ten), `failed_promotions`, `limited`, `candidates`, `hint_faults`, `major_faults`, `swap_written`,
    `dram_free`. Those of the oracle are empty: it moves pages for nothing. `tenants` [t, n, 6] of n tenants, none where
    they are not told apart: accesses by place, used of DRAM and of the slower tier, demoted.
    """

    accesses: Ints
    promoted: Ints
    demoted: Ints
    used: Ints
    others: Mapping[str, Floats]
    tenants: Ints


@dataclass(frozen=True, slots=True)
class TenantSetting:
    """What is set for a tenant's control group, in base pages.

    `low_pages`: `memory.low`, which the kernel compares with all memory of the group. `dram_max_pages`: most of DRAM,
    for which mainline has no setting; None for no limit.
    """

    low_pages: int = 0
    dram_max_pages: int | None = None


@dataclass(frozen=True, slots=True)
class GroupEvent:
    """What is asked of the service's control group at the end of an interval, in base pages.

    `reclaim_pages`: once (`memory.reclaim`). `high_pages`: its limit from then on (`memory.high`), None for none.
    """

    interval: int
    reclaim_pages: int = 0
    high_pages: int | None = None


@dataclass(frozen=True, slots=True)
class SwapTraffic:
    """What base pages did on swap, in order, [n] each. Pages are numbered from 0 as they first went there.

    `step`: 0 it left memory, 1 it came back, 2 it was written to or is gone, so that a copy of it is stale.
    """

    interval: Words
    page: Words
    step: Words


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over all intervals, or those asked for. Shares are None without accesses.

    `mean_free_dram_pages`: None where DRAM has no end (`all_dram`) or nothing fills it (`oracle`).
    """

    accesses: int
    local_accesses: int
    slow_accesses: int
    away_accesses: int
    local_ratio: float | None
    local_ratio_by_kind: Mapping[str, float | None]
    promoted_pages: int
    demoted_pages: int
    round_trips_short_pages: int
    round_trips_long_pages: int
    ping_pong_ratio: float | None
    candidate_pages: int
    limited_pages: int
    failed_promotion_pages: int
    failed_allocation_pages: int
    hint_faults: int
    major_faults: int
    swap_written_pages: int
    swapped_in_pages: int
    swapped_out_pages: int
    dropped_pages: int
    refaulted_pages: int
    tier_move_mb_per_s: float
    mean_free_dram_pages: float | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A replay with what it was made of. `seed` None: hint faults come at their expected time.

    `swap_traffic`: None without swap, or where it was not asked for.
    """

    policy: Policy
    machine: Machine
    interval_s: float
    seed: int | None
    figures: Figures
    swap_traffic: SwapTraffic | None = None

    def totals(self, first_interval: int = 0) -> Totals:
        """Sums from an interval on, so that the filling of memory can be left out."""
        return _totals(self, first_interval)


def replay(
    trace: "SimulationTrace",
    policy: Policy,
    machine: Machine,
    *,
    interval_s: float = INTERVAL_SECONDS,
    seed: int | None = None,
    fault_s: float = SWAP_FAULT_SECONDS,
    group: Sequence[GroupEvent] = (),
    tenants: Sequence[TenantSetting] = (),
    armed_pages: Sequence[int] = (),
    with_swap: bool = False,
) -> Outcome:
    """Replay a trace. One seed gives one result; without one, hint faults come at their expected time.

    `group`: events of the service's control group, in order of interval. `tenants`: of each tenant of the trace what is
    set for it; without them, the trace is one service's. `armed_pages`: base pages of the slower tier that a recorded
    scanner armed in each interval (`numa_pte_updates`), which are followed in place of its rule. `with_swap`: keep the
    traffic of swap.

    Raises:
        ValueError: the machine or a setting cannot be.
    """
    if not 0.0 < interval_s < float("inf"):
        raise ValueError("interval_s must be a number above 0")
    equipped = policy.equip(machine, trace.peak_units)
    if policy.kind.loop == "oracle":
        return Outcome(policy, equipped, interval_s, seed, _oracle_figures(trace, equipped.dram_pages))
    settings = policy.loop_settings(equipped, interval_s=interval_s, fault_s=fault_s)
    events = [(event.interval, event.reclaim_pages, event.high_pages) for event in group]
    limits = [(tenant.low_pages, tenant.dram_max_pages) for tenant in tenants]
    with_swap = with_swap and equipped.swap is not None
    found = trace.simulate(
        policy.kind.loop,
        settings,
        seed=seed,
        group=events,
        tenants=limits,
        armed_units=armed_pages,
        with_swap=with_swap,
    )
    others = dict(found.figures())
    if policy.kind.loop == "all_dram":
        others.pop("dram_free", None)  # of a size without end: how much of it is free is no number
    figures = Figures(found.accesses, found.promoted, found.demoted, found.used, others, found.tenants)
    columns = found.swap_traffic()
    traffic = None if columns is None else SwapTraffic(*columns)
    return Outcome(policy, equipped, interval_s, seed, figures, traffic)


def _oracle_figures(trace: "SimulationTrace", dram_pages: int) -> Figures:
    """The bound as figures: what it serves, and the rest on the slower tier; of kinds nothing is said."""
    t, kinds = trace.intervals, len(KINDS)
    served, all_dram = trace.oracle(dram_pages), trace.oracle(2**60)
    accesses = np.zeros((t, kinds, 3), np.int64)
    accesses[:, 0, DRAM] = np.rint(served)
    accesses[:, 0, SLOW] = np.rint(all_dram) - np.rint(served)
    nothing = np.zeros((t, kinds), np.int64)
    return Figures(accesses, nothing, nothing, np.zeros((t, 2, kinds), np.int64), {}, np.zeros((t, 0, 6), np.int64))


def _totals(outcome: Outcome, first: int) -> Totals:
    figures, is_oracle = outcome.figures, outcome.policy.kind.loop == "oracle"
    by_kind = figures.accesses[first:].sum(axis=0)
    places = by_kind.sum(axis=0)

    def other(name: str) -> int:
        values = figures.others.get(name)
        return 0 if values is None else int(values[first:].sum())

    promoted, demoted = int(figures.promoted[first:].sum()), int(figures.demoted[first:].sum())
    seconds = max(len(figures.promoted) - first, 1) * outcome.interval_s
    free = figures.others.get("dram_free")
    return Totals(
        accesses=int(places.sum()),
        local_accesses=int(places[DRAM]),
        slow_accesses=int(places[SLOW]),
        away_accesses=int(places[AWAY]),
        local_ratio=_share(places[DRAM], places.sum()),
        local_ratio_by_kind={
            kind: None if is_oracle else _share(by_kind[i, DRAM], by_kind[i].sum()) for i, kind in enumerate(KINDS)
        },
        promoted_pages=promoted,
        demoted_pages=demoted,
        round_trips_short_pages=other("round_trips_short"),
        round_trips_long_pages=other("round_trips_long"),
        ping_pong_ratio=_share(other("round_trips_long"), promoted),
        candidate_pages=other("candidates"),
        limited_pages=other("limited"),
        failed_promotion_pages=other("failed_promotions"),
        failed_allocation_pages=other("failed_allocations"),
        hint_faults=other("hint_faults"),
        major_faults=other("major_faults"),
        swap_written_pages=other("swap_written"),
        swapped_in_pages=other("swapped_in"),
        swapped_out_pages=other("swapped_out"),
        dropped_pages=other("dropped"),
        refaulted_pages=other("refaulted"),
        tier_move_mb_per_s=(promoted + demoted) * outcome.machine.page_bytes / 1e6 / seconds,
        mean_free_dram_pages=None if free is None or first >= len(free) else float(free[first:].mean()),
    )


def _share(part: float, whole: float) -> float | None:
    return float(part) / float(whole) if whole else None
