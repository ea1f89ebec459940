"""Replays of several hosts as one answer: sums scaled to all memory, and how sure the share that DRAM serves is.

A sampled host's share has the error of its pages (from random groups of them, each replayed on a machine of its own
size, as far as pages were left out) and the hosts of a service differ: the interval holds the larger of both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from tierscope.domain.curve.page_traces import KINDS
from tierscope.domain.simulate.machine import SLACK_RATIO
from tierscope.domain.simulate.replay import Outcome, Totals
from tierscope.domain.slowdown import ShareOnSlow, pool_shares

Floats = npt.NDArray[np.float64]

REPLAY_SD = 0.05
"""Of ln share: a sample is replayed on a machine as much smaller. Found on recorded traces: docs/method/sweeps.md."""


@dataclass(frozen=True, slots=True)
class HostReplay:
    """One host's replay and the totals of its random groups of pages; no groups where every page is in the trace.

    Totals count from `first_interval` on.
    """

    outcome: Outcome
    totals: Totals
    groups: tuple[Totals, ...]
    first_interval: int
    sampled_ratio: float
    n_pages: int
    unseen_ratio: float

    @property
    def weight(self) -> float:
        """Pages that one of the trace stands for."""
        return 1.0 / self.sampled_ratio


def share_away(hosts: Sequence[HostReplay]) -> ShareOnSlow | None:
    """Share of accesses outside DRAM, over hosts by their traffic, with its interval; None without accesses.

    Without sampling and with one host nothing is drawn, and the interval has no width.
    """
    hosts = [host for host in hosts if host.totals.local_ratio is not None]
    if not hosts:
        return None
    values = np.array([1.0 - (host.totals.local_ratio or 0.0) for host in hosts])
    traffic = np.array([host.totals.accesses * host.weight for host in hosts])
    if hosts[0].outcome.policy.name == "all_dram":
        return ShareOnSlow.exactly(float(traffic @ values / traffic.sum()))
    drawn = any(host.groups for host in hosts)
    share = pool_shares(
        values,
        np.array([_page_variance(host.groups) * (1.0 - host.sampled_ratio) for host in hosts]),
        traffic,
        page_freedom=max(sum(max(len(host.groups) - 1, 0) for host in hosts), 1),
        unseen_ratios=np.array([_unseen_away(host) for host in hosts]),
        n_pages=sum(host.n_pages for host in hosts if host.groups),
    )
    return share.widened(REPLAY_SD) if drawn else share


def _unseen_away(host: HostReplay) -> float:
    """Share of the traffic that no sample shows and that may be on slow memory.

    Nothing tells pages without a sample apart, and a kernel sees their accesses where sampling does not: slow memory
    holds no more of their traffic than of them. Where it holds them all, or nobody knows how many they are, all of it.
    """
    machine = host.outcome.machine
    resident_pages = (machine.dram_pages + machine.slow_pages) / (1.0 + SLACK_RATIO)
    unseen_pages = resident_pages - host.n_pages
    if unseen_pages <= 0.0:
        return host.unseen_ratio
    return host.unseen_ratio * min(max(resident_pages - machine.dram_pages, 0.0) / unseen_pages, 1.0)


def _page_variance(groups: Sequence[Totals]) -> float:
    """Variance of a host's share by the draw of its pages: that of the ratio of sums over random groups."""
    n = len(groups)
    accesses = np.array([group.accesses for group in groups], np.float64)
    if n < 2 or not accesses.sum():  # noqa: PLR2004 - one group tells nothing of a spread
        return 0.0
    away = np.array([group.slow_accesses + group.away_accesses for group in groups], np.float64)
    residuals = away - away.sum() / accesses.sum() * accesses
    return float((residuals**2).sum() / (n - 1) / n / accesses.mean() ** 2)


def pool_totals(hosts: Sequence[HostReplay]) -> Totals:
    """Totals of the mean host, scaled up to all its pages.

    Raises:
        ValueError: there is no host.
    """
    if not hosts:
        raise ValueError("no host was replayed")
    weights = np.array([host.weight / len(hosts) for host in hosts])
    first = hosts[0].totals

    def mean(name: str) -> float:
        return float(weights @ np.array([float(getattr(host.totals, name)) for host in hosts]))

    counts = {field.name: round(mean(field.name)) for field in fields(Totals) if field.type in (int, "int")}
    by_kind: dict[str, float | None] = {}
    for at, kind in enumerate(KINDS):
        parts = np.array([_of_kind(host, at) for host in hosts])
        local, every = weights @ parts[:, 0], weights @ parts[:, 1]
        known = all(host.totals.local_ratio_by_kind[kind] is not None for host in hosts if host.totals.accesses)
        by_kind[kind] = float(local / every) if every and known else None
    return replace(
        hosts[0].totals,
        **counts,
        local_ratio=_ratio(mean("local_accesses"), mean("accesses")),
        local_ratio_by_kind=by_kind,
        ping_pong_ratio=_ratio(mean("round_trips_long_pages"), mean("promoted_pages")),
        tier_move_mb_per_s=mean("tier_move_mb_per_s"),
        mean_free_dram_pages=None if first.mean_free_dram_pages is None else mean("mean_free_dram_pages"),
    )


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _of_kind(host: HostReplay, at: int) -> tuple[float, float]:
    """Local and all accesses of a kind in the intervals that the totals count."""
    accesses = host.outcome.figures.accesses[host.first_interval :, at]
    return float(accesses[:, 0].sum()), float(accesses.sum())
