"""What a backtest of a rule takes and answers."""

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from tierscope.api.alerts.rule_answers import RuleRequest, SubjectKind
from tierscope.api.base.figures import Model
from tierscope.domain.base.figures import Origin, TimeAxis

StateName = Literal["ok", "pending", "firing", "no_data"]


class BacktestRequest(Model):
    """A rule on stored history. Without hosts and services: all in its scope."""

    rule: RuleRequest
    from_: str = Field(alias="from", description="RFC 3339 with zone, or relative such as `-6h`.")
    to: str = "now"
    hosts: list[str] = Field(default=[], max_length=1000)
    services: list[str] = Field(default=[], max_length=1000)
    late_data: Literal["as_live", "used"] = Field(
        default="as_live",
        description="Minutes of live hosts that arrived too late for live evaluation: left out as it did, or used.",
    )
    max_points: int = Field(default=500, ge=1, le=2000)
    max_subjects: int = Field(default=20, ge=1, le=100, description="With values; those that fired most come first.")


class BacktestSpan(Model):
    """A stretch in one state; `to` null while it lasts."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    state: StateName
    from_: datetime = Field(validation_alias="from_", serialization_alias="from")
    to: datetime | None
    value: float | None = Field(description="When it began.")


class BacktestSubject(Model):
    """One subject. Per bucket of the axis the value furthest towards the threshold, and the most severe state."""

    kind: SubjectKind
    id: str
    name: str
    origin: Origin
    values: list[float | None]
    threshold: float | None
    recovery_threshold: float | None
    states: list[StateName | None]
    spans: list[BacktestSpan]
    fired: int
    firing_seconds: int


class Backtest(Model):
    """What a rule would have done on stored history."""

    axis: TimeAxis
    unit: str
    threshold: float | None
    subjects: list[BacktestSubject]
    n_subjects: int
    n_firing_subjects: int
    fired: int
    resolved: int
    firing_seconds: int
    coverage: float = Field(description="Share of the minutes in which the condition had an answer.")
    notes: list[str]
