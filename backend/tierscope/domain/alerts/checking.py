"""Checks a condition: every name is known in its scope, every unit fits, every window is whole minutes."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from tierscope.domain.alerts import condition as computed
from tierscope.domain.alerts import tree
from tierscope.domain.alerts.catalogue import dotted_names, find_catalogue
from tierscope.domain.alerts.condition import Condition
from tierscope.domain.alerts.parsing import parse
from tierscope.domain.alerts.problems import RuleError, RuleProblem
from tierscope.domain.alerts.units import PER_SECOND, PLAIN, SECONDS, Unit
from tierscope.domain.alerts.vocabulary import AGE, ScopeKind, Series, all_series

MAX_WINDOW_MINUTES = 60
_MINUTE_S = 60
AGE_MINUTES = 60
"""How far back the age of the newest interval counts."""
COMPARISONS = (">", ">=", "<", "<=", "==", "!=")
_MIRRORED = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "==": "==", "!=": "!="}
LOGIC = ("and", "or", "unless")
_OVER = ("avg_over", "max_over", "min_over")
_EXTREMES: Mapping[str, computed.ExtremeFunction] = {"min": "min", "max": "max", "first": "first"}
FUNCTIONS = {
    "rate": "rate(flow, window): the rate over the window",
    "increase": "increase(flow, window): the amount over the window",
    "avg_over": "avg_over(value, window): the mean of the minutes",
    "max_over": "max_over(value, window): the greatest of the minutes",
    "min_over": "min_over(value, window): the least of the minutes",
    "quantile_over": "quantile_over(share, value, window): a quantile of the minutes",
    "min": "min(a, b): the smaller one",
    "max": "max(a, b): the greater one",
    "first": "first(a, b): a, or b where a is not known",
    "absent": "absent(value, window): no value in the whole window",
}


@dataclass(frozen=True, slots=True)
class _Typed:
    """A part with its unit; unit None for a condition. `bare`: a number without a unit, that takes any count's."""

    node: computed.Node
    unit: Unit | None
    lookback: int = 0
    bare: bool = False
    words: tuple[str, ...] = ()
    flow: Series | None = None


@lru_cache(maxsize=1024)
def check_expression(text: str, scope: ScopeKind, field_name: str = "expression") -> Condition:
    """A condition that can be computed for subjects of a scope. Kept, because rules are checked every minute.

    Raises:
        RuleError: it cannot; names the column, the cause and the next step.
    """
    written = parse(text, field_name)
    checker = _Checker(scope, field_name)
    found = checker.visit(written)
    if found.unit is not None:
        raise checker.error(1, "This is a value, and a rule needs a condition.", "Compare it, such as `... > 5%`.")
    first = _first_comparison(written)
    if first is not None and isinstance(first.left, tree.Literal):
        first = tree.Binary(_MIRRORED[first.operator], first.right, first.left, first.column)
    compared = None if first is None else checker.visit(first.left)
    against = None if first is None else checker.resolve_right(first)
    return Condition(
        root=found.node,
        value=found.node if compared is None else compared.node,
        unit=PLAIN if compared is None or compared.unit is None else compared.unit,
        operator="" if first is None else first.operator,
        threshold=against,
        inputs=frozenset(checker.inputs),
        lookback=found.lookback,
        normal_form=tree.write(written),
        written_value="" if first is None else tree.write(first.left),
        words=() if compared is None else compared.words,
    )


def _first_comparison(node: tree.Node) -> tree.Binary | None:
    if not isinstance(node, tree.Binary):
        return None
    if node.operator in COMPARISONS:
        return node
    return _first_comparison(node.left) or _first_comparison(node.right)


@dataclass(slots=True)
class _Checker:
    scope: ScopeKind
    field_name: str
    inputs: set[str] = field(default_factory=set)

    def error(self, column: int, message: str, next_step: str) -> RuleError:
        return RuleError(RuleProblem(f"{self.field_name}:{column}", message, next_step))

    def visit(self, node: tree.Node) -> _Typed:
        match node:
            case tree.Literal():
                quantity = node.quantity
                return _Typed(computed.Constant(quantity.value), quantity.unit, bare=quantity.bare)
            case tree.Name():
                return self._name(node)
            case tree.Call():
                return self._call(node)
            case tree.Negated():
                inner = self._value(node.inner)
                zero = computed.Constant(0.0)
                return _Typed(computed.Arithmetic("-", zero, inner.node), inner.unit, inner.lookback, inner.bare)
            case tree.Binary():
                if node.operator in LOGIC:
                    return self._logic(node)
                if node.operator in COMPARISONS:
                    return self._comparison(node)
                return self._arithmetic(node)

    def resolve_right(self, node: tree.Binary) -> float | None:
        """The constant that a comparison compares with; None where it is none."""
        right = self._word_or_value(node.right, self.visit(node.left)).node
        return right.value if isinstance(right, computed.Constant) else None

    def _value(self, node: tree.Node) -> _Typed:
        found = self.visit(node)
        if found.unit is None:
            raise self.error(_column(node), "A condition stands where a value is needed.", "Take out the comparison.")
        return found

    def _name(self, node: tree.Name) -> _Typed:
        series = all_series().get(node.name)
        if series is None or node.matchers:
            try:
                series = find_catalogue(node.name, node.matchers)
            except ValueError as error:
                raise self.error(node.column, f"{error}.", "See the metric's scopes in docs/metrics.md.") from error
        if series is None:
            raise self._unknown(node)
        if self.scope not in series.scopes:
            message = f"`{node.name}` is not there for a rule per {self.scope}."
            raise self.error(node.column, message, f"It is there per {', '.join(series.scopes)}: change the scope.")
        if series.kind == "derived":
            return self._derived(node, series)
        self.inputs.add(series.key)
        if series.kind == "age":
            return _Typed(computed.Minute(AGE, "age", 1.0), SECONDS, AGE_MINUTES)
        if series.kind == "flow":
            minute = computed.Minute(series.key, "flow", series.factor)
            return _Typed(minute, series.unit.times(PER_SECOND), flow=series)
        return _Typed(computed.Minute(series.key, "gauge", series.factor), series.unit, words=series.words)

    def _derived(self, node: tree.Name, series: Series) -> _Typed:
        inner = _Checker(self.scope, self.field_name, self.inputs)
        found = inner.visit(parse(series.expression, f"{self.field_name}:{node.column}"))
        return _Typed(found.node, series.unit, found.lookback)

    def _unknown(self, node: tree.Name) -> RuleError:
        if node.matchers and node.name in all_series():
            message = f"`{node.name}` is one series per subject: nothing can be picked from it."
            return self.error(node.column, message, "Take out the braces.")
        known = [*all_series(), *FUNCTIONS, *dotted_names()]
        near = difflib.get_close_matches(node.name, known, 3)
        near = near or [name for name in dotted_names() if name.endswith(f".{node.name}")][:3]
        step = f"Did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else "GET /v1/rules/vocabulary"
        return self.error(node.column, f"There is no metric `{node.name}`.", step if near else f"{step} lists them.")

    def _call(self, node: tree.Call) -> _Typed:
        arguments = node.arguments
        if node.name in ("rate", "increase"):
            self._count(node, 2)
            return self._flow_window(node)
        if node.name in _OVER:
            self._count(node, 2)
            return self._over(node, arguments[0], arguments[1], 0.0)
        if node.name == "quantile_over":
            self._count(node, 3)
            share = self._value(arguments[0])
            if not isinstance(share.node, computed.Constant) or not 0 <= share.node.value <= 1:
                raise self.error(_column(arguments[0]), "The quantile is not between 0 and 1.", "Write 0.95 or 95%.")
            return self._over(node, arguments[1], arguments[2], share.node.value)
        if node.name in _EXTREMES:
            self._count(node, 2)
            left, right = self._value(arguments[0]), self._value(arguments[1])
            unit = self._same(left, right, node.column)
            made = computed.Extreme(_EXTREMES[node.name], left.node, right.node)
            return _Typed(made, unit, max(left.lookback, right.lookback), left.bare and right.bare)
        if node.name == "absent":
            if len(arguments) not in (1, 2):
                self._count(node, 2)
            inner = self._value(arguments[0])
            minutes = self._minutes(arguments[1]) if len(arguments) > 1 else 1
            return _Typed(computed.Absent(inner.node, minutes), None, inner.lookback + minutes - 1)
        near = difflib.get_close_matches(node.name, FUNCTIONS, 1)
        step = f"Did you mean `{near[0]}`?" if near else f"Functions are {', '.join(FUNCTIONS)}."
        raise self.error(node.column, f"There is no function `{node.name}`.", step)

    def _count(self, node: tree.Call, wanted: int) -> None:
        if len(node.arguments) != wanted:
            message = f"`{node.name}` takes {wanted} arguments, not {len(node.arguments)}."
            raise self.error(node.column, message, f"Write {FUNCTIONS[node.name]}.")

    def _flow_window(self, node: tree.Call) -> _Typed:
        inner = self._value(node.arguments[0])
        if inner.flow is None:
            message = f"`{node.name}` needs a flow, and this is a state or made of several series."
            raise self.error(_column(node.arguments[0]), message, "Use avg_over, max_over or min_over.")
        minutes = self._minutes(node.arguments[1])
        series = inner.flow
        if node.name == "rate":
            made = computed.Window("rate", series.key, series.factor, minutes)
            return _Typed(made, series.unit.times(PER_SECOND), minutes - 1)
        return _Typed(computed.Window("increase", series.key, series.factor, minutes), series.unit, minutes - 1)

    def _over(self, node: tree.Call, value: tree.Node, window: tree.Node, quantile: float) -> _Typed:
        inner = self._value(value)
        minutes = self._minutes(window)
        function: computed.OverFunction = "avg_over"
        for name in ("max_over", "min_over", "quantile_over"):
            if node.name == name:
                function = name
        made = computed.Over(function, inner.node, minutes, quantile)
        words = inner.words if function in ("max_over", "min_over") else ()
        return _Typed(made, inner.unit, inner.lookback + minutes - 1, words=words)

    def _minutes(self, node: tree.Node) -> int:
        if not isinstance(node, tree.Literal) or node.quantity.unit != SECONDS:
            raise self.error(_column(node), "A window is a length of time.", "Write one such as 10m.")
        seconds = node.quantity.value
        if seconds % _MINUTE_S or not _MINUTE_S <= seconds <= _MINUTE_S * MAX_WINDOW_MINUTES:
            message = f"A window is whole minutes, from 1m to {MAX_WINDOW_MINUTES}m."
            raise self.error(node.column, message, "Values are stored per minute; write such a length.")
        return int(seconds // _MINUTE_S)

    def _logic(self, node: tree.Binary) -> _Typed:
        sides = []
        for side in (node.left, node.right):
            found = self.visit(side)
            if found.unit is not None:
                message = f"`{node.operator}` joins conditions, and this is a value."
                raise self.error(_column(side), message, "Compare it, such as `... > 5%`.")
            sides.append(found)
        made = computed.Logic(node.operator, sides[0].node, sides[1].node)
        return _Typed(made, None, max(side.lookback for side in sides))

    def _comparison(self, node: tree.Binary) -> _Typed:
        left = self._value(node.left)
        right = self._word_or_value(node.right, left)
        if not left.words:
            self._same(left, right, node.column)
        made = computed.Comparison(node.operator, left.node, right.node)
        return _Typed(made, None, max(left.lookback, right.lookback))

    def _word_or_value(self, node: tree.Node, left: _Typed) -> _Typed:
        if not left.words:
            return self._value(node)
        if isinstance(node, tree.Name) and node.name in left.words:
            return _Typed(computed.Constant(float(left.words.index(node.name))), PLAIN, words=left.words)
        message = "The left side is a word, so that the right side must be one of its words."
        raise self.error(_column(node), message, f"Write one of {', '.join(left.words)}.")

    def _arithmetic(self, node: tree.Binary) -> _Typed:
        left, right = self._value(node.left), self._value(node.right)
        for side, written in ((left, node.left), (right, node.right)):
            if side.words:
                raise self.error(_column(written), "Words cannot be computed with.", "Compare them with == or >=.")
        made = computed.Arithmetic(node.operator, left.node, right.node)
        lookback = max(left.lookback, right.lookback)
        bare = left.bare and right.bare
        if node.operator in "*/":
            assert left.unit is not None
            assert right.unit is not None
            return _Typed(made, left.unit.times(right.unit, 1 if node.operator == "*" else -1), lookback, bare)
        return _Typed(made, self._same(left, right, node.column), lookback, bare)

    def _same(self, left: _Typed, right: _Typed, column: int) -> Unit:
        """The unit of two values that are compared or added."""
        assert left.unit is not None
        assert right.unit is not None
        for one, other in ((left, right), (right, left)):
            assert other.unit is not None
            if one.bare and (other.unit.is_count or one.node == computed.Constant(0.0)):
                return other.unit
            if one.unit == PER_SECOND and isinstance(one.node, computed.Constant) and other.unit.is_count_rate:
                return other.unit
        if left.unit.like(right.unit):
            return left.unit
        message = f"A value in {_named(left.unit)} cannot be set against one in {_named(right.unit)}."
        wanted = next((side.unit for side in (left, right) if not side.bare), left.unit)
        assert wanted is not None
        raise self.error(column, message, f"Give both the same unit; {_example(wanted)}")


def _named(unit: Unit) -> str:
    return str(unit) or "plain numbers"


def _example(unit: Unit) -> str:
    text = str(unit)
    examples = {"bytes": "bytes are written like 5GiB.", "seconds": "times are written like 10m."}
    if text == "bytes/s":
        return "byte rates are written like 16MB/s."
    return examples.get(text, "counts are written like 100, rates of counts like 100/s, shares like 5%.")


def _column(node: tree.Node) -> int:
    return _column(node.left) if isinstance(node, tree.Binary) else node.column
