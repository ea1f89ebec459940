"""Units of alert rules: what a number counts, and literals such as `16MB/s`, `5%` and `10m`.

A unit is a product of base units with exponents. Bytes and seconds are quantities; pages, events and the like are
counts: a bare number may be compared with a count, never with a quantity.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tierscope.domain.base.words import number_text

_BYTE_FACTORS = {
    "B": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
}
_TIME_FACTORS = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86_400.0,
    "w": 604_800.0,
}
_COUNT_NAMES = ("pages", "events", "faults", "allocations", "entries", "samples", "intervals", "batches")
UNIT_NAMES = ("%", *_BYTE_FACTORS, *_TIME_FACTORS, *_COUNT_NAMES)
QUANTITIES = ("bytes", "seconds")
LITERAL = (
    r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
    r"(?:%|(?:[KMGT]iB|[kMGT]?B|ns|us|ms|min|s|m|h|d|w|" + "|".join(_COUNT_NAMES) + r")?(?:/(?:s|min|m|h|d))?(?![\w.]))"
)
"""What a literal looks like to the parser."""
_PARTS = re.compile(r"^([0-9.]+(?:[eE][+-]?[0-9]+)?)(%|[A-Za-z]*)(?:/([a-z]+))?$")


@dataclass(frozen=True, slots=True)
class Unit:
    """Base units with their exponents, in order of name; without any it is a plain number or ratio."""

    powers: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        """Such as `bytes/s`; "" for a plain number."""
        over = [_power(name, power) for name, power in self.powers if power > 0]
        under = [_power("s" if name == "seconds" else name, -power) for name, power in self.powers if power < 0]
        text = "·".join(over) or ("1" if under else "")
        return "/".join([text, *under])

    @property
    def plain(self) -> bool:
        """Whether it is a number without a unit."""
        return not self.powers

    @property
    def is_count(self) -> bool:
        """Whether it counts things, or things per second: then a bare number is understood."""
        return all(name not in QUANTITIES or (name == "seconds" and power == -1) for name, power in self.powers)

    @property
    def is_count_rate(self) -> bool:
        """Whether it counts things per second."""
        return self.is_count and ("seconds", -1) in self.powers

    @property
    def is_share(self) -> bool:
        """Whether it is a plain number, or counts over as many counts, such as events per page."""
        return all(name not in QUANTITIES for name, _ in self.powers) and sum(power for _, power in self.powers) == 0

    def like(self, other: "Unit") -> bool:
        """Whether values of the two may be compared and added."""
        return self == other or (self.is_share and other.is_share)

    def times(self, other: "Unit", sign: int = 1) -> "Unit":
        """The unit of a product, or of a quotient with sign -1."""
        powers = dict(self.powers)
        for name, power in other.powers:
            powers[name] = powers.get(name, 0) + sign * power
        return make_unit(powers)


def make_unit(powers: Mapping[str, int]) -> Unit:
    """A unit from exponents by base unit."""
    return Unit(tuple(sorted((name, power) for name, power in powers.items() if power)))


PLAIN = Unit()
SECONDS = make_unit({"seconds": 1})
PER_SECOND = make_unit({"seconds": -1})


def unit_of(name: str) -> Unit:
    """The unit of a name such as `bytes`, `pages/s`, `ratio` or `count`."""
    over, _, under = name.partition("/")
    powers = {} if over in ("", "ratio", "count", "state", "1") else {over: 1}
    if under:
        powers[{"s": "seconds"}.get(under, under)] = -1
    return make_unit(powers)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A literal in base units. `written`: as it stood; `bare`: without any unit."""

    value: float
    unit: Unit
    written: str

    @property
    def bare(self) -> bool:
        """Whether it has no unit at all, not even per cent."""
        return self.unit.plain and not self.written.endswith("%")


def parse_literal(text: str) -> Quantity:
    """A literal in base units: bytes, seconds, counts; per cent is a ratio.

    Raises:
        ValueError: it is not a literal.
    """
    found = _PARTS.match(text)
    if found is None:
        raise ValueError(f"`{text}` is not a number with a unit")
    value, name, under = float(found[1]), found[2], found[3]
    unit = PLAIN
    if name == "%":
        value /= 100.0
    elif name in _BYTE_FACTORS:
        value, unit = value * _BYTE_FACTORS[name], make_unit({"bytes": 1})
    elif name in _TIME_FACTORS:
        value, unit = value * _TIME_FACTORS[name], SECONDS
    elif name in _COUNT_NAMES:
        unit = make_unit({name: 1})
    elif name:
        raise ValueError(f"`{name}` is not a unit")
    if under:
        if under not in _TIME_FACTORS:
            raise ValueError(f"`/{under}` is not a unit of time")
        value, unit = value / _TIME_FACTORS[under], unit.times(SECONDS, -1)
    return Quantity(value, unit, text)


def parse_seconds(text: str) -> float:
    """A length of time such as `10m` in seconds.

    Raises:
        ValueError: it is not one.
    """
    if text in ("0", "0s"):
        return 0.0
    found = parse_literal(text)
    if found.unit != SECONDS:
        raise ValueError(f"`{text}` is not a length of time such as 10m")
    return found.value


def write_seconds(seconds: float) -> str:
    """Seconds as a literal, in the largest unit that fits."""
    for name in ("d", "h", "m"):
        if seconds >= _TIME_FACTORS[name] and seconds % _TIME_FACTORS[name] == 0:
            return f"{int(seconds // _TIME_FACTORS[name])}{name}"
    return f"{seconds:g}s"


def write_value(value: float, unit: Unit | str) -> str:
    """A value for people, such as `17.2 MB/s` or `12.5%`."""
    name = unit if isinstance(unit, str) else str(unit)
    if name in ("", "ratio"):
        return f"{number_text(100 * value)}%" if name == "ratio" else number_text(value, 4)
    if name.startswith("bytes"):
        return _scaled(value, [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)], name[5:])
    if name == "seconds":
        return _scaled(value, [("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0)], "")
    return f"{number_text(value, 4)} {name}"


def _scaled(value: float, steps: list[tuple[str, float]], rest: str) -> str:
    for name, factor in steps:
        if abs(value) >= factor:
            return f"{number_text(value / factor)} {name}{rest}"
    return f"{number_text(value)} {steps[-1][0]}{rest}"


def _power(name: str, power: int) -> str:
    return name if power == 1 else f"{name}^{power}"
