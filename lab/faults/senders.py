"""Hosts that send what they have to several API processes, and go on with another where one does not answer."""

import itertools
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta

import httpx

from factories import batches
from factories.derived import KEYS, day_before, sample, to_ns
from factories.installations import Enrolled
from factories.services import batch_headers
from factories.waiting import DEADLINE_SECONDS, until
from faults.tap import BATCHES, TOLD_TO_WAIT

_AT_ONCE = 4


@dataclass(slots=True)
class Senders:
    """All hosts. Each sends one batch at a time, until it is taken; the first process that is tried varies by host."""

    addresses: Sequence[str]
    hosts: Sequence[Enrolled]
    taken: int = 0
    failed: int = 0
    """Attempts that no process answered with 200."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, seq: int, minutes: Sequence[int], *, after: int, then: Callable[[], None]) -> None:
        """Sends one batch of each host with these minutes of the day; calls `then` when `after` of them are taken."""
        goal = self.taken + after

        def deliver(index: int, host: Enrolled) -> None:
            self._deliver(index, body_of(host, seq, minutes))
            with self._lock:
                self.taken += 1
                if self.taken == goal:
                    then()  # no other host gets on meanwhile: the rest sends afterwards

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            work = [pool.submit(deliver, index, host) for index, host in enumerate(self.hosts)]
            for done in work:
                done.result()

    def _deliver(self, index: int, body: bytes) -> None:
        addresses = iter(self._addresses_from(index))
        with httpx.Client(headers=batch_headers(self.hosts[index].credential), timeout=DEADLINE_SECONDS) as client:

            def is_taken() -> bool:
                if _is_taken(client, next(addresses), body):
                    return True
                with self._lock:
                    self.failed += 1
                return False

            until(is_taken, f"a process takes the batch of {self.hosts[index].id}")

    def _addresses_from(self, index: int) -> Iterable[str]:
        return itertools.islice(itertools.cycle(self.addresses), index % len(self.addresses), None)


def _is_taken(client: httpx.Client, address: str, body: bytes) -> bool:
    try:
        answer = client.post(f"{address}{BATCHES}", content=body)
    except httpx.TransportError:
        return False
    assert answer.status_code in (httpx.codes.OK, *TOLD_TO_WAIT), answer.text
    return answer.status_code == httpx.codes.OK


def body_of(host: Enrolled, seq: int, minutes: Sequence[int]) -> bytes:
    """A batch with one sample for each of these minutes of the day before yesterday."""
    ends = [to_ns(day_before() + timedelta(minutes=minute)) for minute in minutes]
    batch = batches.make_batch(host_id=host.id, seq=seq, sealed_wall_ns=ends[-1])
    batches.add_counters(batch, [sample(minute) for minute in minutes], ends_ns=ends, keys=KEYS)
    batches.add_inventory(batch)
    return batches.compress(batch)
