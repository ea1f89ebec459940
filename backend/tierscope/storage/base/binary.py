"""Reading PostgreSQL's binary COPY format in whole numpy arrays, without a Python object per element.

`copy_out` yields rows of raw fields, which `parse_int8_array` and its siblings view. The other way is copy.py. Times
are microseconds since the Unix epoch, UTC.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MISSING = -(2**63)
"""Stands for a null element of an int8 array on the way out: no kernel counter has this value."""

_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
_TRAILER = 2
_EPOCH_2000_US = 946_684_800_000_000
_HEADER = struct.Struct("!iiiii")
_INT8_CELL = np.dtype([("len", ">i4"), ("value", ">i8")])
_FLOAT8_CELL = np.dtype([("len", ">i4"), ("value", ">f8")])

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_us(at: datetime) -> int:
    """Microseconds since the Unix epoch."""
    return (at - EPOCH) // timedelta(microseconds=1)


def from_us(at_us: int) -> datetime:
    """The aware UTC time of microseconds since the Unix epoch."""
    return EPOCH + timedelta(microseconds=int(at_us))


def copy_out(session: ReadSession, query: str, parameters: Sequence[object] = ()) -> Iterator[list[bytes | None]]:
    """Run `COPY (query) TO STDOUT (FORMAT BINARY)` and yield the raw fields of each row."""
    with (
        session.driver.cursor() as cursor,
        cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT BINARY)".encode(), parameters) as stream,
    ):
        yield from _split(b"".join(stream))


def copy_columns(session: ReadSession, query: str) -> "Columns | None":
    """The same of rows whose fields have the same lengths in all of them, None without any row.

    Raises:
        ValueError: the rows differ in the length of a field, or in what is null.
    """
    with (
        session.driver.cursor() as cursor,
        cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT BINARY)".encode()) as stream,
    ):
        return columns_of(b"".join(stream))


def columns_of(data: bytes) -> "Columns | None":
    """What `copy_columns` reads, from the bytes of a COPY."""
    first = next(_split(data), None)
    if first is None:
        return None
    body = memoryview(data)[len(_SIGNATURE) : -_TRAILER]
    starts = np.cumsum([2, *(4 + len(field or b"") for field in first)])
    width = int(starts[-1])
    if len(body) % width:
        raise ValueError("rows of a COPY differ in length")
    rows = np.frombuffer(body, np.uint8).reshape(-1, width)
    # Two bytes say how many fields a row has, and four before each field how long it is.
    framing = np.concatenate([[0, 1], *(np.arange(start, start + 4) for start in starts[:-1])])
    if (rows[:, framing] != rows[0, framing]).any():
        raise ValueError("rows of a COPY differ in the lengths of their fields")
    spans = tuple((int(start) + 4, None if f is None else len(f)) for start, f in zip(starts[:-1], first, strict=True))
    return Columns(rows, spans)


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows of equal lengths [n, bytes], and where each field begins and how long it is, None for null in all rows."""

    rows: npt.NDArray[np.uint8]
    spans: tuple[tuple[int, int | None], ...]

    def ints(self, field: int) -> Ints:
        """A smallint, integer or bigint; 0 for null."""
        at, width = self.spans[field]
        return np.zeros(len(self.rows), np.int64) if width is None else self._view(at, width, "i").astype(np.int64)

    def times_us(self, field: int) -> Ints:
        """A timestamptz, as microseconds since the Unix epoch."""
        return self.ints(field) + _EPOCH_2000_US

    def floats(self, field: int) -> Floats:
        """A double precision; 0 for null."""
        at, width = self.spans[field]
        return np.zeros(len(self.rows)) if width is None else self._view(at, width, "f").astype(np.float64)

    def int8_arrays(self, field: int) -> Ints:
        """A bigint[] of one dimension without nulls, as a table [n, cells]."""
        at, width = self.spans[field]
        cells = np.ascontiguousarray(self.rows[:, at + _HEADER.size : at + (width or 0)])
        return cells.view(_INT8_CELL)["value"].astype(np.int64)

    def _view(self, at: int, width: int, kind: str) -> npt.NDArray[np.generic]:
        return np.ascontiguousarray(self.rows[:, at : at + width]).view(f">{kind}{width}")[:, 0]


def _split(data: bytes) -> Iterator[list[bytes | None]]:
    at = len(_SIGNATURE)
    unpack_short, unpack_int = struct.Struct("!h").unpack_from, struct.Struct("!i").unpack_from
    while at < len(data):
        (fields,) = unpack_short(data, at)
        at += 2
        if fields < 0:
            return
        row: list[bytes | None] = []
        for _ in range(fields):
            (length,) = unpack_int(data, at)
            at += 4
            if length < 0:
                row.append(None)
                continue
            row.append(data[at : at + length])
            at += length
        yield row


def parse_int(field: bytes | None) -> int | None:
    """A smallint, integer or bigint."""
    return None if field is None else int.from_bytes(field, "big", signed=True)


def parse_us(field: bytes | None) -> int:
    """A timestamptz, as microseconds since the Unix epoch."""
    assert field is not None
    return int.from_bytes(field, "big", signed=True) + _EPOCH_2000_US


def parse_float(field: bytes | None) -> float | None:
    """A double precision."""
    return None if field is None else float(struct.unpack("!d", field)[0])


def parse_int8_array(field: bytes | None) -> Ints:
    """A bigint[] of one dimension without nulls; empty for null."""
    if field is None or len(field) < _HEADER.size:
        return np.zeros(0, np.int64)
    return np.frombuffer(field, _INT8_CELL, offset=_HEADER.size)["value"].astype(np.int64)


def parse_float8_array(field: bytes | None) -> Floats:
    """A float8[] of one dimension without nulls."""
    if field is None or len(field) < _HEADER.size:
        return np.zeros(0, np.float64)
    return np.frombuffer(field, _FLOAT8_CELL, offset=_HEADER.size)["value"].astype(np.float64)


def parse_small_array(field: bytes | None) -> list[int]:
    """A smallint[] or integer[] without nulls."""
    return [int.from_bytes(cell, "big", signed=True) for cell in _cells(field)]


def parse_bytes_array(field: bytes | None) -> list[bytes]:
    """A bytea[] without nulls."""
    return list(_cells(field))


def parse_text_array(field: bytes | None) -> list[str]:
    """A text[] without nulls."""
    return [cell.decode() for cell in _cells(field)]


def _cells(field: bytes | None) -> Iterator[bytes]:
    if field is None or len(field) < _HEADER.size:
        return
    at = _HEADER.size
    while at < len(field):
        length = int.from_bytes(field[at : at + 4], "big", signed=True)
        at += 4
        yield field[at : at + max(length, 0)]
        at += max(length, 0)
