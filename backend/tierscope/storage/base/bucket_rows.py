"""Rows of whole buckets of a time table."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import WriteTransaction


def delete_buckets(
    transaction: WriteTransaction, table: str, service_id: int, buckets: Sequence[tuple[int, datetime]]
) -> None:
    """Remove the rows of whole buckets, by host and start, before they are rewritten. Service 0 = a table without."""
    by_service = " AND t.service_id = :service" if service_id else ""
    statement = text(
        f'DELETE FROM "{table}" AS t USING unnest(CAST(:hosts AS bigint[]), CAST(:starts AS timestamptz[]))'  # noqa: S608
        f" AS w (host_id, ts) WHERE t.host_id = w.host_id{by_service} AND t.ts = w.ts"
        " AND t.ts >= :first AND t.ts <= :last"
    )
    hosts, starts = [host for host, _ in buckets], [start for _, start in buckets]
    values = {"hosts": hosts, "starts": starts, "service": service_id, "first": min(starts), "last": max(starts)}
    transaction.execute(statement, values)
