"""`tierscope import`: send recordings through the agent, over the real wire."""

import hashlib
import os
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

import typer

from tierscope.cli.base.exits import FAILED, fail
from tierscope.cli.base.instance import find_instance
from tierscope.cli.base.options import Demo
from tierscope.cli.base.progress import end_progress
from tierscope.cli.base.source_tree import find_agent
from tierscope.core.embedded.state import load
from tierscope.core.settings import Settings

import_app = typer.Typer(help="Load recordings made elsewhere.", no_args_is_help=True)

_JOIN_LIFETIME = timedelta(hours=1)
Server = Annotated[
    str | None, typer.Option("--server", "--url", help="Address of the service; default the instance on this machine.")
]


_HEAT = (
    ("page-trace", "Parquet page traces.", "Load page traces: heat of one service."),
    (
        "damo",
        "Records of damo: json, compressed json or perf script.",
        "Load records of DAMON as damo writes them: heat of one service by region.",
    ),
    (
        "perf-script",
        "Text that `perf script` printed, with addresses.",
        "Load samples from the text of `perf script -F comm,pid,tid,time,event,addr`: heat of one service.",
    ),
    (
        "perf-data",
        "Files that `perf record -d` wrote.",
        "Load samples from perf.data files with data addresses: heat of one service.",
    ),
)
"""Recordings of heat: the command, what its files are, what it does."""


def _add_heat_import(command: str, files: str, does: str) -> None:
    @import_app.command(command, help=does)
    def _(
        paths: Annotated[list[Path], typer.Argument(help=files, exists=True)],
        service: Annotated[str, typer.Option(help="Service that the recording belongs to.")],
        host: Annotated[str, typer.Option(help="Name of the host that it was recorded on.")],
        server: Server = None,
        demo: Demo = False,
    ) -> None:
        _import(paths, ["--service", service], host=host, server=server, demo=demo)


for _row in _HEAT:
    _add_heat_import(*_row)


@import_app.command("vmstat-dir")
def import_vmstat_dir(
    paths: Annotated[list[Path], typer.Argument(help="Snapshot trees or archives of them.", exists=True)],
    host: Annotated[str, typer.Option(help="Name of the host that they were recorded on.")],
    server: Server = None,
    demo: Demo = False,
) -> None:
    """Load recorded kernel files: counters of one host."""
    _import(paths, [], host=host, server=server, demo=demo)


@import_app.command("field-kit")
def import_field_kit(
    path: Annotated[Path, typer.Argument(help="A file that `tierscope-agent fieldkit` wrote.", exists=True)],
    host: Annotated[str, typer.Option(help="Name under which the recorded host is shown.")],
    server: Server = None,
    demo: Demo = False,
) -> None:
    """Load a field kit: what its agent would have uploaded, as an imported host."""
    _import([path], [], host=host, server=server, demo=demo)


def _import(paths: list[Path], arguments: list[str], *, host: str, server: str | None, demo: bool) -> None:
    """Replay recordings. The credential of an imported host is kept, so that a second import adds to the same host."""
    settings = Settings()
    places = find_instance(settings, demo=demo).places
    state_dir = places.imports / hashlib.sha256(f"{server or ''}|{host}".encode()).hexdigest()[:16]
    for folder in (places.imports, state_dir):  # a parent that is made on the way has the usual mode
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    token_file = state_dir / "join-token"
    words = ["replay", *map(str, paths), *arguments, "--host", host, "--state-dir", str(state_dir)]
    if not (state_dir / "credential.json").exists():
        write_join_token(settings, token_file, uses=1, origin="import", demo=demo)
        words += ["--join-token-file", str(token_file)]
    try:
        _run_agent(settings, words, server=server, demo=demo)
    finally:
        token_file.unlink(missing_ok=True)


def write_join_token(
    settings: Settings, path: Path, *, uses: int, origin: Literal["import", "simulated"], demo: bool
) -> None:
    """Leave a join token for so many hosts in a file that only its owner reads."""
    from tierscope.cli.base.database import actor, open_database
    from tierscope.usecases.access.tokens import Access

    with open_database(settings, demo=demo) as database:
        token = Access(database).create_join_token(
            uses=uses, lifetime=_JOIN_LIFETIME, origin=origin, note=f"tierscope {origin}", actor=actor()
        )
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(token.secret + "\n")


def _run_agent(settings: Settings, arguments: list[str], *, server: str | None, demo: bool) -> None:
    binary = find_agent()
    if binary is None:
        fail("the agent's program is not built", next_step="run `make agent`, or install a release")
    state = load(find_instance(settings, demo=demo).places.state_file)
    address = server or (state.url if state is not None else None)
    if address is None:
        fail("no service is known", next_step="start one with `tierscope up`, or name it with --server")
    end_progress()
    done = subprocess.run([str(binary), *arguments, "--server", address], check=False)  # noqa: S603
    if done.returncode != 0:
        raise typer.Exit(FAILED)
