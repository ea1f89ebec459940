"""Matchers over labels: equal, not equal, regular expression over the whole value, and its opposite.

A label that is not there is the empty text, so that `team=""` finds alerts without a team.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Operator = Literal["=", "!=", "=~", "!~"]
OPERATORS: tuple[str, ...] = get_args(Operator)
MAX_VALUE_LENGTH = 500
MAX_REPEATS = 4
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:/-]{0,199}\Z")

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition on one label.

    Raises:
        ValueError: the name is no label name, the value is too long, or the expression cannot be read.
    """

    name: str
    op: Operator
    value: str
    _pattern: re.Pattern[str] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise ValueError(f"{self.name[:80]!r} is no label name")
        if self.op not in OPERATORS:
            raise ValueError(f"{self.op!r} is none of {', '.join(OPERATORS)}")
        if len(self.value) > MAX_VALUE_LENGTH or "\0" in self.value:
            raise ValueError(f"the value for {self.name!r} has at most {MAX_VALUE_LENGTH} characters and no NUL")
        pattern = None
        if self.op in ("=~", "!~"):
            _check_bounded(self.value, self.name)
            try:
                pattern = re.compile(self.value)
            except re.error as error:
                raise ValueError(f"the expression for {self.name!r} cannot be read: {error}") from error
        object.__setattr__(self, "_pattern", pattern)

    def matches(self, labels: Labels) -> bool:
        """Whether labels meet the condition."""
        value = labels.get(self.name, "")
        if self._pattern is None:
            return (value == self.value) is (self.op == "=")
        return (self._pattern.fullmatch(value) is not None) is (self.op == "=~")

    def __str__(self) -> str:
        escaped = self.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'{self.name}{self.op}"{escaped}"'


def _check_bounded(expression: str, name: str) -> None:
    """Refuses expressions that could take for ever on an unlucky value: one matcher would hold up every alert.

    Those are a repeated group that itself repeats something or has alternatives, such as `(a+)+`, and many repeats.
    """
    varies = [False]  # of the groups around, the innermost last: whether what is in them can match in several ways
    repeats = 0
    # Escaped characters and classes are no operators: they become a letter.
    plain = re.sub(r"\\.|\[\^?\]?[^\]]*\]", "a", expression, flags=re.DOTALL)
    for at, sign in enumerate(plain):
        if sign == "(":
            varies.append(False)
        elif sign == ")" and len(varies) > 1:
            inside = varies.pop()
            if inside and plain[at + 1 : at + 2] in ("*", "+", "{"):
                raise ValueError(f"the expression for {name!r} repeats a group that can match in several ways")
            varies[-1] = varies[-1] or inside
        elif sign == "|" or (sign in "*+{?" and plain[at - 1 : at] != "("):
            varies[-1] = True
            repeats += sign in "*+{"
    if repeats > MAX_REPEATS:
        raise ValueError(f"the expression for {name!r} has more than {MAX_REPEATS} repeats")


def all_match(matchers: Iterable[Matcher], labels: Labels) -> bool:
    """Whether labels meet every condition; none at all means yes."""
    return all(matcher.matches(labels) for matcher in matchers)


def matchers_text(matchers: Iterable[Matcher]) -> str:
    """Matchers in one text, in a fixed order."""
    return "{" + ",".join(sorted(str(matcher) for matcher in matchers)) + "}"
