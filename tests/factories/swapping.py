"""A service with cold memory in DRAM on one host, and the advice on swap below it."""

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np

from factories import batches
from factories.installations import Enrolled, store
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.knobs.swap_tier import ServiceSwapTier, SwapTierReads
from tierscope.wire._generated import batch_pb2, heat_pb2

MINUTE = batches.MINUTE_NS
GIB = 1 << 30
WALK, PAGE = heat_pb2.HEAT_BACKEND_ABIT_WALK, heat_pb2.GRANULARITY_PAGE
ANON = heat_pb2.PAGE_KIND_ANON


def packed(rows: object) -> bytes:
    """Little-endian words of 64 bits."""
    return np.array(rows, float).astype("<i8").tobytes()


def add_heat(batch: batch_pb2.Batch, now: int, *, hot: float, cold: float, page_bytes: int = 4096) -> None:
    """Ten minutes of bytes in DRAM that are hot, or were idle for long."""
    ages = [hot, 0, 0, 0, 0, cold, 0, 0, 0]
    n = 10
    batch.heat.add(
        backend=WALK,
        granularity=PAGE,
        interval_ns=MINUTE,
        end_wall_ns=[now - at * MINUTE for at in range(n)],
        service_ref=[batches.intern(batch, "demo/cache")] * n,
        group_ref=[batches.intern(batch, "server")] * n,
        kind=[ANON] * n,
        page_size_bytes=[page_bytes] * n,
        tier_ref=[batches.intern(batch, "dram")] * n,
        validity=[(1 << 64) - 1] * n,
        resident_bytes=[int(hot + cold)] * n,
        age_bytes=packed([ages] * n),
        never_bytes=packed([[0] * 9] * n),
        active_count_bytes=packed([[cold, hot, *[0] * 9]] * n),
        active_lo_bytes=packed([[hot] * 4] * n),
        active_hi_bytes=packed([[hot] * 4] * n),
    )


def send(
    database: Database,
    host: Enrolled,
    now: int,
    closed: Mapping[int, float],
    open_: Mapping[int, float],
    page_bytes: int = 4096,
) -> None:
    """Heat with 64 GiB of cold memory in DRAM, and gaps by length in minutes, in shares of that."""

    def lengths(found: Mapping[int, float]) -> bytes:
        row = np.zeros(63)
        for length, share in found.items():
            row[length - 1] = share * 64 * GIB
        return packed(row)

    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    add_heat(batch, now, hot=4.0 * GIB, cold=64.0 * GIB, page_bytes=page_bytes)
    for ago in range(4):
        batch.gaps.add(
            backend=WALK,
            granularity=PAGE,
            interval_ns=MINUTE,
            end_wall_ns=now - ago * 10 * MINUTE,
            intervals=10,
            service_ref=[batches.intern(batch, "demo/cache")],
            group_ref=[batches.intern(batch, "server")],
            kind=[ANON],
            closed_bytes=lengths(closed),
            freed_bytes=lengths({}),
            open_bytes=lengths(open_),
        )
    batches.add_inventory(batch)
    batch.inventory.page_size_bytes = page_bytes
    assert store(database, host, [batch])


def reads_at(database: Database, now: int) -> SwapTierReads:
    at = datetime.fromtimestamp(now / 1e9, tz=UTC)
    return SwapTierReads(ReadContext(database, lambda: at, Settings(_env_file=None)))


def read(database: Database, now: int, cores: float | None = None) -> ServiceSwapTier:
    with database.read() as session:
        service_id = session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one()
    return reads_at(database, now).service(service_id, loss_target=0.01, cores=cores, from_="-1h", to=None)
