"""The share on slow memory that a service's hosts measure at the DRAM that they have."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Window
from tierscope.domain.base.page_size import bytes_of
from tierscope.domain.knobs.facts import Host
from tierscope.domain.knobs.machine import read_host
from tierscope.domain.knobs.policy import HostPolicy, policy_of_host
from tierscope.domain.ledger.columns import LOADS, TRAFFIC
from tierscope.domain.ratio.placed_share import HostAccesses, MeasuredShare, measure_share
from tierscope.storage.base.subjects import hosts_of_service
from tierscope.storage.fleet.hosts import read_inventories_since
from tierscope.storage.statistics.host_means import read_ledger_means
from tierscope.usecases.curve.sources import spread_hosts

MAX_HOSTS = 50
"""More hosts tell no more than these."""
ALONE_MIN = 0.8
"""Part of a host's resident memory from which its bytes at memory are taken for those of the service [A]."""
HOUR_S = 3600
_MOVED = ("promoted_pages", "demoted_pages")
_RESIDENT = ("top_resident_bytes", "slow_resident_bytes")
_WHOLE_HOST = 0
Means = Mapping[str, Mapping[int, float]]
"""Of one host: column, end of the hour in Unix seconds, mean per second or mean."""


def read_measured_share(
    session: ReadSession, service_id: int, policy: HostPolicy, window: Window
) -> MeasuredShare | None:
    """Of hosts with a slower tier, in those hours of the window in which they ran this policy; None where none tells.

    Sampled loads of the service come first; bytes at memory are of whole hosts, and tell where it is nearly alone.
    """
    ids = spread_hosts([host.id for host in hosts_of_service(session, service_id)], MAX_HOSTS)
    running = _find_running(session, ids, policy, window.start)
    if not running:
        return None
    times = (window.start, window.end)
    columns = (*TRAFFIC, *_MOVED, *_RESIDENT)
    hosts = _by_host(session, list(running), _WHOLE_HOST, columns, times)
    own = _by_host(session, list(running), service_id, (*LOADS, *_RESIDENT), times)
    found = []
    for host_id, (host, since) in running.items():
        after = since.timestamp()
        whole, part = _later(hosts[host_id], after), _later(own[host_id], after)
        told = _sampled(part) or _counted(whole, part, host)
        if told is not None:
            found.append(told)
    return measure_share(found)


def _find_running(
    session: ReadSession, ids: Sequence[int], policy: HostPolicy, start: datetime
) -> dict[int, tuple[Host, datetime]]:
    """Hosts with a slower tier that run the policy, and since when they have."""
    running: dict[int, tuple[Host, datetime]] = {}
    for host_id, at, body in read_inventories_since(session, ids, start):
        host = read_host(body)
        if not host.has_slow_tier or policy_of_host(host) != policy:
            running.pop(host_id, None)
        else:
            running[host_id] = (host, running[host_id][1] if host_id in running else max(at, start))
    return running


def _by_host(
    session: ReadSession,
    ids: Sequence[int],
    service_id: int,
    columns: Sequence[str],
    times: tuple[datetime, datetime],
) -> Mapping[int, Means]:
    found: dict[int, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for cell in read_ledger_means(session, ids, service_id, columns, times, HOUR_S):
        found[cell.host_id][cell.name][cell.end_s] = cell.value
    return found


def _later(means: Means, after_s: float) -> Means:
    """Whole hours after a time."""
    return {name: {end: value for end, value in of.items() if end - HOUR_S >= after_s} for name, of in means.items()}


def _sampled(own: Means) -> HostAccesses | None:
    """Sampled loads of the service; None where there are none."""
    (fast, slow), (top, below) = _means(own, LOADS), _means(own, _RESIDENT)
    hours = len(own.get(LOADS[0], {}))
    counts = fast * hours * HOUR_S, slow * hours * HOUR_S
    return None if fast + slow <= 0.0 else HostAccesses("sampled_loads", *counts, 0.0, top, below)


def _counted(whole: Means, own: Means, host: Host) -> HostAccesses | None:
    """Bytes at memory of a host that the service is nearly alone on, without those of page moves."""
    resident = sum(_means(whole, _RESIDENT))
    top, below = _means(own, _RESIDENT)
    fast, slow, *moved_pages = _means(whole, (*TRAFFIC, *_MOVED))
    moved = bytes_of(sum(moved_pages), host.page_bytes)
    if moved is None or fast + slow <= 0.0 or top + below < ALONE_MIN * resident:
        return None
    return HostAccesses("memory_traffic", fast, slow, moved, top, below)


def _means(means: Means, columns: Sequence[str]) -> tuple[float, ...]:
    """Means over the hours in which all of the columns are known; none where there are no such hours."""
    known = [means.get(name, {}) for name in columns]
    hours = set.intersection(*(set(of) for of in known))
    return tuple(float(np.mean([of[hour] for hour in hours])) if hours else 0.0 for of in known)
