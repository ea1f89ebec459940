"""Ten times the load that the service takes, from many hosts that do not wait for each other's answers."""

import asyncio
import contextlib
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from factories import batches
from factories.installations import Enrolled, enrol
from factories.loopback import LOOPBACK
from factories.services import batch_headers
from factories.waiting import DEADLINE_SECONDS, until
from faults.scene import Scene
from faults.tap import BATCHES, TOLD_TO_WAIT, Message, Messages

HOSTS = 48
TIMES = 10
_MEASURE_SECONDS = 1.5
_OVERLOAD_SECONDS = 4.0
_STEP_SECONDS = 0.05
_LEAST_PER_SECOND = 100.0
"""On a machine that is busy with other things ten times little may still fit the limits."""
_MOST_CONNECTIONS = 600
_ROWS, _KEYS = 120, 300
_HISTORY_MINUTES = 100 * 60
# The service may hold what waits for a commit, and what a commit needs; not one batch more for each host.
_MOST_GROWTH_BYTES = 384 << 20


@dataclass(slots=True)
class _Load:
    """Hosts with batches, and what became of each attempt."""

    port: int
    hosts: list[Enrolled]
    pending: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """Bodies that were sent and not acknowledged, by host and number."""
    next_seq: Counter[int] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    rss_bytes: list[int] = field(default_factory=list)

    def make(self, index: int) -> tuple[int, int]:
        """A new batch of a host."""
        seq = self.next_seq[index]
        self.next_seq[index] += 1
        self.pending[(index, seq)] = _body(self.hosts[index], seq)
        return index, seq

    def current(self, index: int) -> tuple[int, int]:
        """The batch that a host has, or a new one where the last was taken."""
        return next((key for key in self.pending if key[0] == index), None) or self.make(index)

    async def send(self, key: tuple[int, int]) -> int:
        """Sends a batch once; gives the status, 0 where the connection broke."""
        body = self.pending.get(key)
        if body is None:
            return 200
        status = 0
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            answer = await asyncio.wait_for(self._exchange(self.hosts[key[0]], body), DEADLINE_SECONDS)
            status = answer.status
        self.statuses[status] += 1
        if status == 200:
            self.pending.pop(key, None)
        return status

    async def _exchange(self, host: Enrolled, body: bytes) -> Message:
        reader, writer = await asyncio.open_connection(LOOPBACK, self.port)
        try:
            headers = {
                **batch_headers(host.credential),
                "Host": LOOPBACK,
                "Content-Length": str(len(body)),
                "Connection": "close",
            }
            head = f"POST {BATCHES} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            writer.write(head.encode() + b"\r\n" + body)
            await writer.drain()
            messages = Messages()
            while data := await reader.read(1 << 16):
                if found := messages.feed(data):
                    return found[0]
            raise ConnectionResetError("the connection ended without an answer")
        finally:
            writer.close()


def _body(host: Enrolled, seq: int) -> bytes:
    """A heavy batch: two hours of many counters."""
    end_ns = batches.now_ns() - (_HISTORY_MINUTES - (seq + 1) * _ROWS) * batches.MINUTE_NS
    batch = batches.make_batch(
        host_id=host.id, seq=seq, stream_id=host.id.encode().ljust(16)[-16:], sealed_wall_ns=end_ns
    )
    first = seq * _ROWS
    rows = (np.arange(first, first + _ROWS)[:, None] + np.arange(_KEYS)[None, :]).tolist()
    batches.add_counters(batch, rows, keys=sorted(f"host|vmstat|c{number:03d}" for number in range(_KEYS)))
    return batches.compress(batch)


def _rss_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


async def _capacity(load: _Load) -> float:
    """Batches a second that the service takes from senders that wait for their answers."""
    taken = 0
    until = time.monotonic() + _MEASURE_SECONDS

    async def one(index: int) -> None:
        nonlocal taken
        while time.monotonic() < until:
            key = load.make(index)
            taken += await load.send(key) == 200

    begin = time.monotonic()
    await asyncio.gather(*(one(index) for index in range(HOSTS)))
    return max(1.0, taken / (time.monotonic() - begin))


async def _flood(load: _Load, per_second: float, pid: int) -> None:
    """Sends so many batches a second, whatever becomes of them; where nothing is refused, for longer, and ever more.

    A host throws the batch that it has again and again: of those that come through, all but one are duplicates.
    """
    flying: set[asyncio.Task[int]] = set()
    turn = 0
    begin = time.monotonic()

    def goes_on() -> bool:
        elapsed = time.monotonic() - begin
        refused = any(load.statuses[status] for status in TOLD_TO_WAIT)
        return elapsed < (_OVERLOAD_SECONDS if refused else DEADLINE_SECONDS)

    due = begin
    while goes_on():
        load.rss_bytes.append(_rss_bytes(pid))
        # What was measured may be less than what can be taken, as while something else keeps the machine busy.
        doubled = 2 ** int((time.monotonic() - begin) / _OVERLOAD_SECONDS)
        offered = max(1, round(doubled * per_second * _STEP_SECONDS))
        for _ in range(min(offered, _MOST_CONNECTIONS - len(flying))):
            task = asyncio.ensure_future(load.send(load.current(turn % HOSTS)))
            flying.add(task)
            task.add_done_callback(flying.discard)
            turn += 1
        due += _STEP_SECONDS
        await asyncio.sleep(max(0.0, due - time.monotonic()))
    while flying:
        load.rss_bytes.append(_rss_bytes(pid))
        await asyncio.wait(flying, timeout=0.1)


def _recover(load: _Load) -> None:
    """Each host sends what it still has, one batch at a time."""

    def is_taken(key: tuple[int, int]) -> bool:
        return asyncio.run(load.send(key)) == 200

    for key in sorted(load.pending):
        until(partial(is_taken, key), f"after the overload, batch {key} is taken")


def overload(scene: Scene) -> None:
    """Refused with 429 or 503 and Retry-After, bounded in memory, and back to work afterwards."""
    stage = scene.stage
    hosts = [enrol(stage.database, name=f"o{index}-{stage.proxy.tap.taken()}") for index in range(HOSTS)]
    scene.others |= {host.id for host in hosts}
    load = _Load(stage.proxy.port, hosts)

    async def run() -> tuple[float, float]:
        await asyncio.gather(*(load.send(load.make(index)) for index in range(HOSTS)))
        capacity = await _capacity(load)
        load.statuses.clear()
        offered = max(TIMES * capacity, _LEAST_PER_SECOND)
        await _flood(load, offered, stage.api.pid)
        return capacity, offered

    before = _rss_bytes(stage.api.pid)
    capacity, offered = asyncio.run(run())
    refused = sum(load.statuses[status] for status in TOLD_TO_WAIT)
    assert refused > 0, f"{offered:.0f} batches a second were all taken: {dict(load.statuses)}"
    assert set(load.statuses) <= {200, *TOLD_TO_WAIT}, f"other answers than 200, 429 and 503: {dict(load.statuses)}"
    high = int(np.percentile(load.rss_bytes, 99))
    assert high - before < _MOST_GROWTH_BYTES, f"the API grew from {before >> 20} to {high >> 20} MiB"
    scene.notes.append(
        f"{capacity:.0f} batches/s taken, {offered:.0f}/s offered: {load.statuses[200]} taken, {load.statuses[429]}"
        f" times 429, {load.statuses[503]} times 503; API p99 {high >> 20} MiB, before {before >> 20} MiB"
    )
    _recover(load)
