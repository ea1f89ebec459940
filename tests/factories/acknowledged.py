"""The account of what was acknowledged: what was sent, what happened to it since, and what is stored.

A request is acknowledged as a whole. From then on each of its samples is stored once, under its own host or series, or
it is gone because of the restore or the purge that names it. A count, not a clock, says what came before what.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Literal, Protocol, Self

import numpy as np
import numpy.typing as npt
from sqlalchemy import text

from factories import batches, otlp_requests
from factories.derived import KEYS, day_before
from factories.installations import Enrolled, enrol
from factories.remote_writes import named, write_body, write_body_v2
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import TierscopeError, UnknownCredential
from tierscope.core.settings import Settings
from tierscope.storage.counters.rows import read_block
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.fleet.agents import Agents
from tierscope.usecases.ingest.by_node import IngestByNode
from tierscope.usecases.ingest.otlp import OtlpMetrics
from tierscope.usecases.ingest.remote_write import RemoteWrite
from tierscope.usecases.ingest.series import Series
from tierscope.usecases.nodes.fleet import Nodes

Way = Literal["agent", "remote_write", "remote_write_2", "otlp"]
Subject = tuple[Way, str]
"""An agent's host by its public id, or an instance by its name."""
Fate = Literal["stored", "restored away", "purged", "either"]
"""What has to have become of a request. `either`: it came beside what would end it, so that both are right."""
Values = npt.NDArray[np.int64]

METRICS: Mapping[Way, Sequence[str]] = {
    "agent": KEYS,
    "remote_write": (
        "node_load1",
        "node_vmstat_pgdemote_direct",
        "node_vmstat_pgdemote_kswapd",
        "node_vmstat_pgpromote_success",
    ),
    "remote_write_2": (
        "node_load5",
        "node_memory_MemFree_bytes",
        "node_vmstat_pgmajfault",
        "node_vmstat_pgsteal_kswapd",
    ),
    "otlp": ("held", "held_cold", "held_hot", "held_warm"),
}
"""What each way sends: a series or a counter for each name."""
OF_SAMPLES: tuple[Way, ...] = ("remote_write", "remote_write_2", "otlp")


@dataclass(frozen=True, slots=True)
class Sent:
    """A request of `count` samples, whose values are whole numbers from `first` on that no other request has."""

    subject: Subject
    first: int
    count: int
    begun: int
    answered: int | None
    """None: it was not acknowledged, so that it may be stored or not."""


@dataclass(frozen=True, slots=True)
class Happened:
    """A restore (of what stood at `taken`) or a purge of some subjects, from `begun` to `ended`."""

    what: Literal["restore", "purge"]
    begun: int
    ended: int
    subjects: frozenset[str] = frozenset()
    taken: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class Counts:
    """What became of the samples of one way."""

    requests: int = 0
    """Acknowledged ones."""
    refused: int = 0
    """Requests that were not acknowledged."""
    acknowledged: int = 0
    """Samples, as all below."""
    stored: int = 0
    restored_away: int = 0
    purged: int = 0
    either: int = 0
    """Acknowledged beside a restore or a purge, and gone."""
    lost: int = 0
    doubled: int = 0
    misplaced: int = 0
    """Under another host or series than the one they were sent for."""
    returned: int = 0
    """There although a restore or a purge ended them."""

    def __iadd__(self, other: "Counts") -> Self:
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))
        return self

    def faults(self) -> list[str]:
        """What is wrong; empty where every sample is accounted for."""
        wrong = {name: getattr(self, name) for name in ("lost", "doubled", "misplaced", "returned")}
        return [f"{count} samples {name}" for name, count in wrong.items() if count]


@dataclass(slots=True)
class Account:
    ticks: Iterator[int] = field(default_factory=itertools.count)
    sent: list[Sent] = field(default_factory=list)
    happened: list[Happened] = field(default_factory=list)

    def tick(self) -> int:
        return next(self.ticks)

    @property
    def refused(self) -> int:
        return sum(one.answered is None for one in self.sent)

    def fate(self, one: Sent) -> Fate:
        if one.answered is None:
            return "either"
        found: Fate = "stored"
        for event in self.happened:
            if one.begun > event.ended:
                continue
            if event.what == "purge":
                if one.subject[1] in event.subjects:
                    found = "purged" if one.answered < event.begun else "either"
            elif one.answered < event.taken[0]:
                # As it stood when the copy was taken: what a purge removed before that is gone, later ones are undone.
                found = self._before(one, event.taken)
            else:
                after = one.begun > event.taken[1] and one.answered < event.begun
                found = "restored away" if after else "either"
        return found

    def _before(self, one: Sent, taken: tuple[int, int]) -> Fate:
        earlier = Account(happened=[event for event in self.happened if event.begun < taken[1]])
        beside = any(event.ended > taken[0] for event in earlier.happened)
        return "either" if beside else earlier.fate(one)

    def judge(self, found: Mapping[Subject, Values]) -> dict[Way, Counts]:
        """Holds what is stored of each subject against what has to be."""
        sent = sorted(self.sent, key=lambda one: one.first)
        firsts = np.array([one.first for one in sent], np.int64)
        ends = np.array([one.first + one.count for one in sent], np.int64)
        numbers = {subject: number for number, subject in enumerate(dict.fromkeys(one.subject for one in sent))}
        owners = np.array([numbers[one.subject] for one in sent], np.int64)
        there = np.zeros(len(sent), np.int64)
        counts: dict[Way, Counts] = {way: Counts() for way in METRICS}
        for subject, values in found.items():
            distinct = np.unique(values)
            place = np.searchsorted(firsts, distinct, "right") - 1
            own = (place >= 0) & (distinct < ends[place]) & (owners[place] == numbers.get(subject, -1))
            counts[subject[0]].doubled += values.size - distinct.size
            counts[subject[0]].misplaced += int((~own).sum())
            there += np.bincount(place[own], minlength=len(sent))
        for one, stored in zip(sent, there.tolist(), strict=True):
            self._add(counts[one.subject[0]], one, stored)
        return counts

    def _add(self, counts: Counts, one: Sent, stored: int) -> None:
        if one.answered is None:
            counts.refused += 1
            return
        counts.requests += 1
        counts.acknowledged += one.count
        gone, fate = one.count - stored, self.fate(one)
        if fate in ("stored", "either"):
            counts.stored += stored
        else:
            counts.returned += stored
        match fate:
            case "stored":
                counts.lost += gone
            case "either":
                counts.either += gone
            case "restored away":
                counts.restored_away += gone
            case "purged":
                counts.purged += gone


class Door(Protocol):
    """Where requests are delivered to; one that returns has acknowledged."""

    async def deliver(self, way: Way, body: bytes, host: Enrolled | None) -> None:
        """Raises TierscopeError where the request was refused."""

    def enrol(self, name: str) -> Enrolled:
        """Raises TierscopeError where the host was refused."""


class Inside:
    """The use cases of a service, within this process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        nodes = Nodes(database)
        self._agents = Agents(database)
        self.ingest = IngestByNode(nodes)
        self._remote_write = RemoteWrite(nodes.own(0))
        self._otlp = OtlpMetrics(self._remote_write, settings=Settings())

    def enrol(self, name: str) -> Enrolled:
        return enrol(self._database, name=name)

    async def deliver(self, way: Way, body: bytes, host: Enrolled | None) -> None:
        if host is not None:
            identity = await asyncio.to_thread(self._agents.authenticate, host.credential)
            await self.ingest.submit(identity, body)
        elif way == "otlp":
            assert (await self._otlp.submit(body, gzip=False, json=False)).reason is None
        else:
            taken = await self._remote_write.submit(body, version=2 if way == "remote_write_2" else 1)
            assert taken.problem is None, taken.problem

    async def stop(self) -> None:
        self._otlp.stop()
        await self._remote_write.stop()
        await self.ingest.stop()


class Senders:
    """An agent for each host, and instances that Prometheus and OpenTelemetry report, each with times of its own."""

    def __init__(self, door: Door, account: Account, *, rows: int = 1) -> None:
        """`rows`: samples of each series in a request."""
        self._door, self.account, self._rows = door, account, rows
        self.hosts: dict[str, Enrolled] = {}
        self._enrolled: dict[str, str] = {}
        self._instances: set[str] = set()
        self._values, self._numbers = itertools.count(1), itertools.count(1)
        self._next_row: Counter[str] = Counter()
        hour = utc_now().replace(minute=0, second=0, microsecond=0)
        self._starts_ms = [int(start.timestamp()) * 1000 for start in (day_before(), hour - timedelta(hours=3))]

    def enrol(self, name: str) -> Enrolled:
        """A new host of that name; what was enrolled under it before sends no more."""
        host = self._door.enrol(name)
        self.hosts[name] = host
        self._enrolled[host.id] = name
        return host

    async def send(self, way: Way, name: str) -> None:
        """One request; it is acknowledged or refused. An agent whose credential is refused enrols before its next."""
        host = None
        if way == "agent":
            try:
                host = self.hosts.get(name) or await asyncio.to_thread(self.enrol, name)
            except TierscopeError:
                return
        self._instances.add(name)
        count = self._rows * len(METRICS[way])
        first = next(self._values)
        self._values = itertools.count(first + count)
        subject: Subject = (way, name if host is None else host.id)
        body = self._body(way, name, host, first)
        begun, answered = self.account.tick(), None
        try:
            await self._door.deliver(way, body, host)
            answered = self.account.tick()
        except UnknownCredential:
            if host is not None and self.hosts.get(name) is host:
                del self.hosts[name]
        except TierscopeError:
            pass
        self.account.sent.append(Sent(subject, first, count, begun, answered))

    def _body(self, way: Way, name: str, host: Enrolled | None, first: int) -> bytes:
        metrics = METRICS[way]
        times_ms = self._times_ms(way, name)
        rows = [[first + row * len(metrics) + place for place in range(len(metrics))] for row in range(self._rows)]
        if host is not None:
            # A stream for each batch: what comes again under a number is held to be a duplicate.
            batch = batches.make_batch(host_id=host.id, stream_id=next(self._numbers).to_bytes(16, "big"))
            batches.add_counters(batch, rows, ends_ns=[at_ms * 1_000_000 for at_ms in times_ms], keys=metrics)
            batches.add_inventory(batch, services=(f"of-{name}",), hostname=name)
            return batches.compress(batch)
        columns = list(zip(*rows, strict=True))
        if way == "otlp":
            resource = {"service.name": "cart", "service.instance.id": f"{name}:9100"}
            gauges = (
                otlp_requests.gauge(metric, *map(otlp_requests.point, times_ms, map(float, column)))
                for metric, column in zip(metrics, columns, strict=True)
            )
            return otlp_requests.request(*gauges, resource=resource).SerializeToString()
        write: Callable[..., bytes] = write_body_v2 if way == "remote_write_2" else write_body
        return write(
            *(
                (named(metric, f"{name}:9100"), list(zip(times_ms, map(float, column), strict=True)))
                for metric, column in zip(metrics, columns, strict=True)
            )
        )

    def _times_ms(self, way: Way, name: str) -> list[int]:
        """Of the last hours for names that end with an odd number, for others of a day that is over and packed."""
        row = self._next_row[f"{way} {name}"]
        self._next_row[f"{way} {name}"] += self._rows
        recent = name[-1:].isdigit() and int(name[-1]) % 2 == 1
        step_ms = 10 if recent else 1000
        return [self._starts_ms[recent] + step_ms * (row + place) for place in range(1, self._rows + 1)]

    def stored(self, database: Database) -> dict[Subject, Values]:
        """The values that stand under each subject, as readers see them."""
        found: dict[Subject, list[float]] = {}
        reads = Series(ReadContext(database=database, clock=utc_now, settings=Settings()))
        instances = "|".join(f"{name}:9100" for name in sorted(self._instances))
        for way in OF_SAMPLES:
            for metric in METRICS[way]:
                for row in reads.samples(f'{metric}{{instance=~"{instances}"}}', from_="-4d", to=None):
                    name = row.series.labels["instance"].removesuffix(":9100")
                    found.setdefault((way, name), []).append(row.value)
        values = {subject: np.array(some).astype(np.int64) for subject, some in found.items()}
        now = utc_now()
        with database.read() as session:
            rows = session.execute(
                text("SELECT id, public_id FROM hosts WHERE public_id = ANY(:ids)"), {"ids": list(self._enrolled)}
            )
            for number, host in rows.all():
                block = read_block(session, number, now - timedelta(days=4), now + timedelta(hours=1))
                if block.keys:
                    values["agent", host] = block.values[block.present]
        return values

    def judge(self, database: Database) -> dict[Way, Counts]:
        """Holds the account against a database, and looks for rows that readers would not see."""
        counts = self.account.judge(self.stored(database))
        with database.read() as session:
            twice = session.execute(
                text(
                    "SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM counters_live WHERE host_id IN"
                    " (SELECT id FROM hosts WHERE public_id = ANY(:ids)) GROUP BY host_id, ts) AS t"
                ),
                {"ids": list(self._enrolled)},
            ).scalar_one()
            orphans = session.execute(
                text("SELECT count(*) FROM samples_live WHERE target_id NOT IN (SELECT id FROM sample_targets)")
            ).scalar_one()
        counts["agent"].doubled += int(twice)
        counts["remote_write"].misplaced += orphans
        return counts
