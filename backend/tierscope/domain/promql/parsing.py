"""From the text of an expression to its nodes. promql-parser reads the grammar; what is not answered is refused here.

The parser walks what it reads by recursion, and a text that is nested too deeply would end the process: such texts are
refused before.
"""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Literal

import promql_parser as grammar

from tierscope.domain.base.patterns import BadPattern, read_pattern
from tierscope.domain.promql.nodes import (
    Aggregation,
    At,
    Binary,
    Call,
    Matcher,
    Matching,
    MatchOperator,
    Negation,
    Node,
    Number,
    Selector,
    String,
    Subquery,
)
from tierscope.domain.promql.series import NAME, QueryError

TEXT_MAX = 10_000
DEPTH_MAX = 40
OPERATORS_MAX = 200
LENGTH_MAX = timedelta(days=36_525)
AGGREGATIONS = frozenset(
    {"sum", "avg", "min", "max", "count", "group", "stddev", "stdvar", "topk", "bottomk", "quantile"}
)
FUNCTIONS_OF_RANGES = frozenset(
    {
        "rate", "increase", "delta", "irate", "idelta", "deriv", "predict_linear", "changes", "resets",
        "avg_over_time", "min_over_time", "max_over_time", "sum_over_time", "count_over_time", "last_over_time",
        "present_over_time", "absent_over_time", "stddev_over_time", "stdvar_over_time", "quantile_over_time",
    }
)  # fmt: skip
FUNCTIONS_OF_VECTORS = frozenset(
    {
        "abs", "ceil", "floor", "round", "clamp", "clamp_min", "clamp_max", "exp", "ln", "log2", "log10", "sqrt",
        "sgn", "absent", "sort", "sort_desc", "timestamp", "label_replace", "label_join", "histogram_quantile",
        "scalar", "vector", "time",
    }
)  # fmt: skip
FUNCTIONS = FUNCTIONS_OF_RANGES | FUNCTIONS_OF_VECTORS
_QUIET = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|\#[^\n]*""", re.DOTALL)
_OPERATORS = re.compile(r"[-+*/%^<>]|[=!]=|\b(?:and|or|unless|atan2)\b", re.IGNORECASE)
_NEGATIVE_AT = re.compile(r"@\s*-")
_OPERATOR_TEXTS: dict[str, MatchOperator] = {"Equal": "=", "NotEqual": "!=", "Re": "=~", "NotRe": "!~"}


def parse_query(text: str) -> Node:
    """The nodes of an expression.

    Raises:
        QueryError: it is none, or has something that is not answered here, which the message names.
    """
    _check_extent(text)
    try:
        tree = grammar.parse(text)
    except ValueError as error:
        raise QueryError(f"parse error: {error}") from error
    try:
        return _node(tree)
    except QueryError:
        raise
    except (ValueError, OverflowError) as error:
        raise QueryError("a time is after the year 9999, or a duration longer than a century") from error


def parse_matchers(text: str) -> tuple[Matcher, ...]:
    """The conditions of a plain selector, as `match[]` has them.

    Raises:
        QueryError: it is no selector, or has a range or an offset.
    """
    node = parse_query(text)
    if not isinstance(node, Selector) or node.range_ms is not None or node.offset_ms or node.at is not None:
        raise QueryError(f'{text[:80]!r} is no selector: write name{{label="value"}}')
    return node.matchers


def check_patterns(matchers: Iterable[Matcher]) -> None:
    """Refuse conditions whose pattern cannot be read.

    Raises:
        QueryError: the pattern is none, or needs too much memory.
    """
    for one in matchers:
        if one.operator in ("=~", "!~"):
            try:
                read_pattern(one.value, dot_fits_newline=True)
            except BadPattern as error:
                raise QueryError(f"{one.label}{one.operator}{one.value[:80]!r}: {error}. {error.next_step}") from error


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below one."""
    if isinstance(node, Subquery | Negation):
        return (node.inner,)
    if isinstance(node, Call):
        return node.arguments
    if isinstance(node, Binary):
        return node.left, node.right
    if isinstance(node, Aggregation):
        return (node.inner,) if node.parameter is None else (node.parameter, node.inner)
    return ()


def _check_extent(text: str) -> None:
    if len(text) > TEXT_MAX:
        raise QueryError(f"a query has at most {TEXT_MAX} characters, not {len(text)}")
    bare = _QUIET.sub('""', text)
    depth = deepest = 0
    for character in bare:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    if deepest > DEPTH_MAX:
        raise QueryError(f"a query is nested at most {DEPTH_MAX} deep, not {deepest}")
    n_operators = len(_OPERATORS.findall(bare))
    if n_operators > OPERATORS_MAX:
        raise QueryError(f"a query has at most {OPERATORS_MAX} operators, not {n_operators}")
    if _NEGATIVE_AT.search(bare):
        raise QueryError("`@` with a time before 1970 is not supported")


def _node(tree: Any) -> Node:  # noqa: ANN401 - nodes of the grammar
    match tree:
        case grammar.NumberLiteral():
            return Number(tree.val)
        case grammar.StringLiteral():
            return String(tree.val)
        case grammar.ParenExpr():
            return _node(tree.expr)
        case grammar.UnaryExpr():
            return Negation(_node(tree.expr))
        case grammar.VectorSelector():
            return _selector(tree, None)
        case grammar.MatrixSelector():
            return _selector(tree.vector_selector, _range_ms(tree.range))
        case grammar.SubqueryExpr():
            return _subquery(tree)
        case grammar.Call():
            return _call(tree)
        case grammar.AggregateExpr():
            return _aggregation(tree)
        case grammar.BinaryExpr():
            return _binary(tree)
    raise QueryError(f"{type(tree).__name__} is not supported")


def _selector(tree: Any, range_ms: int | None) -> Selector:  # noqa: ANN401 - nodes of the grammar
    if tree.matchers.or_matchers:
        raise QueryError("alternatives by `or` within braces are not supported: join two selectors by `or`")
    found = [] if tree.name is None else [Matcher(NAME, "=", tree.name)]
    found += [Matcher(one.name, _operator(one.op), one.value) for one in tree.matchers.matchers]
    check_patterns(found)
    return Selector(tuple(found), _ms(tree.offset), _at(tree.at), range_ms)


def _operator(operator: Any) -> MatchOperator:  # noqa: ANN401 - an enum without names
    return _OPERATOR_TEXTS[str(operator).rpartition(".")[2]]


def _subquery(tree: Any) -> Subquery:  # noqa: ANN401 - nodes of the grammar
    step_ms = None if tree.step is None else _range_ms(tree.step)
    return Subquery(_node(tree.expr), _range_ms(tree.range), step_ms, _ms(tree.offset), _at(tree.at))


def _call(tree: Any) -> Call:  # noqa: ANN401 - nodes of the grammar
    name = tree.func.name
    if name not in FUNCTIONS:
        raise QueryError(f"function {name}() is not supported; these are: {', '.join(sorted(FUNCTIONS))}")
    return Call(name, tuple(_node(argument) for argument in tree.args))


def _aggregation(tree: Any) -> Aggregation:  # noqa: ANN401 - nodes of the grammar
    operator = str(tree.op)
    if operator not in AGGREGATIONS:
        raise QueryError(f"aggregation {operator} is not supported; these are: {', '.join(sorted(AGGREGATIONS))}")
    modifier = tree.modifier
    apart = modifier is not None and modifier.type == grammar.AggModifierType.Without
    labels = frozenset(() if modifier is None else modifier.labels)
    parameter = None if tree.param is None else _node(tree.param)
    return Aggregation(operator, _node(tree.expr), parameter, labels, apart)


def _binary(tree: Any) -> Binary:  # noqa: ANN401 - nodes of the grammar
    operator = str(tree.op)
    modifier = tree.modifier
    matching, as_bool = Matching(frozenset(), on=False, many=None, include=()), False
    if modifier is not None:
        fill = modifier.fill_values
        if fill is not None and (fill.lhs is not None or fill.rhs is not None):
            raise QueryError("modifier fill is not supported")
        as_bool = modifier.return_bool
        matching = _matching(modifier)
    return Binary(operator, _node(tree.lhs), _node(tree.rhs), as_bool, matching)


def _matching(modifier: Any) -> Matching:  # noqa: ANN401 - nodes of the grammar
    by = modifier.matching
    many: Literal["left", "right"] | None = None
    if modifier.card == grammar.VectorMatchCardinality.ManyToOne:
        many = "left"
    elif modifier.card == grammar.VectorMatchCardinality.OneToMany:
        many = "right"
    return Matching(
        labels=frozenset(() if by is None else by.labels),
        on=by is not None and by.type == grammar.LabelModifierType.Include,
        many=many,
        include=tuple(modifier.group_labels or ()),
    )


def _range_ms(length: timedelta) -> int:
    found = _ms(length)
    if found <= 0:
        raise QueryError("a range and a step are longer than nothing")
    return found


def _ms(length: timedelta | None) -> int:
    if length is not None and abs(length) > LENGTH_MAX:
        raise QueryError("a duration is at most a century")
    return 0 if length is None else length // timedelta(milliseconds=1)


def _at(modifier: Any) -> At:  # noqa: ANN401 - nodes of the grammar
    if modifier is None:
        return None
    if modifier.type == grammar.AtModifierType.Start:
        return "start"
    if modifier.type == grammar.AtModifierType.End:
        return "end"
    return round(modifier.at.timestamp() * 1000)
