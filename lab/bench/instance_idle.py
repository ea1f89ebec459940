"""What an instance of `tierscope up` with one host costs by part while nobody asks, beside other idle programs."""

import http.client
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.collection import exporter_program
from bench.figures import Row, Section
from cli.commands import fresh_tierscope
from factories.loopback import free_port
from tierscope.core.embedded.process import list_children
from tierscope.core.embedded.state import load

SETTLING_SECONDS = 120
"""After all parts are healthy: what a start leaves to do, such as the first statistics over the fleet, is over then."""
SPAN_SECONDS = 60
SCRAPE_SECONDS = 15
MOST_OF_A_CORE = 0.01
MOST_OF_SUPERVISOR = 0.001


def measure(agent: Path) -> Section:
    """Start an instance and the references, let them settle, and read the CPU time of all of them over a minute."""
    with ExitStack() as stack:
        tierscope = stack.enter_context(fresh_tierscope({"TIERSCOPE_AGENT_BINARY": str(agent)}))
        tierscope.run("up", "--detach", "--port", "0")
        tierscope.status()
        roots = _parts(tierscope.data_dir / "state.json")
        references = _references(stack)
        time.sleep(SETTLING_SECONDS)
        before = _read(roots | {name: process for name, (process, _) in references.items()})
        begin = time.monotonic()
        _scrape(begin + SPAN_SECONDS, [port for _, port in references.values() if port is not None])
        seconds = time.monotonic() - begin
        after = _read(roots | {name: process for name, (process, _) in references.items()})
    shares = {name: (after[name] - before[name]) / seconds for name in before}
    return _section(shares, list(roots), list(references))


def _section(shares: Mapping[str, float], parts: list[str], references: list[str]) -> Section:
    whole = sum(shares[name] for name in parts)
    largest = max(references, key=lambda name: shares[name])
    shown = ", ".join(f"{name} {shares[name]:.3%}" for name in references)
    rows = [
        Row(
            "all parts",
            f"{whole:.3%} of a core",
            shown,
            whole / shares[largest] if shares[largest] else None,
            target=f"under {MOST_OF_A_CORE:.0%}",
            met=whole < MOST_OF_A_CORE,
        )
    ]
    for name in parts:
        bound = MOST_OF_SUPERVISOR if name == "supervisor" else None
        rows.append(
            Row(
                name,
                f"{shares[name]:.3%} of a core",
                target="-" if bound is None else f"under {bound:.1%}",
                met=None if bound is None else shares[name] < bound,
            )
        )
    return Section(
        title="An idle instance with one host",
        rows=rows,
        notes=[
            f"utime and stime of all processes over {SPAN_SECONDS} s, by part, ended children included.",
            f"Begun {SETTLING_SECONDS} s after all parts were healthy. The agent sends once a minute.",
            f"References in the same run: node_exporter as it comes, scraped every {SCRAPE_SECONDS} s.",
            "The other is Python's own http.server, which nobody asks. The ratio is against the larger of the two.",
            "The clock of /proc ticks a hundred times a second: a part's share is right to 0.02 %.",
        ],
    )


def _parts(state: Path) -> dict[str, int]:
    found = load(state)
    assert found is not None, "the instance has written no state"
    parts = {name: part.process.pid for name, part in found.components.items() if part.process is not None}
    return {"supervisor": found.supervisor.pid, **parts}


def _references(stack: ExitStack) -> dict[str, tuple[int, int | None]]:
    """Other idle programs by name: process, and the port that is scraped."""
    found: dict[str, tuple[int, int | None]] = {}
    exporter = exporter_program()
    if exporter is not None:
        port = free_port()
        command = [exporter, f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
        found["node_exporter"] = (stack.enter_context(_running(command)), port)
    directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="tierscope-bench-"))
    command = [sys.executable, "-m", "http.server", str(free_port()), "--bind", "127.0.0.1", "--directory", directory]
    found["http.server"] = (stack.enter_context(_running(command)), None)
    return found


@contextmanager
def _running(command: list[str]) -> Iterator[int]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process.pid
        finally:
            process.terminate()


def _scrape(end: float, ports: list[int]) -> None:
    """Ask each port for its metrics every so often until `end`."""
    while (left := end - time.monotonic()) > 0:
        for port in ports:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", "/metrics")
            connection.getresponse().read()
            connection.close()
        time.sleep(max(0.0, min(SCRAPE_SECONDS, left)))


def _read(roots: Mapping[str, int]) -> dict[str, float]:
    """CPU seconds of each part so far: its processes down to other parts, and what they have waited for."""
    others = set(roots.values())
    return {name: _of_tree(pid, others) for name, pid in roots.items()}


def _of_tree(pid: int, others: set[int]) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    return own + sum(_of_tree(child, others) for child in list_children(pid) if child not in others)
