"""`tierscope event`: mark a deploy or another change on the charts."""

from datetime import datetime
from typing import Annotated, Literal

import typer

from tierscope.cli.base.exits import print_answer
from tierscope.cli.base.options import AsJson, Demo


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
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Mark a deploy or another change; it shows on the charts."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        row = client.create_event({"kind": kind, "text": text, "at": at, "host_id": host, "service_id": service})
    print_answer(
        row, f"Marked '{row['text']}' at {datetime.fromisoformat(row['at']):%Y-%m-%d %H:%M:%S %Z}.", as_json=as_json
    )
