"""The account of what was acknowledged, beside restores, purges, packing and retention in drawn orders.

Each sample is stored once, under its own host and series, or it was refused: nothing that a process remembers outlives
what it is about. Senders go on while a thread restores and purges; a count, not a clock, says what came before what.
"""

import asyncio
import itertools
import random
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from sqlalchemy import text

from cli.test_backup import tierscope
from factories import batches, otlp_requests
from factories.derived import drain
from factories.installations import Enrolled, enrol
from factories.remote_writes import named, write_body
from fixtures.draws import drawn
from fixtures.elsewhere import long
from fixtures.servers import Template
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import TierscopeError
from tierscope.core.settings import Settings
from tierscope.storage.base.partitions import drop_old
from tierscope.storage.counters.rows import read_block
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.fleet.agents import Agents
from tierscope.usecases.ingest.batches import Ingest
from tierscope.usecases.ingest.otlp import OtlpMetrics
from tierscope.usecases.ingest.remote_write import RemoteWrite
from tierscope.usecases.ingest.series import Series
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.operate.purge_work import PurgeWork
from tierscope.usecases.operate.purges import Purges

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
Way = Literal["agent", "remote_write", "otlp"]
Subject = tuple[Way, str]
OF_SAMPLES: tuple[Way, ...] = ("remote_write", "otlp")
INSTANCES = ("web1", "web2", "web3")
BESIDE_EACH = 12
"""Samples of each sender beside each step: a restore takes a second or two."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A sample that was acknowledged: when it was sent and answered, by the count of all that happened."""

    subject: Subject
    value: int
    begun: int
    answered: int


@dataclass(frozen=True, slots=True)
class Happened:
    """A restore (of what stood at `taken`) or a purge, from `begun` to `ended`."""

    what: Literal["restore", "purge"]
    begun: int
    ended: int
    subject: str = ""
    taken: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class Account:
    """What was sent and what happened."""

    ticks: Iterator[int] = field(default_factory=itertools.count)
    sent: list[Sent] = field(default_factory=list)
    happened: list[Happened] = field(default_factory=list)
    refused: int = 0

    def tick(self) -> int:
        """The next moment."""
        return next(self.ticks)

    def fate(self, one: Sent) -> bool | None:
        """Whether a sample has to be stored; None where it may be, as it came beside what would end it."""
        fates: list[bool | None] = [True]
        for event in self.happened:
            if one.begun > event.ended:
                continue
            if event.what == "purge":
                if event.subject == one.subject[1] and event.begun > 0:
                    fates = [False if one.answered < event.begun else None]
            elif one.answered < event.taken[0]:
                # As it stood when the copy was taken: what a purge removed before that is gone, later ones are undone.
                fates = [self._before(one, event.taken)]
            elif one.begun > event.taken[1] and one.answered < event.begun:
                fates = [False]
            else:
                fates = [None]
        return fates[-1]

    def _before(self, one: Sent, taken: tuple[int, int]) -> bool | None:
        earlier = Account(happened=[event for event in self.happened if event.begun < taken[1]])
        beside = any(event.ended > taken[0] for event in earlier.happened)
        return None if beside else earlier.fate(one)


class Senders:
    """An agent for each host, and samples of Prometheus and OpenTelemetry, of instances of their own."""

    def __init__(self, database: Database, account: Account) -> None:
        self.database, self.account = database, account
        self.agents = Agents(database)
        self.ingest = Ingest(database)
        self.remote_write = RemoteWrite(database)
        self.otlp = OtlpMetrics(self.remote_write, settings=Settings())
        self.hosts: dict[str, Enrolled] = {}
        self._values = itertools.count(1)
        self._seqs: dict[str, int] = {}
        self._start_ms = int((utc_now() - timedelta(minutes=50)).timestamp()) * 1000

    def enrol(self, name: str) -> None:
        """A host of that name."""
        self.hosts[name] = enrol(self.database, name=name)

    async def send(self, way: Way, name: str) -> None:
        """One sample; it counts where it was acknowledged."""
        value, begun = next(self._values), self.account.tick()
        ways: dict[Way, Callable[[str, int], Coroutine[Any, Any, None]]] = {
            "agent": self._by_agent,
            "remote_write": self._by_remote_write,
            "otlp": self._by_otlp,
        }
        try:
            await ways[way](name, value)
        except TierscopeError:
            self.account.refused += 1
            return
        self.account.sent.append(Sent((way, name), value, begun, self.account.tick()))

    async def _by_agent(self, name: str, value: int) -> None:
        host = self.hosts[name]
        identity = await asyncio.to_thread(self.agents.authenticate, host.credential)
        # A stream for each sample: what comes again under a number is held to be a duplicate.
        batch = batches.make_batch(host_id=host.id, stream_id=value.to_bytes(16, "big"))
        batches.add_counters(batch, [[value, None, None]], ends_ns=[(self._start_ms + value) * 1_000_000])
        batches.add_inventory(batch, services=(f"of-{name}",), hostname=name)
        await self.ingest.submit(identity, batches.compress(batch))

    async def _by_remote_write(self, name: str, value: int) -> None:
        series = named("node_vmstat_pgpromote_success", f"{name}:9100")
        taken = await self.remote_write.submit(write_body((series, [(self._start_ms + value, float(value))])))
        assert taken.samples == 1

    async def _by_otlp(self, name: str, value: int) -> None:
        resource = {"service.name": "cart", "service.instance.id": f"{name}:9100"}
        metric = otlp_requests.gauge("held", otlp_requests.point(self._start_ms + value, float(value)))
        body = otlp_requests.request(metric, resource=resource).SerializeToString()
        assert (await self.otlp.submit(body, gzip=False, json=False)).reason is None

    async def stop(self) -> None:
        """Ends what takes samples."""
        self.otlp.stop()
        await self.remote_write.stop()
        await self.ingest.stop()

    def stored(self) -> list[tuple[Subject, int]]:
        """Each stored sample with whom it stands under."""
        found: list[tuple[Subject, int]] = []
        reads = Series(ReadContext(database=self.database, clock=utc_now, settings=Settings()))
        ways: tuple[tuple[Way, str], ...] = (("remote_write", "node_vmstat_pgpromote_success"), ("otlp", "held"))
        for way, metric in ways:
            for row in reads.samples(metric, from_="-2h", to=None):
                instance = row.series.labels["instance"].removesuffix(":9100")
                found.append(((way, instance), int(row.value)))
        start, end = utc_now() - timedelta(hours=2), utc_now() + timedelta(hours=1)
        with self.database.read() as session:
            numbers = {row.public_id: row.id for row in session.execute(text("SELECT id, public_id FROM hosts"))}
            for name, host in self.hosts.items():
                if host.id in numbers:
                    block = read_block(session, numbers[host.id], start, end)
                    if block.keys:
                        values = block.values[:, block.keys.index(batches.KEYS[0])]
                        found += [(("agent", name), int(value)) for value in values]
        return found


class Operator:
    """Restores, purges, and does a worker's part, as they would come from elsewhere."""

    def __init__(self, senders: Senders, template: Template, folder: Path) -> None:
        self._senders, self._template, self._folder = senders, template, folder
        self._other = Database(senders.database.url)  # another process has pools of its own
        self._copies: list[tuple[Path, tuple[int, int]]] = []

    def close(self) -> None:
        """Closes its own connections."""
        self._other.close()

    def back_up(self) -> None:
        """Takes a copy."""
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
        """Removes all hosts of that name: an agent's, and what Prometheus says of the instance."""
        begun = self._senders.account.tick()
        self.work()
        with self._other.read() as session:
            rows = session.execute(text("SELECT public_id FROM hosts WHERE name = :name"), {"name": name})
            hosts = list(rows.scalars())
        purges = Purges(self._other)
        for host in hosts:
            purges.start("host", host, confirm=name, actor="test")
        work = PurgeWork(Nodes(self._other), utc_now)
        while work.run().rows:
            pass
        if hosts:
            self._senders.account.happened.append(Happened("purge", begun, self._senders.account.tick(), subject=name))

    async def send_elsewhere(self, name: str) -> None:
        """A sample of an instance by way of another process; it is not in the account."""
        other, at_ms = RemoteWrite(self._other), int(utc_now().timestamp()) * 1000
        await other.submit(write_body((named("node_load1", f"{name}:9100"), [(at_ms, 1.0)])))
        await other.stop()

    def work(self) -> None:
        """Rebuilds and packs what is due."""
        drain(self._other)

    def expire(self) -> None:
        """Drops what is older than is kept."""
        with self._other.write() as transaction:
            drop_old(transaction, utc_now())

    def _run(self, *words: str) -> None:
        ended = tierscope(self._template, self._senders.database.url, self._folder, *words)
        assert ended.status == 0, ended.stderr


def judge(senders: Senders) -> None:
    """Each acknowledged sample is there once under its own name, or is gone as it has to be."""
    stored, account = senders.stored(), senders.account
    by_value: dict[int, list[Subject]] = {}
    for subject, value in stored:
        by_value.setdefault(value, []).append(subject)
    for one in account.sent:
        subjects, fate = by_value.get(one.value, []), account.fate(one)
        assert subjects in ([], [one.subject]), (one, subjects)
        if fate is not None:
            assert bool(subjects) is fate, (one, account.happened)
    with senders.database.read() as session:
        orphans = session.execute(
            text("SELECT count(*) FROM samples_live WHERE target_id NOT IN (SELECT id FROM sample_targets)")
        ).scalar_one()
    assert orphans == 0


@pytest.fixture
def senders(database: Database) -> Senders:
    return Senders(database, Account())


@pytest.fixture
def operator(senders: Senders, template: Template, tmp_path: Path) -> Iterator[Operator]:
    with closing(Operator(senders, template, tmp_path)) as opened:
        yield opened


def test_what_was_enrolled_after_a_copy_is_not_mixed_with_what_came_after_its_restore(
    senders: Senders, operator: Operator
) -> None:
    async def work() -> None:
        senders.ingest.start()
        await asyncio.to_thread(operator.back_up)
        senders.enrol("carol")
        await senders.send("agent", "carol")
        await senders.send("remote_write", "alice")
        await asyncio.to_thread(operator.restore)
        senders.enrol("dave")  # has the number that carol had
        await senders.send("agent", "dave")
        await senders.send("agent", "carol")
        await operator.send_elsewhere("bob")  # has the numbers that alice's target and series had
        await senders.send("remote_write", "alice")
        await senders.stop()

    asyncio.run(work())
    judge(senders)
    assert senders.account.refused == 1  # carol is not there any more
    with senders.database.read() as session:
        rows = session.execute(
            text(
                "SELECT h.name, s.name AS service FROM host_services hs JOIN hosts h ON h.id = hs.host_id"
                " JOIN services s ON s.id = hs.service_id"
            )
        )
        assert {tuple(row) for row in rows} == {("dave", "of-dave")}
    assert {subject for subject, _ in senders.stored()} == {("agent", "dave"), ("remote_write", "alice")}


def test_samples_that_come_after_the_purge_of_their_host_are_stored_anew(senders: Senders, operator: Operator) -> None:
    async def work() -> None:
        senders.ingest.start()
        for _ in range(2):
            for way in OF_SAMPLES:
                await senders.send(way, "web1")
        await asyncio.to_thread(operator.purge, "web1")
        for way in OF_SAMPLES:
            await senders.send(way, "web1")
        await senders.stop()

    asyncio.run(work())
    assert [event.what for event in senders.account.happened] == ["purge"]
    judge(senders)
    assert len(senders.stored()) == 2


@long
@pytest.mark.parametrize("seed", range(drawn(20)))
def test_every_acknowledged_sample_is_accounted_for_in_any_order(
    senders: Senders, operator: Operator, seed: int
) -> None:
    draw = random.Random(seed)  # noqa: S311 - which order is tried
    steps: list[Callable[[], None]] = [
        operator.back_up,
        operator.restore,
        operator.work,
        operator.expire,
        *(lambda name=name: operator.purge(name) for name in (*INSTANCES, "host1")),
    ]
    order = [operator.back_up, *draw.choices(steps, weights=[1, 2, 1, 1, 1, 1, 1, 1], k=5)]

    async def work() -> None:
        senders.ingest.start()
        for name in ("host1", "host2"):
            senders.enrol(name)
        for step in order:
            running = asyncio.create_task(asyncio.to_thread(step))
            for _ in range(BESIDE_EACH):
                await asyncio.gather(
                    senders.send("agent", draw.choice(("host1", "host2"))),
                    senders.send("remote_write", draw.choice(INSTANCES)),
                    senders.send("otlp", draw.choice(INSTANCES)),
                )
            await running
        for name in INSTANCES:
            await senders.send("remote_write", name)
            await senders.send("otlp", name)
        await senders.send("agent", "host2")
        await senders.stop()

    asyncio.run(work())
    judge(senders)
    assert senders.account.sent
