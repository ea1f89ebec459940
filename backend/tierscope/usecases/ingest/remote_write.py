"""Takes requests of remote write, 1.0 and 2.0: inflates, reads and names series side by side, commits together.

A request is answered after the commit that stored it. Requests that arrive while one commit runs share the next one
(docs/decisions/0003-group-commit.md), and each target gets one row of it per hour. A request that comes again is stored
again and counts once: a sample is named by its series and time, and whoever reads keeps the one that came first.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from tierscope.core import generations
from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database
from tierscope.core.errors import Busy, TierscopeError, TooLarge, Unavailable, Unreadable
from tierscope.core.settings import RemoteWriteSettings
from tierscope.storage.base.binary import to_us
from tierscope.storage.base.partitions import ensure_usual_partitions
from tierscope.storage.ingest import MAX_LOOKUPS, OutdatedError
from tierscope.storage.ingest.sample_core import load_core
from tierscope.storage.ingest.samples import HOUR_MS, NewBody, append_bodies
from tierscope.storage.ingest.series import hold_targets
from tierscope.usecases.ingest.series_registry import SampleRegistry

if TYPE_CHECKING:
    from tierscope.storage.ingest.sample_core import WriteRequest

READ_THREADS = 2
LIVE_LEVEL = 1
REQUESTS_PER_COMMIT = 64
QUEUE_REQUESTS = 256
QUEUE_SAMPLES = 2_000_000
LINGER_SECONDS = 0.02
RETRY_SECONDS = 5
_MARKED_MAX = 200_000
_SECOND_MS = 1000
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a request: samples stored, and what was left out, by reason."""

    samples: int
    left_out: dict[str, int]
    labels_reason: str | None

    @property
    def problem(self) -> str | None:
        """What the sender should know, None where all was stored."""
        if not self.left_out:
            return None
        parts = ", ".join(f"{count} {reason}" for reason, count in self.left_out.items())
        cause = f": {self.labels_reason}" if self.labels_reason else ""
        return f"{self.samples} samples are stored; left out: {parts}{cause}"


@dataclass(frozen=True, slots=True)
class Window:
    """Times in milliseconds since 1970 of samples that are taken, and the words that refuse those before and after."""

    oldest_ms: int
    newest_ms: int
    too_old: str
    too_new: str


@dataclass(frozen=True, slots=True)
class _Waiting:
    request: "WriteRequest"
    generation: int
    """Of the database that the ids of its series are of."""
    done: "Future[None]"


class RemoteWrite:
    """The queue between requests and the one thread that commits."""

    def __init__(
        self, database: Database, *, settings: RemoteWriteSettings | None = None, clock: Clock = utc_now
    ) -> None:
        self._database = database
        self._settings = settings or RemoteWriteSettings()
        self._clock = clock
        self._registry = SampleRegistry(database, self._settings)
        self._condition = threading.Condition()
        self._queue: deque[_Waiting] = deque()
        self._queued_samples = 0
        self._in_flight = 0
        self._peak = 0
        self._stopping = False
        self._writer: threading.Thread | None = None
        self._marked: set[tuple[int, int]] = set()
        self._marked_in = -1
        self._partitions_for: tuple[date, int] | None = None
        self._readers = ThreadPoolExecutor(READ_THREADS, thread_name_prefix="remote-write-read")

    async def stop(self) -> None:
        """Commits what waits, then ends. Requests that arrive later get 503."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        if self._writer is not None:
            await asyncio.to_thread(self._writer.join)
        self._readers.shutdown(wait=True)

    def admit(self, body_bytes: int = 0) -> None:
        """Refuses a request before its body is read (0 bytes), or once it is there.

        Raises:
            TooLarge: over the limit as sent.
            Busy: the queue is full.
        """
        if body_bytes > self._settings.body_bytes:
            raise TooLarge(f"the body has {body_bytes} bytes, the limit is {self._settings.body_bytes}")
        with self._condition:
            if self._stopping:
                raise Unavailable("the service is stopping", retry_after_seconds=RETRY_SECONDS)
            if len(self._queue) >= QUEUE_REQUESTS or self._queued_samples >= QUEUE_SAMPLES:
                raise Busy(f"{len(self._queue)} requests wait to be stored", retry_after_seconds=RETRY_SECONDS)

    async def submit(self, body: bytes, *, version: int = 1) -> Taken:
        """Stores a compressed request of a major version of the protocol; returns once it is committed.

        Raises:
            TooLarge: it inflates to more than is allowed, or has too many samples.
            Unreadable: it is not a request.
            TierscopeError: it could not be stored; it can be sent again.
        """
        self.admit(len(body))
        with self._condition:
            self._in_flight += 1
            self._peak = max(self._peak, self._in_flight)
        try:
            loop = asyncio.get_running_loop()
            for _ in range(MAX_LOOKUPS):
                with contextlib.suppress(OutdatedError):
                    request, taken, generation = await loop.run_in_executor(self._readers, self._read, body, version)
                    if len(request):
                        await asyncio.wrap_future(self._enqueue(request, generation))
                    return taken
            raise Unavailable("what samples refer to changes all the time", retry_after_seconds=RETRY_SECONDS)
        finally:
            with self._condition:
                self._in_flight -= 1

    def window(self) -> Window:
        """The times of samples that are taken now."""
        now_ms = to_us(self._clock()) // 1000
        limits = self._settings
        return Window(
            oldest_ms=now_ms - limits.late_days * 86_400 * _SECOND_MS,
            newest_ms=now_ms + limits.future_seconds * _SECOND_MS,
            too_old=f"older than {limits.late_days} days",
            too_new=f"more than {limits.future_seconds} s ahead of the service's clock",
        )

    def _read(self, body: bytes, version: int) -> tuple["WriteRequest", Taken, int]:
        """Raises OutdatedError where a restore or a purge came between."""
        limits, window, known = self._settings, self.window(), self._registry.known
        try:
            request = known.index.read(
                body,
                version=version,
                inflated_bytes=limits.inflated_bytes,
                samples=limits.samples_per_request,
                oldest_ms=window.oldest_ms,
                newest_ms=window.newest_ms,
            )
        except OverflowError as error:
            raise TooLarge(str(error), next_step="Send fewer samples per request: max_samples_per_send.") from error
        except ValueError as error:
            raise Unreadable(
                str(error), next_step="Send a WriteRequest of 1.0 or a Request of 2.0, in snappy."
            ) from error
        before = len(request)
        self._registry.resolve(request, known)
        self._registry.note_histograms(request.histogram_series(), known, self._clock())
        labels, reason, too_old, too_new = request.refusals()
        counts = {
            "with labels that do not fit": labels,
            window.too_old: too_old,
            window.too_new: too_new,
            f"of series beyond the limit of {limits.series}": before - len(request),
        }
        left_out = {name: count for name, count in counts.items() if count}
        return request, Taken(len(request), left_out, reason), known.generation

    def _enqueue(self, request: "WriteRequest", generation: int) -> "Future[None]":
        done: Future[None] = Future()
        with self._condition:
            if self._stopping:
                raise Unavailable("the service is stopping", retry_after_seconds=RETRY_SECONDS)
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_groups, name="remote-write", daemon=True)
                self._writer.start()
            self._queue.append(_Waiting(request, generation, done))
            self._queued_samples += len(request)
            self._condition.notify()
        return done

    def _write_groups(self) -> None:
        while True:
            group = self._next_group()
            if not group:
                return
            outcome: BaseException | None = None
            generation = None
            try:
                generation = self._commit(group)
            except TierscopeError as error:
                outcome = error
            except Exception as error:  # noqa: BLE001 - the thread that commits must not die
                _log.exception("samples could not be stored", requests=len(group))
                outcome = TierscopeError(f"the samples could not be stored: {type(error).__name__}")
            for waiting in group:
                # A sender that went away cancelled its future; its samples are stored all the same.
                if not waiting.done.set_running_or_notify_cancel():
                    continue
                if outcome is not None:
                    waiting.done.set_exception(outcome)
                elif waiting.generation != generation:
                    waiting.done.set_exception(OutdatedError())
                else:
                    waiting.done.set_result(None)

    def _next_group(self) -> list[_Waiting]:
        """Waits for work; returns what fits one commit, empty when the queue ends."""
        with self._condition:
            self._condition.wait_for(lambda: self._queue or self._stopping)
            # Senders with several connections have their next requests on the way; a single one never waits.
            expected = min(self._peak, REQUESTS_PER_COMMIT)
            self._condition.wait_for(lambda: len(self._queue) >= expected or self._stopping, LINGER_SECONDS)
            self._peak = self._in_flight
            group = [self._queue.popleft() for _ in range(min(len(self._queue), REQUESTS_PER_COMMIT))]
            self._queued_samples -= sum(len(waiting.request) for waiting in group)
            return group

    def _commit(self, group: Sequence[_Waiting]) -> int:
        """Stores the requests whose ids are of the database's present generation; returns that."""
        now = self._clock()
        self._ensure_partitions(now)
        # An hour that is still open keeps the mark that an earlier commit wrote for it.
        open_from_ms = (to_us(now - timedelta(minutes=1)) // 1000) - HOUR_MS
        with self._database.write() as transaction:
            generation = hold_targets(transaction)
            fresh = [waiting.request for waiting in group if waiting.generation == generation]
            bodies = [NewBody(*packed) for packed in _pack(fresh)] if fresh else []
            marked = self._marked if self._marked_in == generation else set()
            packs = {(body.target_id, body.hour_ms) for body in bodies} - marked
            append_bodies(transaction, bodies, arrival_us=to_us(now), packs=packs)
        if len(marked) > _MARKED_MAX:
            marked = set()
        self._marked, self._marked_in = {pair for pair in marked | packs if pair[1] > open_from_ms}, generation
        return generation

    def _ensure_partitions(self, now: datetime) -> None:
        if self._partitions_for == (now.date(), generations.current()):
            return
        with self._database.write() as transaction:
            ensure_usual_partitions(transaction, now)
        self._partitions_for = now.date(), transaction.generation


def _pack(requests: Sequence["WriteRequest"]) -> list[tuple[int, int, int, int, int, bytes]]:
    packed: list[tuple[int, int, int, int, int, bytes]] = load_core().pack_requests(list(requests), HOUR_MS, LIVE_LEVEL)
    return packed
