"""Packs of heat as they are stored."""

from datetime import datetime

import zstandard
from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.heat.packs import unpack_rows
from tierscope.domain.heat.rows import HeatRow, Method


def read_packs(
    session: ReadSession, service_id: int, start: datetime, end: datetime
) -> dict[tuple[int, datetime], list[HeatRow]]:
    """Rows of all packs whose block starts in [start, end), by host and block."""
    statement = text(
        "SELECT host_id, ts, backend, granularity, interval_ns, body FROM heat"
        " WHERE service_id = :service AND ts >= :start AND ts < :end ORDER BY host_id, ts"
    )
    inflate = zstandard.ZstdDecompressor()
    found: dict[tuple[int, datetime], list[HeatRow]] = {}
    for row in session.execute(statement, {"service": service_id, "start": start, "end": end}):
        method = Method(row.backend, row.granularity, row.interval_ns)
        rows = unpack_rows(inflate.decompress(bytes(row.body)), method)
        found.setdefault((row.host_id, row.ts), []).extend(rows)
    return found
