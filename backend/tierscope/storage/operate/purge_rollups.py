"""Rollups of services hold a column for each host: they are rewritten without the one whose data goes."""

from datetime import datetime, timedelta

import numpy as np
from sqlalchemy import text

from tierscope.core.clock import utc_now
from tierscope.core.database import WriteTransaction
from tierscope.domain.base.buckets import day_of
from tierscope.domain.heat.columns import drop_host as drop_from_heat
from tierscope.domain.heat.columns import unpack_columns
from tierscope.domain.ledger.gathered import Gathered, nothing, subtract
from tierscope.domain.ledger.gathered import drop_host as drop_from_moves
from tierscope.storage.heat.services import ServiceTable, list_buckets, read_bodies, replace_service_heat
from tierscope.storage.ledger.services import MovesHour, read_moves_hours, read_since_midnight, replace_moves_hour

DAY = timedelta(days=1)


def services_of_host(transaction: WriteTransaction, host_id: int) -> list[int]:
    """The services that were ever found on a host."""
    statement = text("SELECT service_id FROM host_services WHERE host_id = :host ORDER BY service_id")
    return list(transaction.execute(statement, {"host": host_id}).scalars())


def rollup_days(transaction: WriteTransaction, table: str, services: list[int]) -> tuple[datetime, datetime] | None:
    """The first and the last day of a rollup that holds any of these services; None where none does."""
    statement = text(f"SELECT min(ts), max(ts) FROM {table} WHERE service_id = ANY(:services)")  # noqa: S608 - own names
    first, last = transaction.execute(statement, {"services": services}).one()
    return None if first is None else (day_of(first), day_of(last))


def forget_in_heat(
    transaction: WriteTransaction, table: ServiceTable, services: list[int], host_id: int, day: datetime
) -> int:
    """Rewrite the buckets of one day without a host; returns how many held it."""
    rewritten = 0
    for service in services:
        buckets = list_buckets(transaction, table, service, day, day + DAY)
        for start in sorted({bucket.start for bucket in buckets}):
            here = [bucket for bucket in buckets if bucket.start == start]
            found = [
                unpack_columns(packs, bucket.method)
                for bucket in here
                if (packs := read_bodies(transaction, table, service, [bucket], with_counts=True))
            ]
            if not any(np.isin(host_id, columns.host_ids) for columns in found):
                continue
            kept = [columns for columns in (drop_from_heat(columns, host_id) for columns in found) if columns]
            replace_service_heat(transaction, table, service, [start], kept, built_at=utc_now())
            rewritten += 1
    return rewritten


def forget_in_moves(transaction: WriteTransaction, services: list[int], host_id: int, day: datetime) -> int:
    """The same in the ledger of services."""
    return sum(_forget_in_moves(transaction, service, host_id, day) for service in services)


def _forget_in_moves(transaction: WriteTransaction, service: int, host_id: int, day: datetime) -> int:
    hours = read_moves_hours(transaction, service, day, day + DAY)
    states = read_since_midnight(transaction, service, [hour.start for hour in hours])
    if not any(np.isin(host_id, state.host_ids) for state in states.values()):
        return 0
    before: dict[bool, Gathered] = {}
    for hour in hours:
        state = drop_from_moves(states[hour.start], host_id)
        counted = subtract(state, before.get(hour.own, nothing()))
        before[hour.own] = state
        made = MovesHour(hour.start, hour.own, len(counted.host_ids), counted.rates(), hour.resets)
        replace_moves_hour(transaction, service, made if len(state.host_ids) else None, hour.start, state)
    return len(hours)
