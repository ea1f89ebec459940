"""Hosts that send more than an agent at one collection a second can: prepared batches, each until it is taken."""

import hashlib
import math
import threading
from dataclasses import dataclass, field
from functools import partial

import httpx

from factories import batches
from factories.installations import Enrolled
from factories.services import batch_headers
from factories.waiting import until

ROWS = 5
HISTORY_MINUTES = 40 * 60
"""Its batches fill the time from so long ago, so that hours and days close and are rolled up."""
_REQUEST_SECONDS = 6.0
_PAUSE_SECONDS = 0.04
"""Between two batches: an agent does not send without a break either."""


@dataclass(slots=True)
class Reporter:
    """One host. It stops after the batch that it is at when `ending` is set, and that one is delivered too."""

    address: str
    host: Enrolled
    refusals: list[str] = field(default_factory=list)
    repeats: int = 0
    acknowledged: int = 0
    ending: threading.Event = field(default_factory=threading.Event)
    _first_ns: int = field(default_factory=lambda: batches.now_ns() - HISTORY_MINUTES * batches.MINUTE_NS)
    _thread: threading.Thread | None = None
    _given_up: bool = False

    @property
    def stream_id(self) -> bytes:
        """One stream per host."""
        return hashlib.sha256(self.host.id.encode()).digest()[:16]

    def start(self) -> None:
        """Begins to send."""
        self._thread = threading.Thread(target=self._run, name=f"reporter-{self.host.id}", daemon=True)
        self._thread.start()

    def join(self, *, seconds: float) -> None:
        """Waits for the end of the last batch."""
        assert self._thread is not None
        self._thread.join(seconds)
        assert not self._thread.is_alive(), f"a reporter could not deliver batch {self.acknowledged} in {seconds:g} s"

    def give_up(self) -> None:
        """Ends it in the middle of whatever it does, after a test that failed."""
        self._given_up = True
        self.ending.set()

    def body(self, seq: int) -> bytes:
        """A batch whose counters name its number and go up, with heat."""
        ends = [self._first_ns + (seq * ROWS + row) * batches.MINUTE_NS for row in range(ROWS)]
        batch = batches.make_batch(
            host_id=self.host.id, seq=seq, stream_id=self.stream_id, sealed_wall_ns=ends[-1], sealed_boottime_ns=0
        )
        rows = [[(seq * ROWS + row) * 7, (seq * ROWS + row) * 3, seq] for row in range(ROWS)]
        batches.add_counters(batch, rows, ends_ns=ends)
        batches.add_heat(batch, ends_ns=[ends[-1]])
        return batches.compress(batch)

    def _run(self) -> None:
        most = HISTORY_MINUTES // ROWS
        with httpx.Client(
            base_url=self.address, headers=batch_headers(self.host.credential), timeout=_REQUEST_SECONDS
        ) as client:
            for seq in range(most):
                if self.ending.is_set():
                    return
                body = self.body(seq)
                until(partial(self._is_done, client, body), "a batch is taken", seconds=math.inf)
                if self._given_up:
                    return
                self.acknowledged += 1
                self.ending.wait(_PAUSE_SECONDS)

    def _is_done(self, client: httpx.Client, body: bytes) -> bool:
        return self._given_up or self._send(client, body)

    def _send(self, client: httpx.Client, body: bytes) -> bool:
        try:
            answer = client.post("/v1/ingest/batches", content=body)
        except httpx.TransportError:
            self.repeats += 1
            return False
        if answer.status_code == httpx.codes.OK:
            return True
        self.repeats += 1
        if answer.status_code not in (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE):
            self.refusals.append(answer.text)
        return False
