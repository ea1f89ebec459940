"""`tierscope openapi`: the API's description."""

import typer

from tierscope.cli.base.exits import print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(openapi)


def openapi() -> None:
    """Print the OpenAPI document of this release as JSON."""
    from tierscope.api.app import build_openapi

    print_json(build_openapi())
