"""Reading PostgreSQL's binary formats in whole numpy arrays, without a Python object per element.

`copy_out` yields rows of raw fields, which `parse_int8_array` and its siblings view; `copy_columns` reads rows of one
length as columns. The other way is copy.py. Times are microseconds since the Unix epoch, UTC.
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
_COUNT, _FIELD = struct.Struct("!i"), struct.Struct("!Ii")
_EPOCH_2000_US = 946_684_800_000_000
_HEADER = struct.Struct("!iiiii")
_TABLE_HEADER = struct.Struct("!iiiiiii")
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
    """The rows of `query`, whose fields have the same lengths in all of them, as one value; None without any row.

    The server puts them together: to take them from the connection one by one costs more than all else.

    Raises:
        ValueError: the rows differ in the length of a field, or in what is null.
    """
    whole = f"SELECT string_agg(record_send(t), ''::bytea) FROM ({query}) AS t"  # noqa: S608 - a query of our own
    with session.driver.cursor(binary=True) as cursor:
        found = cursor.execute(whole.encode()).fetchone()
    return None if found is None or found[0] is None else columns_of(found[0])


def columns_of(data: bytes) -> "Columns | None":
    """What `copy_columns` reads: records as `record_send` writes them, one after another."""
    if not data:
        return None
    spans, at = [], _COUNT.size
    for _ in range(_COUNT.unpack_from(data)[0]):
        _, length = _FIELD.unpack_from(data, at)
        at += _FIELD.size
        spans.append((at, None if length < 0 else length))
        at += max(length, 0)
    if len(data) % at:
        raise ValueError("rows differ in length")
    rows = np.frombuffer(data, np.uint8).reshape(-1, at)
    # Four bytes say how many fields a row has, and eight before each field its type and how long it is.
    framing = np.concatenate([np.arange(_COUNT.size), *(np.arange(start - _FIELD.size, start) for start, _ in spans)])
    if (rows[:, framing] != rows[0, framing]).any():
        raise ValueError("rows differ in the lengths of their fields")
    return Columns(rows, tuple(spans))


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


def parse_times_us(field: bytes | None) -> Ints:
    """A timestamptz[] without nulls, as microseconds since the Unix epoch."""
    return parse_int8_array(field) + _EPOCH_2000_US


def parse_float8_table(field: bytes | None) -> Floats:
    """A float8[][] without nulls [rows, cells]."""
    if field is None or len(field) < _TABLE_HEADER.size:
        return np.zeros((0, 0), np.float64)
    _, _, _, rows, _, cells, _ = _TABLE_HEADER.unpack_from(field)
    found = np.frombuffer(field, _FLOAT8_CELL, offset=_TABLE_HEADER.size)["value"]
    return found.astype(np.float64).reshape(rows, cells)


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
