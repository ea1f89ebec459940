"""Served accesses as read: stored page samples against the truth of simulated hosts, and what is refused."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from factories import batches
from factories.installations import Enrolled, enrol, store
from factories.page_samples import HOUR_NS, Memory, add_samples, make_memory
from tierscope.core.database import Database
from tierscope.domain.curve import DRAM_SHARES, Pages, density_curve
from tierscope.domain.figures import Window
from tierscope.storage.subjects import find_service
from tierscope.usecases.curve import ServedCurve, read_served
from tierscope.usecases.curve_pages import NoCurve
from tierscope.wire._generated import heat_pb2

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
ABIT, PEBS, TRACE = heat_pb2.HEAT_BACKEND_ABIT_WALK, heat_pb2.HEAT_BACKEND_PEBS, heat_pb2.HEAT_BACKEND_TRACE


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as opened:
        yield opened


def this_hour() -> int:
    """The end of the newest whole hour."""
    return batches.now_ns() // HOUR_NS * HOUR_NS


def send(
    database: Database, host: Enrolled, memory: Memory, *, backend: heat_pb2.HeatBackend, **options: object
) -> None:
    """Stores the memory of a host as one block for each hour; the last one ends with the newest whole hour."""
    hours = -(-memory.accesses.shape[1] // 60)
    for hour in range(hours):
        end = this_hour() - (hours - 1 - hour) * HOUR_NS
        batch = batches.make_batch(host_id=host.id, sealed_wall_ns=end, seq=hour)
        add_samples(batch, memory, end_ns=end, backend=backend, first=hour * 60, count=60, **options)  # type: ignore[arg-type]
        batches.add_inventory(batch)
        assert store(database, host, [batch])


def served(database: Database, *, hours: int = 6, shares: Sequence[float] | None = None) -> ServedCurve | NoCurve:
    now = datetime.fromtimestamp(this_hour() / 1e9, tz=UTC) + timedelta(minutes=1)
    with database.read() as session:
        public = session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one()
        service = find_service(session, public)
        assert service is not None
        return read_served(session, service.id, Window(now - timedelta(hours=hours), now), now, dram_ratios=shares)


def test_a_whole_trace_gives_its_own_curve_exactly(database: Database) -> None:
    accesses = np.random.default_rng(1).poisson(1.0 / np.arange(1, 201)[:, None] * 40, (200, 120))
    send(database, enrol(database), make_memory(accesses), backend=TRACE)
    found = served(database)
    assert isinstance(found, ServedCurve)
    wanted = density_curve(Pages(accesses.astype(float), np.ones(200)), DRAM_SHARES)
    np.testing.assert_allclose(found.served, wanted, rtol=1e-12)
    assert (found.lo, found.level, found.measure, found.n_intervals) == (None, None, "accesses", 120)
