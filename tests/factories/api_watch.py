"""Watches the API under load: how soon `/healthz` answers, and how much memory its process ever had."""

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from factories.loopback import LOOPBACK
from factories.waiting import DEADLINE_SECONDS

PAUSE_SECONDS = 0.01
SELDOM_SECONDS = 0.1
"""A pause for who asks whether it answers at all: asked all the time, it works more on that than on requests."""
_PEAK_OF_RESIDENT = "5"
"""What the kernel takes in `clear_refs` for: forget the highest resident size so far."""


@dataclass(slots=True)
class Watched:
    """What was seen of the API: milliseconds of each answer, and what went wrong."""

    latencies_ms: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def percentile_ms(self, share: float) -> float:
        """The latency that this share of answers did not exceed; 0 where there was none."""
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


@contextmanager
def watching(port: int, *, pause_seconds: float = PAUSE_SECONDS) -> Iterator[Watched]:
    """Asks `/healthz` again and again, in a thread of its own, while the block lasts."""
    seen, over = Watched(), threading.Event()
    thread = threading.Thread(target=_look, args=(port, seen, over, pause_seconds), daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def _look(port: int, seen: Watched, over: threading.Event, pause_seconds: float) -> None:
    while True:
        begin = time.perf_counter()
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=DEADLINE_SECONDS)
        try:
            connection.request("GET", "/healthz")
            status = connection.getresponse().status
            if status != http.client.OK:
                seen.failures.append(f"/healthz answered {status}")
        except OSError as error:
            seen.failures.append(f"/healthz was not answered: {error!r}")
        except http.client.HTTPException as error:
            seen.failures.append(f"/healthz was not answered: {error!r}")
        finally:
            connection.close()
        seen.latencies_ms.append((time.perf_counter() - begin) * 1e3)
        if over.wait(pause_seconds):
            return


def forget_peak(pid: int) -> None:
    """Lets the highest resident size of a process begin anew from now."""
    Path(f"/proc/{pid}/clear_refs").write_text(_PEAK_OF_RESIDENT)


def memory_bytes(pid: int) -> tuple[int, int]:
    """The resident size of a process now, and its highest one since `forget_peak`."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    values = {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}
    return int(values["VmRSS"][0]) * 1024, int(values["VmHWM"][0]) * 1024


def memory_mib(pid: int) -> tuple[float, float]:
    resident, peak = memory_bytes(pid)
    return resident / 2**20, peak / 2**20
