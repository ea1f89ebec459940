"""`tierscope migrate`: bring the database's schema to this release."""

from typing import Annotated, Literal

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail, print_answer
from tierscope.cli.base.options import AsJson
from tierscope.core.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(migrate)


def migrate(
    storage: Annotated[
        Literal["auto", "timescaledb", "native"] | None,
        typer.Option(help="How time tables are kept; decided once, with the first schema."),
    ] = None,
    down_to: Annotated[
        str | None, typer.Option(help="Take it back to this older revision instead; what came later is lost.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Really take it back.")] = False,
    as_json: AsJson = False,
) -> None:
    """Bring the database to the newest revision; safe to run again and from several places at once."""
    from tierscope.cli.base.database import resolve_url
    from tierscope.usecases.nodes.changes import take_back, upgrade_all

    settings = Settings()
    if down_to is not None:
        if not yes:
            fail(
                f"what revisions after {down_to} store would be lost",
                next_step="stop the service, make a backup (`tierscope backup FILE`), then add --yes",
                status=BAD_USAGE,
            )
        take_back(resolve_url(settings), down_to)
        print_answer({"revision": down_to}, f"The schema is at revision {down_to}.", as_json=as_json)
        return
    mode = upgrade_all(resolve_url(settings), storage=storage or settings.storage)
    print_answer({"storage": mode}, f"The schema is up to date (storage: {mode}).", as_json=as_json)
