"""`tierscope config`: the settings in force, without secrets."""

import typer

from tierscope.cli.base.exits import print_json
from tierscope.cli.base.options import AsJson
from tierscope.core.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(config)


def config(as_json: AsJson = False) -> None:
    """Print the settings in force: arguments over TIERSCOPE_* over the file over defaults. Secrets show as stars."""
    document = Settings().model_dump(mode="json")
    if as_json:
        print_json(document)
        return
    for name, value in _flatten(document):
        typer.echo(f"{name} = {value}")


def _flatten(document: dict[str, object], prefix: str = "") -> list[tuple[str, object]]:
    lines: list[tuple[str, object]] = []
    for name, value in document.items():
        if isinstance(value, dict):
            lines += _flatten(value, f"{prefix}{name}.")
        else:
            lines.append((f"{prefix}{name}", "" if value is None else value))
    return lines
