"""`tierscope loadgen`: the load of a simulated fleet over the real wire, and what it cost this machine."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tierscope.cli.base.exits import FAILED, fail
from tierscope.cli.base.instance import find_instance
from tierscope.cli.base.source_tree import FLEET, find_program
from tierscope.cli.ingest.recordings import Server, write_join_token
from tierscope.cli.instance.load_watch import LoadWatch, lag_summary, parent_of, spent, use_of_trees
from tierscope.core.embedded.process import tie_to_parent
from tierscope.core.embedded.state import InstanceState, load
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.core.database import Database
    from tierscope.usecases.operate.load_figures import LoadFigures

_SETTLE_SECONDS = 60.0
"""How long the report waits after the last batch for what is due to be worked off."""
_SETTLE_SECONDS_PER_HOST_HOUR = 1.0
"""And for what a history brings."""
_TRIAL_HOSTS = 20
"""Hosts whose days are packed on trial, to tell what blocks take."""
_WARM_UP_MINUTES = 2
"""A host's first batch brings its inventory, its second the first row of its ledger."""
_STAGES = ("api", "worker", "database")
_SCHEMA = "tierscope.load-report/3"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(loadgen)


def loadgen(
    *,
    hosts: Annotated[int, typer.Option(min=1, max=100_000, help="Simulated hosts.")],
    minutes: Annotated[int, typer.Option(min=0, help="How long to send, in real time; 0: history alone.")] = 5,
    services: Annotated[int, typer.Option(min=1, max=10, help="Services with heat on each host.")] = 3,
    connections: Annotated[int, typer.Option(min=1, max=256, help="Connections to the service.")] = 32,
    send_minutes: Annotated[
        int | None,
        typer.Option(min=1, max=10, help="Minutes of each batch; without it, as the plan that each host follows says."),
    ] = None,
    history_hours: Annotated[
        int, typer.Option(min=0, max=160, help="Send so many hours of history first: what days take at rest.")
    ] = 0,
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
    """Send the load of a simulated fleet, to the demo instance unless told otherwise.

    Each host asks for its plan and sends batches of as many minutes as that says, at a moment of its own, so that the
    load is even. With a join token the service may run elsewhere;
    its processes and database are then left out of the report.
    """
    if not minutes and not history_hours:
        fail("nothing to send", next_step="give --minutes, or --history-hours")
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
        words = _arguments(hosts, minutes, services, connections, history_hours, send_minutes)
        words += ["--server", address, "--join-token-file", str(token_file)]
        if join_token is not None:
            report = _send([*words, "--allow-remote"])
        else:
            from tierscope.cli.base.database import open_database

            with open_database(settings, demo=demo) as database:
                report = _send_watched(
                    words, database, state, hosts=hosts, minutes=minutes, history_hours=history_hours
                )
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _print(report)
    if report["fleet"]["errors"]:
        raise typer.Exit(FAILED)


def _arguments(
    hosts: int, minutes: int, services: int, connections: int, history_hours: int, send_minutes: int | None
) -> list[str]:
    numbers = {
        "hosts": hosts,
        "minutes": minutes,
        "hours": history_hours,
        "services": services,
        "connections": connections,
        "send-minutes": send_minutes,
    }
    options = [word for name, number in numbers.items() if number is not None for word in (f"--{name}", str(number))]
    return ["send", "--json", *options]


def _send(words: list[str], watch: LoadWatch | None = None) -> dict[str, Any]:
    """Run the generator to its end. Its report, and what it took of this machine's CPU."""
    binary = find_program(FLEET)
    if binary is None:
        fail("the program of simulated hosts is not built", next_step="run `make agent`, or install a release")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # It ends with this command, however that ends: nobody else would stop its load.
    tied = tie_to_parent(signal.SIGTERM)
    with subprocess.Popen([str(binary), *words], stdout=subprocess.PIPE, text=True, preexec_fn=tied) as generator:  # noqa: S603, PLW1509
        if watch is not None:
            watch.stages["generator"] = generator.pid
        printed, _ = generator.communicate()
    if generator.returncode != 0:
        fail("the load generator failed", next_step="its reason stands above; `tierscope status` tells of the service")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return {"schema": _SCHEMA, "fleet": json.loads(printed), "cpu_seconds": {"generator": seconds}}


def _send_watched(
    words: list[str], database: Database, state: InstanceState | None, *, hosts: int, minutes: int, history_hours: int
) -> dict[str, Any]:
    """The same beside a service on this machine.

    CPU per batch, and per host and minute, is of the load once all hosts have begun; `cpu_seconds` of all, with what
    enrolment takes and what follows.
    """
    from tierscope.core.clock import utc_now
    from tierscope.usecases.operate.load_figures import KEPT_DAYS, LoadFigures, judge, per_host_day, size_fleets
    from tierscope.usecases.rebuild.trial_packing import TrialPacking

    figures = LoadFigures(database, utc_now)
    sizes, stages = figures.sizes(), _stages(state, figures)
    before = use_of_trees(stages)
    watch = LoadWatch(figures, stages)
    watch.start()
    try:
        report = _send(words, watch)
        ended = time.monotonic()
        settled = watch.settle(
            at_most_s=_SETTLE_SECONDS + hosts * history_hours * _SETTLE_SECONDS_PER_HOST_HOUR, wholly=history_hours > 0
        )
    finally:
        watch.stop()
    after = use_of_trees(stages)
    report["cpu_seconds"] |= {
        name: after[name].cpu_seconds - before[name].cpu_seconds for name in before.keys() & after
    }
    began = ended - float(report["fleet"]["live_seconds"] or 0.0)
    steady = began + 60.0 * max(min(_WARM_UP_MINUTES, minutes - 1), 0)
    part = spent(watch.looks, steady, ended)
    report["lag"] = lag_summary(watch.looks, steady) | {"settled_after_s": settled}
    stored = per_host_day(sizes, figures.sizes(), host_minutes=float(hosts * (minutes + 60 * history_hours)))
    if history_hours:
        packed = TrialPacking(database).bytes_by_table(most_hosts=_TRIAL_HOSTS)
        stored |= {name: size * 24 / history_hours for name, size in packed.items()}
    report["stored_bytes_per_host_day"] = stored
    report["stored_bytes_per_host"] = sum(size * KEPT_DAYS[name] for name, size in stored.items())
    report["verdict"] = asdict(judge(report["fleet"], report["lag"], expected_minutes=hosts * minutes))
    if part is not None and report["fleet"]["host_minutes"] and minutes:
        host_minutes = hosts * part.seconds / 60.0
        batches = host_minutes * report["fleet"]["batches"] / report["fleet"]["host_minutes"]
        report["steady"] = asdict(part) | {"batches": batches, "host_minutes": host_minutes}
        report["cpu_ms_per_batch"] = {name: 1e3 * seconds / batches for name, seconds in part.cpu_seconds.items()}
        per_minute = {name: 1e3 * seconds / host_minutes for name, seconds in part.cpu_seconds.items()}
        report["cpu_ms_per_host_minute"] = per_minute
        of_service = {name: cost for name, cost in per_minute.items() if name in _STAGES}
        report["sizing"] = [asdict(size) for size in size_fleets(hosts, of_service, stored)]
    return report


def _stages(state: InstanceState | None, figures: LoadFigures) -> dict[str, int]:
    """The root process of each stage on this machine; of a database of its own too, where it runs here."""
    found = {}
    for name, component in (state.components if state is not None else {}).items():
        if component.process is not None:
            found[name] = component.process.pid
    if "database" not in found:
        backend = figures.local_backend()
        server = None if backend is None else parent_of(backend)
        if server is not None:
            found["database"] = server
    return found


def _print(report: dict[str, Any]) -> None:
    fleet = report["fleet"]
    typer.echo(
        f"{fleet['hosts']} hosts, {fleet['batches']} batches accepted, {fleet['duplicates']} duplicates,"
        f" {fleet['retries_429']} answers 429, {fleet['retries_503']} answers 503, {fleet['errors']} errors"
    )
    if fleet["request_ms"]:
        times = fleet["request_ms"]
        typer.echo(f"request p50 {times['p50']:.0f} ms, p95 {times['p95']:.0f} ms, p99 {times['p99']:.0f} ms")
    for name, cost in report.get("cpu_ms_per_host_minute", {}).items():
        typer.echo(f"CPU of {name}: {cost:.2f} ms per host and minute")
    for name in ("open_due_s", "oldest_due_s"):
        if name in report.get("lag", {}):
            typer.echo(f"lag, {name}: p95 {report['lag'][name]['p95']:.0f} s, max {report['lag'][name]['max']:.0f} s")
    if "verdict" in report:
        reasons = "; ".join(report["verdict"]["reasons"])
        typer.echo("the service held this load" if not reasons else f"the service did not hold this load: {reasons}")
    for name, size in report.get("stored_bytes_per_host_day", {}).items():
        typer.echo(f"{name}: {size / 1e6:.2f} MB per host-day")
