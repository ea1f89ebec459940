"""Brings packed hours of counters into the form of blocks."""

import struct
from collections.abc import Callable

import numpy as np
import zstandard
from alembic import op
from sqlalchemy import text

from tierscope.domain.base.blocks import Ints, join_parts, pack_ints, split_parts, unpack_ints

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

_HEAD = struct.Struct("<4sII")
_MAGIC = b"TSC1"
_FRAME = b"\x28\xb5\x2f\xfd"
"""How bodies of before begin, and those of blocks do not."""


def upgrade() -> None:
    """Rewrites the bodies, host by host. Those that are blocks already stay."""
    _rewrite("=", _to_block)


def downgrade() -> None:
    """Rewrites them in the form of before."""
    _rewrite("<>", _from_block)


def _rewrite(begins: str, convert: Callable[[bytes], bytes]) -> None:
    connection = op.get_bind()
    read = text(
        "SELECT ts, layout_id, body FROM counters_packed"  # noqa: S608 - an operator of our own
        f" WHERE host_id = :host AND substring(body FOR 4) {begins} :frame"
    )
    update = text(
        "UPDATE counters_packed SET body = :body WHERE host_id = :host AND ts = :ts AND layout_id = :layout_id"
    )
    for host in connection.execute(text("SELECT DISTINCT host_id FROM counters_packed")).scalars().all():
        rows = connection.execute(read, {"host": host, "frame": _FRAME}).all()
        written = [{"host": host, "ts": ts, "layout_id": id_, "body": convert(bytes(body))} for ts, id_, body in rows]
        if written:
            connection.execute(update, written)


def _to_block(body: bytes) -> bytes:
    raw = zstandard.ZstdDecompressor().decompress(body)
    magic, n, k = _HEAD.unpack_from(raw)
    if magic != _MAGIC:
        raise ValueError("not a packed hour of counters")
    planes = np.frombuffer(raw, np.uint8, offset=_HEAD.size)
    heads, values = _summed(planes[: 32 * n], n), _summed(planes[32 * n : 8 * (4 + k) * n], n)
    missing = planes[8 * (4 + k) * n :]
    present = ~np.unpackbits(missing, count=n * k).astype(np.bool_).reshape(k, n) if len(missing) else None
    return join_parts([(n, pack_ints(heads, dictionaries=False)), (k, pack_ints(values, present, dictionaries=False))])


def _summed(planes: "np.typing.NDArray[np.uint8]", n: int) -> Ints:
    """Columns from their differences, whose bytes are shuffled."""
    steps = np.ascontiguousarray(planes.reshape(8, -1).T).view("<i8").reshape(-1, n)
    return np.cumsum(steps, axis=1, dtype=np.int64)


def _from_block(body: bytes) -> bytes:
    (n, heads), (k, columns) = split_parts(body)
    values, present = unpack_ints(columns, n)
    missing = b"" if present.all() else np.packbits(~present, axis=None).tobytes()
    parts = (_HEAD.pack(_MAGIC, n, k), _differences(unpack_ints(heads, n)[0]), _differences(values), missing)
    return zstandard.ZstdCompressor(level=3).compress(b"".join(parts))


def _differences(columns: Ints) -> bytes:
    steps = np.ascontiguousarray(np.diff(columns, axis=1, prepend=np.int64(0)), "<i8")
    return np.ascontiguousarray(steps.view(np.uint8).reshape(-1, 8).T).tobytes()
