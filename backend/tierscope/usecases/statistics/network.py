"""RDMA and SMC-R on both sides of a comparison of services: what may make them differ besides memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from tierscope.core.database import ReadSession
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Window
from tierscope.domain.fleet.network import HostNetwork, NetworkSide, SidesEffect, compare_peers, compare_sides
from tierscope.storage.base.subjects import SubjectHost, hosts_by_id, service_members
from tierscope.storage.fleet.hosts import read_rdma_devices
from tierscope.storage.statistics.rows import GroupRow, read_groups
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import require_service_hosts
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.statistics.update import read_members


@dataclass(frozen=True, slots=True)
class ComparedNetwork:
    """RDMA and SMC-R of the hosts of one side."""

    service_id: str
    service: str
    window: Window
    n_hosts: int
    n_known: Annotated[int, Described("Hosts whose network is known at the end of the window.")]
    with_rdma_ratio: Annotated[float | None, Described("Share of these with RDMA or SMC-R; null: none is known.")]
    changed: Annotated[tuple[str, ...], Described("Hosts on which it changed within the window.")]


@dataclass(frozen=True, slots=True)
class NetworkComparison:
    """Whether RDMA or SMC-R may explain a difference between two services, or between two times of one."""

    effect: Annotated[
        SidesEffect,
        Described(
            "`sides_differ`: more hosts of one side have it; `changed`: it came or went; `not_known`: of a side."
        ),
    ]
    warnings: tuple[str, ...]
    side: ComparedNetwork
    other: ComparedNetwork
    peers: Annotated[
        tuple[str, ...], Described("Warnings of groups of peer hosts of the services, within `side.window`.")
    ]


class NetworkReads:
    """Compares the network of services' hosts."""

    def __init__(self, context: ReadContext) -> None:
        self._context = context

    def compare(
        self,
        service_id: str,
        other_id: str | None,
        *,
        from_: str | None,
        to: str | None,
        other_from: str | None,
        other_to: str | None,
    ) -> NetworkComparison:
        """The network of a service's hosts beside that of another, or of the same at another time.

        Args:
            service_id: one side.
            other_id: the other; None for the same service.
            from_: start of the window of `service_id`.
            to: its end.
            other_from: start of the window of the other side; None for the same window.
            other_to: its end.

        Raises:
            NotFound: one of the services is not there.
            BadRequest: a window cannot be read.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now)
        other_window = (
            window if other_from is None and other_to is None else parse_window(other_from, other_to, now=now)
        )
        with self._context.database.read() as session:
            one, side = _read_side(session, service_id, window)
            two, other = _read_side(session, other_id or service_id, other_window)
            sides = {view.service_id: view.service for view in (one, two)}
            peers = [
                text for service, name in sides.items() for text in _warn_of_service(session, service, name, window)
            ]
        if one.service_id == two.service_id:
            side, other = NetworkSide("this time", side.hosts), NetworkSide("the other time", other.hosts)
        effect, warnings = compare_sides(side, other)
        return NetworkComparison(effect, warnings, one, two, tuple(peers))


def read_networks(session: ReadSession, hosts: Sequence[SubjectHost], window: Window) -> tuple[HostNetwork, ...]:
    """RDMA devices and SMC-R of hosts at the ends of a window."""
    before, after = read_rdma_devices(session, [host.id for host in hosts], (window.start, window.end))
    return tuple(HostNetwork(host.name, before.get(host.id), after.get(host.id)) for host in hosts)


def warn_of_peers(session: ReadSession, groups: Mapping[int, GroupRow], window: Window) -> dict[int, tuple[str, ...]]:
    """Warnings by group of peer hosts where RDMA or SMC-R differs between them, or changed within the window.

    Which hosts are peers is read of their inventories, and only where not all hosts of the services are alike.
    """
    services = {group.service_id for group in groups.values() if group.key is not None}
    of_service: dict[int, list[int]] = {}
    for service_id, host_id in service_members(session):
        if service_id in services:
            of_service.setdefault(service_id, []).append(host_id)
    ids = sorted({host_id for hosts in of_service.values() for host_id in hosts})
    before, after = read_rdma_devices(session, ids, (window.start, window.end))
    odd = {service for service, hosts in of_service.items() if _differ([(before.get(h), after.get(h)) for h in hosts])}
    if not odd:
        return {}
    members = read_members(session)
    names = {host.id: host.name for host in hosts_by_id(session, ids)}
    found = {}
    for group_id, group in groups.items():
        if group.key is None or group.service_id not in odd:
            continue
        peers = [host for host in members.hosts.get(group.service_id, ()) if members.keys[host] == group.key]
        networks = [HostNetwork(names[host], before.get(host), after.get(host)) for host in peers if host in names]
        if warnings := compare_peers(networks):
            found[group_id] = warnings
    return found


def _warn_of_service(session: ReadSession, service_id: str, name: str, window: Window) -> list[str]:
    groups = {group.id: group for group in read_groups(session, service_id)}
    found = warn_of_peers(session, groups, window).values()
    return [f"Peer hosts of {name}: {text}" for texts in found for text in texts]


def _differ(networks: Sequence[tuple[frozenset[str] | None, frozenset[str] | None]]) -> bool:
    known = {bool(after) for _, after in networks if after is not None}
    changed = any(before != after for before, after in networks if before is not None and after is not None)
    return len(known) > 1 or changed


def _read_side(session: ReadSession, service_id: str, window: Window) -> tuple[ComparedNetwork, NetworkSide]:
    service, hosts = require_service_hosts(session, service_id)
    name = f"{service.namespace}/{service.name}"
    side = NetworkSide(name, read_networks(session, hosts, window))
    view = ComparedNetwork(
        service_id=service.public_id,
        service=name,
        window=window,
        n_hosts=len(hosts),
        n_known=len(side.known),
        with_rdma_ratio=side.share,
        changed=side.changed,
    )
    return view, side
