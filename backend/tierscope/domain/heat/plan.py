"""Where heat is measured: some hosts of each service, chosen by hash and turned over every day.

Figures of a service need some hosts, not all of them. Each (day, service, host) has a hash; the hosts with the lowest
ones measure (rendezvous hashing), so that a host that comes or goes changes the place of at most one other.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

HEAT_HOSTS = 20
"""Hosts of each service that measure heat."""
SAMPLE_HOSTS = 3
"""Hosts of each service that send page samples; they are among those that measure heat."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Ids of the hosts of one service that measure heat and that send page samples; None = all of them."""

    heat: frozenset[int] | None
    samples: frozenset[int] | None


def choose_hosts(day: date, service: str, hosts: Iterable[int]) -> Chosen:
    """Choose among the hosts that run a service. The answer depends on the day, the service and the set alone."""
    ranked = sorted(set(hosts), key=lambda host: (_rank(day, service, host), host))
    return Chosen(
        frozenset(ranked[:HEAT_HOSTS]) if len(ranked) > HEAT_HOSTS else None,
        frozenset(ranked[:SAMPLE_HOSTS]) if len(ranked) > SAMPLE_HOSTS else None,
    )


@dataclass(frozen=True, slots=True)
class HostPlan:
    """Services (`namespace/name`) that one host measures and samples; None = no plan, what its own file lists."""

    services: tuple[str, ...] | None
    sample_services: tuple[str, ...] | None


NO_PLAN = HostPlan(None, None)


def plan_host(host: int, services: Mapping[str, Chosen]) -> HostPlan:
    """The plan of a host that runs these services. None where none of them is limited to other hosts."""
    heat = {name: chosen.heat is None or host in chosen.heat for name, chosen in services.items()}
    samples = {name: chosen.samples is None or host in chosen.samples for name, chosen in services.items()}
    return HostPlan(_names(heat), _names(samples))


def _names(wanted: Mapping[str, bool]) -> tuple[str, ...] | None:
    return None if all(wanted.values()) else tuple(sorted(name for name, here in wanted.items() if here))


def _rank(day: date, service: str, host: int) -> bytes:
    return hashlib.blake2b(f"{day.isoformat()}|{service}|{host}".encode(), digest_size=8).digest()
