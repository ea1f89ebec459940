"""What fleet statistics answer. Attributes are those of the API."""

from dataclasses import dataclass
from typing import Annotated, Literal

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Window


@dataclass(frozen=True, slots=True)
class GroupKey:
    """What the hosts of a group have in common. None where inventories do not say."""

    service_id: str
    service: str
    sku: Annotated[str | None, Described("The label `sku`, else processor model and memory.")]
    ratio: Annotated[str | None, Described("DRAM to slower memory, such as `8:1`.")]
    kernel: Annotated[str | None, Described("Kernel family, such as `6.8`.")]
    agent_version: str | None


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Values at four ranks over host-hours."""

    p10: float
    p50: float
    p90: float
    p99: float


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The median of a small group, drawn towards that of all hosts of the service: w = n / (n + 5)."""

    value: float
    own: float
    parent: float
    weight: float


@dataclass(frozen=True, slots=True)
class GroupMetric:
    """One metric over a group. `n` host-hours."""

    metric: str
    label: str
    unit: str
    n: Annotated[int, Described("Host-hours.")]
    quantiles: Quantiles
    source: Annotated[
        Literal["raw", "sketch"], Described("All values, or a KLL sketch with ranks off by at most 1.3 %.")
    ]
    shrunk: Shrunk | None


@dataclass(frozen=True, slots=True)
class Group:
    """Peer hosts. `n_hosts`: of its newest hour."""

    key: GroupKey
    n_hosts: int
    metrics: tuple[GroupMetric, ...]
    confounders: Annotated[
        tuple[str, ...], Described("Warnings: its hosts differ in RDMA or SMC-R, or it changed on some.")
    ]


@dataclass(frozen=True, slots=True)
class Outlier:
    """A host beyond 3.5 robust standard deviations of its group, on one side, for `windows` hours in a row."""

    host_id: str
    host: str
    metric: str
    label: str
    unit: str
    value: float
    median: float
    score: float
    windows: int
    group: GroupKey
    confounders: Annotated[tuple[str, ...], Described("Those of its group.")]


@dataclass(frozen=True, slots=True)
class HostDrift:
    """The metric in which a host is furthest from its peers, in either direction."""

    host_id: str
    service_id: str
    service: Annotated[str, Described("The service whose hosts are the peers.")]
    metric: str
    label: str
    unit: str
    value: float
    median: Annotated[float, Described("Of its peers and itself.")]
    score: Annotated[float, Described("Distance from the median in robust standard deviations.")]
    n_hosts: Annotated[int, Described("Peers compared, the host included.")]


@dataclass(frozen=True, slots=True)
class FleetDrift:
    """The answer of /v1/fleet/drift. Hosts with fewer than seven peers are not in it."""

    window: Annotated[Window | None, Described("The hour that was compared; null where none is counted.")]
    limit: Annotated[float, Described("Scores beyond it are looked at as outliers.")]
    hosts: tuple[HostDrift, ...]
    missing: Annotated[Figure | None, Described("Why there are none.")]


@dataclass(frozen=True, slots=True)
class MatchedEvent:
    """An event within 15 minutes of a change."""

    id: str
    at: float
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """A service's metric changed its level; `at` in Unix seconds."""

    at: float
    service_id: str
    subject: str
    metric: str
    label: str
    unit: str
    direction: Literal["rise", "fall"]
    before: float | None
    after: float | None
    found_by: Literal["pelt", "cusum"]
    matched: tuple[MatchedEvent, ...]


@dataclass(frozen=True, slots=True)
class FleetStatistics:
    """The answer of /v1/fleet/statistics. `missing`: why there are no groups."""

    window: Window
    newest_hour: Annotated[float | None, Described("End of the newest hour that is counted, Unix seconds.")]
    groups: tuple[Group, ...]
    outliers: tuple[Outlier, ...]
    changes: tuple[Change, ...]
    missing: Annotated[Figure | None, Described("Why there are no groups.")]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature of a service beside its cluster. None where it was not measured."""

    key: str
    label: str
    unit: str
    value: float | None
    cluster_median: float | None


@dataclass(frozen=True, slots=True)
class Lookalike:
    """A service of the same cluster; `distance` in standard deviations of the features, Euclidean."""

    service_id: str
    name: str
    n_hosts: int
    distance: Annotated[float, Described("Euclidean, in standard deviations of the features.")]


@dataclass(frozen=True, slots=True)
class Lookalikes:
    """The answer of /v1/services/{id}/lookalikes. `cluster` None where the service stands with no other."""

    service_id: str
    cluster: Annotated[str | None, Described("Null where the service stands with no other.")]
    n_hosts: Annotated[int | None, Described("Hosts of all services of the cluster.")]
    members: Annotated[tuple[Lookalike, ...], Described("The nearest first, without the service itself.")]
    silhouette: float | None
    features: tuple[Feature, ...]
    missing: Figure | None
    notes: tuple[str, ...]
