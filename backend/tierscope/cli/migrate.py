"""`tierscope migrate`: bring the database's schema to this release."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from tierscope.cli.exits import print_json
from tierscope.core.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(migrate)


def migrate(
    storage: Annotated[
        Literal["auto", "timescaledb", "native"] | None,
        typer.Option(help="How time tables are kept; decided once, with the first schema."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Bring the database to the newest revision; safe to run again and from several places at once."""
    from tierscope.cli.database import resolve_url
    from tierscope.storage.schema import upgrade

    settings = Settings()
    mode = upgrade(resolve_url(settings), storage=storage or settings.storage)
    if as_json:
        print_json({"storage": mode})
    else:
        typer.echo(f"The schema is up to date (storage: {mode}).")
