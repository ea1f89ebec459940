"""What experiments answer: the plan before, the live effect, the frozen result. Attributes are those of the API."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from tierscope.domain.base.described import Described
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
    has_data: Annotated[bool, Described("Values of the first metric before and after the change.")]


@dataclass(frozen=True, slots=True)
class Excluded:
    """A host of the service that is in no arm, and why."""

    host_id: str
    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Arm:
    """One group of hosts."""

    arm: ArmName
    hosts: tuple[HostRef, ...]
    n_with_data: int


@dataclass(frozen=True, slots=True)
class Power:
    """What the arms can find. `correlation`: of host means in two windows before the change."""

    hosts_per_arm_needed: Annotated[int | None, Described("To find a difference of the first metric's margin.")]
    detectable_effect_ratio: float | None
    correlation: Annotated[float | None, Described("Of host means in two windows before the change.")]
    why: str | None


@dataclass(frozen=True, slots=True)
class Trends:
    """A placebo change between two windows before the real one. `parallel` None where it cannot be told."""

    parallel: bool | None
    p_value: float | None
    why: str | None


@dataclass(frozen=True, slots=True)
class ExperimentMetric:
    """One metric: the effect relative to what the canary hosts would have had, and the same in its own unit."""

    metric: str
    label: str
    unit: str
    direction: Direction
    margin_ratio: float
    effect: Annotated[Figure, Described("Relative to what the canary hosts would have had without the change.")]
    effect_absolute: Figure
    p_value: float | None
    p_adjusted: Annotated[float | None, Described("Benjamini-Hochberg over the experiment's metrics.")]
    within_margin: Annotated[bool | None, Described("The whole interval lies within the margins.")]
    verdict: Verdict | None
    why: str
    series: Annotated[tuple[Series, ...], Described("Means over the hosts of each arm; keys canary and control.")]


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment with its live or frozen answer."""

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
    frozen: Annotated[bool, Described("The answer was stored at the end and stays as it is.")]
    progress_ratio: Annotated[float, Described("From the change to the planned end, 0..1.")]
    seed: Annotated[int | None, Described("Of arms drawn at random; null where they were named.")]
    arms: tuple[Arm, ...]
    power: Power
    trends: Trends
    metrics: tuple[ExperimentMetric, ...]
    verdict: Annotated[Verdict | None, Described("That of the first metric; null until the end.")]
    why: str
    axis: TimeAxis
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExperimentItem:
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
class StartedExperiment:
    """A new experiment, and which hosts of the service are in no arm."""

    experiment: Experiment
    excluded: tuple[Excluded, ...]


@dataclass(frozen=True, slots=True)
class PowerPoint:
    """The smallest effect that so many hosts in each arm find with power 0.8."""

    hosts_per_arm: int
    detectable_effect_ratio: float


@dataclass(frozen=True, slots=True)
class ExperimentPlan:
    """The answer of /v1/experiments/plan."""

    service_id: str
    metric: str
    label: str
    unit: str
    direction: Direction
    effect_ratio: float
    window: Window
    baseline: Figure
    spread_ratio: Annotated[Figure, Described("Standard deviation over peer hosts, relative to their mean.")]
    correlation: float | None
    hosts_per_arm_needed: int | None
    like_hosts: Annotated[int, Described("Hosts that can be drawn.")]
    detectable_effect_ratio: Annotated[float | None, Described("With half of the peer hosts in each arm.")]
    points: tuple[PowerPoint, ...]
    excluded: tuple[Excluded, ...]
    choices: tuple[MetricChoice, ...]
    missing: Figure | None
    notes: tuple[str, ...]
