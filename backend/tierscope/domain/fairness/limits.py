"""What limits and protections of a host's tenants would do: their page samples joined, and replayed as one trace."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy

from tierscope.domain.simulate import Outcome, TenantSetting, Totals, compile_trace, replay
from tierscope.domain.simulate.pooling import HostReplay, share_away
from tierscope.domain.simulate.sampled import (
    GROUPS,
    LEAD_INTERVALS,
    SampledTrace,
    order_pages,
    random_order,
    take_pages,
)
from tierscope.domain.simulate.sweep import SweepRun
from tierscope.domain.simulate.trace import TraceColumns
from tierscope.domain.slowdown import ShareOnSlow

if TYPE_CHECKING:
    from tierscope_simcore import SimulationTrace

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MIN_SHARED_INTERVALS = 20
"""Fewer that all tenants were observed in say nothing of how they press on each other [A]."""
WARM_UP_RATIO = 0.25
"""Part of the trace in which the policy finds its state, as for replays of one service [A]."""
LEVEL = 0.95
_STEPS = 8
"""Halvings of a search: the protection is found to a part in 256 of the tenant's memory."""


@dataclass(frozen=True, slots=True)
class JoinedTrace:
    """Pages of n tenants that share a machine, `tenants` [m] whose each is; of `samples` [n] counts each is made.

    Begins with `LEAD_INTERVALS`; `n_intervals` more were observed of all tenants.
    """

    columns: TraceColumns
    tenants: Ints
    sampled_ratio: float
    n_intervals: int
    samples: tuple[int, ...]
    pages: tuple[int, ...]
    unseen_ratios: tuple[float, ...]


def join_tenants(sampled: Sequence[SampledTrace]) -> JoinedTrace:
    """Join tenants' samples over the intervals in which all were observed, at the lowest of their rates.

    Raises:
        ValueError: too few intervals were observed of all of them.
    """
    shared = reduce(np.intersect1d, (one.numbers for one in sampled))
    if len(shared) < MIN_SHARED_INTERVALS:
        raise ValueError(
            f"{len(shared)} intervals were sampled of all services at once: {MIN_SHARED_INTERVALS} are needed."
        )
    lowest = min(one.sampled_ratio for one in sampled)
    parts = [_cut(_thinned(one, lowest), one.numbers, shared) for one in sampled]
    sizes = [len(part.kinds) for part in parts]
    columns = _concatenated(parts, len(shared) + LEAD_INTERVALS)
    # Pages that are there at the beginning are placed in order: mixed, so that no tenant comes first.
    order = random_order(columns)
    return JoinedTrace(
        columns=order_pages(columns, order),
        tenants=np.repeat(np.arange(len(sizes)), sizes)[order],
        sampled_ratio=lowest,
        n_intervals=len(shared),
        samples=tuple(one.n_samples for one in sampled),
        pages=tuple(sizes),
        unseen_ratios=tuple(one.unseen_ratio for one in sampled),
    )


def _thinned(one: SampledTrace, ratio: float) -> TraceColumns:
    """The pages that a lower rate would have selected; they are in random order, so that the first ones will do."""
    kept = round(len(one.columns.kinds) * ratio / one.sampled_ratio)
    return take_pages(one.columns, np.arange(len(one.columns.kinds)) < kept)


def _cut(columns: TraceColumns, numbers: Ints, shared: Ints) -> TraceColumns:
    """The trace in the shared intervals alone, its lead before them."""
    kept = np.concatenate([np.arange(LEAD_INTERVALS), np.searchsorted(numbers, shared) + LEAD_INTERVALS])
    rows = np.isin(columns.row_interval, kept)
    first = np.searchsorted(kept, columns.first, "left")
    last = np.searchsorted(kept, columns.last, "right") - 1
    cut = replace(
        columns,
        intervals=len(kept),
        first=first,
        last=last,
        row_interval=np.searchsorted(kept, columns.row_interval[rows]),
        row_page=columns.row_page[rows],
        row_accesses=columns.row_accesses[rows],
        row_written=columns.row_written[rows],
    )
    return take_pages(cut, first <= last)


def _concatenated(parts: Sequence[TraceColumns], intervals: int) -> TraceColumns:
    starts = np.cumsum([0, *(len(part.kinds) for part in parts)])

    def joined(name: str) -> npt.NDArray[np.generic]:
        return np.concatenate([getattr(part, name) for part in parts])

    pages = np.concatenate([part.row_page + start for part, start in zip(parts, starts[:-1], strict=True)])
    names = ("kinds", "units", "first", "last", "row_interval", "row_accesses", "row_written")
    return TraceColumns(intervals=intervals, row_page=pages, **{name: joined(name) for name in names})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class TenantReplay:
    """What a replay makes of one tenant: base pages of DRAM that it holds, mean; share of accesses outside DRAM.

    `away` None: it was not accessed. `group_shares` [groups]: local shares of random groups of pages, NaN without
    accesses. `refaults`: accesses that found their page neither in DRAM nor on the slower tier.
    """

    dram_pages: float
    away: ShareOnSlow | None
    group_shares: Floats
    refaults: int


class TenantSimulator:
    """Replays joined tenants under one policy, on a machine with this share of their peak in DRAM.

    Raises:
        RuntimeError: the compiled core is not built.
    """

    def __init__(self, joined: JoinedTrace, run: SweepRun, *, interval_s: float) -> None:
        self._joined, self._run, self._interval_s = joined, run, interval_s
        self._whole = compile_trace(joined.columns, joined.tenants)
        places = np.arange(len(joined.tenants)) % GROUPS
        self._groups = [
            compile_trace(take_pages(joined.columns, places == group), joined.tenants[places == group])
            for group in (range(GROUPS) if joined.sampled_ratio < 1.0 else ())
        ]
        self._first = LEAD_INTERVALS + int(joined.n_intervals * WARM_UP_RATIO)

    @property
    def peak_pages(self) -> int:
        """Most base pages that were resident at once, of the pages sampled."""
        return self._whole.peak_units

    def replay(self, settings: Sequence[TenantSetting]) -> tuple[TenantReplay, ...]:
        """What becomes of each tenant under its setting, with what the draw of pages leaves open."""
        whole = self._replay(self._whole, settings, 1)
        groups = [self._replay(trace, settings, GROUPS) for trace in self._groups]
        return tuple(self._of_tenant(tenant, whole, groups) for tenant in range(len(settings)))

    def dram_pages(self, settings: Sequence[TenantSetting]) -> Floats:
        """Base pages of DRAM that each tenant holds, mean [n]."""
        return self._dram_pages(self._replay(self._whole, settings, 1))

    def smallest_low(self, tenant: int, wanted_pages: float, most_pages: int) -> int | None:
        """The smallest `memory.low` of a tenant with which it holds so much of DRAM; None where none does.

        More protection never lets a tenant lose DRAM, so that halving finds it.
        """
        n = len(self._joined.pages)

        def holds(low: int) -> bool:
            settings = [TenantSetting(low if place == tenant else 0) for place in range(n)]
            return bool(self.dram_pages(settings)[tenant] >= wanted_pages)

        if not holds(most_pages):
            return None
        below, enough = 0, most_pages
        for _ in range(_STEPS):
            middle = (below + enough) // 2
            if holds(middle):
                enough = middle
            else:
                below = middle
        return enough

    def _replay(self, trace: "SimulationTrace", settings: Sequence[TenantSetting], parts: int) -> Outcome:
        machine = self._run.make_machine(trace.peak_units, sampled_ratio=self._joined.sampled_ratio / parts)
        own = [
            TenantSetting(one.low_pages // parts, None if one.dram_max_pages is None else one.dram_max_pages // parts)
            for one in settings
        ]
        return replay(trace, self._run.make_policy(), machine, interval_s=self._interval_s, tenants=own)

    def _dram_pages(self, outcome: Outcome) -> Floats:
        return np.asarray(outcome.figures.tenants[self._first :, :, 3].mean(axis=0), np.float64)

    def _of_tenant(self, tenant: int, whole: Outcome, groups: Sequence[Outcome]) -> TenantReplay:
        totals = self._totals(whole, tenant)
        parts = tuple(self._totals(group, tenant) for group in groups)
        joined = self._joined
        host = HostReplay(
            whole, totals, parts, self._first, joined.sampled_ratio, joined.pages[tenant], joined.unseen_ratios[tenant]
        )
        shares = [np.nan if part.local_ratio is None else part.local_ratio for part in parts]
        return TenantReplay(
            float(self._dram_pages(whole)[tenant]), share_away([host]), np.array(shares), totals.away_accesses
        )

    def _totals(self, outcome: Outcome, tenant: int) -> Totals:
        local, slow, away = (int(part) for part in outcome.figures.tenants[self._first :, tenant, :3].sum(axis=0))
        every = local + slow + away
        return replace(
            outcome.totals(self._first),
            accesses=every,
            local_accesses=local,
            slow_accesses=slow,
            away_accesses=away,
            local_ratio=local / every if every else None,
        )


def paired_error(before: TenantReplay, after: TenantReplay, sampled_ratio: float) -> float | None:
    """Half the width of the 95 % interval of a change of local share, from groups of pages that both replays had.

    What both replays share cancels. None without groups: every page is there, or too few were accessed.
    """
    change = after.group_shares - before.group_shares
    change = change[np.isfinite(change)]
    if len(change) < 3:  # noqa: PLR2004 - two say nothing of a spread
        return None
    error = float(np.std(change, ddof=1)) / np.sqrt(len(change)) * np.sqrt(1.0 - sampled_ratio)
    return float(scipy.special.stdtrit(len(change) - 1, (1.0 + LEVEL) / 2.0) * error)
