"""`tierscope up`: the whole product on this machine from one command."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Annotated

import typer

from tierscope.cli.access.first_link import first_link
from tierscope.cli.base.exits import BAD_USAGE, FAILED, fail
from tierscope.cli.base.instance import Instance, find_instance
from tierscope.cli.instance.claim import AlreadyRunningError
from tierscope.cli.instance.down import stop_orphans
from tierscope.cli.instance.heat import keep_programs, program_of
from tierscope.cli.instance.nodes import MOST_NODES, node_places
from tierscope.cli.instance.options import Options
from tierscope.cli.instance.status import describe, unhealthy
from tierscope.cli.instance.workloads import check_workloads, keep_workloads, kept_workloads
from tierscope.core.embedded.account import choose_account
from tierscope.core.embedded.places import prepare
from tierscope.core.embedded.private_files import open_log
from tierscope.core.embedded.state import forget, load
from tierscope.core.settings import Settings

_POLL_SECONDS = 0.5
_REPEAT_SECONDS = 20.0
_SETTLE_SECONDS = 20 * 60.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(up)


def up(
    *,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Return when all is healthy; keep running.")] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Show a simulated fleet, apart from real data.")] = False,
    no_agent: Annotated[bool, typer.Option("--no-agent", help="Do not measure this host.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="With --detach: return once the API answers.")] = False,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; else the first free one, which is kept.")
    ] = None,
    heat: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EXE|PID",
            help="Measure heat and sample pages of this program: its path, its name, text of its command line, or a"
            " process id. May be repeated; holds for later starts too.",
        ),
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="With --demo: a workload of a paper on three hosts more, such as ycsb-a. May be repeated; a fleet that"
            " is there keeps its own.",
        ),
    ] = None,
    nodes: Annotated[
        int,
        typer.Option(
            min=0,
            max=MOST_NODES,
            help="With --demo: spread its hosts over so many database servers more, all on this machine.",
        ),
    ] = 0,
    no_heat: Annotated[bool, typer.Option("--no-heat", help="Forget the programs that --heat named before.")] = False,
) -> None:
    """Start database, queue, API, worker and an agent on this host, and look after them until Ctrl-C or `down`."""
    if heat and (demo or no_agent or no_heat):
        fail(
            "--heat needs an agent on this host", next_step="leave out --demo, --no-agent, --no-heat", status=BAD_USAGE
        )
    if workload and not demo:
        fail("--workload needs the simulated fleet", next_step="add --demo", status=BAD_USAGE)
    if nodes and not demo:
        fail(
            "--nodes starts servers of the simulated fleet alone",
            next_step="add --demo; `tierscope nodes add` adds servers of your own",
            status=BAD_USAGE,
        )
    workloads = check_workloads(workload or [])
    programs = [program_of(text) for text in heat or []]
    settings = Settings()
    instance = find_instance(settings, demo=demo)
    running = load(instance.places.state_file)
    if running is not None and running.supervised:
        typer.echo(f"Tierscope is already running ({instance.name}): {running.url}")
        if workloads and list(workloads) != kept_workloads(instance):
            fail(
                "its fleet is there already, with other workloads", next_step="`tierscope down --demo`, then this again"
            )
        if nodes > len(node_places(instance)):
            fail("it runs on fewer database servers", next_step="`tierscope down --demo`, then this again")
        if heat or no_heat:
            fail("it goes on with the programs that it started with", next_step="`tierscope down`, then this again")
        return
    stop_orphans(instance, running)
    prepare(instance.places, choose_account(settings.account))
    if workloads:
        keep_workloads(instance, workloads)
    if programs or no_heat:
        keep_programs(instance, programs)
    os.umask(0o077)
    private = sys.stdout.isatty()
    options = Options(
        port=settings.port if port is None else port,
        exact=port is not None or "port" in settings.model_fields_set,
        agent=not no_agent,
        nodes=nodes,
        private=private,
    )
    if detach:
        _detach(instance, options, wait=not no_wait)
        return
    from tierscope.cli.instance.run import InstanceRun

    try:
        InstanceRun(instance=instance, settings=settings, options=options, say=_say).run()
    except AlreadyRunningError:
        typer.echo(f"Tierscope is already running ({instance.name}).")


def _say(line: str) -> None:
    # A full disk under the log, or a terminal that is gone, ends nothing.
    with contextlib.suppress(OSError):
        typer.echo(f"{time.strftime('%H:%M:%S')}  {line}")
        sys.stdout.flush()


def _detach(instance: Instance, options: Options, *, wait: bool) -> None:
    """Start a supervisor of its own session, show its progress, and return when the instance is healthy."""
    forget(instance.places.state_file)
    command = [sys.executable, "-m", "tierscope.cli", "up"]
    command += ["--port", str(options.port)] if options.exact else []
    command += ["--demo"] if instance.demo else []
    command += [] if options.agent else ["--no-agent"]
    command += ["--nodes", str(options.nodes)] if options.nodes else []
    with os.fdopen(open_log(instance.log), "ab") as log:
        log.truncate(0)
        supervisor = subprocess.Popen(  # noqa: S603 - our own command
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        _watch(instance, supervisor, options, wait=wait)
    except KeyboardInterrupt:
        os.kill(supervisor.pid, signal.SIGTERM)
        supervisor.wait()
        raise typer.Exit(FAILED) from None


def _watch(instance: Instance, supervisor: subprocess.Popen[bytes], options: Options, *, wait: bool) -> None:
    deadline = time.monotonic() + _SETTLE_SECONDS
    lines = _follow(instance)
    said_at, last = time.monotonic(), ""
    while True:
        for line in lines:
            if line is None:
                break
            typer.echo(line)
        if supervisor.poll() is not None:
            fail("the instance did not come up", next_step=f"the reason stands above and in {instance.log}")
        state = load(instance.places.state_file)
        if state is not None and state.phase == "up":
            missing = unhealthy(state)
            if not missing or not wait:
                typer.echo(describe(instance, state))
                if options.private:
                    for line in first_link(instance.read_database_url(), state.url, private=True):
                        typer.echo(line)
                return
            if time.monotonic() >= deadline or state.note:
                fail(
                    f"not healthy: {', '.join(missing)}", next_step=f"see `tierscope status` and {instance.log.parent}"
                )
            waiting = f"waiting for {', '.join(missing)}"
            if waiting != last or time.monotonic() - said_at > _REPEAT_SECONDS:
                typer.echo(f"{time.strftime('%H:%M:%S')}  {waiting}")
                said_at, last = time.monotonic(), waiting
        time.sleep(_POLL_SECONDS)


def _follow(instance: Instance) -> Iterator[str | None]:
    """Yield the lines of the supervisor's log as they come, and None whenever there are no more for now."""
    with instance.log.open(encoding="utf-8", errors="replace") as log:
        pending = ""
        while True:
            chunk = log.readline()
            if not chunk:
                yield None
                continue
            pending += chunk
            if pending.endswith("\n"):
                yield pending.rstrip("\n")
                pending = ""
