"""`tierscope purge`: remove all data of a host or a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tierscope.cli.base.exits import print_json
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.storage.operate.purges import PurgeKind
    from tierscope.usecases.operate.purges import Purge

app = typer.Typer(help="Remove all data of a host or a service. There is no way back.", no_args_is_help=True)

Confirm = Annotated[str, typer.Option(help="Its name, to be sure.")]
Demo = Annotated[bool, typer.Option("--demo", help="Use the demo instance.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


@app.command()
def host(
    host_id: Annotated[str, typer.Argument(help="Host id.")],
    confirm: Confirm,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """End a host's credential at once and ask the workers to remove its data."""
    _start("host", host_id, confirm, demo=demo, as_json=as_json)


@app.command()
def service(
    service_id: Annotated[str, typer.Argument(help="Service id.")],
    confirm: Confirm,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Ask the workers to remove a service's data; `--confirm` is `namespace/name`."""
    _start("service", service_id, confirm, demo=demo, as_json=as_json)


@app.command("list")
def list_purges(demo: Demo = False, as_json: AsJson = False) -> None:
    """List the newest jobs with what they removed."""
    from tierscope.cli.base.database import open_database
    from tierscope.usecases.operate.purges import Purges

    with open_database(Settings(), demo=demo) as database:
        page = Purges(database).list(limit=20, cursor=None)
    if as_json:
        print_json(_document(page))
        return
    if not page.items:
        typer.echo("Nothing was purged.")
    for job in page.items:
        _show(job)


def _start(kind: PurgeKind, public_id: str, confirm: str, *, demo: bool, as_json: bool) -> None:
    from tierscope.cli.base.database import actor, open_database
    from tierscope.usecases.operate.purges import Purges

    with open_database(Settings(), demo=demo) as database:
        job = Purges(database).start(kind, public_id, confirm=confirm, actor=actor())
    if as_json:
        print_json(_document(job))
    else:
        _show(job)
        typer.echo("A worker does the rest; look at it with `tierscope purge list`.")


def _show(job: Purge) -> None:
    rows = sum(line.rows for line in job.report)
    state = job.status if job.error is None else f"{job.status}, last try: {job.error}"
    typer.echo(f"{job.id}  {job.kind} {job.subject.name}  {job.progress_ratio:.0%}  {rows} rows  {state}")


def _document(view: object) -> Any:  # noqa: ANN401 - whatever JSON can hold
    from pydantic import TypeAdapter

    return TypeAdapter(type(view)).dump_python(view, mode="json")
