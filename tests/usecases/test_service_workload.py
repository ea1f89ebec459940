"""A simulated service that stands for a workload: what its paper measured, beside what comes out."""

from datetime import UTC, datetime

import numpy as np
import pytest

from factories import batches
from factories.installations import enrol, store
from tierscope.core.database import Database
from tierscope.core.errors import NotFound
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.simulate.service_workload import ServiceWorkloadReads
from tierscope.wire._generated import heat_pb2

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
GIB = 1 << 30


def packed(rows: object) -> bytes:
    return np.array(rows, float).astype("<i8").tobytes()


def send_heat(database: Database, service: str, now: int, *, origin: str) -> None:
    """Ten minutes of 12 GiB of hot memory, 3 of them on CXL, and 4 GiB of cold memory in DRAM."""
    host = enrol(database, name=f"{service}-{origin}".replace("/", "-"), origin=origin)
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    parts = (("dram", 9.0 * GIB, 4.0 * GIB), ("cxl", 3.0 * GIB, 0.0))
    n = 10 * len(parts)
    ages = [[hot, 0, 0, 0, 0, cold, 0, 0, 0] for _, hot, cold in parts] * 10
    batch.heat.add(
        backend=heat_pb2.HEAT_BACKEND_ABIT_WALK,
        granularity=heat_pb2.GRANULARITY_PAGE,
        interval_ns=batches.MINUTE_NS,
        end_wall_ns=[now - at * batches.MINUTE_NS for at in range(10) for _ in parts],
        service_ref=[batches.intern(batch, service)] * n,
        group_ref=[batches.intern(batch, "server")] * n,
        kind=[heat_pb2.PAGE_KIND_ANON] * n,
        page_size_bytes=[4096] * n,
        tier_ref=[batches.intern(batch, tier) for tier, _, _ in parts] * 10,
        validity=[(1 << 64) - 1] * n,
        resident_bytes=[int(hot + cold) for _, hot, cold in parts] * 10,
        age_bytes=packed(ages),
        never_bytes=packed([[0] * 9] * n),
        active_count_bytes=packed([[cold, hot, *[0] * 9] for _, hot, cold in parts] * 10),
        active_lo_bytes=packed([[hot] * 4 for _, hot, _ in parts] * 10),
        active_hi_bytes=packed([[hot] * 4 for _, hot, _ in parts] * 10),
    )
    batches.add_inventory(batch)
    assert store(database, host, [batch])


def test_what_the_paper_measured_stands_beside_what_comes_out(database: Database) -> None:
    now = batches.now_ns()
    send_heat(database, "workload/ycsb-a", now, origin="simulated")
    send_heat(database, "shop/ycsb-a", now, origin="simulated")
    at = datetime.fromtimestamp(now / 1e9, tz=UTC)
    reads = ServiceWorkloadReads(ReadContext(database, lambda: at, Settings(_env_file=None)))
    with database.read() as session:
        rows = session.connection.exec_driver_sql("SELECT namespace, public_id FROM services").all()
    ids = {row.namespace: row.public_id for row in rows}
    answer = reads.service(ids["workload"])
    found = answer.stands_for
    assert found is not None
    assert (found.workload, answer.origin, found.label) == ("ycsb_a", "simulated", "YCSB A: update heavy")
    assert any("55,000 all on CXL" in text for text in found.measured)
    assert "50 % updates [D]" in found.parameters["operations"]
    assert found.hot_in_dram_ratio.value == pytest.approx(0.75)
    assert found.hot_ratio.value == pytest.approx(0.75)
    assert reads.service(ids["shop"]).stands_for is None
    with pytest.raises(NotFound):
        reads.service("none")
