"""Ingest: takes a batch, answers when it is stored.

Batches are decoded side by side and committed together: while one commit runs, those that arrive wait and share the
next one (docs/decisions/0003-group-commit.md). The answer follows the commit. Nothing is dropped silently: a full queue
is 503, a host that sends too much at once 429, and what cannot be stored is counted in the answer and on the host.
"""

import asyncio
import contextlib
import threading
from collections import Counter, defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import structlog
from prometheus_client import CollectorRegistry

from tierscope.core import generations, traces
from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database
from tierscope.core.errors import (
    Busy,
    TierscopeError,
    TooLarge,
    TooMany,
    Unavailable,
    UnknownVersion,
    Unprocessable,
    WrongHost,
)
from tierscope.core.settings import Limits
from tierscope.domain.ingest.arrival import ArrivalRules, Clocks
from tierscope.storage.base.binary import from_us
from tierscope.storage.base.partitions import BEHIND_DAYS, ensure_partitions, ensure_usual_partitions
from tierscope.storage.fleet.agent_versions import note_refused
from tierscope.storage.fleet.agents import HostIdentity
from tierscope.storage.ingest import (
    MAX_LOOKUPS,
    Incoming,
    Outcome,
    OutdatedError,
    Registry,
    Stored,
    StoreLimits,
    store_group,
)
from tierscope.usecases.ingest.meters import IngestMeters
from tierscope.usecases.ingest.senders import Senders
from tierscope.wire.decode import Decoded, DecodeLimits, decode_body
from tierscope.wire.inflate import declared_bytes

__all__ = ["Acknowledged", "Ingest", "SentClocks", "Stored"]

DECODE_THREADS = 2
DECODED_AT_ONCE_BYTES = 128 << 10
"""Inflated; a live batch of a host with many services has less."""
SECOND_NS = 10**9
RETRY_SECONDS = 5
LINGER_SECONDS = 0.01
PACE_SECONDS = 0.25
"""How long a commit waits in a fleet whose hosts send that often by themselves: agents need no sooner answer."""
NOTE_REFUSED_EVERY = timedelta(minutes=5)
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SentClocks:
    """The host's clocks at the moment of sending, from the request's headers."""

    wall_ns: int
    boottime_ns: int | None


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A batch that is stored, by its key."""

    stream_id: str
    """Hexadecimal."""
    seq: int
    stored: Stored


@dataclass(frozen=True, slots=True)
class _Waiting:
    item: Incoming
    done: asyncio.Future[Stored]


class Ingest:
    """The queue between requests and the one thread that commits."""

    def __init__(
        self,
        database: Database,
        *,
        limits: Limits | None = None,
        clock: Clock = utc_now,
        meters: IngestMeters | None = None,
    ) -> None:
        self._database = database
        self.meters = meters or IngestMeters(CollectorRegistry())
        self._limits = limits or Limits()
        self._clock = clock
        self._registry = Registry(database)
        self._decode_limits = DecodeLimits(
            inflated_bytes=self._limits.batch_inflated_bytes,
            counter_names=self._limits.counter_names_per_host,
            services=self._limits.services_per_host,
        )
        self._store_limits = StoreLimits(
            services_per_host=self._limits.services_per_host,
            layouts_per_host_day=self._limits.layouts_per_host_day,
            arrival=ArrivalRules(
                late_ns=self._limits.late_days * 86_400 * SECOND_NS,
                future_ns=self._limits.future_seconds * SECOND_NS,
                skew_limit_ns=self._limits.clock_skew_seconds * SECOND_NS,
            ),
        )
        self._condition = threading.Condition()
        self._queue: deque[_Waiting] = deque()
        self._queued_bytes = 0
        self._in_flight: Counter[int] = Counter()
        self._decoding = 0
        self._peak = 0
        self._senders = Senders()
        self._stopping = False
        self._partitions_for: tuple[date, int] | None = None
        self._older_days: set[datetime] = set()
        self._refused: dict[int, datetime] = {}
        self._decoders = ThreadPoolExecutor(DECODE_THREADS, thread_name_prefix="ingest-decode")
        self._writer = threading.Thread(target=self._write_groups, name="ingest-write", daemon=True)

    def start(self) -> None:
        """Starts the committing thread."""
        self._writer.start()

    async def stop(self) -> None:
        """Commits what waits, then ends. Batches that arrive later get 503."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        await asyncio.to_thread(self._writer.join)
        self._decoders.shutdown(wait=True)

    @property
    def waiting(self) -> int:
        """Batches that wait for a commit."""
        with self._condition:
            return len(self._queue)

    @property
    def waiting_bytes(self) -> int:
        """Inflated bytes of the batches that wait for a commit."""
        with self._condition:
            return self._queued_bytes

    @property
    def most_body_bytes(self) -> int:
        """The largest body that is taken, as sent."""
        return self._limits.batch_bytes

    def admit(self, host: HostIdentity, body_bytes: int = 0) -> None:
        """Refuses a batch before its body is read (0 bytes), or once it is there.

        Raises:
            TooLarge: over the limit as sent.
            TooMany: the host has as many batches in flight as it may.
            Busy: the queue is full.
        """
        if body_bytes > self._limits.batch_bytes:
            raise TooLarge(f"the body has {body_bytes} bytes, the limit is {self._limits.batch_bytes}")
        with self._condition:
            if self._stopping:
                raise Unavailable("the service is stopping", retry_after_seconds=RETRY_SECONDS)
            if self._in_flight[host.id] >= self._limits.host_batches_in_flight:
                raise TooMany(
                    f"host {host.public_id} has {self._in_flight[host.id]} batches in flight", retry_after_seconds=1
                )
            if len(self._queue) >= self._limits.queue_batches or self._queued_bytes >= self._limits.queue_bytes:
                raise Busy(f"{len(self._queue)} batches wait to be stored", retry_after_seconds=RETRY_SECONDS)
            # Where decoding is slower than storing, batches pile up before the queue: they wait as much as those in it.
            if self._decoding >= self._limits.queue_batches + DECODE_THREADS:
                raise Busy(f"{self._decoding} batches wait to be decoded", retry_after_seconds=RETRY_SECONDS)

    async def submit(self, host: HostIdentity, body: bytes, *, sent: SentClocks | None = None) -> Acknowledged:
        """Stores a compressed batch of an authenticated host; returns once it is committed.

        Raises:
            TierscopeError: the batch is refused or could not be stored; it can be sent again unless it is unreadable.
        """
        with traces.span("receive batch", body_bytes=len(body)):
            return await self._receive(host, body, sent)

    async def _receive(self, host: HostIdentity, body: bytes, sent: SentClocks | None) -> Acknowledged:
        self.meters.read(len(body))
        self.admit(host, len(body))
        arrival = self._clock()
        with self._condition:
            self._in_flight[host.id] += 1
            self._peak = max(self._peak, self._in_flight.total())
            self._senders.note(host.id)
        try:
            decoded = await self._decode_in_turn(host, body)
            self.meters.decoded(decoded.batch)
            item = _incoming(host, decoded, arrival, sent)
            stored = await self._enqueue(item)
            self.meters.stored(stored)
            return Acknowledged(stream_id=item.batch.stream_id.hex(), seq=item.batch.seq, stored=stored)
        finally:
            with self._condition:
                self._in_flight[host.id] -= 1
                if self._in_flight[host.id] <= 0:
                    del self._in_flight[host.id]

    async def _decode_in_turn(self, host: HostIdentity, body: bytes) -> Decoded:
        """Decodes a batch: a small one here and now, as handing it to a thread takes as long as decoding it."""
        with self._condition:
            self._decoding += 1
        try:
            if declared_bytes(body) <= DECODED_AT_ONCE_BYTES:
                return self._decode(body)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._decoders, traces.carried(self._decode), body)
        except UnknownVersion as error:
            now = self._clock()
            if self._refused.get(host.id, now) <= now:
                self._refused[host.id] = now + NOTE_REFUSED_EVERY
                await asyncio.to_thread(self._note_refused, host, error, now)
            raise
        finally:
            with self._condition:
                self._decoding -= 1

    def _decode(self, body: bytes) -> Decoded:
        with traces.span("decode batch"):
            return decode_body(body, self._decode_limits)

    def _note_refused(self, host: HostIdentity, error: UnknownVersion, now: datetime) -> None:
        """Notes that a host speaks a protocol that this release does not know."""
        with self._database.write() as transaction:
            note_refused(transaction, host, protocol=error.schema_version, now=now)

    def _enqueue(self, item: Incoming) -> "asyncio.Future[Stored]":
        done: asyncio.Future[Stored] = asyncio.get_running_loop().create_future()
        with self._condition:
            if self._stopping:
                raise Unavailable("the service is stopping", retry_after_seconds=RETRY_SECONDS)
            self._queue.append(_Waiting(item, done))
            self._queued_bytes += item.batch.inflated_bytes
            self._condition.notify()
        return done

    def _write_groups(self) -> None:
        while True:
            group = self._next_group()
            if not group:
                return
            outcomes = self._store([waiting.item for waiting in group])
            # One wake-up of a loop for all that is answered there.
            answered: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Stored], Outcome]]] = defaultdict(list)
            for waiting, outcome in zip(group, outcomes, strict=True):
                answered[waiting.done.get_loop()].append((waiting.done, outcome))
            for loop, pairs in answered.items():
                with contextlib.suppress(RuntimeError):  # it ended with its clients; what they sent is stored
                    loop.call_soon_threadsafe(_settle, pairs)

    def _next_group(self) -> list[_Waiting]:
        """Waits for work; returns what fits one commit, empty when the queue ends."""
        with self._condition:
            self._condition.wait_for(lambda: self._queue or self._stopping)
            # Where several hosts sent at once lately, their next batches are on the way: a short wait saves commits.
            # A single sender never waits.
            expected = min(self._peak, self._limits.commit_batches)
            self._condition.wait_for(lambda: len(self._queue) >= expected or self._stopping, LINGER_SECONDS)
            paced = min(int(self._senders.per_second() * PACE_SECONDS), self._limits.commit_batches)
            if len(self._queue) < paced:
                self._condition.wait_for(lambda: len(self._queue) >= paced or self._stopping, PACE_SECONDS)
            self._peak = self._in_flight.total()
            group: list[_Waiting] = []
            size = 0
            while self._queue and len(group) < self._limits.commit_batches:
                following = self._queue[0].item.batch.inflated_bytes
                if group and size + following > self._limits.commit_bytes:
                    break
                group.append(self._queue.popleft())
                size += following
            self._queued_bytes -= size
            return group

    def _store(self, items: list[Incoming]) -> list[Outcome]:
        """Stores a group; where that fails for a reason in the data, each batch alone: one never hurts others."""
        try:
            return self._commit_once_more(items)
        except TierscopeError as error:
            return [error] * len(items)
        except Exception as error:  # noqa: BLE001 - the thread that commits must not die
            _log.exception("a group of batches could not be stored", batches=len(items))
            if len(items) > 1:
                return [self._store([item])[0] for item in items]
            return [TierscopeError(f"the batch could not be stored: {type(error).__name__}")]

    def _commit_once_more(self, items: list[Incoming]) -> list[Outcome]:
        """Stores a group; what the registry remembers and a restore or a purge has ended is looked up again."""
        for _ in range(MAX_LOOKUPS):
            try:
                return self._commit(items)
            except OutdatedError:
                self._registry.forget()
        raise Unavailable("what batches refer to changes all the time", retry_after_seconds=RETRY_SECONDS)

    def _commit(self, items: list[Incoming]) -> list[Outcome]:
        self._ensure_partitions(items)
        self._registry.prepare(items)
        with (
            traces.span("store batches", batches=len(items)),
            self.meters.commit(len(items)),
            self._database.write() as transaction,
        ):
            if transaction.generation != self._registry.generation:
                raise OutdatedError
            outcomes = store_group(transaction, items, registry=self._registry, limits=self._store_limits)
        self._registry.committed()
        return outcomes

    def _ensure_partitions(self, items: list[Incoming]) -> None:
        """The days of the accept window have their partitions before a row needs them: the usual ones once a day.

        Where older points than usual are accepted, their days get theirs when the first of them comes.
        """
        now = self._clock()
        if self._partitions_for != (now.date(), generations.current()):
            with self._database.write() as transaction:
                ensure_usual_partitions(transaction, now)
            self._partitions_for, self._older_days = (now.date(), transaction.generation), set()
        usual = now - timedelta(days=BEHIND_DAYS)
        oldest = now - timedelta(days=self._limits.late_days)
        if oldest >= usual:
            return
        starts = {from_us(start_us) for item in items for start_us in item.batch.day_starts_us()}
        days = {day for day in starts if oldest - timedelta(days=1) <= day < usual} - self._older_days
        if days:
            with self._database.write() as transaction:
                for day in sorted(days):
                    ensure_partitions(transaction, day, day)
            self._older_days |= days


def _settle(pairs: list[tuple[asyncio.Future[Stored], Outcome]]) -> None:
    """Wakes those who wait for what became of their batches."""
    for done, outcome in pairs:
        # A client that went away cancelled its future; its batch is stored all the same.
        if done.done():
            continue
        if isinstance(outcome, Stored):
            done.set_result(outcome)
        else:
            done.set_exception(outcome)


def _incoming(host: HostIdentity, decoded: Decoded, arrival: datetime, sent: SentClocks | None) -> Incoming:
    """Checks that the batch is the host's own, and finds out what is known of its clocks."""
    batch = decoded.batch
    if batch.host_id != host.public_id:
        raise WrongHost(f"the batch names host {batch.host_id!r}, the credential is of {host.public_id}")
    if batch.origin != host.origin:
        raise Unprocessable(
            f"the batch says its origin is {batch.origin}, host {host.public_id} is enrolled as {host.origin}",
            next_step="Enrol a host of its own for recordings and simulations.",
        )
    arrival_ns = int(arrival.timestamp()) * SECOND_NS + arrival.microsecond * 1000
    clocks = Clocks(arrival_ns=arrival_ns, host_wall_ns=None, host_boottime_ns=None)
    if batch.origin == "live":
        clocks = _live_clocks(decoded, arrival_ns, sent)
    return Incoming(host=host, batch=batch, services_left_out=decoded.services_left_out, clocks=clocks)


def _live_clocks(decoded: Decoded, arrival_ns: int, sent: SentClocks | None) -> Clocks:
    """The host's clocks at arrival: those of sending, else those of sealing where they lie ahead.

    A batch sealed long ago may have waited in the spool, so that without the clocks of sending nothing follows from it.
    The boot-time clock counts only where the machine has not restarted since sealing.
    """
    batch = decoded.batch
    if sent is not None:
        boottime = sent.boottime_ns
        same_boot = (
            batch.sealed_boottime_ns is not None and boottime is not None and boottime >= batch.sealed_boottime_ns
        )
        return Clocks(arrival_ns, sent.wall_ns, boottime if same_boot else None)
    if batch.sealed_wall_ns > arrival_ns:
        return Clocks(arrival_ns, batch.sealed_wall_ns, batch.sealed_boottime_ns)
    return Clocks(arrival_ns, None, None)
