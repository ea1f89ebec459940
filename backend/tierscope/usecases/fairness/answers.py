"""The answers about fairness between the tenants of a host."""

from dataclasses import dataclass
from typing import Annotated, Literal

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Origin, Series, TimeAxis, Window
from tierscope.domain.fairness.vocabulary import Basis

TenantKind = Literal["service", "cgroup"]
Sureness = Literal["counted", "correlated", "possible"]


@dataclass(frozen=True, slots=True)
class FairShare:
    """What a tenant would hold of the top tier by one definition of fair, and how much more it holds."""

    basis: Basis
    meaning: str
    claim_bytes: Annotated[Figure, Described("What the definition rests on: hot memory, protection or limit.")]
    fair_bytes: Figure
    over_bytes: Annotated[Figure, Described("Held less fair; negative below the fair share.")]


@dataclass(frozen=True, slots=True)
class TenantShare:
    """A service or control group of a host: what it holds of the top tier, against what is fair."""

    id: Annotated[str, Described("Id of the service, or path of the control group.")]
    name: str
    source: Annotated[str, Described("memory.numa_stat | heat: where its place in memory is known from.")]
    top_bytes: Figure
    resident_bytes: Figure
    top_share: Annotated[Figure, Described("Of the size of the host's top tier.")]
    demoted_pages: Figure
    fair: tuple[FairShare, ...]


@dataclass(frozen=True, slots=True)
class PushCorrelation:
    """Rank correlation over time of one tenant's demotions with what another took."""

    value: float
    lo: Annotated[float, Described("The interval holds for all pairs of the host at once, at 95 %.")]
    hi: float
    n_effective: Annotated[float, Described("How many independent intervals the autocorrelated ones are worth.")]


@dataclass(frozen=True, slots=True)
class Push:
    """Pages of one tenant that were demoted while another took memory of the top tier."""

    victim: Annotated[str, Described("Id of a tenant.")]
    taker: Annotated[str | None, Described("Id of a tenant; null: free memory, and memory of none of them.")]
    pages: Annotated[Figure, Described("A split in proportion to what each took, between bounds from counting.")]
    correlation: PushCorrelation | None
    sureness: Annotated[
        Sureness,
        Described("counted: at least some by counting alone; correlated: goes along over time; possible: neither."),
    ]


@dataclass(frozen=True, slots=True)
class HostFairness:
    """Who holds how much of a host's top tier, against what is fair, and who pushed whom out of it."""

    host_id: str
    host: str
    origin: Origin
    window: Window
    axis: TimeAxis
    by: TenantKind
    basis: Annotated[Basis, Described("The definition of fair that series are made by.")]
    basis_note: str
    top_bytes: Annotated[Figure, Described("Size of the top tier.", as_of="inventory")]
    held_bytes: Annotated[Figure, Described("What the tenants hold of it together: what is divided.")]
    tenants: tuple[TenantShare, ...]
    series: Annotated[
        tuple[Series, ...],
        Described("By tenant: `held:`, `fair:` of the top tier's size, `demoted:` and `taken:` in pages_per_s."),
    ]
    pushes: tuple[Push, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostTenant:
    """A service as a tenant of one host."""

    host_id: str
    host: str
    tenant: TenantShare
    n_tenants: int
    worst_below: Annotated[
        str | None, Described("Name of the tenant of this host that is furthest below its fair share.")
    ]


@dataclass(frozen=True, slots=True)
class ServiceFairness:
    """A service against the others on each of its hosts, and summed over them."""

    service_id: str
    service: str
    origin: Origin
    window: Window
    basis: Basis
    over_bytes: Annotated[Figure, Described("Held less fair, summed over hosts.")]
    hosts: tuple[HostTenant, ...]
    n_left_out: Annotated[int, Described("Hosts that were left out, as there are too many for one answer.")]
    notes: tuple[str, ...]
