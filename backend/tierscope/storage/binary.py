"""Reading PostgreSQL's binary COPY format in whole numpy arrays, without a Python object per element.

`copy_out` yields rows of raw fields, which `parse_int8_array` and its siblings view. The other way is copy.py. Times
are microseconds since the Unix epoch, UTC.
"""

import struct
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MISSING = -(2**63)
"""Stands for a null element of an int8 array on the way out: no kernel counter has this value."""

_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
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
