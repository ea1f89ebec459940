"""Service metrics as read: the counters of a service's own scope on all its hosts, or why there are none."""

from datetime import UTC, datetime, timedelta

import pytest

from factories import batches
from factories.derived import day_before, drain, to_ns
from factories.installations import enrol, store
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.counters.service_metrics import ServiceMetricReads, ServiceMetrics

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
KEYS = (
    "host|vmstat|pgpromote_success",
    "service:demo/cache|metrics|latency_p99_ns",
    "service:demo/cache|metrics|throughput_total_milli",
    "service:demo/other|metrics|throughput_total_milli",
)


def send(database: Database, name: str, minutes: range, *, start: datetime, keys: tuple[str, ...] = KEYS) -> None:
    """A host whose service does 2,000 units a minute, and has a p99 of 5 ms."""
    host = enrol(database, name=name)
    ends = [to_ns(start + timedelta(minutes=minute)) for minute in minutes]
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=ends[-1])
    rows: list[list[int | None]] = [[*(0, 5_000_000, 2_000_000 * minute, 7)[: len(keys)]] for minute in minutes]
    batches.add_counters(batch, rows, ends_ns=ends, keys=keys)
    batches.add_inventory(batch)
    store(database, host, [batch])


def read(database: Database, now: datetime, **options: str) -> ServiceMetrics:
    with database.read() as session:
        service = session.connection.exec_driver_sql("SELECT public_id FROM services WHERE name = 'cache'").scalar_one()
    reads = ServiceMetricReads(ReadContext(database, lambda: now, Settings(_env_file=None)))
    asked: dict[str, str | None] = {"from_": "-1h", "to": None, **options}
    return reads.read(service, from_=asked["from_"], to=asked["to"], max_points=500)


def test_throughput_of_two_hosts_adds_up_and_the_slowest_gives_p99(database: Database) -> None:
    now = datetime.fromtimestamp(batches.now_ns() / 1e9, tz=UTC)
    for name in ("node-1", "node-2"):
        send(database, name, range(1, 21), start=now - timedelta(minutes=20))
    found = read(database, now)
    assert (found.status, found.n_hosts, found.of_hosts) == ("ok", 2, 2)
    lines = {series.key: [value for value in series.values if value is not None] for series in found.series}
    assert set(lines) == {"throughput", "latency_p99"}
    assert lines["throughput"] == pytest.approx([2 * 2000 / 60] * 19)
    assert set(lines["latency_p99"]) == {5_000_000}


def test_days_are_read_from_rollups(database: Database) -> None:
    start = day_before()
    send(database, "node-1", range(1, 601), start=start)
    drain(database)
    now = utc_now()
    found = read(database, now, from_="-5d")
    (throughput,) = (series for series in found.series if series.key == "throughput")
    values = [value for value in throughput.values if value is not None]
    assert len(values) > 5
    assert values[2] == pytest.approx(2000 / 60, rel=0.02)


def test_without_a_mapping_the_answer_says_how_to_make_one(database: Database) -> None:
    now = datetime.fromtimestamp(batches.now_ns() / 1e9, tz=UTC)
    send(database, "node-1", range(1, 4), start=now - timedelta(minutes=3), keys=KEYS[:1])
    found = read(database, now)
    assert (found.status, found.series) == ("not_collected", ())
    assert found.reason is not None
    assert "service_metrics" in found.reason
