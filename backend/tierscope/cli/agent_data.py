"""`tierscope import`, `loadgen`: send recordings and simulated load through the agent, over the real wire."""

from __future__ import annotations

import subprocess
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

import typer

from tierscope.cli.database import actor, open_database
from tierscope.cli.exits import FAILED, fail
from tierscope.cli.instance.find import find_instance
from tierscope.cli.instance.fleet import fleet_spec
from tierscope.cli.instance.source_tree import find_agent
from tierscope.core.embedded.state import load
from tierscope.core.settings import Settings
from tierscope.usecases.access import Access

import_app = typer.Typer(help="Load recordings made elsewhere.", no_args_is_help=True)

_JOIN_LIFETIME = timedelta(hours=1)
Server = Annotated[str | None, typer.Option(help="Address of the service; default the instance on this machine.")]
Demo = Annotated[bool, typer.Option("--demo", help="Use the demo instance.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(loadgen)


@import_app.command("page-trace")
def import_page_trace(
    paths: Annotated[list[Path], typer.Argument(help="Parquet page traces.", exists=True)],
    service: Annotated[str, typer.Option(help="Service that the trace belongs to.")],
    host: Annotated[str, typer.Option(help="Name of the host that it was recorded on.")],
    server: Server = None,
    demo: Demo = False,
) -> None:
    """Load page traces: heat of one service."""
    arguments = ["replay", *map(str, paths), "--service", service, "--host", host]
    _run_agent(arguments, hosts=1, origin="import", server=server, demo=demo)


@import_app.command("vmstat-dir")
def import_vmstat_dir(
    paths: Annotated[list[Path], typer.Argument(help="Snapshot trees or archives of them.", exists=True)],
    host: Annotated[str, typer.Option(help="Name of the host that they were recorded on.")],
    server: Server = None,
    demo: Demo = False,
) -> None:
    """Load recorded kernel files: counters of one host."""
    arguments = ["replay", *map(str, paths), "--host", host]
    _run_agent(arguments, hosts=1, origin="import", server=server, demo=demo)


def loadgen(
    hosts: Annotated[int, typer.Option(min=1, max=100_000, help="Simulated hosts.")],
    minutes: Annotated[int, typer.Option(min=1, help="How long to send, in real time.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    server: Server = None,
    demo: Annotated[bool, typer.Option("--demo/--live", help="The instance that takes the load.")] = True,
) -> None:
    """Send the load of a simulated fleet over the real wire, to the demo instance unless told otherwise."""
    arguments = ["fleet", "--spec", str(fleet_spec()), "--hosts", str(hosts), "--minutes", str(minutes), "--hours", "0"]
    arguments += ["--json"] if as_json else []
    _run_agent(arguments, hosts=hosts, origin="simulated", server=server, demo=demo)


def _run_agent(
    arguments: list[str],
    *,
    hosts: int,
    origin: Literal["import", "simulated"],
    server: str | None,
    demo: bool,
) -> None:
    """Run the agent's program with a join token of its own and a state directory that ends with it."""
    settings = Settings()
    binary = find_agent()
    if binary is None:
        fail("the agent's program is not built", next_step="run `make agent`, or install a release")
    state = load(find_instance(settings, demo=demo).places.state_file)
    address = server or (state.url if state is not None else None)
    if address is None:
        fail("no service is known", next_step="start one with `tierscope up`, or name it with --server")
    with open_database(settings, demo=demo) as database:
        token = Access(database).create_join_token(
            uses=hosts, lifetime=_JOIN_LIFETIME, origin=origin, note=arguments[0], actor=actor()
        )
    with tempfile.TemporaryDirectory(prefix="tierscope-") as scratch:
        token_file = Path(scratch) / "join-token"
        token_file.touch(mode=0o600)
        token_file.write_text(token.secret + "\n", encoding="ascii")
        common = ["--server", address, "--join-token-file", str(token_file)]
        done = subprocess.run([str(binary), *arguments, *common], check=False)  # noqa: S603
    if done.returncode != 0:
        raise typer.Exit(FAILED)
