"""The text of a kernel setting, as its file has it."""

import re

_SELECTED = re.compile(r"\[([^][]*)\]")


def selected(text: str) -> str:
    """The value of a setting as it is written: of `always [madvise] never` the one in brackets, else all of it."""
    found = _SELECTED.search(text)
    return (found[1] if found else text).strip()


def choices(text: str) -> tuple[str, ...]:
    """What the kernel offers for a setting, in its order; nothing where its file holds the value alone."""
    return tuple(text.replace("[", "").replace("]", "").split()) if _SELECTED.search(text) else ()
