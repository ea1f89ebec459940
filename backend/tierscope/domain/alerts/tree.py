"""The tree of a condition as it was written, each node with its place in the text (columns from 1)."""

from dataclasses import dataclass
from typing import TypeAlias

from tierscope.domain.alerts.units import Quantity

Node: TypeAlias = "Literal | Name | Call | Negated | Binary"


@dataclass(frozen=True, slots=True)
class Literal:
    """A number with its unit."""

    quantity: Quantity
    column: int


@dataclass(frozen=True, slots=True)
class Matcher:
    """A part of a metric that is picked, such as `node="1"`."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Name:
    """A metric, a derived series or the word of a state."""

    name: str
    matchers: tuple[Matcher, ...]
    column: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments."""

    name: str
    arguments: "tuple[Node, ...]"
    column: int


@dataclass(frozen=True, slots=True)
class Negated:
    """Minus."""

    inner: "Node"
    column: int


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic, a comparison, or `and`, `or`, `unless`; `column` is that of the operator."""

    operator: str
    left: "Node"
    right: "Node"
    column: int


def write(node: Node) -> str:
    """The normal form: one way to write each condition."""
    return _write(node, 0)


_BINDING = {"or": 1, "and": 2, "unless": 2, "+": 4, "-": 4, "*": 5, "/": 5}
_COMPARED = 3
_TIGHTEST = 6


def _write(node: Node, outer: int) -> str:
    match node:
        case Literal():
            return node.quantity.written
        case Name():
            picked = ", ".join(f'{matcher.name}="{matcher.value}"' for matcher in node.matchers)
            plain = node.name.replace("_", "").replace(".", "").isalnum()
            return (node.name if plain else f"`{node.name}`") + (f"{{{picked}}}" if picked else "")
        case Call():
            return f"{node.name}({', '.join(_write(argument, 0) for argument in node.arguments)})"
        case Negated():
            return f"-{_write(node.inner, _TIGHTEST)}"
        case Binary():
            binding = _BINDING.get(node.operator, _COMPARED)
            text = f"{_write(node.left, binding)} {node.operator} {_write(node.right, binding + 1)}"
            return f"({text})" if binding < outer else text
