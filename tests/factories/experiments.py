"""A fleet of hosts that run one service, with days of samples behind it, for experiments and fleet statistics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from factories import batches
from factories.derived import drain, to_ns
from factories.installations import Enrolled, enrol, store
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext

STEP_MINUTES = 10
KEYS = (
    "host|vmstat|pgdemote_kswapd",
    "host|vmstat|pgpromote_success",
    "service:demo/cache|metrics|latency_p99_ns",
    "service:demo/cache|metrics|throughput_total_milli",
)
Factor = Callable[[int, datetime], float]
Devices = Callable[[int], tuple[Sequence[str], Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Fleet:
    """Hosts in order of their names, the service's public id, and the moment up to which there is data."""

    hosts: tuple[Enrolled, ...]
    service_id: str
    now: datetime

    @property
    def ids(self) -> list[str]:
        return [host.id for host in self.hosts]

    def context(self, database: Database, *, at: datetime | None = None) -> ReadContext:
        """What reads stand on, at a moment; by default the end of the data."""
        moment = at or self.now
        return ReadContext(database, lambda: moment, Settings(_env_file=None))


def full_hour() -> datetime:
    return utc_now().replace(minute=0, second=0, microsecond=0)


def make_fleet(
    database: Database,
    hosts: int,
    *,
    hours: int,
    seed: int = 1,
    factor: Factor = lambda _host, _at: 1.0,
    kernels: Sequence[str] = ("6.8.0-41-generic",),
    devices: Devices = lambda _host: ((), ()),
) -> Fleet:
    """Hosts with a level of their own, a course over the day and noise; `factor` multiplies the throughput of a host.

    `devices`: RDMA devices of a host when it began and at the end. p99 follows the inverse of `factor`; promotions are
    100 pages per second on every host.
    """
    now = full_hour()
    start = now - timedelta(hours=hours)
    enrolled = []
    for number in range(hosts):
        random = np.random.default_rng([seed, number])
        host = enrol(database, name=f"node-{number:03}")
        level, total, rows, ends = float(random.normal(1000, 80)), 0.0, [], []
        for step in range(1, hours * 60 // STEP_MINUTES + 1):
            at = start + timedelta(minutes=step * STEP_MINUTES)
            course = 1 + 0.3 * np.sin(2 * np.pi * at.hour / 24)
            pace = level * course * float(random.normal(1, 0.02)) * factor(number, at - timedelta(seconds=1))
            total += pace * STEP_MINUTES * 60
            latency = 5e6 / factor(number, at - timedelta(seconds=1)) * float(random.normal(1, 0.02))
            moved = 100 * step * STEP_MINUTES * 60
            rows.append([moved // 2, moved, int(latency), int(total * 1000)])
            ends.append(to_ns(at))
        batch = batches.make_batch(host_id=host.id, sealed_wall_ns=ends[-1])
        batches.add_counters(batch, rows, ends_ns=ends, keys=KEYS)
        batches.add_inventory(batch, hostname=f"node-{number:03}")
        batch.inventory.kernel_release = kernels[number % len(kernels)]
        at_first, later = devices(number)
        first = batches.make_batch(host_id=host.id, sealed_wall_ns=to_ns(start))
        first.inventory.CopyFrom(batch.inventory)
        first.inventory.rdma_devices.extend(at_first)
        batch.inventory.rdma_devices.extend(later)
        batch.seq = 1
        assert store(database, host, [first, batch])
        enrolled.append(host)
    drain(database)
    with database.read() as session:
        service = session.connection.exec_driver_sql("SELECT public_id FROM services WHERE name = 'cache'").scalar_one()
    return Fleet(tuple(enrolled), str(service), now)
