"""Restores, purges, packing, retention, re-enrolment and moves in drawn orders, beside senders of all ways."""

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import text

from cli.commands import tierscope
from factories.acknowledged import OF_SAMPLES, Account, Counts, Happened, Inside, Senders, Way
from factories.derived import drain
from factories.node_fleets import several_servers
from factories.remote_writes import named, write_body
from fixtures.servers import Template
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import TierscopeError
from tierscope.usecases.ingest.remote_write import RemoteWrite
from tierscope.usecases.nodes.changes import NodeChanges
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.nodes.moves import Moves
from tierscope.usecases.operate.purge_work import PurgeWork
from tierscope.usecases.operate.purges import Purges
from tierscope.usecases.operate.retention import KeepPartitions

INSTANCES = ("web1", "web2", "web3")
HOSTS = ("host1", "host2")
STEPS = 6
BESIDE_EACH, AFTER_EACH = 12, 4
"""Requests of each way beside each step, as a restore takes a second or two, and once it is done."""


def hosts_named(database: Database, name: str) -> list[str]:
    """Public ids of all hosts of that name: an agent's, and what Prometheus says of the instance."""
    with database.read() as session:
        rows = session.execute(text("SELECT public_id FROM hosts WHERE name = :name"), {"name": name})
        return list(rows.scalars())


def services_named(database: Database, name: str) -> list[str]:
    with database.read() as session:
        rows = session.execute(text("SELECT public_id FROM services WHERE name = :name"), {"name": name})
        return list(rows.scalars())


class Operator:
    """Restores, purges, moves hosts, and does a worker's part, as they would come from elsewhere."""

    def __init__(self, database: Database, senders: Senders, template: Template, folder: Path) -> None:
        self._senders, self._template, self._folder = senders, template, folder
        self._other = Database(database.url)  # another process has pools of its own
        self._copies: list[tuple[Path, tuple[int, int]]] = []

    def close(self) -> None:
        """Closes its own connections."""
        self._other.close()

    def back_up(self) -> None:
        path, begun = self._folder / f"{len(self._copies)}.dump", self._senders.account.tick()
        self._run("backup", str(path))
        self._copies.append((path, (begun, self._senders.account.tick())))

    def restore(self) -> None:
        """Puts the last copy in the place of the database."""
        if not self._copies:
            return
        (path, taken), begun = self._copies[-1], self._senders.account.tick()
        self._run("restore", str(path), "--replace")
        ended = self._senders.account.tick()
        self._senders.account.happened.append(Happened("restore", begun, ended, taken=taken))

    def purge(self, name: str) -> None:
        begun = self._senders.account.tick()
        self.work()
        hosts = hosts_named(self._other, name)
        purges = Purges(self._other)
        for host in hosts:
            purges.start("host", host, confirm=name, actor="test")
        self._end_purges()
        if hosts:
            ended, subjects = self._senders.account.tick(), frozenset({name, *hosts})
            self._senders.account.happened.append(Happened("purge", begun, ended, subjects))

    def purge_service(self, host: str) -> None:
        """Removes the service of a host, and nothing of the host itself."""
        for service in services_named(self._other, f"of-{host}"):
            Purges(self._other).start("service", service, confirm=f"demo/of-{host}", actor="test")
        self._end_purges()

    def move(self, name: str) -> None:
        """Moves the hosts of that name to another server and back to the first."""
        hosts = hosts_named(self._other, name)
        for node in reversed(NodeChanges(self._other).list()):
            if hosts:
                Moves(self._other).move(hosts, node.name, actor="test")

    def enrol_again(self, name: str) -> None:
        """A host of that name enrols anew, and the one before sends no more."""
        with suppress(TierscopeError):
            self._senders.enrol(name)

    async def send_elsewhere(self, name: str) -> None:
        """A sample of an instance by way of another process; it is not in the account."""
        other, at_ms = RemoteWrite(Nodes(self._other).own(0)), int(utc_now().timestamp()) * 1000
        await other.submit(write_body((named("node_boot_time_seconds", f"{name}:9100"), [(at_ms, 1.0)])))
        await other.stop()

    def work(self) -> None:
        """Rebuilds and packs what is due."""
        drain(self._other)

    def expire(self) -> None:
        """Drops what is older than is kept, and the live rows that are packed."""
        self.work()
        for _ in Nodes(self._other).on_each(lambda own: KeepPartitions(own, utc_now).run()):
            pass

    def steps(self) -> dict[str, Callable[[], None]]:
        several = len(NodeChanges(self._other).list()) > 1
        found: dict[str, Callable[[], None]] = {
            "backup": self.back_up,
            "restore": self.restore,
            "packing": self.work,
            "retention": self.expire,
            **{f"purge of {name}": lambda name=name: self.purge(name) for name in (*INSTANCES, HOSTS[0])},  # type: ignore[misc]
            "purge of a service": lambda: self.purge_service(HOSTS[0]),
            "re-enrolment": lambda: self.enrol_again(HOSTS[1]),
        }
        if several:
            found |= {f"move of {name}": lambda name=name: self.move(name) for name in (*HOSTS, INSTANCES[0])}  # type: ignore[misc]
        return found

    def _end_purges(self) -> None:
        work = PurgeWork(Nodes(self._other), utc_now)
        while work.run().rows:
            pass

    def _run(self, *words: str) -> None:
        ended = tierscope(self._template, self._other.url, self._folder, *words)
        assert ended.status == 0, ended.stderr


def play(
    template: Template, storage_mode: str, folder: Path, *, seed: int, rows: int = 1
) -> tuple[list[str], dict[Way, Counts]]:
    """Takes a drawn order of steps while all senders send; the steps, and what became of what was acknowledged.

    Every other order is one of a fleet on two servers. `rows`: samples of each series in a request.
    """
    draw = random.Random(seed)  # noqa: S311 - which order is tried
    with several_servers(template, storage_mode, *("n1",)[: seed % 2]) as database:
        inside = Inside(database)
        senders = Senders(inside, Account(), rows=rows)
        with closing(Operator(database, senders, template, folder)) as operator:
            steps = operator.steps()
            weights = [3 if name == "restore" else 1 for name in steps]
            order = ["backup", *draw.choices(list(steps), weights=weights, k=STEPS - 1)]
            asyncio.run(_send_beside(inside, senders, [steps[name] for name in order], draw))
        return order, senders.judge(database)


async def _send_beside(
    inside: Inside, senders: Senders, steps: Sequence[Callable[[], None]], draw: random.Random
) -> None:
    inside.ingest.start()
    for name in HOSTS:
        senders.enrol(name)

    async def send(times: int) -> None:
        for _ in range(times):
            await asyncio.gather(
                senders.send("agent", draw.choice(HOSTS)),
                *(senders.send(way, draw.choice(INSTANCES)) for way in OF_SAMPLES),
            )

    for step in steps:
        running = asyncio.create_task(asyncio.to_thread(step))
        await send(BESIDE_EACH)
        await running
        await send(AFTER_EACH)
    for way in OF_SAMPLES:
        for name in INSTANCES:
            await senders.send(way, name)
    await senders.send("agent", HOSTS[1])
    await inside.stop()
