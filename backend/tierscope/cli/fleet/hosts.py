"""`tierscope hosts`: labels of many hosts from a CSV file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tierscope.cli.base.exits import FAILED, print_json
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.usecases.fleet.labels import LabelUpload

app = typer.Typer(help="Labels of hosts.", no_args_is_help=True)


@app.callback()
def hosts() -> None:
    """Labels of hosts."""


@app.command()
def labels(
    file: Annotated[Path, typer.Argument(help="CSV: `host,<label>,...`, then a row per host.", exists=True)],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Use the demo instance.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Set labels of the hosts that a file names by id or name; exit with 1 when a row could not be used."""
    from tierscope.cli.base.database import actor, open_fleet
    from tierscope.usecases.fleet.labels import Labels

    with open_fleet(Settings(), demo=demo) as database:
        done = Labels(database).upload(file.read_bytes(), dry_run=dry_run, actor=actor())
    if as_json:
        print_json(_document(done))
    else:
        _show(done)
    if done.unknown or done.problems:
        raise typer.Exit(FAILED)


def _show(done: LabelUpload) -> None:
    for change in done.changed:
        keys = sorted(change.before.keys() | change.after.keys())
        parts = [
            f"{key}={change.before.get(key, '')}->{change.after.get(key, '')}"
            for key in keys
            if change.before.get(key) != change.after.get(key)
        ]
        typer.echo(f"{change.host_id:18}  {change.name:24}  {', '.join(parts)}")
    for problem in done.problems:
        typer.echo(f"row {problem.row}: {problem.message}", err=True)
    if done.unknown:
        typer.echo(f"unknown hosts: {', '.join(done.unknown)}", err=True)
    verb = "would change" if done.dry_run else "changed"
    typer.echo(f"{done.rows} rows read, {len(done.changed)} hosts {verb}.")


def _document(view: object) -> Any:  # noqa: ANN401 - whatever JSON can hold
    from pydantic import TypeAdapter

    return TypeAdapter(type(view)).dump_python(view, mode="json")
