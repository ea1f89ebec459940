"""Batches of all hosts of a fleet: each server has a queue and a committing thread of its own.

A server that is slow or away holds up its own hosts alone.
"""

import asyncio
import threading
from collections.abc import Iterable

from prometheus_client import CollectorRegistry

from tierscope.core.clock import Clock, utc_now
from tierscope.core.errors import HostMoving, UnknownCredential
from tierscope.core.settings import Limits
from tierscope.storage.fleet.agents import HostIdentity
from tierscope.usecases.ingest.batches import Acknowledged, Ingest, SentClocks
from tierscope.usecases.ingest.meters import IngestMeters
from tierscope.usecases.nodes.fleet import Nodes


class IngestByNode:
    """Takes a batch to the server that holds its host."""

    def __init__(
        self,
        nodes: Nodes,
        *,
        limits: Limits | None = None,
        clock: Clock = utc_now,
        meters: IngestMeters | None = None,
    ) -> None:
        self._nodes = nodes
        self._limits = limits or Limits()
        self._clock = clock
        self.meters = meters or IngestMeters(CollectorRegistry())
        self._lock = threading.Lock()
        self._by_node: dict[int, Ingest] = {}

    def start(self) -> None:
        """Starts the committing thread of the first server; those of others start with their first batch."""
        self._of(0)

    async def stop(self) -> None:
        """Commits what waits, then ends. Batches that arrive later get 503."""
        await asyncio.gather(*(ingest.stop() for ingest in self._started()))

    @property
    def waiting(self) -> int:
        """Batches that wait for a commit."""
        return sum(ingest.waiting for ingest in self._started())

    @property
    def waiting_bytes(self) -> int:
        """Inflated bytes of the batches that wait for a commit."""
        return sum(ingest.waiting_bytes for ingest in self._started())

    @property
    def most_body_bytes(self) -> int:
        """The largest body that is taken, as sent."""
        return self._limits.batch_bytes

    def admit(self, host: HostIdentity, body_bytes: int = 0) -> None:
        """Refuses a batch before its body is read (0 bytes), or once it is there: `Ingest.admit`."""
        self._of(self._nodes.number_of(host.id)).admit(host, body_bytes)

    async def submit(self, host: HostIdentity, body: bytes, *, sent: SentClocks | None = None) -> Acknowledged:
        """Stores a compressed batch of an authenticated host; returns once it is committed: `Ingest.submit`."""
        number = self._nodes.number_of(host.id)
        try:
            return await self._of(number).submit(host, body, sent=sent)
        except (HostMoving, UnknownCredential) as error:
            if not self._nodes.several:
                raise
            self._nodes.forget()
            await asyncio.to_thread(self._nodes.listed)
            if isinstance(error, HostMoving) or self._nodes.number_of(host.id) == number:
                raise
            raise HostMoving(
                f"host {host.public_id} has moved to another database server", retry_after_seconds=1
            ) from error

    def _started(self) -> Iterable[Ingest]:
        with self._lock:
            return list(self._by_node.values())

    def _of(self, number: int) -> Ingest:
        with self._lock:
            found = self._by_node.get(number)
            if found is None:
                found = Ingest(
                    self._nodes.own(number),
                    limits=self._limits,
                    clock=self._clock,
                    meters=self.meters,
                )
                found.start()
                self._by_node[number] = found
            return found
