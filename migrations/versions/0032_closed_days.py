"""Packs closed days of the ledger and of reuse gaps, and brings packed days of rule inputs into the same form."""

import struct
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import zstandard
from alembic import op
from sqlalchemy import Connection, text

from tierscope.core.database import WriteTransaction
from tierscope.domain.base.blocks import pack_floats
from tierscope.storage.base.ddl import make_kind_table
from tierscope.storage.base.partitions import storage_mode

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

_MADE = ("tier_move_days", "gap_days")
_HEAD = struct.Struct("<BBI")
_FRAME = b"\x28\xb5\x2f\xfd"
_MISSING, _REGULAR, _WHOLE, _ANY = 0, 1, 2, 3
_WIDTHS = ("u1", "<u2", "<u4")


def upgrade() -> None:
    """Adds the tables, and asks the workers to pack what is stored: rows go once they are packed."""
    connection = op.get_bind()
    mode = storage_mode(WriteTransaction(connection))
    for name in _MADE:
        make_kind_table(connection, name, mode)
    for kind, rows in (("tier_move_days", "tier_moves"), ("gap_days", "gaps")):
        # A mark for a day without rows costs one look at it.
        connection.execute(
            text(
                "INSERT INTO marks (kind, subject_id, service_id, bucket) SELECT :kind, h.id, 0, day FROM hosts h,"  # noqa: S608
                f" (SELECT date_bin('1 day', min(ts), 'epoch') AS first, max(ts) AS last FROM {rows}) AS span,"
                " generate_series(span.first - interval '1 day', span.last, interval '1 day') AS day"
            ),
            {"kind": kind},
        )
    _repack_rule_days(connection)


def downgrade() -> None:
    """Drops the tables, and the work that waits for them. Packed days of rule inputs stay in the new form."""
    connection = op.get_bind()
    for name in _MADE:
        connection.execute(text(f"DROP TABLE IF EXISTS {name}"))
    connection.execute(text("DELETE FROM marks WHERE kind IN ('tier_move_days', 'gap_days')"))


def _repack_rule_days(connection: Connection) -> None:
    """Rewrite those days whose parts are in the form of before."""
    inflate, deflate = zstandard.ZstdDecompressor(), zstandard.ZstdCompressor(level=3)
    keys = connection.execute(text("SELECT DISTINCT host_id, ts FROM rule_days")).all()
    for host_id, ts in keys:
        found = connection.execute(
            text("SELECT service_id, layout_id, offsets, body FROM rule_days WHERE host_id = :host AND ts = :ts"),
            {"host": host_id, "ts": ts},
        ).all()
        for service_id, layout_id, offsets, body in found:
            parts = [bytes(body[start:end]) for start, end in pairwise(offsets)]
            if not parts or not parts[0].startswith(_FRAME) or inflate.decompress(parts[0])[0] > _ANY:
                continue
            raw = [pack_floats(_old_column(inflate.decompress(part))[None]) for part in parts]
            packed = [min(part, deflate.compress(part), key=len) for part in raw]
            values = {"offsets": np.cumsum([0, *map(len, packed)]).tolist(), "body": b"".join(packed)}
            where = {"host": host_id, "ts": ts, "service": service_id, "layout": layout_id}
            connection.execute(
                text(
                    "UPDATE rule_days SET offsets = :offsets, body = :body WHERE host_id = :host AND ts = :ts"
                    " AND service_id = :service AND layout_id = :layout"
                ),
                values | where,
            )


def _old_column(body: bytes) -> npt.NDArray[np.float64]:
    """A column as it was packed before."""
    kind, flags, n = _HEAD.unpack_from(body)
    at = _HEAD.size
    if kind == _MISSING:
        return np.full(n, np.nan)
    if kind == _REGULAR:
        start, step = struct.unpack_from("<dd", body, at)
        return np.asarray(start + step * np.arange(n), np.float64)
    low = 0.0
    if kind == _WHOLE:
        (low,) = struct.unpack_from("<d", body, at)
        at += 8
    holes = np.zeros(n, bool)
    if flags & 1:
        holes = np.unpackbits(np.frombuffer(body, np.uint8, count=(n + 7) // 8, offset=at), count=n).astype(bool)
        at += (n + 7) // 8
    width = _WIDTHS[flags >> 1] if kind == _WHOLE else "<f8"
    return np.where(holes, np.nan, np.frombuffer(body, width, count=n, offset=at).astype(np.float64) + low)
