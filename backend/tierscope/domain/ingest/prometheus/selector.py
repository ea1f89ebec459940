"""Series selectors as Prometheus writes them: `name{label="value", other=~"a|b"}`."""

import re
from dataclasses import dataclass

_METRIC = re.compile(r"\s*([a-zA-Z_:][a-zA-Z0-9_:]*)?\s*")
_CONDITION = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*(,|(?=\}))')
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
SELECTOR_LENGTH_MAX = 2000
CONDITIONS_MAX = 20


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on a label. Operators are `=`, `!=`, `=~` and `!~`; patterns fit the whole value."""

    label: str
    operator: str
    value: str


def parse_selector(text: str) -> tuple[Condition, ...]:
    """The conditions of a selector.

    Raises:
        ValueError: the text is none; the message says where.
    """
    if len(text) > SELECTOR_LENGTH_MAX:
        raise ValueError(f"a selector has at most {SELECTOR_LENGTH_MAX} characters")
    head = _METRIC.match(text)
    assert head is not None  # the pattern fits the empty text
    found = [Condition("__name__", "=", head[1])] if head[1] else []
    at = head.end()
    if at < len(text):
        if text[at] != "{":
            raise ValueError(f'a selector is name{{label="value"}}, not {text[at:][:20]!r} after {text[:at]!r}')
        at = _read_conditions(text, at + 1, found)
        if text[at:].strip():
            raise ValueError(f"nothing stands behind the braces, not {text[at:][:20]!r}")
    if not found:
        raise ValueError("a selector names a metric or has a condition")
    if len(found) > CONDITIONS_MAX:
        raise ValueError(f"a selector has at most {CONDITIONS_MAX} conditions")
    return tuple(found)


def _read_conditions(text: str, at: int, found: list[Condition]) -> int:
    while True:
        rest = text[at:].lstrip()
        if rest.startswith("}"):
            return len(text) - len(rest) + 1
        part = _CONDITION.match(text, at)
        if part is None:
            raise ValueError(f'a condition is label="value", not {text[at:][:30]!r}')
        value = _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), part[3])
        found.append(Condition(part[1], part[2], value))
        at = part.end()
