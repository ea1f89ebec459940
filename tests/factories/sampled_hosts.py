"""Hosts that Prometheus reports: scrapes of a small node_exporter, sent, and what became of them."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import text

from factories.remote_writes import Series, named, write_body
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import RemoteWriteSettings
from tierscope.domain.counters.packing import Block
from tierscope.storage.counters.rows import read_block
from tierscope.usecases.ingest.remote_write import RemoteWrite

PROMOTED = "host|vmstat|pgpromote_success"
AFTER = timedelta(minutes=2)


def send_samples(database: Database, *requests: Sequence[Series], settings: RemoteWriteSettings | None = None) -> int:
    """Sends requests, each of some series; how many samples were stored."""

    async def work() -> int:
        writer = RemoteWrite(database, settings=settings)
        try:
            taken = await asyncio.gather(*(writer.submit(write_body(*series)) for series in requests))
            return sum(one.samples for one in taken)
        finally:
            await writer.stop()

    return asyncio.run(work())


def start_ms(ago: timedelta = timedelta(minutes=20)) -> int:
    """A whole minute some time ago."""
    return int((utc_now() - ago).timestamp()) // 60 * 60_000


def scrape(at_ms: int, count: int, *, instance: str = "db1:9100", boot_s: int = 1_700_000_000) -> list[Series]:
    """One scrape of a small node_exporter."""
    values = {
        "node_vmstat_pgpromote_success": count,
        "node_vmstat_pgdemote_kswapd": 2 * count,
        "node_memory_MemTotal_bytes": 1 << 30,
        "node_boot_time_seconds": boot_s,
    }
    return [(named(metric, instance), [(at_ms, float(value))]) for metric, value in values.items()]


def rows(database: Database, host_id: int = 1) -> Block:
    with database.read() as session:
        now = utc_now()
        return read_block(session, host_id, now - timedelta(days=40), now + timedelta(days=1))


def column(block: Block, key: str) -> list[int]:
    return [int(value) for value in block.values[:, block.keys.index(key)]]


def count(database: Database, statement: str) -> int:
    with database.read() as session:
        return int(session.execute(text(statement)).scalar_one())
