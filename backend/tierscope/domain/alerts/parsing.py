"""From the text of a condition to its tree."""

import re
from functools import lru_cache
from typing import Any

from lark import (
    Lark,
    ParseTree,
    Token,
    Transformer,
    UnexpectedCharacters,
    UnexpectedEOF,
    UnexpectedInput,
    UnexpectedToken,
)
from lark.exceptions import VisitError

from tierscope.domain.alerts.problems import RuleError, RuleProblem
from tierscope.domain.alerts.tree import Binary, Call, Literal, Matcher, Name, Negated, Node
from tierscope.domain.alerts.units import LITERAL, parse_literal

_WORD = re.compile(r"[\w.%]+|.")
MAX_LENGTH = 2000
MAX_DEPTH = 40
"""Parentheses and calls within each other."""
MAX_OPERATORS = 100
"""Each puts what stands before it one level deeper, and trees are walked by functions that call themselves."""

_SLASHED = LITERAL.replace("/", r"\/")
_GRAMMAR = rf"""
?start: either
?either: both | either OR both -> binary
?both: compared | both (AND | UNLESS) compared -> binary
?compared: sum | sum COMPARISON sum -> binary
?sum: product | sum (PLUS | MINUS) product -> binary
?product: unary | product (TIMES | OVER) unary -> binary
?unary: MINUS unary -> negated | atom
?atom: QUANTITY -> literal
     | NAME "(" [either ("," either)*] ")" -> call
     | NAME ["{{" [matcher ("," matcher)*] "}}"] -> name
     | QUOTED ["{{" [matcher ("," matcher)*] "}}"] -> name
     | "(" either ")"
matcher: NAME "=" TEXT
OR.2: /or(?![\w.])/
AND.2: /and(?![\w.])/
UNLESS.2: /unless(?![\w.])/
COMPARISON: ">=" | "<=" | "==" | "!=" | ">" | "<"
PLUS: "+"
MINUS: "-"
TIMES: "*"
OVER: "/"
QUANTITY: /{_SLASHED}/
NAME: /[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*/
QUOTED: /`[^`\n]+`/
TEXT: /"[^"\n]*"/
%ignore /\s+/
"""


class _Build(Transformer[Token, Node]):
    """Lark's tree to ours."""

    def binary(self, parts: list[Any]) -> Binary:
        left, operator, right = parts
        return Binary(str(operator), left, right, operator.column)

    def negated(self, parts: list[Any]) -> Negated:
        return Negated(parts[1], parts[0].column)

    def literal(self, parts: list[Any]) -> Literal:
        return Literal(parse_literal(str(parts[0])), parts[0].column)

    def call(self, parts: list[Any]) -> Call:
        head, *arguments = parts
        return Call(str(head), tuple(part for part in arguments if part is not None), head.column)

    def name(self, parts: list[Any]) -> Name:
        head, *matchers = parts
        return Name(str(head).strip("`"), tuple(part for part in matchers if part is not None), head.column)

    def matcher(self, parts: list[Any]) -> Matcher:
        return Matcher(str(parts[0]), str(parts[1]).strip('"'))


@lru_cache(maxsize=1)
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", maybe_placeholders=True, propagate_positions=True)


def parse(text: str, field: str = "expression") -> Node:
    """The tree of a condition.

    Raises:
        RuleError: it cannot be read; names the column.
    """
    if not text.strip():
        raise RuleError(RuleProblem(field, "The condition is empty.", "Write one, such as `free_dram_ratio < 5%`."))
    if len(text) > MAX_LENGTH:
        limit = f"A condition has at most {MAX_LENGTH} characters."
        raise RuleError(RuleProblem(field, limit, "Split it into several rules."))
    _check_depth(text, field)
    try:
        tree = _parser().parse(text)
        _check_operators(tree, field)
        return _Build().transform(tree)
    except UnexpectedInput as error:
        raise RuleError(_explain(error, text, field)) from error
    except VisitError as error:
        raise RuleError(RuleProblem(field, str(error.orig_exc), "Write it as in docs/method/alerts.md.")) from error


def _check_depth(text: str, field: str) -> None:
    depth = 0
    for column, letter in enumerate(text, 1):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth > MAX_DEPTH:
            message = f"More than {MAX_DEPTH} parentheses stand within each other."
            raise RuleError(RuleProblem(f"{field}:{column}", message, "Split the condition into several rules."))


def _check_operators(tree: ParseTree, field: str) -> None:
    operators = sum(part.data in ("binary", "negated") for part in tree.iter_subtrees())
    if operators > MAX_OPERATORS:
        message = f"There are {operators} operators, at most {MAX_OPERATORS} are taken."
        raise RuleError(RuleProblem(field, message, "Split the condition into several rules."))


_NAMES = {
    "COMPARISON": "a comparison such as `>`",
    "QUANTITY": "a number such as `5%` or `16MB/s`",
    "NAME": "a metric or function",
    "QUOTED": "a metric in backquotes",
    "TEXT": 'a text in quotes such as `node="1"`',
    "LPAR": "`(`",
    "RPAR": "`)`",
    "COMMA": "`,`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "EQUAL": "`=`",
    "MINUS": "`-`",
    "PLUS": "`+`",
    "TIMES": "`*`",
    "OVER": "`/`",
    "AND": "`and`",
    "OR": "`or`",
    "UNLESS": "`unless`",
}


def _explain(error: UnexpectedInput, text: str, field: str) -> RuleProblem:
    if isinstance(error, UnexpectedEOF) or (isinstance(error, UnexpectedToken) and error.token.type == "$END"):
        column, found = len(text.rstrip()) + 1, "The condition ends too early."
    elif isinstance(error, UnexpectedCharacters):
        word = _WORD.match(text, error.column - 1)
        column, found = error.column, f"`{word[0] if word else ''}` is not understood here."
    elif isinstance(error, UnexpectedToken):
        column, found = int(getattr(error.token, "column", 1)), f"`{error.token}` does not belong here."
    else:
        column, found = int(error.column), "The condition is not understood."
    expected: set[str] = set()
    for attribute in ("accepts", "expected", "allowed"):
        expected |= set(getattr(error, attribute, None) or ())
    wanted = sorted({_NAMES.get(name, "") for name in expected} - {""})
    step = f"Write {', '.join(wanted[:-1])} or {wanted[-1]} there." if len(wanted) > 1 else "See docs/method/alerts.md."
    if len(wanted) == 1:
        step = f"Write {wanted[0]} there."
    return RuleProblem(f"{field}:{column}", found, step)
