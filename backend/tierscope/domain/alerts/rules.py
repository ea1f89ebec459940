"""A rule: what to watch, on whom, when it counts, and what to say; and how it is written in files."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Literal

from tierscope.domain.alerts.checking import check_expression
from tierscope.domain.alerts.condition import Comparison, Condition, Logic, Node
from tierscope.domain.alerts.machine import MAX_COUNTED, NoData, Timing
from tierscope.domain.alerts.problems import RuleError, RuleProblem
from tierscope.domain.alerts.templates import check_template
from tierscope.domain.alerts.units import parse_literal
from tierscope.domain.alerts.vocabulary import ScopeKind
from tierscope.domain.base.patterns import BadPattern, read_pattern
from tierscope.domain.base.vocabulary import Severity
from tierscope.domain.fleet.sending import MINUTE_SECONDS, MOST_SEND_MINUTES

MatchOperator = Literal["=", "!=", "=~", "!~"]
INTERVAL_SECONDS = 60
MAX_FOR_SECONDS = 7 * 86_400
STATES = frozenset({"verdict", "ping_pong_state"})
"""Inputs that are words which can come and go from minute to minute."""
HELD_OF_FOR = 2 / 3
"""Share of its `for` in which a rule on states has to hold [A]."""
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$")
_OPPOSITE = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "==": "!=", "!=": "=="}
_LABEL = re.compile(r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$")
_MAX_LABEL_TEXT = 500
MAX_MATCHED_LENGTH = 500
"""Characters of an expression in a scope."""
RESERVED_LABELS = ("rule", "severity", "host", "service", "group", "origin")


@dataclass(frozen=True, slots=True)
class LabelMatcher:
    """A condition on a label of the subject's host; `host`, `service` and `origin` are labels, too.

    `=~` and `!~` hold an expression of RE2 against the whole value.
    """

    name: str
    operator: MatchOperator
    value: str

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels pass. A label that is not there is empty.

        Raises:
            BadPattern: the rule was not checked, and its expression cannot be read.
        """
        found = labels.get(self.name, "")
        if self.operator in ("=", "!="):
            return (found == self.value) == (self.operator == "=")
        return read_pattern(self.value).fits(found) == (self.operator == "=~")


@dataclass(frozen=True, slots=True)
class Scope:
    """Whom a rule is about. Ids are public ones or names; empty means all."""

    kind: ScopeKind = "host"
    hosts: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    labels: tuple[LabelMatcher, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as it is written. Lengths of time are in seconds and whole minutes."""

    name: str
    expression: str
    group: str = "default"
    enabled: bool = True
    scope: Scope = Scope()
    for_seconds: int = 0
    keep_firing_for_seconds: int = 0
    recovery_expression: str | None = None
    recovery_threshold: str | None = None
    n: int = 1
    m: int = 1
    no_data: NoData = "keep"
    no_data_after_seconds: int = 300
    severity: Severity = "warning"
    labels: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""
    description: str = ""
    runbook_url: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedRule:
    """A rule that can be evaluated."""

    rule: Rule
    condition: Condition
    recovery: Condition | None
    timing: Timing

    @property
    def inputs(self) -> frozenset[str]:
        """Stored series that it needs."""
        return self.condition.inputs | (frozenset() if self.recovery is None else self.recovery.inputs)

    @property
    def needs_each_minute(self) -> bool:
        """Whether hosts of which it is pending or firing send each minute: it is on ping-pong, or fires soon."""
        on_ping_pong = any(name.startswith("ping_pong") for name in self.inputs)
        return on_ping_pong or self.rule.for_seconds < MOST_SEND_MINUTES * MINUTE_SECONDS

    @property
    def lookback(self) -> int:
        """Minutes before a minute that it needs."""
        return max(self.condition.lookback, 0 if self.recovery is None else self.recovery.lookback)


def check_rule(rule: Rule) -> tuple[CheckedRule | None, list[RuleProblem]]:
    """The rule ready to be evaluated, or all that is wrong with it."""
    problems = [*_check_names(rule), *_check_times(rule)]
    for name in ("summary", "description"):
        problems += check_template(getattr(rule, name), name)
    condition = recovery = None
    try:
        condition = check_expression(rule.expression, rule.scope.kind)
        recovery = _recovery_of(rule, condition)
    except RuleError as error:
        problems.append(error.problem)
    if problems or condition is None:
        return None, problems
    return CheckedRule(rule, condition, recovery, _timing(rule, condition)), []


def _timing(rule: Rule, condition: Condition) -> Timing:
    """A state that comes and goes does not begin anew each time: its `for` is the minutes of which it held a share."""
    minutes, n, m = rule.for_seconds // INTERVAL_SECONDS, rule.n, rule.m
    if m == 1 and condition.inputs & STATES and 1 < minutes <= MAX_COUNTED:
        minutes, n, m = 0, ceil(HELD_OF_FOR * minutes), minutes
    return Timing(
        for_minutes=minutes,
        keep_minutes=rule.keep_firing_for_seconds // INTERVAL_SECONDS,
        n=n,
        m=m,
        no_data=rule.no_data,
        no_data_minutes=max(rule.no_data_after_seconds // INTERVAL_SECONDS, 1),
    )


def require_rule(rule: Rule) -> CheckedRule:
    """The rule ready to be evaluated.

    Raises:
        RuleError: it cannot be; names the first problem.
    """
    checked, problems = check_rule(rule)
    if checked is None:
        raise RuleError(problems[0])
    return checked


def says_the_same(one: Rule, other: Rule) -> bool:
    """Whether two rules give the same states: names, texts and labels apart."""

    def timed(rule: Rule) -> Rule:
        return replace(rule, group="", summary="", description="", runbook_url=None, labels={}, enabled=True)

    return timed(one) == timed(other)


def _check_names(rule: Rule) -> list[RuleProblem]:
    found = []
    if not _NAME.match(rule.name):
        step = "Use letters, digits, spaces, dots, dashes and underscores, at most 100."
        found.append(RuleProblem("name", "The name has other letters or is too long.", step))
    if not _NAME.match(rule.group):
        found.append(RuleProblem("group", "The group has other letters or is too long.", "Write one such as `swap`."))
    for name, value in rule.labels.items():
        if not _LABEL.match(name) or len(value) > _MAX_LABEL_TEXT:
            message = f"The label `{name}` has other letters or is too long."
            found.append(RuleProblem("labels", message, "Use letters, digits and underscores."))
        if name in RESERVED_LABELS:
            found.append(RuleProblem("labels", f"`{name}` is set by the alert itself.", "Give it another name."))
    if rule.runbook_url is not None and not re.match(r"^(https?://|/)[^\s]{1,500}$", rule.runbook_url):
        message = "The runbook is neither an http(s) address nor a path."
        found.append(RuleProblem("runbook_url", message, "Write https://… or a path that begins with /."))
    for matcher in rule.scope.labels:
        if matcher.operator in ("=~", "!~"):
            found += _check_pattern(matcher)
    return found


def _check_pattern(matcher: LabelMatcher) -> list[RuleProblem]:
    if len(matcher.value) > MAX_MATCHED_LENGTH:
        message = f"The pattern for `{matcher.name}` has more than {MAX_MATCHED_LENGTH} characters."
        return [RuleProblem("scope", message, "Write a shorter one, or name the hosts.")]
    try:
        read_pattern(matcher.value)
    except BadPattern as error:
        return [RuleProblem("scope", f"`{matcher.value}` is not a pattern: {error}.", error.next_step)]
    return []


def _check_times(rule: Rule) -> list[RuleProblem]:
    found = []
    times = {
        "for_seconds": rule.for_seconds,
        "keep_firing_for_seconds": rule.keep_firing_for_seconds,
        "no_data_after_seconds": rule.no_data_after_seconds,
    }
    for name, seconds in times.items():
        if seconds % INTERVAL_SECONDS or not 0 <= seconds <= MAX_FOR_SECONDS:
            message = f"{seconds} s is not a number of whole minutes up to seven days."
            found.append(RuleProblem(name, message, "Rules are evaluated each minute: write a multiple of 60."))
    if not 1 <= rule.n <= rule.m <= MAX_COUNTED:
        message = f"{rule.n} of {rule.m} minutes is not possible."
        found.append(RuleProblem("n_of_m", message, f"Write n from 1 to m, and m up to {MAX_COUNTED}."))
    return found


def _recovery_of(rule: Rule, condition: Condition) -> Condition | None:
    if rule.recovery_expression and rule.recovery_threshold:
        message = "Both a recovery expression and a recovery threshold are given."
        raise RuleError(RuleProblem("recovery_threshold", message, "Keep one of them."))
    if rule.recovery_expression:
        return check_expression(rule.recovery_expression, rule.scope.kind, "recovery_expression")
    if not rule.recovery_threshold:
        return None
    at = "recovery_threshold"
    if condition.threshold is None or condition.operator not in (">", ">=", "<", "<="):
        message = "The condition's first comparison is not with a constant."
        raise RuleError(RuleProblem(at, message, "Write a recovery_expression instead."))
    try:
        value = parse_literal(rule.recovery_threshold).value
    except ValueError as error:
        raise RuleError(RuleProblem(at, f"{error}.", "Write one such as `5%`.")) from error
    falls = condition.operator in (">", ">=")
    if (value > condition.threshold) if falls else (value < condition.threshold):
        message = "The recovery threshold lies on the far side of the alert's own."
        raise RuleError(RuleProblem(at, message, "Give one that is reached after the alert's threshold is left."))
    first = check_expression(
        f"{condition.written_value} {'<' if falls else '>'} {rule.recovery_threshold}", rule.scope.kind, at
    )
    root = _recovered(condition.root, first.root)
    return replace(first, root=root, inputs=condition.inputs, lookback=max(first.lookback, condition.lookback))


def _recovered(node: Node, first: Node) -> Node:
    """When a condition no longer holds: `first` in place of the negation of its first comparison, the rest negated.

    A ratio of two flows is not known any more once they end, which ends the alert by what else the condition asks for.
    """
    return _ends(node, _recovered(node.left, first)) or first if isinstance(node, Logic) else first


def _ends(node: Logic, left: "Node | None") -> "Node | None":
    """When `and`, `or` or `unless` no longer holds, `left` being when its left side does not."""
    right = node.right if node.operator == "unless" else _negated(node.right)
    if left is None or right is None:
        return left
    return Logic("and" if node.operator == "or" else "or", left, right)


def _negated(node: Node) -> "Node | None":
    """The condition that holds where `node` does not; None where none can be written."""
    if isinstance(node, Comparison):
        return Comparison(_OPPOSITE[node.operator], node.left, node.right)
    return _ends(node, _negated(node.left)) if isinstance(node, Logic) else None
