"""Who pushed whom out of a host's top tier, as figures with bounds, and what each took over time."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.axis import Grid
from tierscope.domain.base.figures import Figure, Interval, Series, Window, gaps_to_none
from tierscope.domain.fairness.pushes import (
    Correlation,
    Demoted,
    Pushed,
    attribute,
    correlate,
    taken_pages,
    uncounted_demotions,
)
from tierscope.usecases.fairness.answers import Push, PushCorrelation, Sureness
from tierscope.usecases.fairness.tenants import HostTenants

Floats = npt.NDArray[np.float64]
_COUNTED = "Demotions of cgroups are counted; for whom pages left is not."
_UNCOUNTED = (
    "Some kernels here count demotions for the host alone: those of a tenant are what left the top tier while as much "
    "came to slower ones, between nothing and all that the host demoted."
)
_NONE = "No page of these tenants was demoted in this window."
_UNKNOWN = "Nothing tells what was demoted of these tenants: their kernels count no demotions."


@dataclass(frozen=True, slots=True)
class HostFlows:
    """Flows of n tenants over t intervals in pages [t, n], NaN where not known; `rest` [t]: taken by everyone else."""

    demoted: Demoted
    taken: Floats
    rest: Floats
    counted: bool


def find_flows(host: HostTenants) -> HostFlows:
    """What was demoted of each tenant, and what each took of the top tier."""
    page = float(host.machine.page_bytes or np.nan)
    top = np.stack([tenant.top for tenant in host.tenants], axis=1) / page
    slow = np.stack([tenant.slow for tenant in host.tenants], axis=1) / page
    promoted = np.stack([tenant.promoted for tenant in host.tenants], axis=1)
    counts = np.stack([tenant.demoted for tenant in host.tenants], axis=1)
    counted = np.isfinite(counts).any(axis=0)
    guessed = uncounted_demotions(top, slow, host.host_demoted)
    demoted = Demoted(
        np.where(counted, counts, guessed.value),
        np.where(counted, counts, guessed.lo),
        np.where(counted, counts, guessed.hi),
    )
    taken = taken_pages(top, demoted.value, promoted)
    grown = np.full(len(host.times_s), np.nan)
    grown[1:] = np.diff(host.host_top / page)
    of_tenants = np.full(top.shape, np.nan)
    of_tenants[1:] = np.diff(top, axis=0)
    rest = np.maximum(grown + host.host_demoted - np.nansum(of_tenants + demoted.value, axis=1), 0.0)
    return HostFlows(demoted, taken, rest, bool(counted.all()))


def view_pushes(host: HostTenants, flows: HostFlows, window: Window) -> tuple[tuple[Push, ...], list[str]]:
    """All pairs with a page between them, those with most first; and how they are to be taken."""
    value = flows.demoted.value
    if not np.isfinite(value).any():
        return (), [_UNKNOWN]
    # A tenant that is not seen in an interval is part of the rest of the host there.
    seen = Demoted(*(np.nan_to_num(part) for part in (value, flows.demoted.lo, flows.demoted.hi)))
    pushed = attribute(seen, np.nan_to_num(flows.taken), flows.rest)
    n = len(host.tenants)
    pairs = sum(bool(np.nansum(value[:, place]) > 0) for place in range(n)) * max(n - 1, 1)
    found = []
    for victim in range(n):
        for taker in range(n + 1):
            if pushed.hi[victim, taker] <= 0:
                continue
            correlation = None
            if taker not in (victim, n):
                correlation = correlate(value[:, victim], flows.taken[:, taker], pairs=pairs)
            found.append(_push(host, pushed, victim, taker, correlation, window, counted=flows.counted))
    if not found:
        return (), [_NONE]
    found.sort(key=lambda push: -(push.pages.value or 0.0))
    return tuple(found), [_COUNTED if flows.counted else _UNCOUNTED]


def _push(
    host: HostTenants,
    pushed: Pushed,
    victim: int,
    taker: int,
    correlation: Correlation | None,
    window: Window,
    *,
    counted: bool,
) -> Push:
    lo, hi = float(pushed.lo[victim, taker]), float(pushed.hi[victim, taker])
    sureness: Sureness = "possible"
    if lo > 0:
        sureness = "counted"
    elif correlation is not None and correlation.lo > 0:
        sureness = "correlated"
    pages = Figure(
        "fairness.pushed_pages/1",
        "ok",
        float(pushed.value[victim, taker]),
        "pages",
        method="counters",
        window=window,
        interval=Interval(lo, hi, None, "bounds"),
        n_hosts=1,
        n_intervals=pushed.n_intervals,
        coverage=pushed.n_intervals / max(len(host.times_s), 1),
        grade="partial" if counted else "early",
        grounding="L kernel text of memory.stat; A reclaim makes room for what comes within an interval of it",
    )
    told = None
    if correlation is not None:
        told = PushCorrelation(correlation.value, correlation.lo, correlation.hi, correlation.n_effective)
    other = host.tenants[taker].id if taker < len(host.tenants) else None
    return Push(host.tenants[victim].id, other, pages, told, sureness)


def flow_series(host: HostTenants, flows: HostFlows) -> list[Series]:
    """What was demoted of each tenant and what it took, in pages per second over time."""
    found = []
    for place, tenant in enumerate(host.tenants):
        for what, label, pages in (
            ("demoted", "demoted", flows.demoted.value[:, place]),
            ("taken", "taken of the top tier", flows.taken[:, place]),
        ):
            values = gaps_to_none(_rates(host.grid, host.times_s, host.dt_s, pages))
            found.append(Series(f"{what}:{tenant.id}", f"{tenant.name}, {label}", "pages_per_s", values))
    return found


def _rates(grid: Grid, times_s: Floats, dt_s: Floats, pages: Floats) -> Floats:
    known = np.isfinite(pages)
    place = grid.place(times_s[known])
    sums = np.bincount(place, weights=pages[known], minlength=len(grid))
    over = np.bincount(place, weights=dt_s[known], minlength=len(grid))
    out: Floats = np.divide(sums, over, out=np.full(len(grid), np.nan), where=over > 0)
    return out
