"""`tierscope event`: mark a deploy or another change on the charts."""

from datetime import datetime
from typing import Annotated, Literal

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail, print_json
from tierscope.core.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(event)


def event(
    text: Annotated[str, typer.Argument(help="What happened.")],
    kind: Annotated[
        Literal["deploy", "knob", "capacity", "note", "incident"], typer.Option(help="What sort of change.")
    ] = "deploy",
    service: Annotated[str | None, typer.Option(help="Service id.")] = None,
    host: Annotated[str | None, typer.Option(help="Host id.")] = None,
    at: Annotated[str | None, typer.Option(help="ISO time with zone; absent = now.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Use the demo instance.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Mark a deploy or another change; it shows on the charts."""
    from tierscope.cli.base.database import actor, open_database
    from tierscope.usecases.fleet.events import EventRequest, Events

    new = EventRequest(kind=kind, text=text, at=_parse_time(at), host_id=host, service_id=service)
    with open_database(Settings(), demo=demo) as database:
        row = Events(database).create(new, actor=actor(), idempotency_key=None)
    if as_json:
        print_json({"id": str(row.id), "at": row.at.isoformat(), "kind": row.kind, "text": row.text})
    else:
        typer.echo(f"Marked '{row.text}' at {row.at:%Y-%m-%d %H:%M:%S %Z}.")


def _parse_time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        fail(f"'{text}' is not an ISO time", next_step="write for example 2026-11-21T14:00:00Z", status=BAD_USAGE)
