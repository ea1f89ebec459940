"""Matchers over labels: equal, not equal, expression of RE2 over the whole value, and its opposite.

A label that is not there is the empty text, so that `team=""` finds alerts without a team.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from tierscope.domain.base.patterns import BadPattern, Pattern, read_pattern

Operator = Literal["=", "!=", "=~", "!~"]
OPERATORS: tuple[str, ...] = get_args(Operator)
MAX_VALUE_LENGTH = 500
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:/-]{0,199}\Z")

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition on one label.

    A `stored` one was taken before. It is read even where its expression cannot be read any more, and matches nothing
    then, so that it does not hold up the others.

    Raises:
        ValueError: the name is no label name, or the value is too long.
        BadPattern: the expression cannot be read.
    """

    name: str
    op: Operator
    value: str
    stored: bool = field(default=False, repr=False, compare=False)
    _pattern: Pattern | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise ValueError(f"{self.name[:80]!r} is no label name")
        if self.op not in OPERATORS:
            raise ValueError(f"{self.op!r} is none of {', '.join(OPERATORS)}")
        if len(self.value) > MAX_VALUE_LENGTH or "\0" in self.value:
            raise ValueError(f"the value for {self.name!r} has at most {MAX_VALUE_LENGTH} characters and no NUL")
        pattern = None
        if self.op in ("=~", "!~"):
            try:
                pattern = read_pattern(self.value)
            except BadPattern as error:
                if not self.stored:
                    message = f"the expression for {self.name!r} cannot be read: {error}"
                    raise BadPattern(message, next_step=error.next_step) from error
        object.__setattr__(self, "_pattern", pattern)

    @property
    def is_readable(self) -> bool:
        """Whether it can match at all; a `stored` one whose expression cannot be read any more cannot."""
        return self.op in ("=", "!=") or self._pattern is not None

    def matches(self, labels: Labels) -> bool:
        """Whether labels meet the condition."""
        value = labels.get(self.name, "")
        if self.op in ("=", "!="):
            return (value == self.value) is (self.op == "=")
        return self._pattern is not None and self._pattern.fits(value) is (self.op == "=~")

    def __str__(self) -> str:
        escaped = self.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'{self.name}{self.op}"{escaped}"'


def all_match(matchers: Iterable[Matcher], labels: Labels) -> bool:
    """Whether labels meet every condition; none at all means yes."""
    return all(matcher.matches(labels) for matcher in matchers)


def matchers_text(matchers: Iterable[Matcher]) -> str:
    """Matchers in one text, in a fixed order."""
    return "{" + ",".join(sorted(str(matcher) for matcher in matchers)) + "}"
