"""`tierscope hosts`: labels of many hosts from a CSV file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tierscope.cli.base.exits import FAILED, print_json, say
from tierscope.cli.base.options import AsJson, Demo

if TYPE_CHECKING:
    from tierscope_client import models

app = typer.Typer(help="Labels of hosts.", no_args_is_help=True)


@app.callback()
def hosts() -> None:
    """Labels of hosts."""


@app.command()
def labels(
    file: Annotated[Path, typer.Argument(help="CSV: `host,<label>,...`, then a row per host.", exists=True)],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")] = False,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Set labels of the hosts that a file names by id or name; exit with 1 when a row could not be used."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        done = client.upload_host_labels(file.read_bytes(), dry_run=dry_run)
    if as_json:
        print_json(done)
    else:
        _show(done)
    if done["unknown"] or done["problems"]:
        raise typer.Exit(FAILED)


def _show(done: models.LabelUpload) -> None:
    for change in done["changed"]:
        before, after = change["before"], change["after"]
        keys = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
        parts = ", ".join(f"{key}={before.get(key, '')}->{after.get(key, '')}" for key in keys)
        typer.echo(f"{change['host_id']:18}  {change['name']:24}  {parts}")
    for problem in done["problems"]:
        say(f"row {problem['row']}: {problem['message']}")
    if done["unknown"]:
        say(f"unknown hosts: {', '.join(done['unknown'])}")
    verb = "would change" if done["dry_run"] else "changed"
    typer.echo(f"{done['rows']} rows read, {len(done['changed'])} hosts {verb}.")
