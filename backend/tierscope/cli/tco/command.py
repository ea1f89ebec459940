"""`tierscope tco`: what a scenario of cost comes to, without a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tierscope.cli.base.exits import BAD_USAGE, NOT_ENOUGH_DATA, fail, print_json, say

if TYPE_CHECKING:
    from tierscope.usecases.tco.answers import TcoAnswer
    from tierscope.usecases.tco.scenario_documents import ScenarioDocument

SCHEMA = "tierscope.tco/1"
FEWEST_DRAWS = 100
MOST_DRAWS = 100_000


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(tco)


def tco(
    path: Annotated[Path, typer.Argument(help="A scenario (YAML).")],
    *,
    sheet: Annotated[
        Path | None, typer.Option(help="Write a workbook (xlsx) in which every total is a formula.")
    ] = None,
    draws: Annotated[int, typer.Option(min=FEWEST_DRAWS, max=MOST_DRAWS, help="Random draws.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON (docs/tco-json.md).")] = False,
) -> None:
    """Cost a scenario: hosts with several tiers of memory against those of today. Needs no database.

    Prices are those of the file; there is no default for DRAM. Losses are numbers or workloads: advice and sweeps are
    known to the service alone.
    """
    from tierscope.cli.tco.reports import describe_missing, describe_tco
    from tierscope.core.clock import utc_now
    from tierscope.core.errors import Unprocessable
    from tierscope.usecases.tco.reads import MOST_SHEET_DRAWS, cost_document, sheet_of

    document = _read(path)
    if sheet is not None and draws > MOST_SHEET_DRAWS:
        fail(f"a workbook holds at most {MOST_SHEET_DRAWS} draws", next_step="use fewer", status=BAD_USAGE)
    try:
        costed = cost_document(document, {}, None, draws=draws, seed=seed, today=utc_now().date())
    except Unprocessable as error:
        fail(error.detail, next_step=error.next_step, status=BAD_USAGE)
    if as_json:
        print_json(_document(costed.view))
    elif not costed.view.missing:
        typer.echo(describe_tco(costed.view))
    if costed.view.missing:
        say(describe_missing(costed.view))
        raise typer.Exit(NOT_ENOUGH_DATA)
    if sheet is not None:
        _write(sheet, sheet_of(costed))


def _read(path: Path) -> ScenarioDocument:
    from tierscope.core.errors import UnreadableScenario
    from tierscope.usecases.tco.scenario_files import MAX_CHARACTERS, read_scenario

    try:
        if path.stat().st_size > 4 * MAX_CHARACTERS:
            fail(f"{path} is too large for a scenario", next_step="name a scenario (YAML)", status=BAD_USAGE)
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{path} cannot be read: {error}", next_step="name a scenario (YAML)", status=BAD_USAGE)
    try:
        return read_scenario(text)
    except UnreadableScenario as error:
        for fault in error.faults:
            say(f"error: {path}: {fault}")
        say(f"next:  {error.next_step}")
        raise typer.Exit(BAD_USAGE) from error


def _write(path: Path, workbook: bytes) -> None:
    try:
        path.write_bytes(workbook)
    except OSError as error:
        fail(f"{path} cannot be written: {error}", next_step="name a file in a directory that is there")
    say(f"wrote {path}")


def _document(view: TcoAnswer) -> dict[str, Any]:
    """The answer as the API gives it, with the name of its form."""
    from pydantic import TypeAdapter

    from tierscope.usecases.tco.answers import TcoAnswer

    return {"schema": SCHEMA, **TypeAdapter(TcoAnswer).dump_python(view, mode="json")}
