"""All hosts on one screen: how large each is, what it runs, and how it does."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from tierscope.core.errors import BadRequest
from tierscope.domain.base.copying import copied
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Origin
from tierscope.domain.base.jobs import LATE
from tierscope.domain.base.vocabulary import Severity
from tierscope.domain.fleet.host_facts import HostState
from tierscope.domain.fleet.hosts_away import HostsAway
from tierscope.domain.heat.classes import CLASSES, MOST_UNKNOWN
from tierscope.domain.heat.joined import JoinedSources
from tierscope.storage.fleet.grid import GridPart, GridRow, grid_at, grid_now
from tierscope.storage.nodes.counts import read_hosts_away
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.windows import parse_instant
from tierscope.usecases.fleet.limits import limits_at
from tierscope.usecases.fleet.tags import read_tagged
from tierscope.usecases.heat.services import RULE, HeatNow, read_heat_at, read_heat_now

MOST_HOSTS = 10_000
"""A larger fleet is told by group."""
SPAN = timedelta(minutes=10)
"""Rows so long before a moment of the past say how a host was then."""


@dataclass(frozen=True, slots=True)
class GridHost:
    """A host. Numbers that nobody collected are null."""

    id: str
    name: str
    origin: Origin
    state: Annotated[HostState | None, Described("Null at a moment of the past of which it has no rows.")]
    service: Annotated[str | None, Described("The service with most measured memory on it, else the first by name.")]
    labels: dict[str, str]
    kernel: str | None
    memory_bytes: int | None
    verdict: str
    tiering_off: bool | None
    psi_memory_some_ratio: float | None
    finding_severity: Annotated[Severity | None, Described("Of its gravest finding; null without a warning.")]
    cold_ratio: Annotated[float | None, Described("Cold share of its memory with measured heat, 0..1.")]


@dataclass(frozen=True, slots=True)
class FleetGrid:
    """All hosts at one moment, the largest first."""

    at: Annotated[datetime, Described("The moment that verdicts, memory pressure, findings and cold shares are of.")]
    is_now: Annotated[bool, Described("False at a moment of the past: sizes, services and labels are those of now.")]
    known_since: Annotated[datetime, Described("Verdicts and memory pressure of before are not kept.")]
    hosts_shown: Annotated[int, Described("Hosts in `hosts`: all of them, or none where `parts` tell of them.")]
    hosts_total: Annotated[int, Described("All hosts, whether one by one or in `parts`.")]
    hosts_reporting: Annotated[int | None, Described("So many of them report; null at a moment of the past.")]
    away: Annotated[HostsAway, Described("Hosts that are left out now.")]
    hosts: Annotated[tuple[GridHost, ...], Described("None where there are more than 10,000: `parts` tell of them.")]
    parts: Annotated[tuple[GridPart, ...], Described("More than 10,000 hosts, by group; empty for a smaller fleet.")]
    label_keys: Annotated[tuple[str, ...], Described("Labels that some host has, by which hosts can be grouped.")]
    simulated: bool


class GridReads:
    """The hosts of the whole installation, a short row each."""

    def __init__(self, context: ReadContext, *, most_hosts: int = MOST_HOSTS) -> None:
        self._context = context
        self._most_hosts = most_hosts

    def read(self, *, at: str | None = None, group: str = "service", tags: Sequence[str] = ()) -> FleetGrid:
        """All hosts that are neither retired nor revoked, as they are now or were at a moment.

        `group`: `service`, `kernel` or `label:` and a key; by it more than `most_hosts` are told.

        Raises:
            BadRequest: the time is not understood, or in the future; there is no such grouping, or a tag is none.
        """
        if group not in ("service", "kernel") and not (group.startswith("label:") and group != "label:"):
            raise BadRequest(f"{group[:80]!r} is not `service`, `kernel` or `label:` and a key")
        now = self._context.clock()
        moment = now if at is None else parse_instant(at, now=now)
        if moment > now:
            raise BadRequest(f"time is in the future: {at!r}")
        with self._context.database.read() as session:
            is_now = moment == now
            grid = grid_now(limits_at(now)) if is_now else grid_at(session, moment, span=SPAN)
            tagged = read_tagged(session, tags)
            grid = grid if tagged is None else grid.of(tagged.hosts)
            heats = read_heat_now(session, now=now) if is_now else read_heat_at(session, moment)
            counts = grid.count(session)
            total = sum(counts.values())
            sources = tuple(heat.source for heat in heats.values() if heat.source is not None)
            cold = _cold_ratios(JoinedSources(sources)) if sources else {}
            largest = _largest_services(heats)
            few = total <= self._most_hosts
            rows = grid.rows(session, limit=self._most_hosts) if few else []
            parts = () if few else tuple(grid.parts(session, group, largest, cold))
            keys = grid.label_keys(session)
            away = read_hosts_away(session)
        return FleetGrid(
            at=moment,
            is_now=is_now,
            known_since=now - LATE,
            hosts_shown=len(rows),
            hosts_total=total,
            hosts_reporting=counts.get("reporting", 0) if is_now else None,
            away=away,
            hosts=tuple(_host(row, largest.get(row.host_id), cold.get(row.host_id)) for row in rows),
            parts=parts,
            label_keys=tuple(keys),
            simulated="simulated" in {*(row.origin for row in rows), *(part.origin for part in parts)},
        )


def _cold_ratios(joined: JoinedSources) -> dict[int, float]:
    """Cold shares by host, without hosts of whose memory too little has a class, as after a restart of the agent."""
    unknown = joined.host_ratios(RULE, CLASSES.index("unknown"))
    shares = joined.host_ratios(RULE, CLASSES.index("cold"))
    return {host: value for host, (value, _, _) in shares.items() if unknown[host][0] <= MOST_UNKNOWN}


def _host(row: GridRow, largest: int | None, cold: float | None) -> GridHost:
    names = dict(row.services)
    service = names.get(largest) if largest is not None else None
    return copied(GridHost, row, id=row.public_id, service=service or next(iter(names.values()), None), cold_ratio=cold)


def _largest_services(heats: dict[int, HeatNow]) -> dict[int, int]:
    """By host, the service with most measured memory on it."""
    most: dict[int, tuple[float, int]] = {}
    for service_id, heat in heats.items():
        if heat.source is None:
            continue
        for host_id, resident in heat.source.host_resident().items():
            if resident > most.get(host_id, (-1.0, 0))[0]:
                most[host_id] = (resident, service_id)
    return {host_id: service_id for host_id, (_, service_id) in most.items()}
