"""`tierscope recommend`: how small DRAM can be for a service at a stated loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tierscope.cli.base.exits import BAD_USAGE, NOT_ENOUGH_DATA, fail, print_json
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.usecases.ratio.answers import Ratio

MOST_LOSS = 0.5


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(recommend)


def recommend(
    service: Annotated[str, typer.Option(help="Service id, or namespace/name.")],
    loss_target: Annotated[float, typer.Option(help="Largest loss of throughput wanted, such as 0.01.")] = 0.05,
    stressed: Annotated[bool, typer.Option("--stressed", help="Accept less DRAM than the hot bytes.")] = False,
    growth: Annotated[float, typer.Option(help="Growth of memory that DRAM must bear, such as 0.2.")] = 0.0,
    to: Annotated[str | None, typer.Option(help="End of the eight days that are read; absent = now.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Use the demo instance.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON (docs/recommend-json.md).")] = False,
) -> None:
    """Advise the smallest DRAM:CXL ratio of a service that keeps a loss target, or say what is missing."""
    if not 0.0 < loss_target <= MOST_LOSS or not 0.0 <= growth <= MOST_LOSS:
        fail(
            "a loss target is above 0 and at most 0.5, growth is at least 0 and at most 0.5",
            next_step="write 5 % as 0.05",
            status=BAD_USAGE,
        )
    from tierscope.cli.ratio.reports import describe_ratio

    view = _ask(service, loss_target, stressed=stressed, growth=growth, to=to, demo=demo)
    if as_json:
        print_json(_document(view))
    else:
        typer.echo(describe_ratio(view))
    if view.answer == "refused":
        raise typer.Exit(NOT_ENOUGH_DATA)


def _ask(service: str, loss_target: float, *, stressed: bool, growth: float, to: str | None, demo: bool) -> Ratio:
    from tierscope.cli.base.database import open_database
    from tierscope.core.clock import utc_now
    from tierscope.usecases.base.context import ReadContext
    from tierscope.usecases.ratio.reads import RatioReads, find_by_name

    settings = Settings()
    with open_database(settings, demo=demo) as database:
        reads = RatioReads(ReadContext(database, utc_now, settings))
        found = find_by_name(database, service)
        return reads.service(found, loss_target=loss_target, stressed=stressed, growth=growth, from_=None, to=to)


def _document(view: Ratio) -> Any:  # noqa: ANN401 - JSON
    """The answer as the API gives it."""
    from pydantic import TypeAdapter

    from tierscope.usecases.ratio.answers import Ratio

    return TypeAdapter(Ratio).dump_python(view, mode="json")
