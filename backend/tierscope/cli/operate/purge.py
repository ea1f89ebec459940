"""`tierscope purge`: remove all data of a host or a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tierscope.cli.base.exits import print_answer, rows_text
from tierscope.cli.base.options import AsJson, Demo

if TYPE_CHECKING:
    from tierscope_client import models

app = typer.Typer(help="Remove all data of a host or a service. There is no way back.", no_args_is_help=True)

Confirm = Annotated[str, typer.Option(help="Its name, to be sure.")]


@app.command()
def host(
    host_id: Annotated[str, typer.Argument(help="Host id.")],
    confirm: Confirm,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """End a host's credential at once and ask the workers to remove its data."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        _show(client.purge_host(host_id, {"confirm": confirm}), as_json=as_json)


@app.command()
def service(
    service_id: Annotated[str, typer.Argument(help="Service id.")],
    confirm: Confirm,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Ask the workers to remove a service's data; `--confirm` is `namespace/name`."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        _show(client.purge_service(service_id, {"confirm": confirm}), as_json=as_json)


@app.command("list")
def list_purges(demo: Demo = False, as_json: AsJson = False) -> None:
    """List the newest jobs with what they removed."""
    from tierscope.cli.base.service import open_service

    with open_service(demo=demo) as client:
        page = client.list_purges(limit=20)
    print_answer(page, rows_text(page["items"], _line, none="Nothing was purged."), as_json=as_json)


def _show(job: models.Purge, *, as_json: bool) -> None:
    print_answer(job, f"{_line(job)}\nA worker does the rest; look at it with `tierscope purge list`.", as_json=as_json)


def _line(job: models.Purge) -> str:
    rows = sum(line["rows"] for line in job["report"])
    state = job["status"] if job["error"] is None else f"{job['status']}, last try: {job['error']}"
    return f"{job['id']}  {job['kind']} {job['subject']['name']}  {job['progress_ratio']:.0%}  {rows} rows  {state}"
