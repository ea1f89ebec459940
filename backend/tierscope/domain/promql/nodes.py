"""What a PromQL expression is made of, as far as it is answered here."""

from dataclasses import dataclass
from typing import Literal

MatchOperator = Literal["=", "!=", "=~", "!~"]
At = int | Literal["start", "end"] | None
"""`@`: milliseconds since 1970, or an end of the query."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """A condition on a label; patterns fit the whole value. A label that a series lacks is the empty text."""

    label: str
    operator: MatchOperator
    value: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number."""

    value: float


@dataclass(frozen=True, slots=True)
class String:
    """A text."""

    value: str


@dataclass(frozen=True, slots=True)
class Selector:
    """Series by their labels: at each step the newest sample, or all of `range_ms` before it."""

    matchers: tuple[Matcher, ...]
    offset_ms: int = 0
    at: At = None
    range_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Subquery:
    """An expression at steps of its own, all of `range_ms` before each step; `step_ms` None: as the query's."""

    inner: "Node"
    range_ms: int
    step_ms: int | None
    offset_ms: int = 0
    at: At = None


@dataclass(frozen=True, slots=True)
class Call:
    """A function of arguments."""

    name: str
    arguments: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Aggregation:
    """An operator over groups of series: those equal in `labels`, or in all others where `without`."""

    operator: str
    inner: "Node"
    parameter: "Node | None"
    labels: frozenset[str]
    without: bool


@dataclass(frozen=True, slots=True)
class Matching:
    """How series of two sides find each other. `many`: the side that may have several, with `include` of the other."""

    labels: frozenset[str]
    on: bool
    many: Literal["left", "right"] | None
    include: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Binary:
    """Two sides and an operator; `as_bool`: a comparison answers 0 or 1 in place of leaving out."""

    operator: str
    left: "Node"
    right: "Node"
    as_bool: bool
    matching: Matching


@dataclass(frozen=True, slots=True)
class Negation:
    """The negative of an expression."""

    inner: "Node"


Node = Number | String | Selector | Subquery | Call | Aggregation | Binary | Negation
