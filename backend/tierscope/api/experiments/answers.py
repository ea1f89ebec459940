"""What the routes of experiments answer: the experiment with its effects, the list, the plan."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from tierscope.api.base.figures import Figure, Model, Series, TimeAxis, Window

Direction = Literal["higher_is_better", "lower_is_better"]
Verdict = Literal["improved", "no_difference", "worse", "inconclusive"]
State = Literal["planned", "running", "ended"]


class HostRef(Model):
    """A host of an arm."""

    host_id: str
    name: str
    has_data: bool = Field(description="Values of the first metric before and after the change.")


class Arm(Model):
    """One group of hosts."""

    arm: Literal["canary", "control"]
    hosts: list[HostRef]
    n_with_data: int


class Power(Model):
    """What the arms can find with power 0.8 at the 5 % level."""

    hosts_per_arm_needed: int | None = Field(description="To find a difference of the first metric's margin.")
    detectable_effect_ratio: float | None
    correlation: float | None = Field(description="Of host means in two windows before the change.")
    why: str | None


class Trends(Model):
    """A placebo change between two windows before the real one; null where it cannot be told."""

    parallel: bool | None
    p_value: float | None
    why: str | None


class ExperimentMetric(Model):
    """One metric of an experiment. `verdict` null until the end."""

    metric: str
    label: str
    unit: str
    direction: Direction
    margin_ratio: float
    effect: Figure = Field(description="Relative to what the canary hosts would have had without the change.")
    effect_absolute: Figure
    p_value: float | None
    p_adjusted: float | None = Field(description="Benjamini-Hochberg over the experiment's metrics.")
    within_margin: bool | None = Field(description="The whole interval lies within the margins.")
    verdict: Verdict | None
    why: str
    series: list[Series] = Field(description="Means over the hosts of each arm; keys canary and control.")


class Experiment(Model):
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
    frozen: bool = Field(description="The answer was stored at the end and stays as it is.")
    progress_ratio: float = Field(description="From the change to the planned end, 0..1.")
    seed: int | None = Field(description="Of arms drawn at random; null where they were named.")
    arms: list[Arm]
    power: Power
    trends: Trends
    metrics: list[ExperimentMetric]
    verdict: Verdict | None = Field(description="That of the first metric; null until the end.")
    why: str
    axis: TimeAxis
    notes: list[str]


class Excluded(Model):
    """A host of the service that is in no arm."""

    host_id: str
    name: str
    why: str


class StartedExperiment(Model):
    """A new experiment, and which hosts of the service are in no arm."""

    experiment: Experiment
    excluded: list[Excluded]


class ExperimentItem(Model):
    """A line of the list."""

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
    metrics: list[str]
    n_canary: int
    n_control: int
    verdict: Verdict | None
    why: str | None


class MetricChoice(Model):
    """A metric that experiments can judge."""

    metric: str
    label: str
    unit: str
    direction: Direction


class PowerPoint(Model):
    """The smallest effect that so many hosts in each arm find."""

    hosts_per_arm: int
    detectable_effect_ratio: float


class ExperimentPlan(Model):
    """Power before starting."""

    service_id: str
    metric: str
    label: str
    unit: str
    direction: Direction
    effect_ratio: float
    window: Window
    baseline: Figure
    spread_ratio: Figure = Field(description="Standard deviation over peer hosts, relative to their mean.")
    correlation: float | None
    hosts_per_arm_needed: int | None
    like_hosts: int = Field(description="Hosts that can be drawn.")
    detectable_effect_ratio: float | None = Field(description="With half of the peer hosts in each arm.")
    points: list[PowerPoint]
    excluded: list[Excluded]
    choices: list[MetricChoice]
    missing: Figure | None
    notes: list[str]
