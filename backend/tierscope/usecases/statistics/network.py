"""RDMA and SMC-R on both sides of a comparison of services: what may make them differ besides memory."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated

from tierscope.core.cache import StoredCache
from tierscope.core.database import ReadSession
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Window
from tierscope.domain.fleet.network import HostNetwork, NetworkSide, SidesEffect, compare_peers, compare_sides
from tierscope.domain.fleet.peer_hosts import LikeKey
from tierscope.storage.base.subjects import SubjectHost, hosts_by_id
from tierscope.storage.fleet.hosts import read_rdma_devices
from tierscope.storage.statistics.rows import GroupRow, read_groups
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import require_service_hosts
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.statistics.machines import KnownMachines
from tierscope.usecases.statistics.update import read_members

_PEERS_SECONDS = 60.0
"""As long may labels of hosts have changed unseen."""


@dataclass(frozen=True, slots=True)
class ComparedNetwork:
    """RDMA and SMC-R of the hosts of one side."""

    service_id: str
    service: str
    window: Window
    n_hosts: Annotated[int, Described("Hosts that run it.", as_of="now")]
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


class PeerNetworks:
    """RDMA and SMC-R of peer hosts. Kept by a process: what inventories said, and for a minute which hosts are peers.

    A read then costs the times of the newest inventories, and what only new ones say.
    """

    def __init__(self) -> None:
        self._machines = KnownMachines()
        self._peers: StoredCache[None, dict[tuple[int, LikeKey], list[int]]] = StoredCache(
            1, lifetime_seconds=_PEERS_SECONDS
        )

    def warnings(
        self, session: ReadSession, groups: Mapping[int, GroupRow], window: Window
    ) -> dict[int, tuple[str, ...]]:
        """Warnings by group of peer hosts where RDMA or SMC-R differs between them, or changed within the window."""
        wanted = {group.id: (group.service_id, group.key) for group in groups.values() if group.key is not None}
        if not wanted:
            return {}
        starts, ends = self._machines.at(session, window.start, window.end)
        networks = {
            host: (starts[host].devices if host in starts else None, machine.devices) for host, machine in ends.items()
        }
        if not _differ(set(networks.values())):
            return {}
        peers = self._hosts_by_key(session)
        odd = {
            group: hosts
            for group, key in wanted.items()
            if (hosts := [host for host in peers.get(key, ()) if host in networks])
            and _differ({networks[host] for host in hosts})
        }
        names = {host.id: host.name for host in hosts_by_id(session, sorted({*chain(*odd.values())}))}
        return {
            group: compare_peers([HostNetwork(names[host], *networks[host]) for host in hosts if host in names])
            for group, hosts in odd.items()
        }

    def _hosts_by_key(self, session: ReadSession) -> dict[tuple[int, LikeKey], list[int]]:
        found = self._peers.get(None)
        if found is None:
            found, members = {}, read_members(session, self._machines)
            for service_id, hosts in members.hosts.items():
                for host in hosts:
                    found.setdefault((service_id, members.keys[host]), []).append(host)
            self._peers.put(None, found, generation=session.generation)
        return found


class NetworkReads:
    """Compares the network of services' hosts."""

    def __init__(self, context: ReadContext, networks: PeerNetworks | None = None) -> None:
        self._context = context
        self._networks = networks or PeerNetworks()

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
            peers = [text for side in sides.items() for text in _warn_of_service(self._networks, session, side, window)]
        if one.service_id == two.service_id:
            side, other = NetworkSide("this time", side.hosts), NetworkSide("the other time", other.hosts)
        effect, warnings = compare_sides(side, other)
        return NetworkComparison(effect, warnings, one, two, tuple(peers))


def read_networks(session: ReadSession, hosts: Sequence[SubjectHost], window: Window) -> tuple[HostNetwork, ...]:
    """RDMA devices and SMC-R of hosts at the ends of a window."""
    before, after = read_rdma_devices(session, [host.id for host in hosts], (window.start, window.end))
    return tuple(HostNetwork(host.name, before.get(host.id), after.get(host.id)) for host in hosts)


def _warn_of_service(
    networks: PeerNetworks, session: ReadSession, service: tuple[str, str], window: Window
) -> list[str]:
    service_id, name = service
    groups = {group.id: group for group in read_groups(session, service_id)}
    found = networks.warnings(session, groups, window).values()
    return [f"Peer hosts of {name}: {text}" for texts in found for text in texts]


def _differ(networks: Collection[tuple[frozenset[str] | None, frozenset[str] | None]]) -> bool:
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
