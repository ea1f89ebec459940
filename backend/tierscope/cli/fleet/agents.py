"""`tierscope agents`: the kill switch of the fleet's agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail, print_answer, rows_text
from tierscope.cli.base.options import AsJson, Demo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tierscope_client import models

app = typer.Typer(help="Pause the fleet's agents, and let them go on.", no_args_is_help=True)

Host = Annotated[str | None, typer.Option(help="Host id.")]
All = Annotated[bool, typer.Option("--all", help="Every host.")]
HeatOnly = Annotated[bool, typer.Option("--heat-only", help="Heat alone; counters go on.")]


@app.command()
def pause(
    host: Host = None, every: All = False, heat_only: HeatOnly = False, demo: Demo = False, as_json: AsJson = False
) -> None:
    """Ask agents to collect and send nothing. They obey within minutes; what they have spooled stays on the host."""
    _switch("pause", host, every=every, heat_only=heat_only, demo=demo, as_json=as_json)


@app.command()
def resume(
    host: Host = None, every: All = False, heat_only: HeatOnly = False, demo: Demo = False, as_json: AsJson = False
) -> None:
    """End pauses: those of one host, or all of them."""
    _switch("resume", host, every=every, heat_only=heat_only, demo=demo, as_json=as_json)


@app.command("pauses")
def list_pauses(demo: Demo = False, as_json: AsJson = False) -> None:
    """List the pauses that hold."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        rows = client.list_pauses()
    print_answer(rows, _text(rows), as_json=as_json)


def _switch(verb: str, host: str | None, *, every: bool, heat_only: bool, demo: bool, as_json: bool) -> None:
    from tierscope.cli.base.service import open_service

    if (host is None) != every:
        fail("name one host or all of them", next_step="add --host HOST_ID or --all", status=BAD_USAGE)
    with open_service(demo=demo) as client:
        turn = client.pause if verb == "pause" else client.resume
        done = turn({"host_id": host, "heat_only": heat_only})
    unchanged = "" if done["changed"] else "Nothing changed.\n"
    print_answer(done, f"{unchanged}{_text(done['pauses'])}", as_json=as_json)


def _text(rows: Sequence[models.Pause]) -> str:
    return rows_text(rows, _line, none="No agent is paused.")


def _line(row: models.Pause) -> str:
    what = "everything" if row["scope"] == "all" else "heat"
    since = row["since"][:16].replace("T", " ")
    return f"{row['host_id'] or 'every host':18}  {what:10}  since {since} UTC  {row['actor']}"
