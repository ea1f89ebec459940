"""`tierscope import sysstat`, `pcp` and `collectl`: take over what a host recorded before anything of ours ran."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from tierscope.cli.base.exits import BAD_USAGE, NOT_ENOUGH_DATA, fail, print_json, say
from tierscope.cli.base.options import AsJson, Demo
from tierscope.cli.ingest.prometheus_history import read_labels
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tierscope.domain.ingest.history.recorded import Recorded
    from tierscope.usecases.ingest.recorded_history import Stored

Host = Annotated[str | None, typer.Option(help="Name of the host; default what the recording says.")]
Zone = Annotated[str | None, typer.Option("--timezone", help="Zone of times that name none, such as Europe/Berlin.")]
Label = Annotated[list[str] | None, typer.Option(help="A label to add, name=value, such as cluster=east.")]


def register(import_app: typer.Typer) -> None:
    """Add the commands."""
    import_app.command("sysstat")(import_sysstat)
    import_app.command("pcp")(import_pcp)
    import_app.command("collectl")(import_collectl)


def import_sysstat(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Files sa*, packed or not, directories or archives of them, or output of `sadf -j`."),
    ],
    host: Host = None,
    timezone: Zone = None,
    label: Label = None,
    *,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Take over the history of a host that sysstat recorded: paging, tier moves (12.7 and later), memory, pressure."""
    from tierscope.usecases.ingest.recorded_history import read_sysstat

    zone = _zone(timezone)
    recorded = [one for path in _there(paths) for one in read_sysstat(path, zone)]
    _store(recorded, host, label, demo=demo, as_json=as_json)


def import_pcp(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Archives of pmlogger (name, or any file), directories or tars of them, tables of `pmrep -o csv`."
        ),
    ],
    host: Host = None,
    timezone: Zone = None,
    label: Label = None,
    *,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Take over the history of a host that Performance Co-Pilot recorded."""
    from tierscope.usecases.ingest.recorded_history import read_pcp

    zone = _zone(timezone)
    recorded = [one for path in paths for one in read_pcp(path, host, zone)]
    _store(recorded, host, label, demo=demo, as_json=as_json)


def import_collectl(
    paths: Annotated[
        list[Path], typer.Argument(help="Files *.raw.gz, packed or not, or directories or archives of them.")
    ],
    host: Host = None,
    label: Label = None,
    *,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Take over the history of a host that collectl recorded: tier moves, refaults, memory, by node with -s+M."""
    from tierscope.usecases.ingest.recorded_history import read_collectl

    recorded = [one for path in _there(paths) for one in read_collectl(path)]
    _store(recorded, host, label, demo=demo, as_json=as_json)


def _zone(name: str | None) -> ZoneInfo | None:
    try:
        return None if name is None else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        fail(f"'{name}' is no time zone", next_step="write one such as Europe/Berlin or UTC", status=BAD_USAGE)


def _there(paths: Sequence[Path]) -> Sequence[Path]:
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        fail(f"{missing} does not exist", next_step="name files or a directory", status=BAD_USAGE)
    return paths


def _store(
    recorded: Sequence[Recorded], host: str | None, label: list[str] | None, *, demo: bool, as_json: bool
) -> None:
    from tierscope.cli.base.database import open_database
    from tierscope.usecases.ingest.recorded_history import store_recorded
    from tierscope.usecases.ingest.remote_write import RemoteWrite

    settings = Settings()
    labels = read_labels(label or [])
    for one in recorded:
        one.host = host or one.host
    with open_database(settings, demo=demo) as database:

        async def run() -> Stored:
            writer = RemoteWrite(database.own_rows, settings=settings.remote_write)
            try:
                return await store_recorded(writer, recorded, labels)
            finally:
                await writer.stop()

        stored = asyncio.run(run())
    if as_json:
        hosts = [{"host": one.host, "program": one.program, "notes": one.notes} for one in recorded]
        print_json({"samples": stored.samples, "left_out": sum(stored.left_out.values()), "recordings": hosts})
    else:
        for one in recorded:
            typer.echo(f"{one.host}: {one.program}, {one.span()}")
        for note in dict.fromkeys(f"{one.host}: {note}" for one in recorded for note in one.notes):
            say(note)
        left_out = "".join(f", {n} left out: {reason}" for reason, n in stored.left_out.items())
        typer.echo(f"{stored.samples} samples are stored{left_out}. Workers build what `assess --host` answers from.")
    if not stored.samples:
        raise typer.Exit(NOT_ENOUGH_DATA)
