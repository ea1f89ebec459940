"""What the read of an incident answers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, FigureStatus, Origin, Series, TimeAxis, Window
from tierscope.domain.ledger import Sign
from tierscope.storage.fleet.events import EventItem
from tierscope.usecases.alerts.answers import AlertSubject
from tierscope.usecases.alerts.incident_sharing import SharedHosts
from tierscope.usecases.ledger.answers import ServiceState
from tierscope.usecases.ledger.ping_pong import StateStretch

IncidentKind = Literal["capacity", "spill", "agent", "tiering"]
RowKey = Literal["tier_moves", "free_memory", "pressure", "refaults", "throughput", "latency", "hot_outside"]


@dataclass(frozen=True, slots=True)
class IncidentRow:
    """Lines that belong on one chart, on the axis of the answer."""

    key: RowKey
    label: str
    status: FigureStatus
    reason: Annotated[str | None, Described("Why there are no lines; null where status is ok.")]
    series: Annotated[tuple[Series, ...], Described("Empty unless status is ok.")]


@dataclass(frozen=True, slots=True)
class IncidentCause:
    """The gravest verdict of the hosts while the condition held."""

    host_id: Annotated[str | None, Described("The host of which it is the verdict; null where no host has one.")]
    host_name: str | None
    verdict: str
    explanation: str
    evidence: tuple[Sign, ...]
    against: tuple[Sign, ...]
    runner_up: str | None


@dataclass(frozen=True, slots=True)
class IncidentHost:
    """A host that the incident touched; of a service's own control groups where the host counts them."""

    host_id: str
    host_name: str
    verdict: str
    explanation: str
    promotion_pages_per_s: Figure
    demotion_pages_per_s: Figure
    psi_memory_some_ratio: Figure


@dataclass(frozen=True, slots=True)
class IncidentOnset:
    """When it began, and why that is not one moment. Moments are ends of minutes."""

    held_at: Annotated[
        datetime | None,
        Described("Since when the condition held without a break; null where its minutes are no longer known."),
    ]
    pending_at: Annotated[datetime | None, Described("Null where the alert fired at once.")]
    fired_at: datetime | None
    resolved_at: datetime | None
    why: Annotated[tuple[str, ...], Described("Sentences; empty where the rule is gone.")]


@dataclass(frozen=True, slots=True)
class Incident:
    """The time around an alert on one axis, what caused it, and whom it touched."""

    alert_id: str
    kind: Annotated[
        IncidentKind,
        Described(
            "What its rule watches: when memory runs out, allocations that go to another node, the agent, or else what"
            " moves between tiers. It says what helps: a plan, free memory, a mended agent, or settings."
        ),
    ]
    subject: AlertSubject
    origin: Origin
    window: Window
    judged: Annotated[Window, Described("What cause, hosts and services are of: while the condition held.")]
    axis: TimeAxis
    onset: IncidentOnset
    ribbon: Annotated[tuple[StateStretch, ...], Described("Which verdict held when; of several hosts the gravest.")]
    rows: tuple[IncidentRow, ...]
    events: Annotated[
        tuple[EventItem, ...],
        Described("Of the hosts and services, and of the whole fleet, in order of time."),
    ]
    cause: IncidentCause
    hosts: Annotated[tuple[IncidentHost, ...], Described("Gravest verdict first, then by pages moved.")]
    services: tuple[ServiceState, ...]
    shared: Annotated[SharedHosts, Described("Who took whose fast memory on its hosts, while the condition held.")]
    notes: tuple[str, ...]
