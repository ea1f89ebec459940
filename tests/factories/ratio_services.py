"""A service on some hosts for days, with heat by the hour and page samples by the day, as its ratio advice needs it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from factories import batches
from factories.derived import drain
from factories.installations import Enrolled, enrol, store
from factories.page_samples import HOUR_NS, Memory, add_samples, make_memory
from tierscope.core.database import Database
from tierscope.domain.ingest.arrival import Clocks
from tierscope.wire._generated import batch_pb2, heat_pb2

GIB = 1 << 30
DAY_NS = 24 * HOUR_NS
TRACE = heat_pb2.HEAT_BACKEND_TRACE


def this_hour() -> int:
    """The end of the newest whole hour."""
    return batches.now_ns() // HOUR_NS * HOUR_NS


def skewed_memory(pages: int, seed: int, *, spread: float = 2.5, per_page: float = 3.0, intervals: int = 24) -> Memory:
    """Pages whose accesses differ much, over so many intervals."""
    random = np.random.default_rng(seed)
    rates = random.lognormal(0.0, spread, pages) / np.exp(spread**2 / 2) * per_page
    return make_memory(random.poisson(rates[:, None], (pages, intervals)), seed=seed)


def add_day_of_heat(
    batch: batch_pb2.Batch, end_ns: int, hours: Sequence[int], *, hot_gib: float = 10.0, cold_gib: float = 90.0
) -> None:
    """An interval of an hour for each of these hours before `end_ns`: GiB hot in DRAM, and idle on slow memory."""
    n = 2 * len(hours)
    ages = [[hot_gib, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, cold_gib, 0, 0, 0]] * len(hours)

    def packed(rows: object) -> bytes:
        return (np.array(rows, float) * GIB).astype("<i8").tobytes()

    batch.heat.add(
        backend=TRACE,
        granularity=heat_pb2.GRANULARITY_PAGE,
        interval_ns=HOUR_NS,
        end_wall_ns=[end_ns - hour * HOUR_NS for hour in hours for _ in range(2)],
        service_ref=[batches.intern(batch, "demo/cache")] * n,
        group_ref=[batches.intern(batch, "server")] * n,
        kind=[heat_pb2.PAGE_KIND_ANON] * n,
        page_size_bytes=[4096] * n,
        tier_ref=[batches.intern(batch, "dram"), batches.intern(batch, "cxl")] * len(hours),
        validity=[(1 << 64) - 1] * n,
        resident_bytes=[int(sum(age) * GIB) for age in ages],
        age_bytes=packed(ages),
        never_bytes=packed([[0] * 9] * n),
        active_count_bytes=packed([[age[5], age[0], *[0] * 9] for age in ages]),
        active_lo_bytes=packed([[age[0]] * 4 for age in ages]),
        active_hi_bytes=packed([[age[0]] * 4 for age in ages]),
    )


def send_history(
    database: Database,
    *,
    hosts: int = 3,
    days: int = 8,
    memory_bytes: Sequence[int] = (),
    hours_of_day: Sequence[int] = tuple(range(0, 24, 6)),
    pages: int = 400,
    per_page: float = 3.0,
    spread: float = 2.5,
    seed: int = 0,
    backend: heat_pb2.HeatBackend = TRACE,
    knobs: Mapping[str, str] | None = None,
    intervals: int = 24,
    interval_ns: int = HOUR_NS,
) -> list[Enrolled]:
    """Stores days that end with the newest whole hour; each batch arrives when it was sealed.

    A day has one block of page samples of so many `intervals`, each of `interval_ns`.
    """
    enrolled = [enrol(database, name=f"node-{number}") for number in range(hosts)]
    for number, host in enumerate(enrolled):
        memory = skewed_memory(pages, seed + number, spread=spread, per_page=per_page, intervals=intervals)
        for day in range(days):
            end = this_hour() - (days - 1 - day) * DAY_NS
            batch = batches.make_batch(host_id=host.id, seq=day, sealed_wall_ns=end)
            add_day_of_heat(batch, end, hours_of_day)
            add_samples(batch, memory, end_ns=end, backend=backend, interval_ns=interval_ns)
            batch.page_samples[-1].sampled_ratio = 0.01  # of so many pages that these are few
            batches.add_inventory(batch)
            for path, value in (knobs or {}).items():
                batch.inventory.knobs.add(path=path, value=value)
            if memory_bytes:
                batch.inventory.nodes[0].memory_bytes = memory_bytes[number % len(memory_bytes)]
            assert store(database, host, [batch], clocks=Clocks(end, None, None))
    drain(database, now() + timedelta(hours=2))
    return enrolled


def now() -> datetime:
    """A minute after the newest whole hour."""
    return datetime.fromtimestamp(this_hour() / 1e9 + 60, tz=UTC)
