"""Features of services, from their newest heat, gaps and hardware: what look-alikes are found by."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Window
from tierscope.domain.curve import reaccess
from tierscope.domain.heat.rows import HeatSeries
from tierscope.domain.heat.source import SeriesSource
from tierscope.domain.knobs.machine import read_host
from tierscope.domain.sensitivity.stability import jaccard
from tierscope.domain.slowdown import balanced_share
from tierscope.storage.curve.reuse_intervals import read_gaps
from tierscope.storage.fleet.hosts import read_inventories
from tierscope.storage.heat.sums import read_overlaps
from tierscope.usecases.heat.reads import choose_method
from tierscope.usecases.heat.sources import read_heat
from tierscope.usecases.statistics.host_series import RULE
from tierscope.usecases.statistics.hour import Members

MAX_HOSTS = 20
"""Hosts of a service whose gaps and hardware are read; which ones does not depend on what they show."""
SPAN = timedelta(hours=2)
REVISIT_LAG = 10
JACCARD_LAG = 10
_HOT = 0
Features = dict[str, float | None]


def read_service_features(
    session: ReadSession, members: Members, *, now: datetime
) -> dict[int, tuple[int, Mapping[str, float | None]]]:
    """(hosts, features) of each service that has heat."""
    found: dict[int, tuple[int, Mapping[str, float | None]]] = {}
    window = Window(now - SPAN, now)
    for service_id, members_of in members.hosts.items():
        hosts = sorted(members_of)[:MAX_HOSTS]
        by_method = read_heat(session, service_id, hosts, window, now=now)
        method = choose_method(by_method, None)
        if method is not None:
            series = tuple(by_method[method].values())
            found[service_id] = (len(members_of), _features(session, service_id, series, hosts, window))
    return found


def _features(
    session: ReadSession, service_id: int, series: Sequence[HeatSeries], hosts: Sequence[int], window: Window
) -> Features:
    return {
        "hot_anon_ratio": _hot_share(series, "anon"),
        "hot_file_ratio": _hot_share(series, "file"),
        "reaccessed_10_ratio": _reaccessed(session, service_id, hosts, window),
        "jaccard_10": _overlap(session, service_id, hosts, window),
        "anon_ratio": _anon_share(series),
        "bandwidth_share": _bandwidth_share(session, hosts),
    }


def _hot_share(series: Sequence[HeatSeries], kind: str) -> float | None:
    places = [[i for i, found in enumerate(part.kinds) if found == kind] for part in series]
    picked = [part.take_groups(chosen) for part, chosen in zip(series, places, strict=True) if chosen]
    share = SeriesSource(tuple(picked)).share(RULE, _HOT)
    return None if share is None else share.estimate.value


def _anon_share(series: Sequence[HeatSeries]) -> float | None:
    shares = []
    for part in series:
        resident = part.folded.resident.sum(axis=0).astype(np.float64)
        if resident.sum() > 0:
            anon = np.array([kind == "anon" for kind in part.kinds], bool)
            shares.append(float(resident[anon].sum() / resident.sum()))
    return float(np.median(shares)) if shares else None


def _overlap(session: ReadSession, service_id: int, hosts: Sequence[int], window: Window) -> float | None:
    """Jaccard of hot bytes ten intervals apart, the median over intervals and hosts."""
    overlaps = read_overlaps(session, service_id, hosts, window.start, window.end)
    values = [
        value
        for overlap in overlaps
        if overlap.lag_intervals == JACCARD_LAG
        and (value := jaccard(overlap.intersection_bytes, overlap.union_bytes)) is not None
    ]
    return float(np.median(values)) if values else None


def _reaccessed(session: ReadSession, service_id: int, hosts: Sequence[int], window: Window) -> float | None:
    """The share re-accessed within ten intervals, from ended gaps and the newest open ones of each host."""
    blocks = read_gaps(session, service_id, window.start, window.end, hosts)
    newest = {
        host: max(block.end_us for block in blocks if block.host_id == host) for host in {b.host_id for b in blocks}
    }
    gaps = [
        reaccess.Gaps(
            block.closed.sum(axis=0).astype(np.float64),
            block.freed.sum(axis=0).astype(np.float64),
            (block.censored + (block.open if block.end_us == newest[block.host_id] else 0))
            .sum(axis=0)
            .astype(np.float64),
        )
        for block in blocks
    ]
    if not gaps:
        return None
    value = float(reaccess.reaccess_curve(sum(gaps[1:], gaps[0])).share[REVISIT_LAG - 1])
    return value if np.isfinite(value) else None


def _bandwidth_share(session: ReadSession, hosts: Sequence[int]) -> float | None:
    """The share of accesses on slow memory at which both tiers saturate together, the median over measured hosts."""
    shares = []
    for _, body in read_inventories(session, hosts).values():
        host = read_host(body)
        if host.dram_gb_per_s and host.slow_gb_per_s and host.bandwidth_measured:
            shares.append(balanced_share(host.dram_gb_per_s, host.slow_gb_per_s))
    return float(np.median(shares)) if shares else None
