"""What requests cost a running service in memory, and how long others wait meanwhile."""

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from factories.hostile_requests import Hostile
from factories.waiting import DEADLINE_SECONDS

MOST_BYTES = 64 << 20
"""Above idle, for any request of one credential."""
MOST_KEPT_BYTES = 128 << 20
"""Of all requests together: what it remembers on purpose, and pages that are not wholly free."""
_RESET_PEAK = "5"


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

    @property
    def problem(self) -> str | None:
        """What is broken; None where nothing is."""
        if self.above_idle_bytes > MOST_BYTES or self.kept_bytes > MOST_KEPT_BYTES:
            return "memory"
        return "answer" if any(status >= 500 and status != 503 for status in self.statuses) else None


def peak_bytes(pid: int) -> int:
    """The most memory that a process had since the last `reset_peak`."""
    return _status_bytes(pid, "VmHWM:")


def resident_bytes(pid: int) -> int:
    """The memory that a process has now."""
    return _status_bytes(pid, "VmRSS:")


def reset_peak(pid: int) -> None:
    """Lets the peak begin at what the process has now."""
    Path(f"/proc/{pid}/clear_refs").write_text(_RESET_PEAK)


def _status_bytes(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024


def measure_costs(address: str, pid: int, requests: Sequence[Hostile]) -> Iterator[Cost]:
    """Sends the requests one after the other. Idle is what the service has after one request of each path."""
    with httpx.Client(base_url=address, timeout=DEADLINE_SECONDS) as client:
        for request in {request.path: request for request in requests}.values():
            client.post(request.path, headers=request.headers, content=b"x")
        idle = resident_bytes(pid)
        for request in requests:
            yield _cost(client, pid, request, idle)


def _cost(client: httpx.Client, pid: int, request: Hostile, idle: int) -> Cost:
    contents = [request.content() for _ in range(request.at_once)]
    before = resident_bytes(pid)
    reset_peak(pid)
    begun = time.perf_counter()
    with _waits(str(client.base_url)) as waits, ThreadPoolExecutor(request.at_once) as pool:
        statuses = tuple(pool.map(lambda content: _send(client, request, content), contents))
    seconds = time.perf_counter() - begun
    peak, kept = peak_bytes(pid) - before, resident_bytes(pid) - idle
    return Cost(request.name, statuses, seconds, peak, kept, max(waits, default=0.0), len(waits))


def _send(client: httpx.Client, request: Hostile, content: bytes | Iterator[bytes]) -> int:
    try:
        return client.post(request.path, headers=request.headers, content=content).status_code
    except httpx.WriteError:
        return 0  # the service ended the connection before all was sent


@contextmanager
def _waits(address: str) -> Iterator[list[float]]:
    """Asks /healthz all the time; yields how long each answer took, in seconds."""
    waits: list[float] = []
    ended = threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=address, timeout=DEADLINE_SECONDS) as client:
            while not ended.is_set():
                begun = time.perf_counter()
                client.get("/healthz")
                waits.append(time.perf_counter() - begun)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield waits
    finally:
        ended.set()
        thread.join()
