"""From heat rows: exact packs of ten minutes, sums per hour and day."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from tierscope.core.database import WriteTransaction
from tierscope.domain.base.buckets import DAY_US, HOUR_US, TEN_MINUTES_US, bucket_start
from tierscope.domain.base.jobs import HEAT, HEAT_1D, HEAT_1H, SERVICE_HEAT_1D, SERVICE_HEAT_1H
from tierscope.domain.heat.rows import HeatRow, coarsen, join_series
from tierscope.storage.base import dirty_buckets
from tierscope.storage.base.dirty_buckets import Claim
from tierscope.storage.heat.rows import read_folded_packs, read_rollups, read_rows, replace_packs, replace_rollups
from tierscope.usecases.base.spans import coarser, join_spans
from tierscope.usecases.rebuild.late_days import mark_history


def rebuild_heat(transaction: WriteTransaction, claimed: Claim) -> None:
    """Pack ten-minute blocks of one service on one host, and mark their hours."""
    rebuild_heat_of_hosts(transaction, claimed.service_id, {claimed.subject_id: claimed.buckets})


def rebuild_heat_of_hosts(
    transaction: WriteTransaction, service_id: int, claimed: Mapping[int, Sequence[datetime]]
) -> None:
    """The same of one service on many hosts: buckets by host.

    A block is made of what is packed already and of the rows that came since.
    """
    blocks: dict[tuple[int, datetime], list[HeatRow]] = {}
    every = sorted({bucket for buckets in claimed.values() for bucket in buckets})
    for start, end in join_spans(every, HEAT.width_us):
        for host_id, rows in read_rows(transaction, service_id, start, end, list(claimed)).items():
            for row in rows:
                block = datetime.fromtimestamp(bucket_start(row.end_us, TEN_MINUTES_US) // 1_000_000, tz=UTC)
                if block in claimed[host_id]:
                    blocks.setdefault((host_id, block), []).append(row)
    replace_packs(transaction, service_id, blocks)
    hours = [(host_id, hour) for host_id, buckets in claimed.items() for hour in coarser(buckets, HOUR_US)]
    dirty_buckets.append_missing(transaction, HEAT_1H.kind, hours, service_id)


def rebuild_heat_1h(transaction: WriteTransaction, claimed: Claim) -> None:
    """Sum the packs of whole hours, and mark their days and the hours of the whole service."""
    host_id, service_id = claimed.subject_id, claimed.service_id
    for start, end in join_spans(claimed.buckets, HEAT_1H.width_us):
        packs = read_folded_packs(transaction, service_id, start, end, [host_id])
        hours = [bucket for bucket in claimed.buckets if start <= bucket < end]
        series = [coarsen(part, HOUR_US) for part in packs]
        replace_rollups(transaction, "heat_1h", (host_id, service_id), hours, series)
    dirty_buckets.append(transaction, SERVICE_HEAT_1H.kind, 0, service_id, claimed.buckets)
    dirty_buckets.append(transaction, HEAT_1D.kind, host_id, service_id, coarser(claimed.buckets, DAY_US))


def rebuild_heat_1d(transaction: WriteTransaction, claimed: Claim) -> None:
    """Sum the hours of whole days, and mark those of the whole service."""
    host_id, service_id = claimed.subject_id, claimed.service_id
    for day in claimed.buckets:
        hours = read_rollups(transaction, "heat_1h", service_id, day, day + timedelta(days=1), [host_id])
        methods = sorted({part.method for part in hours}, key=lambda method: method.backend)
        joined = [join_series([part for part in hours if part.method == method]) for method in methods]
        series = [coarsen(part, DAY_US) for part in joined if part is not None]
        replace_rollups(transaction, "heat_1d", (host_id, service_id), [day], series)
    dirty_buckets.append(transaction, SERVICE_HEAT_1D.kind, 0, service_id, claimed.buckets)
    mark_history(transaction, claimed)
