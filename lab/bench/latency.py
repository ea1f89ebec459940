"""What measuring heat costs the measured service: latency of a redis-server with the agent and without, in turn."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
from redis import Redis

from bench import agent_process
from bench.figures import Row, Section
from live_profile import zipf_load

LOAD = zipf_load.Load(keys=600_000)
REQUESTS_PER_S = 1_500
PAIRS = 6
SETTLING_SECONDS = 15
SECONDS = 60
INTERVAL_SECONDS = 15
BACKEND = "abit_walk"
MOST_CHANGE = 0.01
QUANTILES = (0.5, 0.99)
STARTING_SECONDS = 30
DRAWS = 10_000
Floats = npt.NDArray[np.float64]


def unusable() -> str | None:
    """Why this cannot run here; None where it can."""
    if os.geteuid() != 0:
        return "page tables of other programs take root"
    if shutil.which("redis-server") is None:
        return "no redis-server is installed"
    return None


def measure(agent: Path, *, pairs: int = PAIRS, seconds: int = SECONDS, load: zipf_load.Load = LOAD) -> Section:
    """Ask the same server in turn with the agent and without it; which comes first changes from pair to pair."""
    found: dict[bool, list[Floats]] = {True: [], False: []}
    with tempfile.TemporaryDirectory(prefix="tierscope-bench-") as directory, _server(Path(directory)) as (pid, path):
        zipf_load.fill(Redis(unix_socket_path=str(path)), load)
        for number in range(pairs):
            for is_measured in (number % 2 == 0, number % 2 == 1):
                found[is_measured].append(_block(agent if is_measured else None, pid, path, seconds, load))
    return Section(
        title="Latency of a redis-server whose heat is measured",
        rows=[_row(quantile, found[True], found[False]) for quantile in QUANTILES],
        notes=[
            f"{pairs} pairs of {seconds} s with the agent and without, in changing order, on one redis-server.",
            f"It holds {load.keys:,} values of {load.value_bytes} bytes; {REQUESTS_PER_S:,} GETs a second, zipf.",
            f"Heat by {BACKEND} every {INTERVAL_SECONDS} s, four times as often as usual; no budget, no guard.",
            "Mean of logarithms over pairs, interval by bootstrap over them; met where all of it is within the target.",
        ],
    )


@contextmanager
def _server(directory: Path) -> Iterator[tuple[int, Path]]:
    """A redis-server that keeps nothing, on a socket of its own: its process and the socket."""
    path = directory / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=directory)
    try:
        end = time.monotonic() + STARTING_SECONDS
        while not path.exists():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("redis-server does not start: run it by hand to see why")
            time.sleep(0.05)
        yield process.pid, path
    finally:
        process.terminate()
        process.wait()


def _block(agent: Path | None, pid: int, path: Path, seconds: int, load: zipf_load.Load) -> Floats:
    """Latencies over some seconds, after the agent has begun."""
    if agent is None:
        time.sleep(SETTLING_SECONDS)
        return ask(path, seconds, load)
    with agent_process.running(agent, interval_seconds=INTERVAL_SECONDS, backends=[BACKEND], pids=[pid]) as running:
        time.sleep(SETTLING_SECONDS)
        latencies = ask(path, seconds, load)
        rows = sum(len(block.resident_bytes) for batch in running.sink.batches() for block in batch.heat)
    if rows == 0:
        raise RuntimeError(f"the agent measured no heat of process {pid} by {BACKEND}")
    return latencies


def ask(path: Path, seconds: int, load: zipf_load.Load) -> Floats:
    """Seconds from each request to its answer, at a steady rate; the rate falls where the server is too slow."""
    random = np.random.default_rng(load.seed)
    keys = zipf_load.draw_keys(random, seconds * REQUESTS_PER_S, load)
    requests = [b"GET key:%010d\r\n" % key for key in keys.tolist()]
    size = len(b"$%d\r\n" % load.value_bytes) + load.value_bytes + len(b"\r\n")
    found = np.empty(len(requests))
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        started = time.perf_counter()
        for number, request in enumerate(requests):
            due = started + number / REQUESTS_PER_S
            while (left := due - time.perf_counter()) > 0:
                time.sleep(left)
            sent = time.perf_counter()
            connection.sendall(request)
            missing = size
            while missing:
                part = connection.recv(missing)
                if not part:
                    raise RuntimeError("redis-server closed the connection")
                missing -= len(part)
            found[number] = time.perf_counter() - sent
    return found


def _row(quantile: float, measured: list[Floats], alone: list[Floats]) -> Row:
    ours, reference = (np.array([np.quantile(block, quantile) for block in side]) for side in (measured, alone))
    lo, change, hi = change_of(np.log(ours / reference))
    met = True if hi <= MOST_CHANGE else False if lo > MOST_CHANGE else None
    return Row(
        f"p{quantile * 100:g}: {change:+.1%} ({lo:+.1%} to {hi:+.1%})",
        f"{np.median(ours) * 1e6:.0f} µs",
        f"{np.median(reference) * 1e6:.0f} µs",
        1 + change,
        f"at most {MOST_CHANGE:+.0%}",
        met,
    )


def change_of(logs: Floats) -> tuple[float, float, float]:
    """The change of a latency and its 95 % interval, from the logarithms of ratios of pairs: (lower, mean, upper)."""
    random = np.random.default_rng(1)
    means = logs[random.integers(0, len(logs), (DRAWS, len(logs)))].mean(axis=1)
    lo, hi = np.quantile(means, (0.025, 0.975))
    return float(np.expm1(lo)), float(np.expm1(logs.mean())), float(np.expm1(hi))
