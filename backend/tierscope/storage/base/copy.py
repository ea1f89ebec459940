"""Binary COPY: rows as PostgreSQL reads them, built from arrays without a Python object per value.

Rows of counters and heat, which every batch has many of, are made by the compiled core.

Layout of a stream: signature, then per row the number of fields (int16) and each field as its length (int32, -1 = null)
and its bytes, then int16 -1. All integers are big-endian. An array field is: dimensions, has-null flag, element type,
length, lower bound (int32 each), then every element as length and bytes.
"""

import json
import struct
from collections.abc import Iterable, Sequence
from functools import cache
from types import ModuleType
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tierscope.core.database import WriteTransaction
from tierscope.domain.base.compiled import compiled_core

Int64 = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]

NULL = struct.pack(">i", -1)
_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_TRAILER = struct.pack(">h", -1)
_POSTGRES_EPOCH_US = 946_684_800 * 10**6
_INT2, _INT4, _INT8, _TEXT, _FLOAT8 = 21, 23, 20, 25, 701
_CHUNK_BYTES = 1 << 20
_ARRAY_HEADER_BYTES = 20

_int2 = struct.Struct(">ih").pack
_int4 = struct.Struct(">ii").pack
_int8 = struct.Struct(">iq").pack
_float8 = struct.Struct(">id").pack
_length = struct.Struct(">i").pack
_array_header = struct.Struct(">iiiiii").pack


def int2(value: int | None) -> bytes:
    """A smallint field."""
    return NULL if value is None else _int2(2, value)


def int4(value: int | None) -> bytes:
    """An integer field."""
    return NULL if value is None else _int4(4, value)


def int8(value: int | None) -> bytes:
    """A bigint field."""
    return NULL if value is None else _int8(8, value)


def float8(value: float | None) -> bytes:
    """A double precision field."""
    return NULL if value is None else _float8(8, value)


def boolean(value: bool) -> bytes:  # noqa: FBT001 - a field is written from its one value
    """A boolean field."""
    return _length(1) + (b"\x01" if value else b"\x00")


def blob(value: bytes) -> bytes:
    """A bytea field."""
    return _length(len(value)) + value


def text(value: str | None) -> bytes:
    """A text field."""
    return NULL if value is None else blob(value.encode())


def jsonb(value: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """A jsonb field."""
    return blob(b"\x01" + json.dumps(value, ensure_ascii=False, allow_nan=False).encode())


def instant(wall_ns: int) -> bytes:
    """A timestamptz field; nanoseconds are cut to microseconds."""
    return _int8(8, wall_ns // 1000 - _POSTGRES_EPOCH_US)


def int8_array(values: Int64 | None) -> bytes:
    """A bigint[] field from an array of any shape, row by row."""
    return _int_array(values, _INT8, ">i8")


def int4_array(values: Int64 | None) -> bytes:
    """An integer[] field."""
    return _int_array(values, _INT4, ">i4")


def int2_array(values: Int64 | None) -> bytes:
    """A smallint[] field."""
    return _int_array(values, _INT2, ">i2")


def float8_array(values: npt.NDArray[np.float64]) -> bytes:
    """A double precision[] field. NaN stays NaN, which readers take for missing."""
    elements = np.empty(values.size, dtype=_element(">f8"))
    elements["length"] = 8
    elements["value"] = values.reshape(-1)
    if values.size == 0:
        return _length(12) + struct.pack(">iii", 0, 0, _FLOAT8)
    size = _ARRAY_HEADER_BYTES + 12 * values.size
    return _array_header(size, 1, 0, _FLOAT8, values.size, 1) + elements.tobytes()


def text_array(values: Sequence[str]) -> bytes:
    """A text[] field."""
    if not values:
        return _length(12) + struct.pack(">iii", 0, 0, _TEXT)
    body = b"".join(blob(value.encode()) for value in values)
    return _array_header(_ARRAY_HEADER_BYTES + len(body), 1, 0, _TEXT, len(values), 1) + body


def row(fields: Sequence[bytes]) -> bytes:
    """A row of encoded fields."""
    return struct.pack(">h", len(fields)) + b"".join(fields)


def int8_matrix_rows(leading: Sequence[npt.NDArray[Any] | None], values: Int64, present: Bits | None) -> bytes:
    """Rows of fixed-size fields followed by one bigint[] each.

    `leading`: one array (n,) per field, of dtype int64 or int16 in native order; None = null in all rows.
    `values`: (n, k); `present`: (n, k) or None = all. A missing element becomes null.
    """
    rows: bytes = _core().int8_matrix_rows(list(leading), values, present)
    return rows


Field: TypeAlias = (
    tuple[Literal["same"], bytes]
    | tuple[Literal["each"], list[bytes]]
    | tuple[Literal["int2", "int4", "int8"], Int64]
    | tuple[Literal["text"], list[str]]
)
"""An encoded field of all rows or of each; or an array from the entries of each row: a column (m,) or (m, width)."""


def grouped_rows(groups: list[list[int]], fields: list[Field]) -> bytes:
    """Rows that each take some entries of columns with m entries: `groups` has the places of their entries."""
    rows: bytes = _core().grouped_rows(groups, fields)
    return rows


@cache
def _core() -> ModuleType:
    return compiled_core("grouped_rows", "storing batches needs")


def copy_rows(transaction: WriteTransaction, table: str, columns: Sequence[str], rows: Iterable[bytes]) -> None:
    """Sends encoded rows in one COPY. `rows` in pieces of any size; those are not kept, so that a file can be one."""
    names = ", ".join(f'"{name}"' for name in columns)
    with (
        transaction.driver.cursor() as cursor,
        cursor.copy(f'COPY "{table}" ({names}) FROM STDIN (FORMAT BINARY)') as copy,
    ):
        copy.write(_SIGNATURE)
        waiting: list[bytes] = []
        size = 0
        for part in rows:
            waiting.append(part)
            size += len(part)
            if size >= _CHUNK_BYTES:
                copy.write(b"".join(waiting))
                waiting, size = [], 0
        copy.write(b"".join(waiting) + _TRAILER)


@cache
def _element(item: str) -> np.dtype[Any]:
    """An element of an array; making a type takes longer than packing a short array."""
    return np.dtype([("length", ">i4"), ("value", item)])


def _int_array(values: Int64 | None, oid: int, item: str) -> bytes:
    if values is None:
        return NULL
    size = values.size
    if size == 0:
        return _length(12) + struct.pack(">iii", 0, 0, oid)
    width = int(item[2:])
    elements = np.empty(size, dtype=_element(item))
    elements["length"] = width
    elements["value"] = values.reshape(-1)
    return _array_header(_ARRAY_HEADER_BYTES + (4 + width) * size, 1, 0, oid, size, 1) + elements.tobytes()
