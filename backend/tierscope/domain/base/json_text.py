"""JSON that people send, bounded before anything is made of it: a few characters become hundreds of bytes in memory."""

import re

MAX_PARTS = 49_152
"""Strings, commas, colons and opening brackets of a document; a key with its value has three."""
_PART = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[,:\[{]', re.DOTALL)


def has_too_many_parts(body: bytes) -> bool:
    """Whether a text of JSON has more parts than one reads; what stands within strings does not count.

    The time follows the length of the text and the bound, whatever it says.
    """
    return any(number == MAX_PARTS for number, _ in enumerate(_PART.finditer(body)))
