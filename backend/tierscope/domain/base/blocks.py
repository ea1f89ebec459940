"""The codec of blocks: columns of numbers of closed time, each in the fewest bytes that give it back exactly.

A block holds n rows as parts. A part is one column, or several that are read together; the compiled core chooses for
each column how its values are told: as they are, from the row before, from the column before, or by a dictionary.
docs/method/stored-forms.md has the bytes.
"""

import json
import struct
from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.compiled import compiled_core

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
_PART = struct.Struct("<II")
"""Rows and bytes of a part."""


@lru_cache(maxsize=1)
def _core() -> ModuleType:
    return compiled_core("pack_ints", "blocks of closed time are packed and read by")


def pack_floats(columns: Floats) -> bytes:
    """A part of columns [c, n] of float64, NaN where missing. `unpack_floats` gives back the same numbers."""
    part: bytes = _core().pack_floats(np.ascontiguousarray(columns, np.float64))
    return part


def pack_ints(columns: Ints, present: Bools | None = None, *, dictionaries: bool = True) -> bytes:
    """A part of columns [c, n] of int64; `present` [c, n], None = all. `unpack_ints` gives back the same.

    `dictionaries`: whether they are tried, which takes time and is of no use for what counts up.
    """
    there = None if present is None else np.ascontiguousarray(present, np.bool_)
    part: bytes = _core().pack_ints(np.ascontiguousarray(columns, np.int64), there, dictionaries=dictionaries)
    return part


def pack_words(words: Sequence[str]) -> bytes:
    """A part of texts, such as those that a column of places points into: a JSON array in UTF-8."""
    part: bytes = _core().pack_bytes(json.dumps(list(words), ensure_ascii=False, separators=(",", ":")).encode())
    return part


def unpack_floats(part: bytes, n: int) -> Floats:
    """The columns [c, n] of a part of n rows as float64, NaN where missing. Integers become float64 too.

    Raises:
        ValueError: this is not a part of n rows.
    """
    columns: Floats = _core().unpack_floats(part, n)
    return columns


def unpack_ints(part: bytes, n: int, places: Sequence[int] | None = None) -> tuple[Ints, Bools]:
    """The columns [c, n] of a part of n integer rows, 0 where missing, and which are present [c, n].

    `places`: of these columns alone, ascending; None = of all.

    Raises:
        ValueError: this is not a part of n rows, or holds fractions.
    """
    columns: tuple[Ints, Bools] = _core().unpack_ints(part, n, places)
    return columns


def unpack_words(part: bytes) -> tuple[str, ...]:
    """The texts that `pack_words` was given."""
    return tuple(json.loads(_core().unpack_bytes(part)))


def join_parts(parts: Sequence[tuple[int, bytes]]) -> bytes:
    """Parts of so many rows each as one body, for tables that read them together."""
    return b"".join(_PART.pack(n, len(part)) + part for n, part in parts)


def split_parts(body: bytes) -> list[tuple[int, bytes]]:
    """What `join_parts` was given.

    Raises:
        ValueError: this is not a body of whole parts.
    """
    parts, at = [], 0
    while at < len(body):
        if at + _PART.size > len(body):
            raise ValueError("a body of parts ends early")
        n, length = _PART.unpack_from(body, at)
        at += _PART.size + length
        if at > len(body):
            raise ValueError("a body of parts ends early")
        parts.append((n, body[at - length : at]))
    return parts
