"""Hosts that Prometheus feeds on several servers: samples stay on the coordinator, rows go where the host is."""

import asyncio
from datetime import timedelta

import pytest

from factories import batches
from factories.derived import drain
from factories.installations import enrol, store
from factories.node_fleets import node_away
from factories.remote_writes import Series, named, write_body
from fixtures.elsewhere import long
from fixtures.servers import Template
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.storage.counters.rows import read_block
from tierscope.storage.nodes.moving import copy_hosts
from tierscope.usecases.ingest.remote_write import RemoteWrite
from tierscope.usecases.nodes import moves as moves_module
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.nodes.moves import Moves

SERVERS = ("n1", "n2")

pytestmark = [long, pytest.mark.parametrize("storage_mode", ["native"], indirect=True)]
PROMOTED = "host|vmstat|pgpromote_success"
LATER = timedelta(minutes=2)


def scrape(i: int, instance: str = "db:9100") -> list[Series]:
    """One scrape of a small node_exporter, some minutes ago."""
    values = {"node_vmstat_pgpromote_success": i * i, "node_vmstat_pgdemote_kswapd": i, "node_boot_time_seconds": 9}
    at = int((utc_now() - timedelta(minutes=20)).timestamp()) // 60 * 60_000 + i * 15_000
    return [(named(metric, instance), [(at, float(value))]) for metric, value in values.items()]


def send(fleet: Database, *scrapes: list[Series]) -> None:
    async def work() -> None:
        writer = RemoteWrite(fleet.own_rows)
        for series in scrapes:
            await writer.submit(write_body(*series))
        await writer.stop()

    asyncio.run(work())


def made(server: Database) -> list[int]:
    """Values of the host's counter, as a server's sessions see them."""
    now = utc_now()
    with server.read() as session:
        hosts = session.driver.execute("SELECT id FROM hosts WHERE name = 'db'").fetchall()
        rows = [read_block(session, int(host), now - timedelta(hours=1), now) for (host,) in hosts]
    return [int(row[block.keys.index(PROMOTED)]) for block in rows for row in block.values]


def waiting(fleet: Database) -> int:
    """Minutes of samples that rows are not made of yet."""
    with fleet.own_rows.read() as session:
        return len(session.driver.execute("SELECT FROM marks WHERE kind = 'samples'").fetchall())


def test_a_host_that_prometheus_feeds_moves_and_its_samples_wait_for_it(
    template: Template, fleet: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Nodes(fleet).own
    later = utc_now() + LATER
    send(fleet, scrape(1), scrape(2))
    drain(fleet, later)
    assert made(own(0)) == [1, 4]
    real = copy_hosts

    def copy_while_it_sends(*arguments: object, **given: object) -> int:
        copied = real(*arguments, **given)  # type: ignore[arg-type]
        send(fleet, scrape(3))
        drain(fleet, later)
        assert waiting(fleet) > 0, "samples are taken, and wait"
        return copied

    with monkeypatch.context() as patch:
        patch.setattr(moves_module, "copy_hosts", copy_while_it_sends)
        assert Moves(fleet).drain("coordinator", actor="test").hosts == 1
    drain(fleet, later)
    (at,) = {number for number in (1, 2) if made(own(number))}
    assert made(own(0)) == []
    assert made(own(at)) == [1, 4, 9]
    assert made(fleet) == [1, 4, 9]
    with node_away(template, fleet, at):
        send(fleet, scrape(4), scrape(2))
        drain(fleet, later)
        assert waiting(fleet) > 0
    drain(fleet, later)
    assert made(own(at)) == [1, 4, 9, 16]
    assert waiting(fleet) == 0
    with fleet.read() as session:
        moves = session.driver.execute("SELECT sum(promoted_pages), count(DISTINCT host_id) FROM tier_moves").fetchone()
    assert moves == (15, 1)
    with fleet.own_rows.read() as session:
        packs = "SELECT 1 FROM marks WHERE kind = 'samples_pack' UNION ALL SELECT 1 FROM samples_packed"
        assert session.driver.execute(packs).fetchall(), "hours of its samples are packed on the coordinator"
    agent = enrol(fleet, name="agent")
    assert store(fleet, agent, [batches.full_batch(host_id=agent.id, seq=0)])
    Moves(fleet).move([agent.id], f"n{3 - at}", actor="test")
    send(fleet, scrape(5, "agent:9100"))
    drain(fleet, later)
    with fleet.read() as session:
        reasons = session.driver.execute("SELECT name, reason FROM sample_targets ORDER BY name").fetchall()
    assert reasons == [("agent", "an agent reports this host"), ("db", None)], "whatever server it is on"
