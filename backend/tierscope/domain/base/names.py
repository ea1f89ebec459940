r"""Names that hosts and people give: what could deceive a reader or a path is refused where it can be, else escaped.

Deceiving are control characters (C0, C1), line and paragraph separators, marks that turn the direction of text, and
`..` as a part of a path. A request that stands alone, such as an enrolment, is refused. Names within batches and
samples are escaped (`\x1b`, `\u202e`, `\x2e\x2e`): refusing one would lose the measurements that came with it.
"""

import re

_DECEIVING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_PARENT = re.compile(r"(?<![^/\\])\.\.(?![^/\\])")
_ONE_BYTE = 0x100


def problem_of_name(text: str) -> str | None:
    """Returns what is wrong with a name, as the end of a sentence; None where it can be taken as it is."""
    found = _DECEIVING.search(text)
    if found is not None:
        return f"holds the character U+{ord(found[0]):04X}, which does not show or changes how the rest shows"
    return "holds `..` as a part of a path" if _PARENT.search(text) else None


def escaped_text(text: str) -> str:
    """Returns a text with its deceiving characters written out; the same text always gives the same."""
    return _DECEIVING.sub(_written_out, text)


def escaped_name(text: str) -> str:
    """Returns a name that can be shown and put into a path; the same name always gives the same."""
    return _PARENT.sub(r"\\x2e\\x2e", escaped_text(text))


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < _ONE_BYTE else f"\\u{code:04x}"
