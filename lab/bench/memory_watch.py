"""What requests cost a running service in memory, and how long others wait meanwhile."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx

from factories.api_watch import PAUSE_SECONDS, forget_peak, memory_bytes, watching
from factories.hostile_requests import Hostile
from factories.waiting import DEADLINE_SECONDS

MOST_BYTES = 64 << 20
"""Above idle, for any request of one credential."""
MOST_KEPT_BYTES = 128 << 20
"""Of all requests together: what it remembers on purpose, and pages that are not wholly free."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one request: answers, seconds, and the longest wait of /healthz beside it.

    `above_idle_bytes`: the peak above what the service had just before. `kept_bytes`: what it has kept of all so far.
    """

    name: str
    statuses: tuple[int, ...]
    seconds: float
    above_idle_bytes: int
    kept_bytes: int
    longest_wait_seconds: float
    waits: int
    unanswered: tuple[str, ...]

    @property
    def problem(self) -> str | None:
        """What is broken; None where nothing is."""
        if self.above_idle_bytes > MOST_BYTES or self.kept_bytes > MOST_KEPT_BYTES:
            return "memory"
        if self.unanswered:
            return f"health: {self.unanswered[0]}"
        return "answer" if any(status >= 500 and status != 503 for status in self.statuses) else None


def measure_costs(
    address: str, pid: int, requests: Sequence[Hostile], *, pause_seconds: float = PAUSE_SECONDS
) -> Iterator[Cost]:
    """Sends the requests one after the other. Idle is what the service has after one request of each path.

    `/healthz` is asked beside them with these pauses.
    """
    with httpx.Client(base_url=address, timeout=DEADLINE_SECONDS) as client:
        for request in {request.path: request for request in requests}.values():
            client.post(request.path, headers=request.headers, content=b"x")
        idle, _ = memory_bytes(pid)
        for request in requests:
            yield _cost(client, pid, request, idle, pause_seconds)


def _cost(client: httpx.Client, pid: int, request: Hostile, idle: int, pause_seconds: float) -> Cost:
    contents = [request.content() for _ in range(request.at_once)]
    before, _ = memory_bytes(pid)
    forget_peak(pid)
    begun = time.perf_counter()
    port = client.base_url.port or 0
    with watching(port, pause_seconds=pause_seconds) as watched, ThreadPoolExecutor(request.at_once) as pool:
        statuses = tuple(pool.map(lambda content: _send(client, request, content), contents))
    seconds = time.perf_counter() - begun
    resident, peak = memory_bytes(pid)
    longest_s, asked = watched.percentile_ms(1.0) / 1e3, len(watched.latencies_ms)
    return Cost(
        request.name, statuses, seconds, peak - before, resident - idle, longest_s, asked, tuple(watched.failures)
    )


def _send(client: httpx.Client, request: Hostile, content: bytes | Iterator[bytes]) -> int:
    try:
        return client.post(request.path, headers=request.headers, content=content).status_code
    except httpx.WriteError:
        return 0  # the service ended the connection before all was sent
