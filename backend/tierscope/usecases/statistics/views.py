"""What fleet statistics answer. Attributes are those of the API."""

from dataclasses import dataclass
from typing import Literal

from tierscope.domain.base.figures import Figure, Window


@dataclass(frozen=True, slots=True)
class GroupKeyView:
    """What the hosts of a group have in common. None where inventories do not say."""

    service_id: str
    service: str
    sku: str | None
    ratio: str | None
    kernel: str | None
    agent_version: str | None


@dataclass(frozen=True, slots=True)
class QuantilesView:
    """Values at four ranks over host-hours."""

    p10: float
    p50: float
    p90: float
    p99: float


@dataclass(frozen=True, slots=True)
class ShrunkView:
    """The median of a small group, drawn towards that of its parent: all hosts of the service."""

    value: float
    own: float
    parent: float
    weight: float


@dataclass(frozen=True, slots=True)
class GroupMetricView:
    """One metric over a group. `n` host-hours."""

    metric: str
    label: str
    unit: str
    n: int
    quantiles: QuantilesView
    source: Literal["raw", "sketch"]
    shrunk: ShrunkView | None


@dataclass(frozen=True, slots=True)
class GroupView:
    """Peer hosts. `n_hosts`: of its newest hour."""

    key: GroupKeyView
    n_hosts: int
    metrics: tuple[GroupMetricView, ...]


@dataclass(frozen=True, slots=True)
class OutlierView:
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
    group: GroupKeyView


@dataclass(frozen=True, slots=True)
class MatchedEvent:
    """An event within 15 minutes of a change."""

    id: str
    at: float
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class ChangeView:
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
    newest_hour: float | None
    groups: tuple[GroupView, ...]
    outliers: tuple[OutlierView, ...]
    changes: tuple[ChangeView, ...]
    missing: Figure | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FeatureView:
    """One feature of a service beside its cluster. None where it was not measured."""

    key: str
    label: str
    unit: str
    value: float | None
    cluster_median: float | None


@dataclass(frozen=True, slots=True)
class LookalikeMember:
    """A service of the same cluster; `distance` in standard deviations of the features, Euclidean."""

    service_id: str
    name: str
    n_hosts: int
    distance: float


@dataclass(frozen=True, slots=True)
class Lookalikes:
    """The answer of /v1/services/{id}/lookalikes. `cluster` None where the service stands with no other."""

    service_id: str
    cluster: str | None
    n_hosts: int | None
    members: tuple[LookalikeMember, ...]
    silhouette: float | None
    features: tuple[FeatureView, ...]
    missing: Figure | None
    notes: tuple[str, ...]
