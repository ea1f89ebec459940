"""From heat of hosts: one row per service, method and hour or day, with all hosts in columns."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from tierscope.core.clock import utc_now
from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.heat.columns import HeatColumns, make_columns
from tierscope.domain.heat.rows import HeatSeries, Method
from tierscope.storage.base.dirty_buckets import Claim
from tierscope.storage.base.subjects import hosts_of_service
from tierscope.storage.heat.rows import RollupTable, read_rollups
from tierscope.storage.heat.services import WIDTH_US, ServiceTable, replace_service_heat
from tierscope.usecases.rebuild.late_days import reopen_capacity

FROM_TABLES: dict[ServiceTable, RollupTable] = {"service_heat_1h": "heat_1h", "service_heat_1d": "heat_1d"}


def rebuild_service_heat_1h(transaction: WriteTransaction, claimed: Claim) -> None:
    """Gather the hours of all hosts of a service."""
    _rebuild(transaction, claimed, "service_heat_1h")


def rebuild_service_heat_1d(transaction: WriteTransaction, claimed: Claim) -> None:
    """Gather the days of all hosts of a service."""
    _rebuild(transaction, claimed, "service_heat_1d")
    reopen_capacity(transaction, claimed)


def _rebuild(transaction: WriteTransaction, claimed: Claim, table: ServiceTable) -> None:
    hosts = [host.id for host in hosts_of_service(transaction, claimed.service_id)]
    # One bucket at a time: a service may run on thousands of hosts.
    for start in claimed.buckets:
        columns = _gather_columns(transaction, table, claimed.service_id, hosts, start)
        built_at = utc_now()
        replace_service_heat(transaction, table, claimed.service_id, [start], columns, built_at=built_at)


def _gather_columns(
    session: ReadSession, table: ServiceTable, service_id: int, host_ids: Sequence[int], start: datetime
) -> list[HeatColumns]:
    """One bucket of all hosts, by method."""
    end = start + timedelta(microseconds=WIDTH_US[table])
    by_method: dict[Method, dict[int, list[HeatSeries]]] = {}
    for part in read_rollups(session, FROM_TABLES[table], service_id, start, end, host_ids):
        by_method.setdefault(part.method, {}).setdefault(part.host_id, []).append(part)
    # A bucket that was stored twice counts once: the last one wins.
    return [make_columns([parts[-1] for parts in hosts.values()]) for hosts in by_method.values()]
