"""Rows of whole buckets of a time table."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import WriteTransaction


def delete_buckets(
    transaction: WriteTransaction, table: str, host_id: int, service_id: int, starts: Sequence[datetime]
) -> None:
    """Remove the rows of whole buckets before they are rewritten. `service_id` 0 = a table without services."""
    by_service = " AND service_id = :service" if service_id else ""
    statement = text(
        f'DELETE FROM "{table}" WHERE host_id = :host{by_service}'  # noqa: S608 - a table's own name
        " AND ts >= :first AND ts <= :last AND ts = ANY(CAST(:starts AS timestamptz[]))"
    )
    values = {"host": host_id, "service": service_id, "starts": list(starts), "first": min(starts), "last": max(starts)}
    transaction.execute(statement, values)


def delete_blocks(
    transaction: WriteTransaction, table: str, service_id: int, blocks: Sequence[tuple[int, datetime]]
) -> None:
    """The same of one service on many hosts: host and start of each bucket."""
    by_service = " AND t.service_id = :service" if service_id else ""
    statement = text(
        f'DELETE FROM "{table}" AS t USING unnest(CAST(:hosts AS bigint[]), CAST(:starts AS timestamptz[]))'  # noqa: S608
        f" AS w (host_id, ts) WHERE t.host_id = w.host_id{by_service} AND t.ts = w.ts"
        " AND t.ts >= :first AND t.ts <= :last"
    )
    hosts, starts = [host for host, _ in blocks], [start for _, start in blocks]
    values = {"hosts": hosts, "starts": starts, "service": service_id, "first": min(starts), "last": max(starts)}
    transaction.execute(statement, values)
