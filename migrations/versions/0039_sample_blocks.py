"""Brings page samples into the form of blocks."""

import struct
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import zstandard
from alembic import op
from sqlalchemy import text

from tierscope.domain.base.blocks import join_parts, pack_ints, split_parts, unpack_ints

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

_HEAD = struct.Struct("<4sIII")
_MAGIC = b"TSP1"
_FRAME = b"\x28\xb5\x2f\xfd"
"""How bodies of before begin, and those of blocks do not."""
_WIDTHS = (2, 5, 4)
"""Columns of intervals, pages and rows."""
_DIFFERENCES = (7, 8)
"""Columns that were kept as differences."""


def upgrade() -> None:
    """Rewrites the bodies, host by host. Those that are blocks already, or in objects, stay."""
    _rewrite("=", _to_block)


def downgrade() -> None:
    """Rewrites them in the form of before."""
    _rewrite("<>", _from_block)


def _rewrite(begins: str, convert: Callable[[bytes], bytes]) -> None:
    connection = op.get_bind()
    read = text(
        "SELECT DISTINCT ts, body FROM traces"  # noqa: S608 - an operator of our own
        f" WHERE host_id = :host AND body <> '' AND substring(body FOR 4) {begins} :frame"
    )
    update = text("UPDATE traces SET body = :new WHERE host_id = :host AND ts = :ts AND body = :old")
    for host in connection.execute(text("SELECT DISTINCT host_id FROM traces")).scalars().all():
        rows = connection.execute(read, {"host": host, "frame": _FRAME}).all()
        written = [{"host": host, "ts": ts, "old": body, "new": convert(bytes(body))} for ts, body in rows]
        if written:
            connection.execute(update, written)


def _to_block(body: bytes) -> bytes:
    raw = zstandard.ZstdDecompressor().decompress(body)
    magic, *counts = _HEAD.unpack_from(raw)
    if magic != _MAGIC:
        raise ValueError("not a packed page sample")
    lengths = np.repeat(counts, _WIDTHS).tolist()
    columns = []
    at = _HEAD.size
    for place, n in enumerate(lengths):
        planes = np.frombuffer(raw, np.uint8, count=8 * n, offset=at).reshape(8, n)
        values = np.ascontiguousarray(planes.T).view("<i8").reshape(-1).astype(np.int64)
        columns.append(np.cumsum(values) if place in _DIFFERENCES else values)
        at += 8 * n
    tables = (np.stack([columns.pop(0) for _ in range(width)]) for width in _WIDTHS)
    return join_parts([(n, pack_ints(table, dictionaries=False)) for n, table in zip(counts, tables, strict=True)])


def _from_block(body: bytes) -> bytes:
    parts = split_parts(body)
    columns: list[npt.NDArray[np.int64]] = [column for n, part in parts for column in unpack_ints(part, n)[0]]
    out = [_HEAD.pack(_MAGIC, *(n for n, _ in parts))]
    for place, column in enumerate(columns):
        values = np.diff(column, prepend=np.int64(0)) if place in _DIFFERENCES else column
        planes = np.ascontiguousarray(values, "<i8").view(np.uint8).reshape(-1, 8).T
        out.append(np.ascontiguousarray(planes).tobytes())
    return zstandard.ZstdCompressor(level=6).compress(b"".join(out))
