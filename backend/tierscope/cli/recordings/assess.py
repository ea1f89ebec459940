"""`tierscope assess`: whether hosts are ready for tiering, as the agent's program judges; or others recorded."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail, print_answer, say
from tierscope.cli.base.source_tree import find_agent

if TYPE_CHECKING:
    from tierscope.domain.base.figures import Figure
    from tierscope.usecases.ledger.recorded import RecordedHost


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(assess)


def assess(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH...", help="Snapshots, recordings, what `tierscope-agent once --json` printed, or a directory."
        ),
    ] = None,
    root: Annotated[Path, typer.Option(metavar="DIR", help="Directory that stands for / of the host.")] = Path("/"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON (docs/agent-json.md).")] = False,
    require_ready: Annotated[
        bool, typer.Option("--require-ready", help="End with status 4 unless every host is ready.")
    ] = False,
    host: Annotated[
        str | None, typer.Option(help="A host that other programs report, or whose history was imported: id or name.")
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="With --host: use the demo instance.")] = False,
) -> None:
    """Say whether this host, or each host of an export, is ready for memory tiering, and what it would gain."""
    if host is not None:
        if paths or require_ready or root != Path("/"):
            fail(
                "--host asks what was imported or sent of a host, which is no reading and never says that it is ready",
                next_step="leave out paths, --root and --require-ready",
                status=BAD_USAGE,
            )
        _assess_recorded(host, demo=demo, as_json=as_json)
        return
    agent = find_agent()
    if agent is None:
        fail("the agent's program is not built", next_step="run `make agent`, or install a release")
    options = [*(["--json"] if as_json else []), *(["--require-ready"] if require_ready else [])]
    subject = [str(path) for path in paths or ()] or ["--root", str(root)]
    try:
        done = subprocess.run([str(agent), "assess", *options, *subject], capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        fail(f"{agent} cannot be run: {error.strerror}", next_step="run `make agent`, or install a release")
    typer.echo(done.stdout, nl=False)
    if done.stderr:
        say(done.stderr.rstrip())
    raise typer.Exit(done.returncode)


def _assess_recorded(name: str, *, demo: bool, as_json: bool) -> None:
    from dataclasses import asdict

    from tierscope.cli.base.database import open_fleet
    from tierscope.core.clock import utc_now
    from tierscope.core.settings import Settings
    from tierscope.usecases.base.context import ReadContext
    from tierscope.usecases.base.subjects import host_named
    from tierscope.usecases.ledger.recorded import assess_recorded

    settings = Settings()
    with open_fleet(settings, demo=demo) as database:
        found = assess_recorded(ReadContext(database, utc_now, settings), host_named(database, name))
    print_answer({"schema": "tierscope.assess-recorded/1", **asdict(found)}, _describe(found), as_json=as_json)


def _describe(found: RecordedHost) -> str:
    from tierscope.domain.base.words import counted, number_text

    first, last = found.window.start, found.window.end
    asked = (last.date() - first.date()).days
    lines = [
        f"{found.name}: {found.explanation}",
        f"by {', '.join(found.senders)}: {counted(len(found.days), 'day')} with counters in the last {asked}",
    ]
    for day in found.days:
        moved = ((day.promoted_pages, "promoted"), (day.demoted_pages, "demoted"))
        words = ", ".join(f"{number_text(pages, 9)} pages {how}" for pages, how in moved if pages is not None)
        lines.append(f"  {day.day}  {day.observed_seconds / 3600:4.1f} h  {words or 'tier moves did not come'}")
    for state in ("given", "bounded", "not_enough_data", "not_collected", "not_supported"):
        those = [one for one in found.figures if one.state == state]
        lines += ["", state.replace("_", " ")] if those else []
        if state in ("given", "bounded"):
            lines += [f"  {one.label}: {_text(one.figure)}{f'  ({one.note})' if one.note else ''}" for one in those]
        else:
            for note in dict.fromkeys(one.note for one in those):
                lines.append(f"  {'; '.join(one.label for one in those if one.note == note)}: {note}")
    if found.next_step:
        lines += ["", f"next: {found.next_step}"]
    return "\n".join(lines)


def _text(figure: Figure) -> str:
    from tierscope.domain.base.words import bytes_text, number_text, percent_text

    def show(value: float) -> str:
        if figure.unit == "bytes":
            return bytes_text(value)
        if figure.unit == "us_per_s":
            return f"{percent_text(value / 1e6)} of the time"
        return f"{number_text(value)} {figure.unit.replace('_per_s', '/s')}"

    if figure.interval is not None:
        return f"{show(figure.interval.lo)} to {show(figure.interval.hi)}"
    return "" if figure.value is None else show(figure.value)
