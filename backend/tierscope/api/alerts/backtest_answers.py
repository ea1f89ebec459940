"""What a backtest of a rule takes and answers."""

from typing import Literal

from pydantic import Field

from tierscope.api.alerts.rule_answers import RuleRequest
from tierscope.api.base.figures import Model


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
