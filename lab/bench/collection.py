"""One counter collection of the agent against one scrape of node_exporter, in the same run.

Theirs is measured as it is used: the process serving scrapes over HTTP with the collectors that read the same files.
Ours is measured twice: the collection alone (read, parse, hold), by the agent's own clock of its thread, and the whole
process, which also encodes, spools and sends.
"""

import http.client
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from bench import agent_process
from bench.figures import Row, Section
from bench.processes import cpu_seconds, peak_rss_bytes, thread_cpu_seconds
from factories.loopback import free_port

COLLECTORS = ("vmstat", "meminfo", "meminfo_numa", "zoneinfo", "pressure")
ROUNDS = 90
WARM_UP_SECONDS = 20
"""The agent begins with the first part of a round over the largest processes; a round takes 30 minutes."""


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds per interval, and memory."""

    same_files: float
    default_files: float
    collecting_thread: float
    process: float
    peak_rss_bytes: int


def unusable() -> str | None:
    """Why this cannot run here; None where it can."""
    return None if exporter_program() else "node_exporter is not installed"


def exporter_program() -> str | None:
    """Where node_exporter is; None without it."""
    return shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")


def measure(agent: Path) -> Section:
    """Run both, one after the other."""
    exporter = exporter_program()
    assert exporter is not None
    theirs_cpu, theirs_rss = _exporter(exporter)
    ours = _agent(agent)
    theirs_ms = theirs_cpu * 1e3
    return Section(
        title="One counter collection: the agent against node_exporter",
        rows=[
            _row("CPU, the same files", ours.same_files * 1e3, theirs_ms, "ms"),
            _row("CPU, all files of the agent at their cadences", ours.default_files * 1e3, theirs_ms, "ms"),
            _row("CPU, whole agent per interval", ours.process * 1e3, theirs_ms, "ms"),
            _row("peak RSS", ours.peak_rss_bytes / 2**20, theirs_rss / 2**20, "MiB"),
        ],
        notes=_notes(ours.collecting_thread * 1e3),
    )


def _notes(collecting_thread_ms: float) -> list[str]:
    return [
        f"{ROUNDS} scrapes, and as many intervals of 1 s; heat is off. Start-up is left out.",
        f"node_exporter runs the collectors {', '.join(COLLECTORS)} alone, all vmstat fields on; its whole process.",
        "The first two rows are the collection (read, parse, hold) by the CPU clock of the agent's thread.",
        (
            "The same files: median of the collections with zoneinfo and without control groups. "
            "They also read /proc/stat, /proc/swaps and the vmstat of nodes."
        ),
        "All files: mean of all collections, with zoneinfo every 5 s, control groups every 10 s, processes every 25 s.",
        (
            f"The collecting thread takes {collecting_thread_ms:.2f} ms per interval, seen from outside "
            "(/proc/<pid>/task/<pid>/schedstat): collecting, encoding, and the spool with its fsync. "
            "The whole agent adds sending over loopback."
        ),
        "smaps_rollup and numa_maps of the largest processes are in the figures: their share of a round of 30 minutes.",
    ]


def _row(name: str, ours: float, theirs: float, unit: str) -> Row:
    ratio = ours / theirs
    return Row(name, f"{ours:.2f} {unit}", f"{theirs:.2f} {unit}", ratio, "at most 0.25", ratio <= 0.25)


def _exporter(binary: str) -> tuple[float, int]:
    port = free_port()
    flags = [f"--collector.{name}" for name in COLLECTORS]
    process = subprocess.Popen(
        [
            binary,
            f"--web.listen-address=127.0.0.1:{port}",
            "--collector.disable-defaults",
            "--collector.vmstat.fields=.*",
            *flags,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _scrape_until_ready(port)
        before = cpu_seconds(process.pid)
        for _ in range(ROUNDS):
            _scrape(port)
        return (cpu_seconds(process.pid) - before) / ROUNDS, peak_rss_bytes(process.pid)
    finally:
        process.terminate()
        process.wait()


def _scrape(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/metrics")
    connection.getresponse().read()
    connection.close()


def _scrape_until_ready(port: int) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            _scrape(port)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _agent(binary: Path) -> Cost:
    with agent_process.running(binary, interval_seconds=1) as agent:
        time.sleep(WARM_UP_SECONDS)
        skipped = len(agent.sink.collections())
        before, start = (cpu_seconds(agent.pid), thread_cpu_seconds(agent.pid)), time.monotonic()
        time.sleep(ROUNDS)
        elapsed = time.monotonic() - start
        used, thread = cpu_seconds(agent.pid) - before[0], thread_cpu_seconds(agent.pid) - before[1]
        collections = agent.sink.collections()[skipped:]
        same_files = [each.cpu_ns for each in collections if each.zoneinfo and not each.cgroups]
        return Cost(
            same_files=statistics.median(same_files) / 1e9,
            default_files=statistics.mean(each.cpu_ns for each in collections) / 1e9,
            collecting_thread=thread / elapsed,
            process=used / elapsed,
            peak_rss_bytes=peak_rss_bytes(agent.pid),
        )
