"""RDMA and SMC-R on both sides of a comparison of services: what may make them differ besides memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from tierscope.core.database import ReadSession
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Window
from tierscope.domain.fleet.network import HostNetwork, NetworkSide, SidesEffect, compare_sides
from tierscope.storage.base.subjects import SubjectHost
from tierscope.storage.fleet.hosts import read_rdma_devices
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import require_service_hosts
from tierscope.usecases.base.windows import parse_window


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
        if one.service_id == two.service_id:
            side, other = NetworkSide("this time", side.hosts), NetworkSide("the other time", other.hosts)
        effect, warnings = compare_sides(side, other)
        return NetworkComparison(effect, warnings, one, two)


def read_networks(session: ReadSession, hosts: Sequence[SubjectHost], window: Window) -> tuple[HostNetwork, ...]:
    """RDMA devices and SMC-R of hosts at the ends of a window."""
    before, after = read_rdma_devices(session, [host.id for host in hosts], (window.start, window.end))
    return tuple(HostNetwork(host.name, before.get(host.id), after.get(host.id)) for host in hosts)


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
