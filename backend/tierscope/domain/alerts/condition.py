"""Conditions as they are computed: names resolved, units checked, windows in minutes."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tierscope.domain.alerts.units import Unit

Node: TypeAlias = "Constant | Minute | Window | Over | Arithmetic | Extreme | Comparison | Logic | Absent"

WindowFunction = Literal["rate", "increase"]
ExtremeFunction = Literal["min", "max", "first"]
OverFunction = Literal["avg_over", "max_over", "min_over", "quantile_over"]


@dataclass(frozen=True, slots=True)
class Constant:
    """A number in base units."""

    value: float


@dataclass(frozen=True, slots=True)
class Minute:
    """A stored series in each minute: a flow's rate, a gauge's state, a word's number, or the age of the newest row."""

    key: str
    kind: Literal["flow", "gauge", "age"]
    factor: float


@dataclass(frozen=True, slots=True)
class Window:
    """The rate or the amount of a stored flow over the minutes that end with this one."""

    function: WindowFunction
    key: str
    factor: float
    minutes: int


@dataclass(frozen=True, slots=True)
class Over:
    """Mean, extreme or quantile of the values of some minutes."""

    function: OverFunction
    inner: "Node"
    minutes: int
    quantile: float


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """One of + - * /."""

    operator: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least or greatest of two values, or the first one that is known."""

    function: ExtremeFunction
    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One of > >= < <= == !=."""

    operator: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class Logic:
    """One of and, or, unless."""

    operator: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class Absent:
    """Whether a value was missing in all of the minutes that end with this one."""

    inner: "Node"
    minutes: int


@dataclass(frozen=True, slots=True)
class Condition:
    """A checked condition. `value` is what its first comparison looks at, against `threshold` where that is constant.

    `inputs`: stored series. `lookback`: minutes before a minute that its value needs. `normal_form`: one way to write
    it; `written_value`: the value's own. `words`: the names of the values where they are words.
    """

    root: Node
    value: Node
    unit: Unit
    operator: str
    threshold: float | None
    inputs: frozenset[str]
    lookback: int
    normal_form: str
    written_value: str
    words: tuple[str, ...] = ()

    @property
    def unit_name(self) -> str:
        """The unit of the value as answers name it."""
        if self.words:
            return "state"
        return "ratio" if self.unit.is_share else str(self.unit)
