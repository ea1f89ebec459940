"""`tierscope analyze`: what a recording says, without a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from tierscope.cli.base.exits import BAD_USAGE, NOT_ENOUGH_DATA, fail, print_answer, say
from tierscope.cli.base.options import Demo
from tierscope.cli.base.source_tree import find_agent

if TYPE_CHECKING:
    from tierscope.usecases.recordings.damo_records import Exported
    from tierscope.usecases.recordings.snapshot_trees import MovesAnalysis

Kind = Literal["page-trace", "vmstat-dir", "damo-record"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(analyze)
    app.command()(export_damo)


def analyze(
    path: Annotated[
        Path,
        typer.Argument(
            help="A page trace (Parquet), a record of damo, or a snapshot tree: directory, .tar, .tar.gz, .tar.bz2, "
            ".tar.xz, .tar.zst or .zip."
        ),
    ],
    kind: Annotated[Kind | None, typer.Option(help="What PATH is; told by its content unless given.")] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Page traces: judge by a sample of pages and one access in so many.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Which sample is drawn, with --sample; default 0.")] = None,
    exclude_snapshots: Annotated[
        int | None, typer.Option(min=0, help="Records of damo: snapshots left out at the beginning; 20, as damo does.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON (docs/analyze-json.md).")] = False,
) -> None:
    """Analyse a recording.

    Heat, revisit and curve of a page trace; the working set of a record of damo, as `damo report wss` gives it; ledger
    and verdict of a snapshot tree.
    """
    if not path.exists():
        fail(f"{path} does not exist", next_step="name a page trace or a snapshot tree", status=BAD_USAGE)
    if seed is not None and sample is None:
        fail("--seed chooses a sample, and none is drawn", next_step="add --sample N", status=BAD_USAGE)
    kind = kind or _tell_kind(path)
    if kind != "page-trace" and sample is not None:
        fail("only page traces are sampled", next_step="leave --sample out", status=BAD_USAGE)
    if kind != "damo-record" and exclude_snapshots is not None:
        fail("only records of damo leave snapshots out", next_step="leave --exclude-snapshots out", status=BAD_USAGE)
    if kind == "page-trace":
        _analyze_trace(path, sample, seed or 0, as_json=as_json)
    elif kind == "damo-record":
        _analyze_damo(path, exclude_snapshots, as_json=as_json)
    else:
        _analyze_moves(path, as_json=as_json)


def export_damo(
    source: Annotated[
        str,
        typer.Argument(
            help="A file: a page trace (Parquet), or a record of damo in any form. Or a service: id, or namespace/name."
        ),
    ],
    target: Annotated[Path, typer.Argument(help="The file to write.")],
    *,
    host: Annotated[
        str | None, typer.Option(help="Of a service: name or id of the host; default: that with the most tiles.")
    ] = None,
    group: Annotated[str | None, typer.Option(help="Of a service: one process group alone; default: all.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="Of a service: start of the window.")] = None,
    to: Annotated[str | None, typer.Option(help="Of a service: end of the window.")] = None,
    demo: Demo = False,
    text: Annotated[bool, typer.Option("--text", help="Plain JSON; without it compressed with zlib.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write a recording, or stored tiles, in the JSON of `damo record`, for `damo report`: compressed, as damo does."""
    from dataclasses import asdict

    if Path(source).exists():
        if host or group or from_ or to or demo:
            fail(
                f"{source} is a file, and hosts, groups, windows and --demo are of stored tiles",
                next_step="leave them out, or name a service",
                status=BAD_USAGE,
            )
        from tierscope.usecases.recordings.damo_records import export_damo as export

        found = export(Path(source), target, compressed=not text)
    else:
        found = _export_tiles(source, target, host, group, from_, to, demo=demo, text=text)
    for note in found.notes:
        say(note)
    names = ", ".join(f"{number} ({name})" if name else str(number) for number, name in found.targets)
    print_answer(
        {"path": str(target), **asdict(found)}, f"{found.regions:,} regions of targets {names}", as_json=as_json
    )


def _export_tiles(
    source: str,
    target: Path,
    host: str | None,
    group: str | None,
    from_: str | None,
    to: str | None,
    *,
    demo: bool,
    text: bool,
) -> Exported:
    from tierscope.cli.base.database import open_fleet
    from tierscope.core.clock import utc_now
    from tierscope.core.errors import NotFound
    from tierscope.core.settings import Settings
    from tierscope.usecases.base.context import ReadContext
    from tierscope.usecases.base.subjects import host_named, service_named
    from tierscope.usecases.recordings.damo_records import Exported
    from tierscope.usecases.tiles.damo_records import TileRecordReads, write_records

    settings = Settings()
    with open_fleet(settings, demo=demo) as database:
        try:
            service = service_named(database, source)
        except NotFound:
            fail(
                f"{source} is neither a file nor a service",
                next_step="name a page trace, a record of damo, or a service as namespace/name",
                status=BAD_USAGE,
            )
        of_host = None if host is None else host_named(database, host)
        reads = TileRecordReads(ReadContext(database, utc_now, settings))
        found = reads.read(service, host=of_host, group=group, from_=from_, to=to)
    regions = write_records(found.records, target, compressed=not text)
    return Exported(found.targets, regions, (f"Tiles of {source} on {found.host}.", *found.notes))


def _tell_kind(path: Path) -> Kind:
    if path.is_dir():
        return "vmstat-dir"
    from tierscope.usecases.recordings.damo_records import tell_file

    told = tell_file(path)
    kinds: dict[str | None, Kind] = {kind: kind for kind in get_args(Kind)}
    kind = None if told is None else kinds.get(told.analyzed_as)
    if kind is None:
        what = "no page trace, no record of damo, no archive, and no other file that is known here"
        fail(
            f"{path} is {what if told is None else told.what}",
            next_step="name a recording, or a directory with proc or sys in it" if told is None else told.next_step,
            status=BAD_USAGE,
        )
    return kind


def _analyze_trace(path: Path, sample: int | None, seed: int, *, as_json: bool) -> None:
    from tierscope.cli.recordings.reports import describe_trace, trace_document
    from tierscope.usecases.recordings.page_traces import analyze_page_trace

    found = analyze_page_trace(path, one_in=sample, seed=seed)
    print_answer(trace_document(path, found), describe_trace(found), as_json=as_json)
    if not found.heat:
        say("The trace has no rows.")
        raise typer.Exit(NOT_ENOUGH_DATA)


def _analyze_damo(path: Path, excluded: int | None, *, as_json: bool) -> None:
    from tierscope.cli.recordings.damo_reports import damo_document, describe_damo
    from tierscope.usecases.recordings.damo_records import EXCLUDED_SNAPSHOTS, analyze_damo_record

    excluded = EXCLUDED_SNAPSHOTS if excluded is None else excluded
    found = analyze_damo_record(path, excluded=excluded)
    print_answer(damo_document(path, found, excluded), describe_damo(found, excluded), as_json=as_json)
    if all(target.working_set is None for target in found):
        say("Record for longer, or count the first snapshots too with --exclude-snapshots 0.")
        raise typer.Exit(NOT_ENOUGH_DATA)


def _analyze_moves(path: Path, *, as_json: bool) -> None:
    from tierscope.cli.recordings.reports import describe_moves, moves_document
    from tierscope.usecases.recordings.snapshot_trees import analyze_snapshots

    agent = find_agent()
    if agent is None:
        fail("the agent's program is not built", next_step="run `make agent`, or install a release")
    found: MovesAnalysis = analyze_snapshots(agent, path)
    print_answer(moves_document(path, found), describe_moves(found), as_json=as_json)
    if found.verdict.word == "not_known":
        raise typer.Exit(NOT_ENOUGH_DATA)
