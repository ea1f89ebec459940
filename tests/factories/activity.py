"""Reuse gaps and heat by tier of one group of anon memory, in MiB."""

from collections.abc import Mapping

import numpy as np

from factories import batches
from tierscope.wire._generated import batch_pb2, heat_pb2

MIB = 1 << 20
ANON, ABIT = heat_pb2.PAGE_KIND_ANON, heat_pb2.HEAT_BACKEND_ABIT_WALK


def _by_length(mib_at: Mapping[int, float]) -> bytes:
    row = np.zeros(63, "<i8")
    for length, mib in mib_at.items():
        row[length - 1] = mib * MIB
    return row.tobytes()


def add_gap_block(
    batch: batch_pb2.Batch, end_ns: int, closed: Mapping[int, float], *, open_: Mapping[int, float] | None = None
) -> None:
    """Adds a block of ten minutes: MiB of gaps by length that ended by access, and that are open at its end."""
    batch.gaps.add(
        backend=ABIT,
        granularity=heat_pb2.GRANULARITY_PAGE,
        interval_ns=batches.MINUTE_NS,
        end_wall_ns=end_ns,
        intervals=10,
        service_ref=[batches.intern(batch, "demo/cache")],
        group_ref=[batches.intern(batch, "server")],
        kind=[ANON],
        closed_bytes=_by_length(closed),
        freed_bytes=_by_length({}),
        open_bytes=_by_length(open_ or {}),
    )


def add_tiered_heat(
    batch: batch_pb2.Batch,
    end_ns: int,
    by_tier: Mapping[str, tuple[int, int]],
    *,
    backend: heat_pb2.HeatBackend = ABIT,
    loads: Mapping[str, int] | None = None,
) -> None:
    """Adds one interval: MiB active within two intervals and MiB idle, by tier; sampled loads by tier."""
    ages = [[hot, 0, idle, 0, 0, 0, 0, 0, 0] for hot, idle in by_tier.values()]
    n = len(ages)

    def packed(rows: list[list[int]]) -> bytes:
        return (np.array(rows, "<i8") * MIB).tobytes()

    block = batch.heat.add(
        backend=backend,
        granularity=heat_pb2.GRANULARITY_PAGE,
        interval_ns=batches.MINUTE_NS,
        end_wall_ns=[end_ns] * n,
        service_ref=[batches.intern(batch, "demo/cache")] * n,
        group_ref=[batches.intern(batch, "server")] * n,
        kind=[ANON] * n,
        page_size_bytes=[4096] * n,
        tier_ref=[batches.intern(batch, tier) if tier else 0 for tier in by_tier],
        validity=[(1 << 64) - 1] * n,
        resident_bytes=[sum(age) * MIB for age in ages],
        age_bytes=packed(ages),
        never_bytes=packed([[0] * 9] * n),
        active_count_bytes=packed([[age[2], age[0], *[0] * 9] for age in ages]),
        active_lo_bytes=packed([[age[0]] * 4 for age in ages]),
        active_hi_bytes=packed([[age[0]] * 4 for age in ages]),
    )
    if loads is not None:
        block.samples_known = True
        block.load_samples.extend(loads[tier] for tier in by_tier)
        block.store_samples.extend([0] * n)
        block.period_events, block.duty_ratio = 200.0, 1.0
