"""`tierscope backup`, `restore`: the whole database as one file, by PostgreSQL's own tools."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail
from tierscope.cli.base.instance import find_instance
from tierscope.core.embedded.account import choose_account
from tierscope.core.settings import Settings

_DEADLOCK = "deadlock detected"
_MOST_TRIES = 10
"""Tries of a restore that readers of a running instance stand in the way of; each ends with nothing changed."""

Demo = Annotated[bool, typer.Option("--demo", help="Use the demo instance.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(backup)
    app.command()(restore)


def backup(path: Annotated[Path, typer.Argument(help="File to write.")], demo: Demo = False) -> None:
    """Write the database to a file. It holds hashes, never credentials, and is readable by its owner alone."""
    if path.exists():
        fail(f"{path} exists", next_step="name a file that does not exist yet", status=BAD_USAGE)
    settings = Settings()
    _refuse_several_servers(settings, demo=demo)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.close(descriptor)
    command = ["pg_dump", "--format=custom", "--no-owner", "--file", str(path)]
    try:
        _run_tool(settings, command, demo=demo)
    except typer.Exit:
        path.unlink(missing_ok=True)
        raise
    typer.echo(f"Wrote {path} ({path.stat().st_size:,} bytes).")


def restore(
    path: Annotated[Path, typer.Argument(help="File that `tierscope backup` wrote.", exists=True, dir_okay=False)],
    replace: Annotated[bool, typer.Option("--replace", help="Confirm: what the database holds now is lost.")] = False,
    demo: Demo = False,
) -> None:
    """Replace the database's content by a backup, in one transaction: all of it or nothing."""
    if not replace:
        fail(
            "restoring replaces everything in the database",
            next_step=f"run `tierscope restore {path} --replace`",
            status=BAD_USAGE,
        )
    settings = Settings()
    _refuse_several_servers(settings, demo=demo)
    if _is_of_timescaledb(settings, path, demo=demo):
        _restore_beside(settings, path, demo=demo)
    else:
        command = ["pg_restore", "--clean", "--if-exists", "--no-owner", "--single-transaction", "--dbname", ""]
        _run_tool(settings, [*command, str(path)], demo=demo, tries=_MOST_TRIES)
    typer.echo(f"Restored {path}.")


def _refuse_several_servers(settings: Settings, *, demo: bool) -> None:
    """End where a fleet is on several servers: a file of one of them is no backup of the fleet."""
    from tierscope.cli.base.database import open_database
    from tierscope.usecases.nodes.fleet import Nodes

    with open_database(settings, demo=demo) as database:
        nodes = Nodes(database).listed()
    if nodes:
        fail(
            f"this fleet is on {len(nodes)} servers, and this command knows one",
            next_step="use pg_dump and pg_restore on each server that `tierscope nodes list` names, stopped or at once",
            status=BAD_USAGE,
        )


def _is_of_timescaledb(settings: Settings, path: Path, *, demo: bool) -> bool:
    return "EXTENSION - timescaledb" in _run_tool(settings, ["pg_restore", "--list", str(path)], demo=demo, quiet=True)


def _restore_beside(settings: Settings, path: Path, *, demo: bool) -> None:
    """With TimescaleDB: into a database of its own, which takes the place of the old one when all of it is there.

    The extension's catalogue cannot be replaced inside a database that uses it.
    """
    from tierscope.cli.base.database import resolve_url
    from tierscope.storage.base.restore import replaced_database

    with replaced_database(resolve_url(settings, demo=demo)) as name:
        command = ["pg_restore", "--no-owner", "--exit-on-error", "--dbname", name, str(path)]
        _run_tool(settings, command, demo=demo)


def _run_tool(settings: Settings, command: list[str], *, demo: bool, quiet: bool = False, tries: int = 1) -> str:
    """Run a client tool on the database; the password travels in the environment, not on the command line.

    With `tries`, a tool of one transaction begins again where it and another session waited for each other, and the
    server chose to end its transaction. Returns what it printed, where it is to be `quiet`.
    """
    from tierscope.cli.base.database import resolve_url
    from tierscope.core.database import libpq_url
    from tierscope.core.embedded.postgres import open_cluster

    address = libpq_url(resolve_url(settings, demo=demo))
    tool, *arguments = command
    places = find_instance(settings, demo=demo).places
    binary = open_cluster(places, choose_account(settings.account, create=False)).binaries.tool(tool)
    connection = _connection_environment(address)
    arguments = [argument or connection["PGDATABASE"] for argument in arguments]
    while True:
        tries -= 1
        done = subprocess.run(  # noqa: S603
            [binary, *arguments],
            env={**os.environ, **connection},
            stdout=subprocess.PIPE if quiet else None,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode == 0 or tries <= 0 or _DEADLOCK not in done.stderr:
            break
        typer.echo("Others read what is replaced; beginning again.", err=True)
    typer.echo(done.stderr, nl=False, err=True)
    if done.returncode != 0:
        fail(f"{tool} ended with status {done.returncode}", next_step="its own message stands above")
    return done.stdout or ""


def _connection_environment(address: str) -> dict[str, str]:
    from psycopg.conninfo import conninfo_to_dict

    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}
    parsed = conninfo_to_dict(address)
    return {names[key]: str(value) for key, value in parsed.items() if key in names and value is not None}
