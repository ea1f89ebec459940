"""`tierscope loadgen`: the load of a simulated fleet over the real wire, and what it cost this machine."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tierscope.cli.agent_data import Server, write_join_token
from tierscope.cli.exits import FAILED, fail
from tierscope.cli.instance.find import find_instance
from tierscope.cli.instance.source_tree import find_agent
from tierscope.core.embedded.process import list_children
from tierscope.core.embedded.state import InstanceState, load
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.usecases.load_figures import LoadFigures

_EVERY_SECONDS = 5.0
_SETTLE_SECONDS = 60.0
"""How long the report waits after the last batch for what is due to be worked off."""
_STAGES = ("api", "worker", "database")
_SCHEMA = "tierscope.load-report/1"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(loadgen)


def loadgen(
    hosts: Annotated[int, typer.Option(min=1, max=100_000, help="Simulated hosts.")],
    minutes: Annotated[int, typer.Option(min=1, help="How long to send, in real time.")] = 5,
    services: Annotated[int, typer.Option(min=1, max=7, help="Services with heat on each host.")] = 3,
    connections: Annotated[int, typer.Option(min=1, max=256, help="Connections to the service.")] = 32,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    server: Server = None,
    join_token: Annotated[
        str | None,
        typer.Option(
            envvar="TIERSCOPE_JOIN_TOKEN",
            help="Join token of another machine's service, for simulated hosts, with as many uses as hosts.",
        ),
    ] = None,
    demo: Annotated[bool, typer.Option("--demo/--live", help="The instance that takes the load.")] = True,
) -> None:
    """Send the load of a simulated fleet, to the demo instance unless told otherwise: one batch per host and minute.

    Each host sends at a moment of its own, so that the load is even. With a join token the service may run elsewhere;
    its processes and database are then left out of the report.
    """
    settings = Settings()
    state = load(find_instance(settings, demo=demo).places.state_file)
    address = server or (state.url if state is not None else None)
    if address is None:
        fail("no service is known", next_step="start one with `tierscope up`, or name it with --server")
    with tempfile.TemporaryDirectory(prefix="tierscope-") as scratch:
        token_file = Path(scratch) / "join-token"
        if join_token is not None:
            token_file.write_text(join_token + "\n", encoding="ascii")
        else:
            write_join_token(settings, token_file, uses=hosts, origin="simulated", demo=demo)
        words = _arguments(hosts, minutes, services, connections)
        words += ["--server", address, "--join-token-file", str(token_file)]
        if join_token is not None:
            report = _send([*words, "--allow-remote"])
        else:
            from tierscope.cli.database import open_database

            with open_database(settings, demo=demo) as database:
                report = _send_watched(words, database, state)
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _print(report)
    if report["fleet"]["errors"]:
        raise typer.Exit(FAILED)


def _arguments(hosts: int, minutes: int, services: int, connections: int) -> list[str]:
    from tierscope.cli.instance.fleet import fleet_spec

    numbers = {"hosts": hosts, "minutes": minutes, "hours": 0, "shared-services": services, "connections": connections}
    options = [word for name, number in numbers.items() for word in (f"--{name}", str(number))]
    return ["fleet", "--spec", str(fleet_spec()), "--json", *options]


def _send(words: list[str]) -> dict[str, Any]:
    binary = find_agent()
    if binary is None:
        fail("the agent's program is not built", next_step="run `make agent`, or install a release")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(binary), *words], check=False, stdout=subprocess.PIPE, text=True)  # noqa: S603
    if done.returncode != 0:
        raise typer.Exit(FAILED)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return {"schema": _SCHEMA, "fleet": json.loads(done.stdout), "cpu_seconds": {"generator": seconds}}


def _send_watched(words: list[str], database: Any, state: InstanceState | None) -> dict[str, Any]:  # noqa: ANN401
    """The same beside a service on this machine. CPU is of the whole run, with enrolment and what follows the load."""
    from tierscope.core.clock import utc_now
    from tierscope.usecases.load_figures import LoadFigures, per_host_day, size_fleets

    figures = LoadFigures(database, utc_now)
    sizes, cpu = figures.sizes(), _cpu_by_component(state)
    watch = _Watch(figures)
    watch.start()
    report = _send(words)
    settled = watch.settle()
    fleet = report["fleet"]
    batches = max(int(fleet["batches"]), 1)
    report["cpu_seconds"] |= {name: seconds - cpu.get(name, 0.0) for name, seconds in _cpu_by_component(state).items()}
    report["cpu_ms_per_batch"] = {name: 1e3 * seconds / batches for name, seconds in report["cpu_seconds"].items()}
    report["lag"] = watch.summary() | {"settled_after_s": settled}
    stored = per_host_day(sizes, figures.sizes(), host_minutes=float(batches))
    report["stored_bytes_per_host_day"] = stored
    of_service = {name: cost for name, cost in report["cpu_ms_per_batch"].items() if name in _STAGES}
    report["sizing"] = [asdict(size) for size in size_fleets(int(fleet["hosts"]), of_service, stored)]
    return report


class _Watch(threading.Thread):
    """Reads the lag every few seconds while a load runs."""

    def __init__(self, figures: LoadFigures) -> None:
        super().__init__(name="load-watch", daemon=True)
        self._figures = figures
        self._seen: list[dict[str, float]] = []
        self._failures = 0
        self._stop_asked = threading.Event()

    def run(self) -> None:
        """Look until asked to stop. A look that fails is counted: the database may be too busy to answer."""
        from tierscope.core.errors import TierscopeError

        while not self._stop_asked.wait(_EVERY_SECONDS):
            try:
                self._seen.append(asdict(self._figures.lag()))
            except TierscopeError:
                self._failures += 1

    def settle(self) -> float | None:
        """Wait until nothing due waits for long; after how many seconds, None where it never came to that."""
        start = time.monotonic()
        while time.monotonic() - start < _SETTLE_SECONDS:
            if self._figures.lag().behind_s <= 0:
                break
            time.sleep(1.0)
        waited = time.monotonic() - start
        self._stop_asked.set()
        self.join()
        return waited if waited < _SETTLE_SECONDS else None

    def summary(self) -> dict[str, Any]:
        """The worst and the usual lag."""
        names = ("oldest_due_s", "behind_s", "pending")
        values = {name: sorted(look[name] for look in self._seen) for name in names}
        found: dict[str, Any] = {"looks": len(self._seen), "failed_looks": self._failures}
        for name, ordered in values.items():
            if ordered:
                p95 = ordered[min(round(len(ordered) * 0.95), len(ordered) - 1)]
                found[name] = {"p50": ordered[len(ordered) // 2], "p95": p95, "max": ordered[-1]}
        return found


def _cpu_by_component(state: InstanceState | None) -> dict[str, float]:
    """CPU seconds of the process tree of each component of an instance on this machine."""
    if state is None:
        return {}
    ticks = os.sysconf("SC_CLK_TCK")
    found = {}
    for name, component in state.components.items():
        if component.process is not None:
            found[name] = _ticks_of_tree(component.process.pid) / ticks
    return found


def _ticks_of_tree(pid: int) -> int:
    """User and system time of a process, its children, and those of them that ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(int(field) for field in fields[11:15]) + sum(_ticks_of_tree(child) for child in list_children(pid))


def _print(report: dict[str, Any]) -> None:
    fleet = report["fleet"]
    typer.echo(
        f"{fleet['hosts']} hosts, {fleet['batches']} batches accepted, {fleet['duplicates']} duplicates,"
        f" {fleet['retries_429']} answers 429, {fleet['retries_503']} answers 503, {fleet['errors']} errors"
    )
    if fleet["request_ms"]:
        times = fleet["request_ms"]
        typer.echo(f"request p50 {times['p50']:.0f} ms, p95 {times['p95']:.0f} ms, p99 {times['p99']:.0f} ms")
    for name, cost in report.get("cpu_ms_per_batch", {}).items():
        typer.echo(f"CPU of {name}: {cost:.2f} ms per batch")
    for name in ("oldest_due_s", "behind_s"):
        if name in report.get("lag", {}):
            typer.echo(f"lag, {name}: p95 {report['lag'][name]['p95']:.0f} s, max {report['lag'][name]['max']:.0f} s")
    for name, size in report.get("stored_bytes_per_host_day", {}).items():
        typer.echo(f"{name}: {size / 1e6:.2f} MB per host-day")
