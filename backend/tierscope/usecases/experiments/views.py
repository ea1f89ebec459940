"""What experiments answer: the plan before, the live effect, the frozen result. Attributes are those of the API."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tierscope.domain.base.figures import Figure, Series, TimeAxis, Window
from tierscope.domain.experiments import Direction, Verdict

State = Literal["planned", "running", "ended"]
ArmName = Literal["canary", "control"]


@dataclass(frozen=True, slots=True)
class MetricChoice:
    """A metric that experiments can judge."""

    metric: str
    label: str
    unit: str
    direction: Direction


@dataclass(frozen=True, slots=True)
class HostRef:
    """A host by its public id. `has_data`: values of the first metric before and after the change."""

    host_id: str
    name: str
    has_data: bool


@dataclass(frozen=True, slots=True)
class Excluded:
    """A host of the service that is in no arm, and why."""

    host_id: str
    name: str
    why: str


@dataclass(frozen=True, slots=True)
class ArmView:
    """One group of hosts."""

    arm: ArmName
    hosts: tuple[HostRef, ...]
    n_with_data: int


@dataclass(frozen=True, slots=True)
class PowerView:
    """What the arms can find. `correlation`: of host means in two windows before the change."""

    hosts_per_arm_needed: int | None
    detectable_effect_ratio: float | None
    correlation: float | None
    why: str | None


@dataclass(frozen=True, slots=True)
class TrendsView:
    """A placebo change between two windows before the real one. `parallel` None where it cannot be told."""

    parallel: bool | None
    p_value: float | None
    why: str | None


@dataclass(frozen=True, slots=True)
class MetricView:
    """One metric: the effect relative to what the canary hosts would have had, and the same in its own unit."""

    metric: str
    label: str
    unit: str
    direction: Direction
    margin_ratio: float
    effect: Figure
    effect_absolute: Figure
    p_value: float | None
    p_adjusted: float | None
    within_margin: bool | None
    verdict: Verdict | None
    why: str
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class ExperimentView:
    """The answer of /v1/experiments/{id}."""

    id: str
    name: str
    service_id: str
    service_name: str
    advice_id: str | None
    hypothesis: str
    author: str
    created_at: datetime
    before_from: datetime
    change_at: datetime
    settling_seconds: int
    planned_end: datetime
    ended_at: datetime | None
    state: State
    frozen: bool
    progress_ratio: float
    seed: int | None
    arms: tuple[ArmView, ...]
    power: PowerView
    trends: TrendsView
    metrics: tuple[MetricView, ...]
    verdict: Verdict | None
    why: str
    axis: TimeAxis
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExperimentSummary:
    """A line of the list. `verdict` None until it has ended."""

    id: str
    name: str
    service_id: str
    service_name: str
    advice_id: str | None
    author: str
    created_at: datetime
    change_at: datetime
    planned_end: datetime
    ended_at: datetime | None
    state: State
    metrics: tuple[str, ...]
    n_canary: int
    n_control: int
    verdict: Verdict | None
    why: str | None


@dataclass(frozen=True, slots=True)
class ExperimentPage:
    """A page of the list."""

    items: tuple[ExperimentSummary, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Started:
    """A new experiment, and which hosts of the service are in no arm."""

    experiment: ExperimentView
    excluded: tuple[Excluded, ...]


@dataclass(frozen=True, slots=True)
class PowerPoint:
    """The smallest effect that so many hosts in each arm find with power 0.8."""

    hosts_per_arm: int
    detectable_effect_ratio: float


@dataclass(frozen=True, slots=True)
class PlanView:
    """The answer of /v1/experiments/plan."""

    service_id: str
    metric: str
    label: str
    unit: str
    direction: Direction
    effect_ratio: float
    window: Window
    baseline: Figure
    spread_ratio: Figure
    correlation: float | None
    hosts_per_arm_needed: int | None
    like_hosts: int
    detectable_effect_ratio: float | None
    points: tuple[PowerPoint, ...]
    excluded: tuple[Excluded, ...]
    choices: tuple[MetricChoice, ...]
    missing: Figure | None
    notes: tuple[str, ...]
