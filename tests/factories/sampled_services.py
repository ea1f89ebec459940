"""A service whose hosts upload samples of their pages by the hour, for replays."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from factories import batches
from factories.installations import Enrolled, enrol, store
from factories.page_samples import HOUR_NS, Memory, add_samples, make_memory
from tierscope.core.database import Database
from tierscope.domain.ingest.arrival import Clocks
from tierscope.wire._generated import batch_pb2, heat_pb2

TRACE = heat_pb2.HEAT_BACKEND_TRACE
ABIT = heat_pb2.HEAT_BACKEND_ABIT_WALK


def last_hour_ns() -> int:
    """The end of the newest whole hour."""
    return batches.now_ns() // HOUR_NS * HOUR_NS


def now() -> datetime:
    """A minute after the newest whole hour."""
    return datetime.fromtimestamp(last_hour_ns() / 1e9 + 60, tz=UTC)


def hot_and_cold(pages: int, intervals: int, seed: int, *, hot: float = 0.2, spread: float = 0.5) -> Memory:
    """A fifth of the pages busy in every interval, the others now and then; half of them file pages."""
    random = np.random.default_rng(seed)
    rates = np.where(random.random(pages) < hot, 40.0, 0.2) * random.lognormal(0.0, spread, pages)
    kinds = np.where(np.arange(pages) % 2 == 0, heat_pb2.PAGE_KIND_ANON, heat_pb2.PAGE_KIND_FILE)
    return make_memory(random.poisson(rates[:, None], (pages, intervals)), kinds=kinds, seed=seed)


def send_samples(
    database: Database,
    *,
    hosts: int = 3,
    hours: int = 2,
    pages: int = 300,
    ratio: float = 0.01,
    backend: heat_pb2.HeatBackend = TRACE,
    spread: float = 0.5,
    missed: Sequence[int] = (),
    seed: int = 0,
) -> list[Enrolled]:
    """Stores blocks of an hour of minutes each; all pages of the memory are in the sample, at the rate stated."""
    enrolled = [enrol(database, name=f"node-{number}") for number in range(hosts)]
    for number, host in enumerate(enrolled):
        memory = hot_and_cold(pages, 60 * hours, seed + number, spread=spread)
        for hour in range(hours):
            end = last_hour_ns() - (hours - 1 - hour) * HOUR_NS
            batch: batch_pb2.Batch = batches.make_batch(host_id=host.id, seq=hour, sealed_wall_ns=end)
            add_samples(batch, memory, end_ns=end, backend=backend, first=60 * hour, count=60, missed=missed)
            batch.page_samples[-1].sampled_ratio = ratio  # of so many pages that these are few
            batches.add_inventory(batch)
            assert store(database, host, [batch], clocks=Clocks(end, None, None))
    return enrolled
