"""RDMA and SMC-R of hosts: what else than memory may make two sides of a comparison differ.

Where TCP gives way to SMC-R, redis was measured at 40 to 60 % more operations (KeyarchOS); a comparison of memory would
take that for memory's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

NAME = "Confounder rdma_smc"

SidesEffect = Literal["none", "sides_differ", "changed", "not_known"]
WARNED: tuple[SidesEffect, ...] = ("sides_differ", "changed")
"""Effects for which a difference may be the network's."""


@dataclass(frozen=True, slots=True)
class HostNetwork:
    """Whether one host had SMC-R, and its RDMA devices, before and after; None where no inventory says."""

    name: str
    before: frozenset[str] | None
    after: frozenset[str] | None

    @property
    def known(self) -> bool:
        """Whether both are known."""
        return self.before is not None and self.after is not None

    @property
    def changed(self) -> bool:
        """Whether devices or SMC-R came or went."""
        return self.known and self.before != self.after

    @property
    def step(self) -> float:
        """1 where devices or SMC-R came, -1 where they went, 0 elsewhere and where it is not known."""
        if self.before is None or self.after is None:
            return 0.0
        return float(np.sign(len(self.after) - len(self.before)))


@dataclass(frozen=True, slots=True)
class NetworkSide:
    """One side of a comparison, over the hosts that it is of; `name` as people call it."""

    name: str
    hosts: tuple[HostNetwork, ...]

    @property
    def known(self) -> tuple[HostNetwork, ...]:
        """Hosts whose network at the end of the side's window is known."""
        return tuple(host for host in self.hosts if host.after is not None)

    @property
    def share(self) -> float | None:
        """Share of these that had RDMA or SMC-R; None where none is known."""
        return sum(bool(host.after) for host in self.known) / len(self.known) if self.known else None

    @property
    def changed(self) -> tuple[str, ...]:
        """Hosts on which it changed within the window."""
        return tuple(host.name for host in self.hosts if host.changed)


def compare_sides(one: NetworkSide, other: NetworkSide) -> tuple[SidesEffect, tuple[str, ...]]:
    """Whether RDMA or SMC-R may explain a difference between two sides, with warnings.

    It may where the shares of hosts that have it differ, where it changed within a window, and where a host that is on
    both sides had it on one of them alone.
    """
    warnings = [
        f"RDMA and SMC-R are not known of {unknown} of {len(side.hosts)} hosts of {side.name}."
        for side in (one, other)
        if (unknown := len(side.hosts) - len(side.known)) or not side.hosts
    ]
    if one.share is None or other.share is None:
        return "not_known", tuple(warnings)
    effect: SidesEffect = "none"
    earlier = {host.name: host.after for host in other.known}
    moved = [host.name for host in one.known if host.name in earlier and earlier[host.name] != host.after]
    if changed := list(dict.fromkeys([*one.changed, *other.changed, *moved])):
        effect = "changed"
        warnings.append(f"{NAME}: RDMA or SMC-R changed on {some_names(changed)}: a difference may be the network's.")
    if one.share != other.share:
        effect = "sides_differ"
        warnings.append(
            f"{NAME}: {one.share:.0%} of the hosts of {one.name} and {other.share:.0%} of those of {other.name} have"
            " RDMA or SMC-R: a difference may be the network's."
        )
    return effect, tuple(warnings)


def compare_peers(hosts: Sequence[HostNetwork]) -> tuple[str, ...]:
    """Warnings where hosts that should be alike differ in RDMA or SMC-R, or it changed on some of them.

    What is not known of a host says nothing.
    """
    warnings = []
    having = [host.name for host in hosts if host.after]
    without = [host.name for host in hosts if host.after is not None and not host.after]
    if having and without:
        fewer, have = (having, "have") if len(having) <= len(without) else (without, "have no")
        warnings.append(
            f"{NAME}: {some_names(fewer)} {have} RDMA or SMC-R, unlike the other peers: a difference between them may"
            " be the network's."
        )
    if changed := [host.name for host in hosts if host.changed]:
        warnings.append(f"{NAME}: RDMA or SMC-R changed on {some_names(changed)}: so may what is measured there.")
    return tuple(warnings)


def some_names(names: Sequence[str]) -> str:
    """Names of hosts, the first three of many."""
    listed = ", ".join(names[:3])
    return listed if len(names) <= 3 else f"{len(names)} hosts, such as {listed}"  # noqa: PLR2004 - as the docstring says
