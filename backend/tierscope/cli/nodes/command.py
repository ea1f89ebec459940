"""`tierscope nodes`: PostgreSQL servers that hold a fleet together."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tierscope.cli.base.exits import FAILED, print_json
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.usecases.nodes.changes import NodeState
    from tierscope.usecases.nodes.moves import Moved

app = typer.Typer(help="PostgreSQL servers that hold a fleet together.", no_args_is_help=True)

Demo = Annotated[bool, typer.Option("--demo", help="Use the demo instance.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


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
    if as_json:
        print_json(asdict(made))
    else:
        typer.echo(f"Node {made.name} (number {made.number}) is part of the fleet. New hosts go to the emptiest node.")


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
    if as_json:
        print_json(asdict(moved))
    else:
        typer.echo(f"Moved {moved.hosts} hosts ({moved.rows:,} rows) to {to}.")


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
    if as_json:
        print_json(asdict(drained))
    else:
        typer.echo(f"Moved {drained.hosts} hosts ({drained.rows:,} rows) away from {name}.")
        if drained.stay:
            typer.echo(f"Samples of Prometheus feed {', '.join(drained.stay)}: they stay on {name}.")
    if drained.stay:
        raise typer.Exit(FAILED)


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


def _line(state: NodeState) -> str:
    head = f"{state.number}  {state.name}  "
    if state.problem is not None:
        since = "" if state.away_since is None else f" since {state.away_since:%Y-%m-%d %H:%M:%S} UTC"
        return f"{head}away{since}: {state.problem}"
    schema = f"revision {state.revision}" + ("" if state.current else ", not of this release: run `tierscope migrate`")
    return f"{head}{state.hosts} hosts{', takes no new ones' if state.draining else ''}  {state.storage}  {schema}"
