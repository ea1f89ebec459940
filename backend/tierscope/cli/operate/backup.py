"""`tierscope backup`, `restore`: the whole database as one file, by PostgreSQL's own tools."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail
from tierscope.cli.base.options import Demo
from tierscope.cli.operate.client_tools import NO_CATALOGUE, ClientTools
from tierscope.cli.operate.fleet_backup import is_archive, restore_archive, say_written, write_archive
from tierscope.core.settings import Settings

_MOST_TRIES = 10
"""Tries of a restore that readers of a running instance stand in the way of; each ends with nothing changed."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(backup)
    app.command()(restore)


def backup(path: Annotated[Path, typer.Argument(help="File to write.")], demo: Demo = False) -> None:
    """Write the database to a file, readable by its owner alone; all servers of a fleet that has several.

    It holds hashes of credentials of hosts and people, and the passwords of nodes.
    """
    from tierscope.cli.base.database import open_database
    from tierscope.usecases.nodes.fleet import Nodes

    if path.exists():
        fail(f"{path} exists", next_step="name a file that does not exist yet", status=BAD_USAGE)
    settings = Settings()
    tools = ClientTools(settings, demo)
    with open_database(settings, demo=demo) as database:
        several = len(Nodes(database).listed()) > 0
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.close(descriptor)
        try:
            if several:
                held_seconds = write_archive(path, tools, database)
            else:
                tools.run(database.url, ["pg_dump", "--format=custom", "--no-owner", NO_CATALOGUE, "--file", str(path)])
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    if several:
        say_written(path, held_seconds)
    else:
        typer.echo(f"Wrote {path} ({path.stat().st_size:,} bytes).")


def restore(
    path: Annotated[Path, typer.Argument(help="File that `tierscope backup` wrote.", exists=True, dir_okay=False)],
    replace: Annotated[bool, typer.Option("--replace", help="Confirm: what the database holds now is lost.")] = False,
    node: Annotated[
        list[str] | None,
        typer.Option(help="NAME=postgresql://...: where a node of a fleet on several servers goes; repeat for more."),
    ] = None,
    demo: Demo = False,
) -> None:
    """Replace what the database holds, or all servers of a fleet, by a backup: all of it or nothing."""
    from tierscope.cli.base.database import open_database
    from tierscope.storage.base.restore import PATIENT, may_be_patient
    from tierscope.usecases.nodes.fleet import Nodes

    if not replace:
        fail(
            "restoring replaces everything in the database",
            next_step=f"run `tierscope restore {path} --replace`",
            status=BAD_USAGE,
        )
    settings = Settings()
    tools = ClientTools(settings, demo)
    with open_database(settings, demo=demo) as database:
        if is_archive(path):
            names = restore_archive(path, tools, database, node or [])
            typer.echo(f"Restored {path}: {', '.join(names)}.")
            return
        if Nodes(database).listed():
            fail(
                f"{path} is a backup of one server, and this fleet is on several",
                next_step="restore it into a database of its own: TIERSCOPE_DATABASE_URL names it",
                status=BAD_USAGE,
            )
        url = database.url
        with database.read() as session:
            options = PATIENT if may_be_patient(session) else ""
    if _is_of_timescaledb(tools, url, path):
        _restore_beside(tools, url, path)
    else:
        command = ["pg_restore", "--clean", "--if-exists", "--no-owner", "--single-transaction", "--dbname", ""]
        tools.run(url, [*command, str(path)], tries=_MOST_TRIES, options=options)
    typer.echo(f"Restored {path}.")


def _is_of_timescaledb(tools: ClientTools, url: str, path: Path) -> bool:
    return "EXTENSION - timescaledb" in tools.run(url, ["pg_restore", "--list", str(path)], quiet=True)


def _restore_beside(tools: ClientTools, url: str, path: Path) -> None:
    """With TimescaleDB: into a database of its own, which takes the place of the old one when all of it is there.

    The extension's catalogue cannot be replaced inside a database that uses it.
    """
    from tierscope.storage.base.restore import replaced_database

    with replaced_database(url) as name:
        tools.run(url, ["pg_restore", "--no-owner", "--exit-on-error", "--dbname", name, str(path)])
