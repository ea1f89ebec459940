"""Regular expressions that people write, in the syntax of RE2: they end soon on any text, whatever they say.

The time that a match takes grows with the length of the text alone. Python's `re` and PostgreSQL try one way after the
other instead, so that a short expression can keep them busy for ever. Every expression of a user goes through here.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

MAX_PATTERN_LENGTH = 2000
"""Characters of an expression."""
MAX_PATTERN_BYTES = 512 * 1024
"""Memory that one compiled expression may take. A larger one is refused; what it remembers of texts is kept within."""
MAX_KEPT = 256
"""Compiled expressions that stay in memory, those last used."""
NEXT_STEP = (
    r"Write it in the syntax of RE2: no look-around such as `(?=` or `(?!`, no back-references such as `\1`, "
    r"no `{n}` above 1000, `\z` in place of `\Z`."
)


class BadPattern(ValueError):
    """An expression that RE2 does not take. `next_step` says what to write instead."""

    def __init__(self, message: str, *, next_step: str = NEXT_STEP) -> None:
        super().__init__(message)
        self.next_step = next_step


@dataclass(frozen=True, slots=True)
class Pattern:
    """An expression that can be held against texts."""

    text: str
    _compiled: Any

    def fits(self, value: str) -> bool:
        """Whether the expression matches the whole value."""
        # A text that is no UTF-8 has a question mark where its broken characters stand.
        return self._compiled.fullmatch(value.encode("utf-8", "replace")) is not None

    def parts(self, value: str) -> dict[str, str] | None:
        """What its groups took of the value, by number and by name, of an expression with `captures`; None: no fit."""
        found = self._compiled.fullmatch(value.encode("utf-8", "replace"))
        if found is None:
            return None
        taken = [(part or b"").decode("utf-8", "replace") for part in (found[0], *found.groups())]
        by_number = {str(number): part for number, part in enumerate(taken)}
        names = {name.decode(): taken[number] for name, number in self._compiled.groupindex.items()}
        return by_number | names


@lru_cache(maxsize=MAX_KEPT)
def read_pattern(text: str, *, dot_fits_newline: bool = False, captures: bool = False) -> Pattern:
    r"""The expression of a text. Case counts unless it says `(?i)`; `\d`, `\s`, `\w` and `\b` know ASCII alone.

    Raises:
        BadPattern: RE2 does not take it, or it is too long or too large.
    """
    if len(text) > MAX_PATTERN_LENGTH:
        message = f"it has {len(text)} characters, and at most {MAX_PATTERN_LENGTH} are possible"
        raise BadPattern(message, next_step="Write a shorter one, or several.")
    options = re2.Options()
    options.max_mem = MAX_PATTERN_BYTES
    options.dot_nl = dot_fits_newline
    options.never_capture = not captures
    options.log_errors = False
    try:
        return Pattern(text, re2.compile(text.encode(), options))
    except UnicodeEncodeError as error:
        raise BadPattern("it has a character that is none of Unicode", next_step="Leave that character out.") from error
    except re2.error as error:
        cause = _cause_of(error)
        if "too large" in cause:
            step = "Repeat less often, or fewer things: `.{1,50}` in place of `.{1,1000}`."
            raise BadPattern(f"it takes more than {MAX_PATTERN_BYTES} bytes once compiled", next_step=step) from error
        raise BadPattern(f"RE2 says: {cause}") from error


def _cause_of(error: Exception) -> str:
    cause = error.args[0] if error.args else ""
    return cause.decode("utf-8", "replace") if isinstance(cause, bytes) else str(cause)
