"""What the routes of alert rules take and answer."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from tierscope.api.base.figures import MAX_COUNT, Model
from tierscope.domain.alerts.machine import NoData
from tierscope.domain.alerts.rules import LabelMatcher, Scope
from tierscope.domain.alerts.rules import Rule as DomainRule
from tierscope.domain.alerts.vocabulary import ScopeKind
from tierscope.domain.base.copying import copied
from tierscope.domain.base.vocabulary import Severity
from tierscope.usecases.alerts.rules import StateCounts


class ScopeMatcher(Model):
    """A condition on a label of the host; `host`, `service` and `origin` are labels, too.

    `=~` and `!~` take an expression in the syntax of RE2, which must match the whole value.
    """

    name: str = Field(min_length=1, max_length=100)
    op: Literal["=", "!=", "=~", "!~"] = "="
    value: str = Field(max_length=500)


class RuleScope(Model):
    """Whom a rule is about: each host, each service, or the fleet as a whole. Empty lists mean all."""

    kind: ScopeKind = "host"
    hosts: list[str] = Field(default=[], max_length=10_000, description="Ids or names of hosts.")
    services: list[str] = Field(
        default=[], max_length=1000, description="Ids or names of services: themselves, or the hosts they run on."
    )
    labels: list[ScopeMatcher] = Field(default=[], max_length=20)


class Counted(Model):
    """The condition counts when it held in n of the newest m minutes."""

    n: int = Field(ge=1, le=60)
    m: int = Field(ge=1, le=60)


class RuleRequest(Model):
    """A rule as people write it. Lengths of time are whole minutes, in seconds."""

    name: str = Field(min_length=1, max_length=100)
    group: str = Field(default="default", min_length=1, max_length=100)
    enabled: bool = True
    expression: str = Field(max_length=2000)
    scope: RuleScope = RuleScope()
    for_seconds: int = Field(default=0, ge=0, le=MAX_COUNT)
    keep_firing_for_seconds: int = Field(default=0, ge=0, le=MAX_COUNT)
    recovery_expression: str | None = Field(default=None, max_length=2000)
    recovery_threshold: str | None = Field(
        default=None, max_length=40, description="Of the first comparison, with its unit, such as `5%`."
    )
    n_of_m: Counted | None = None
    no_data: NoData = Field(
        default="keep",
        description="Without data a firing alert keeps its state (`keep`), resolves (`ok`), or missing data alerts.",
    )
    no_data_after_seconds: int = Field(default=300, ge=60, le=MAX_COUNT)
    severity: Severity = "warning"
    labels: dict[str, str] = Field(default={}, max_length=20)
    summary: str = Field(default="", max_length=4000, description="With placeholders such as {{ value }}.")
    description: str = Field(default="", max_length=4000)
    runbook_url: str | None = Field(default=None, max_length=500)

    def to_rule(self) -> DomainRule:
        """As the domain has it."""
        matchers = tuple(LabelMatcher(item.name, item.op, item.value) for item in self.scope.labels)
        counted = self.n_of_m
        return copied(
            DomainRule,
            self,
            scope=Scope(self.scope.kind, tuple(self.scope.hosts), tuple(self.scope.services), matchers),
            recovery_expression=self.recovery_expression or None,
            recovery_threshold=self.recovery_threshold or None,
            n=1 if counted is None else counted.n,
            m=1 if counted is None else counted.m,
            labels=dict(self.labels),
            runbook_url=self.runbook_url or None,
        )


class Rule(Model):
    """A stored rule with where it stands."""

    id: str
    name: str
    group: str
    origin: Literal["shipped", "own"]
    enabled: bool
    expression: str
    normal_form: str
    unit: str = Field(description="Of the value that the condition looks at.")
    threshold: float | None = Field(description="In that unit; null where it is not one number.")
    scope: RuleScope
    for_seconds: int
    keep_firing_for_seconds: int
    recovery_expression: str | None
    recovery_threshold: str | None
    n_of_m: Counted | None
    no_data: NoData
    no_data_after_seconds: int
    severity: Severity
    labels: dict[str, str]
    summary: str
    description: str
    runbook_url: str | None
    interval_seconds: int
    state_counts: StateCounts
    evaluated_to: datetime | None
    judged_after_seconds: int = Field(
        description="How long after its end a minute is judged: late data is waited for, and what hosts hold back."
    )
    created_at: datetime
    updated_at: datetime
    author: str | None


class RuleList(Model):
    """All rules, by group and name."""

    items: list[Rule]


class CheckRequest(Model):
    """A rule to check."""

    rule: RuleRequest


class VocabularyItem(Model):
    """A series that conditions can name."""

    name: str
    kind: Literal["flow", "gauge", "words", "derived", "age"]
    unit: str = Field(description="Of its value in a minute: a flow's is its rate.")
    scopes: list[ScopeKind]
    meaning: str
    words: list[str] = Field(description="Of a series of words, the lightest first.")
    expression: str | None = Field(description="What a derived series stands for.")
    picks: list[str] = Field(description="What braces can pick, such as node.")
    in_catalogue: bool


class FunctionItem(Model):
    """A function of conditions."""

    name: str
    meaning: str


class Vocabulary(Model):
    """What conditions can be made of."""

    series: list[VocabularyItem]
    functions: list[FunctionItem]
    units: list[str]
    placeholders: list[str] = Field(description="Of texts.")


class ImportRequest(Model):
    """A file of rules."""

    yaml: str = Field(max_length=1 << 20)
