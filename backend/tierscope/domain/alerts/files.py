"""Rules as YAML: reading, with every problem named, and writing. docs/howto/alerts.md shows one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import yaml

from tierscope.domain.alerts.machine import NoData
from tierscope.domain.alerts.problems import RuleError, RuleProblem
from tierscope.domain.alerts.rules import LabelMatcher, MatchOperator, Rule, Scope
from tierscope.domain.alerts.units import parse_seconds, write_seconds
from tierscope.domain.alerts.vocabulary import ScopeKind
from tierscope.domain.base.vocabulary import Severity
from tierscope.domain.base.yaml_text import YamlTooMuch, check_yaml

MAX_FILE_BYTES = 1 << 20
MAX_FILE_EVENTS = 32_768
"""Values, keys and brackets of a file; a rule has 20 to 60."""
MAX_RULES = 1000
_FIELDS = (
    "name",
    "group",
    "enabled",
    "expression",
    "scope",
    "for",
    "keep_firing_for",
    "recovery_expression",
    "recovery_threshold",
    "n_of_m",
    "no_data",
    "no_data_after",
    "severity",
    "labels",
    "summary",
    "description",
    "runbook_url",
)
_KINDS = ("host", "service", "fleet")
_OPERATORS = ("=", "!=", "=~", "!~")
_NO_DATA = ("keep", "alert", "ok")
_SEVERITIES = ("info", "warning", "critical")
T = TypeVar("T")


def read_rules(text: str) -> list[Rule]:
    """The rules of a file: a list under `rules`, or the list itself.

    Raises:
        RuleError: it is not one; `at` is the rule and field.
    """
    document = load_yaml(text)
    return read_entries(document.get("rules") if isinstance(document, dict) else document)


def read_entries(listed: Any) -> list[Rule]:  # noqa: ANN401 - as YAML gave it
    """The rules of a list of mappings.

    Raises:
        RuleError: one is not a rule; `at` is its place and field.
    """
    if not isinstance(listed, list):
        message = "There is no list of rules."
        raise RuleError(RuleProblem("file", message, "Write `rules:` and below it one entry per rule."))
    if len(listed) > MAX_RULES:
        raise RuleError(RuleProblem("file", f"There are more than {MAX_RULES} rules.", "Split the file."))
    rules = [_placed(read_rule, entry, f"rules[{place}]") for place, entry in enumerate(listed)]
    names: set[str] = set()
    for place, rule in enumerate(rules):
        if rule.name in names:
            message = f"There are two rules `{rule.name}`."
            raise RuleError(RuleProblem(f"rules[{place}].name", message, "Give one another name."))
        names.add(rule.name)
    return rules


def load_yaml(text: str) -> Any:  # noqa: ANN401 - a document has any shape
    """A YAML document of plain values, without aliases: they can make a small file huge.

    Raises:
        RuleError: it cannot be read.
    """
    if len(text.encode()) > MAX_FILE_BYTES:
        raise RuleError(RuleProblem("file", f"It is larger than {MAX_FILE_BYTES} bytes.", "Split it."))
    try:
        check_yaml(text, most=MAX_FILE_EVENTS)
        return yaml.safe_load(text)
    except YamlTooMuch as error:
        at = f"file, line {error.line}, column {error.column}"
        raise RuleError(RuleProblem(at, f"It cannot be taken: {error}.", "Split it; write values out.")) from error
    # A number of thousands of digits and a day that is none are a ValueError.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        at = "file" if mark is None else f"file, line {mark.line + 1}, column {mark.column + 1}"
        raise RuleError(RuleProblem(at, "It is not YAML.", "Correct it there.")) from error


def _placed(read: Callable[[Any], T], entry: Any, place: str) -> T:  # noqa: ANN401
    try:
        return read(entry)
    except RuleError as error:
        problem = error.problem
        raise RuleError(RuleProblem(f"{place}.{problem.at}", problem.message, problem.next_step)) from error


def read_rule(entry: Any) -> Rule:  # noqa: ANN401 - as YAML gave it
    """One rule from its mapping.

    Raises:
        RuleError: a field is unknown, missing or has another shape.
    """
    if not isinstance(entry, dict):
        raise RuleError(RuleProblem("", "A rule is a mapping of fields.", "Write name, expression and more."))
    unknown = sorted(str(name) for name in set(entry) - set(_FIELDS))
    if unknown:
        raise RuleError(RuleProblem(unknown[0], "There is no such field.", f"Fields are {', '.join(_FIELDS)}."))
    reader = _Reader(entry)
    counted = reader.mapping("n_of_m")
    return Rule(
        name=reader.text("name", needed=True),
        expression=reader.text("expression", needed=True),
        group=reader.text("group") or "default",
        enabled=reader.flag("enabled", default=True),
        scope=_read_scope(reader.mapping("scope")),
        for_seconds=reader.seconds("for"),
        keep_firing_for_seconds=reader.seconds("keep_firing_for"),
        recovery_expression=reader.text("recovery_expression") or None,
        recovery_threshold=reader.text("recovery_threshold") or None,
        n=_whole(counted, "n"),
        m=_whole(counted, "m"),
        no_data=cast("NoData", reader.choice("no_data", _NO_DATA, "keep")),
        no_data_after_seconds=reader.seconds("no_data_after", 300),
        severity=cast("Severity", reader.choice("severity", _SEVERITIES, "warning")),
        labels={str(name): str(value) for name, value in reader.mapping("labels").items()},
        summary=reader.text("summary"),
        description=reader.text("description"),
        runbook_url=reader.text("runbook_url") or None,
    )


def _whole(counted: Mapping[str, Any], name: str) -> int:
    value = counted.get(name, 1)
    if not isinstance(value, int) or isinstance(value, bool):
        raise RuleError(RuleProblem("n_of_m", f"`{name}` is not a whole number.", "Write n_of_m: {n: 3, m: 5}."))
    return value


def _read_scope(entry: Mapping[str, Any]) -> Scope:
    unknown = sorted(set(entry) - {"kind", "hosts", "services", "labels"})
    if unknown:
        step = "Write kind, hosts, services and labels."
        raise RuleError(RuleProblem("scope", f"There is no `{unknown[0]}` in a scope.", step))
    kind = entry.get("kind", "host")
    if kind not in _KINDS:
        raise RuleError(RuleProblem("scope", f"`{kind}` is no kind of subject.", f"Write {', '.join(_KINDS)}."))
    matchers = []
    for item in entry.get("labels") or ():
        if not isinstance(item, dict) or not {"name", "value"} <= set(item) or item.get("op", "=") not in _OPERATORS:
            step = 'Write {name: sku, op: "=", value: c6}; op is one of = != =~ !~.'
            raise RuleError(RuleProblem("scope", "A label is not matched like that.", step))
        operator = cast("MatchOperator", item.get("op", "="))
        matchers.append(LabelMatcher(str(item["name"]), operator, str(item["value"])))
    hosts, services = (tuple(str(item) for item in entry.get(name) or ()) for name in ("hosts", "services"))
    return Scope(cast("ScopeKind", kind), hosts, services, tuple(matchers))


class _Reader:
    """Fields of a mapping in their shapes."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self._entry = entry

    def text(self, name: str, *, needed: bool = False) -> str:
        """A text; numbers are taken as they are written."""
        value = self._entry.get(name)
        if value is None or value == "":
            if needed:
                raise RuleError(RuleProblem(name, "It is missing.", f"Write `{name}:` and its value."))
            return ""
        if isinstance(value, (dict, list)):
            raise RuleError(RuleProblem(name, "It is not a text.", "Write one line, or a block after `|`."))
        return str(value)

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        value = self._entry.get(name, default)
        if not isinstance(value, bool):
            raise RuleError(RuleProblem(name, "It is neither true nor false.", "Write true or false."))
        return value

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        """One of a few words."""
        value = str(self._entry.get(name, default))
        if value not in choices:
            raise RuleError(RuleProblem(name, f"`{value}` is not one of its values.", f"Write {', '.join(choices)}."))
        return value

    def mapping(self, name: str) -> Mapping[str, Any]:
        """A mapping, empty where it is missing."""
        value = self._entry.get(name) or {}
        if not isinstance(value, dict):
            raise RuleError(RuleProblem(name, "It is not a mapping.", "Write `name: value` lines below it."))
        return value

    def seconds(self, name: str, default: int = 0) -> int:
        """A length of time such as 10m."""
        if self._entry.get(name) is None:
            return default
        try:
            return int(parse_seconds(str(self._entry[name])))
        except ValueError as error:
            raise RuleError(RuleProblem(name, f"{error}.", "Write one such as 10m.")) from error


def rule_entry(rule: Rule) -> dict[str, Any]:
    """A rule as its file says it: what has its usual value is left out."""
    entry: dict[str, Any] = {"name": rule.name, "group": rule.group, "expression": rule.expression}
    usual = Rule(name="", expression="")
    scope: dict[str, Any] = {"kind": rule.scope.kind}
    if rule.scope.hosts:
        scope["hosts"] = list(rule.scope.hosts)
    if rule.scope.services:
        scope["services"] = list(rule.scope.services)
    if rule.scope.labels:
        scope["labels"] = [{"name": m.name, "op": m.operator, "value": m.value} for m in rule.scope.labels]
    written: dict[str, Any] = {
        "enabled": rule.enabled,
        "for": write_seconds(rule.for_seconds),
        "keep_firing_for": write_seconds(rule.keep_firing_for_seconds),
        "recovery_expression": rule.recovery_expression,
        "recovery_threshold": rule.recovery_threshold,
        "n_of_m": {"n": rule.n, "m": rule.m},
        "no_data": rule.no_data,
        "no_data_after": write_seconds(rule.no_data_after_seconds),
        "severity": rule.severity,
        "labels": dict(rule.labels),
        "summary": rule.summary,
        "description": rule.description,
        "runbook_url": rule.runbook_url,
    }
    plain: dict[str, Any] = {
        "enabled": usual.enabled,
        "for": "0s",
        "keep_firing_for": "0s",
        "recovery_expression": None,
        "recovery_threshold": None,
        "n_of_m": {"n": 1, "m": 1},
        "no_data": usual.no_data,
        "no_data_after": write_seconds(usual.no_data_after_seconds),
        "labels": {},
        "summary": "",
        "description": "",
        "runbook_url": None,
    }
    if scope != {"kind": "host"}:
        entry["scope"] = scope
    entry |= {name: value for name, value in written.items() if name not in plain or value != plain[name]}
    return entry


def write_rules(rules: Sequence[Rule]) -> str:
    """A file with these rules."""
    document = {"rules": [rule_entry(rule) for rule in rules]}
    return str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100))
