"""`tierscope agents`: the kill switch of the fleet's agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail, print_json
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tierscope.usecases.fleet.agent_plans import Pause, SwitchAnswer

app = typer.Typer(help="Pause the fleet's agents, and let them go on.", no_args_is_help=True)

Host = Annotated[str | None, typer.Option(help="Host id.")]
All = Annotated[bool, typer.Option("--all", help="Every host.")]
HeatOnly = Annotated[bool, typer.Option("--heat-only", help="Heat alone; counters go on.")]
Demo = Annotated[bool, typer.Option("--demo", help="Use the demo instance.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


@app.command()
def pause(
    host: Host = None, every: All = False, heat_only: HeatOnly = False, demo: Demo = False, as_json: AsJson = False
) -> None:
    """Ask agents to collect and send nothing. They obey within minutes; what they have spooled stays on the host."""
    _switch("pause", _subject(host, every=every), heat_only=heat_only, demo=demo, as_json=as_json)


@app.command()
def resume(
    host: Host = None, every: All = False, heat_only: HeatOnly = False, demo: Demo = False, as_json: AsJson = False
) -> None:
    """End pauses: those of one host, or all of them."""
    _switch("resume", _subject(host, every=every), heat_only=heat_only, demo=demo, as_json=as_json)


@app.command("pauses")
def list_pauses(demo: Demo = False, as_json: AsJson = False) -> None:
    """List the pauses that hold."""
    from tierscope.cli.base.database import open_fleet
    from tierscope.usecases.fleet.agent_plans import AgentPlans

    with open_fleet(Settings(), demo=demo) as database:
        rows = AgentPlans(database).pauses()
    if as_json:
        print_json([_document(row) for row in rows])
    else:
        _show(rows)


def _subject(host: str | None, *, every: bool) -> str | None:
    if (host is None) != every:
        fail("name one host or all of them", next_step="add --host HOST_ID or --all", status=BAD_USAGE)
    return host


def _switch(verb: str, host: str | None, *, heat_only: bool, demo: bool, as_json: bool) -> None:
    from tierscope.cli.base.database import actor, open_fleet
    from tierscope.usecases.fleet.agent_plans import AgentPlans

    with open_fleet(Settings(), demo=demo) as database:
        plans = AgentPlans(database)
        turn = plans.pause if verb == "pause" else plans.resume
        done: SwitchAnswer = turn(host, heat_only=heat_only, actor=actor())
    if as_json:
        print_json({"changed": done.changed, "pauses": [_document(row) for row in done.pauses]})
        return
    if done.changed == 0:
        typer.echo("Nothing changed.")
    _show(done.pauses)


def _document(row: Pause) -> dict[str, object]:
    return {"host_id": row.host_id, "scope": row.scope, "since": row.since.isoformat(), "actor": row.actor}


def _show(rows: Sequence[Pause]) -> None:
    if not rows:
        typer.echo("No agent is paused.")
    for row in rows:
        what = "everything" if row.scope == "all" else "heat"
        typer.echo(f"{row.host_id or 'every host':18}  {what:10}  since {row.since:%Y-%m-%d %H:%M} UTC  {row.actor}")
