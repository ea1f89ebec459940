"""One counter collection of the agent against one scrape of node_exporter, in the same run.

Ours is measured whole: reading, encoding, spooling and sending to a server on loopback that acknowledges at once.
Theirs is measured as it is used: the process serving scrapes over HTTP with the collectors that read the same files.
"""

import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.figures import Row, Section
from bench.processes import cpu_seconds, peak_rss_bytes

COLLECTORS = ("vmstat", "meminfo", "meminfo_numa", "zoneinfo", "pressure")
ROUNDS = 90


class _Sink(BaseHTTPRequestHandler):
    """A service that takes every batch and hands out a configuration."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path == "/v1/agents/enrol":
            self._answer(201, {"host_id": "h_bench", "credential": "x" * 43})
        else:
            self._answer(200, {"result": "accepted", "too_late": 0, "set_aside": 0, "warnings": []})

    def do_GET(self) -> None:
        self._answer(200, {"interval_seconds": 60, "paused": False, "heat": {"enabled": False}, "version": 1})

    def _answer(self, status: int, body: dict[str, object]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Requests are not logged: the terminal belongs to the report."""


def free_port() -> int:
    """A port of 127.0.0.1 that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def measure(agent: Path) -> Section | None:
    """Run both, one after the other. None where node_exporter is not installed."""
    exporter = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
    if exporter is None:
        return None
    theirs_cpu, theirs_rss = _exporter(exporter)
    ours_cpu, ours_rss = _agent(agent)
    return Section(
        title="One counter collection: the agent against node_exporter",
        rows=[
            _row("CPU per collection", ours_cpu * 1e3, theirs_cpu * 1e3, "ms"),
            _row("peak RSS", ours_rss / 2**20, theirs_rss / 2**20, "MiB"),
        ],
        notes=[
            f"{ROUNDS} collections and scrapes; CPU is user + system time of the whole process after its start.",
            "Ours includes encoding, the spool with its fsync, and sending over loopback; heat is off.",
            f"node_exporter runs the collectors {', '.join(COLLECTORS)} alone, all vmstat fields on.",
        ],
    )


def _row(name: str, ours: float, theirs: float, unit: str) -> Row:
    ratio = ours / theirs
    return Row(name, f"{ours:.2f} {unit}", f"{theirs:.2f} {unit}", ratio, "at most 0.25", ratio <= 0.25)


def _exporter(binary: str) -> tuple[float, float]:
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


def _agent(binary: Path) -> tuple[float, float]:
    sink = ThreadingHTTPServer(("127.0.0.1", 0), _Sink)
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="tierscope-bench-") as state:
        token = Path(state, "join-token")
        token.write_text("bench")
        token.chmod(0o600)
        command = [
            str(binary),
            "run",
            f"--server=http://127.0.0.1:{sink.server_address[1]}",
            f"--state-dir={state}/agent",
            f"--join-token-file={token}",
            "--interval-seconds=1",
            "--upload-spread-seconds=0",
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(3)
            before, start = cpu_seconds(process.pid), time.monotonic()
            time.sleep(ROUNDS)
            used, elapsed = cpu_seconds(process.pid) - before, time.monotonic() - start
            return used / elapsed, peak_rss_bytes(process.pid)
        finally:
            process.terminate()
            process.wait()
            sink.shutdown()
