"""`tierscope nodes`: PostgreSQL servers that hold a fleet together."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tierscope.cli.base.exits import BAD_USAGE, FAILED, fail, print_answer, print_json, say
from tierscope.cli.base.options import AsJson, Demo
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.usecases.nodes.changes import NodeState
    from tierscope.usecases.nodes.moves import Moved
    from tierscope.usecases.nodes.removal import Account

app = typer.Typer(help="PostgreSQL servers that hold a fleet together.", no_args_is_help=True)


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="A name for it: small letters, digits and hyphens.")],
    url: Annotated[
        str,
        typer.Option(
            envvar="TIERSCOPE_NODE_URL", help="postgresql://USER:PASSWORD@HOST/DATABASE of an empty database."
        ),
    ],
    storage: Annotated[
        Literal["auto", "timescaledb", "native"], typer.Option(help="How it keeps time tables; decided once.")
    ] = "auto",
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Make the schema on an empty server and let new hosts go to it."""
    from tierscope.cli.base.database import actor, open_database
    from tierscope.usecases.nodes.changes import NodeChanges

    with open_database(Settings(), demo=demo) as database:
        made = NodeChanges(database).add(name, url, actor=actor(), storage=storage)
    text = f"Node {made.name} (number {made.number}) is part of the fleet. New hosts go to the emptiest node."
    print_answer(asdict(made), text, as_json=as_json)


@app.command("list")
def list_nodes(demo: Demo = False, as_json: AsJson = False) -> None:
    """List the servers with their hosts; ends with status 1 where one does not answer or has another schema."""
    from tierscope.cli.base.database import open_database
    from tierscope.usecases.nodes.changes import NodeChanges

    with open_database(Settings(), demo=demo) as database:
        found = NodeChanges(database).list()
    if as_json:
        print_json([asdict(state) for state in found])
    else:
        for state in found:
            typer.echo(_line(state))
    if not all(state.current for state in found):
        raise typer.Exit(FAILED)


@app.command()
def move(
    host_ids: Annotated[list[str], typer.Argument(metavar="HOST...", help="Ids of hosts.")],
    to: Annotated[str, typer.Option(help="Name of the node that takes them.")],
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Move hosts with their history to another node, while they send."""
    from tierscope.cli.base.database import actor, open_database
    from tierscope.usecases.nodes.moves import Moves

    with open_database(Settings(), demo=demo) as database:
        moved = Moves(database).move(host_ids, to, actor=actor(), told=_tell)
    print_answer(asdict(moved), f"Moved {moved.hosts} hosts ({moved.rows:,} rows) to {to}.", as_json=as_json)
    _tell_unseen(moved.disks_unseen)


@app.command()
def drain(
    name: Annotated[str, typer.Argument(help="Name of the node.")], demo: Demo = False, as_json: AsJson = False
) -> None:
    """Let a node take no new hosts, and move all that it has to the others, while they send.

    It may be stopped at any time: run it again, and it goes on.
    """
    from tierscope.cli.base.database import actor, open_database
    from tierscope.usecases.nodes.moves import Moves

    with open_database(Settings(), demo=demo) as database:
        drained = Moves(database).drain(name, actor=actor(), told=_tell)
    print_answer(
        asdict(drained), f"Moved {drained.hosts} hosts ({drained.rows:,} rows) away from {name}.", as_json=as_json
    )
    _tell_unseen(drained.disks_unseen)


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="Name of the node.")],
    lost: Annotated[
        bool, typer.Option("--lost", help="It is gone for ever: say which hosts are lost with it, and change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --lost: give them up.")] = False,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Take a drained node out of the fleet. Its database is left as it is."""
    from tierscope.cli.base.database import actor, open_database
    from tierscope.usecases.nodes.removal import Removal

    if yes and not lost:
        fail("--yes goes with --lost", next_step="leave one out, or give both", status=BAD_USAGE)
    with open_database(Settings(), demo=demo) as database:
        removal = Removal(database)
        if lost and not yes:
            account = removal.account(name)
            if as_json:
                print_json(asdict(account))
            else:
                _tell_lost(account)
            fail(
                f"{len(account.hosts)} hosts would be given up",
                next_step="restore a backup of them if there is one; else add --yes",
                status=BAD_USAGE,
            )
        removed = removal.give_up(name, actor=actor()) if lost else removal.remove(name, actor=actor())
    if as_json:
        print_json(asdict(removed))
        return
    if removed.lost is not None:
        _tell_lost(removed.lost)
    typer.echo(f"Node {name} is no part of the fleet any more.")
    if removed.left_bytes is not None:
        typer.echo(
            f"Its database, {removed.database}, is left as it is ({removed.left_bytes:,} bytes): it has no hosts and"
            " nobody reads it. Drop it, or add it again under its name."
        )


@app.command()
def fill(name: Annotated[str, typer.Argument(help="Name of the node.")], demo: Demo = False) -> None:
    """Let a node that was drained take new hosts again."""
    from tierscope.cli.base.database import actor, open_database
    from tierscope.usecases.nodes.moves import Moves

    with open_database(Settings(), demo=demo) as database:
        Moves(database).fill(name, actor=actor())
    typer.echo(f"Node {name} takes new hosts.")


def _tell(moved: Moved) -> None:
    typer.echo(f"Moved {moved.hosts} hosts ({moved.rows:,} rows) to {moved.to}; {moved.left} to go.", err=True)


def _tell_unseen(names: tuple[str, ...]) -> None:
    if names:
        say(f"The disk of {', '.join(names)} is not seen from here: whether there was room was not checked.")


def _tell_lost(account: Account) -> None:
    until = f"{account.away_since:%Y-%m-%d %H:%M} UTC"
    for host in account.hosts:
        typer.echo(f"{host.public_id}  {host.name}  lost from {host.enrolled_at:%Y-%m-%d} to {until}")
    typer.echo(f"{len(account.hosts)} hosts are lost with node {account.name}, which is away since {until}.")


def _line(state: NodeState) -> str:
    head = f"{state.number}  {state.name}  "
    if state.problem is not None:
        since = "" if state.away_since is None else f" since {state.away_since:%Y-%m-%d %H:%M:%S} UTC"
        return f"{head}away{since}: {state.problem}"
    schema = f"revision {state.revision}" + ("" if state.current else ", not of this release: run `tierscope migrate`")
    return f"{head}{state.hosts} hosts{', takes no new ones' if state.draining else ''}  {state.storage}  {schema}"
