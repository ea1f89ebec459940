"""What an incident says of services that share its hosts: who took whose fast memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Window

MOST_HOSTS = 3
"""Hosts of an incident on which tenants are told apart: those with the gravest verdicts."""


@dataclass(frozen=True, slots=True)
class TakenMemory:
    """Pages of one service that left the top tier of a host while another took memory there."""

    host_id: str
    host: str
    victim_id: str
    victim: str
    taker_id: str
    taker: str
    pages: Annotated[Figure, Described("A split in proportion to what each took, between bounds from counting.")]
    sureness: Annotated[
        Literal["counted", "correlated", "possible"],
        Described("counted: at least some by counting alone; correlated: goes along over time; possible: neither."),
    ]
    victim_over_bytes: Annotated[Figure, Described("Held of the top tier less its fair share.")]
    taker_over_bytes: Figure
    sentence: str


@dataclass(frozen=True, slots=True)
class SharedHosts:
    """Who took whose fast memory on the hosts of an incident, most pages first; with the reason where nobody did."""

    taken: tuple[TakenMemory, ...]
    reason: Annotated[str | None, Described("Why there are no lines; null where there are some.")]


class TellsTaken(Protocol):
    """Who knows the tenants of hosts."""

    def taken(self, host_ids: Sequence[str], service_id: str | None, window: Window) -> SharedHosts:
        """On these hosts in a window; of a service, what it took and what was taken of it."""
        ...
