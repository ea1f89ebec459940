"""`tierscope recommend`: how small DRAM can be at a stated loss, for a service or a recorded page trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tierscope.cli.base.exits import BAD_USAGE, NOT_ENOUGH_DATA, fail, print_json
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.core.database import Database
    from tierscope.domain.simulate import PolicyName
    from tierscope.usecases.ratio.answers import Ratio

MOST_LOSS = 0.5


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(recommend)


def recommend(
    path: Annotated[
        Path | None, typer.Argument(help="A page trace (Parquet), in place of a service; needs no database.")
    ] = None,
    *,
    service: Annotated[str | None, typer.Option(help="Service id, or namespace/name.")] = None,
    loss_target: Annotated[float, typer.Option(help="Largest loss of throughput wanted, such as 0.01.")] = 0.05,
    hold_hot: Annotated[bool, typer.Option("--hold-hot", help="DRAM must hold 1.1 times the hot bytes.")] = False,
    growth: Annotated[float, typer.Option(help="Growth of memory that DRAM must bear, such as 0.2.")] = 0.0,
    policy: Annotated[
        str | None,
        typer.Option(help="Placement policy where no host setting tells it; default: numa_balancing 2 and demotion."),
    ] = None,
    to: Annotated[str | None, typer.Option(help="End of the eight days that are read; absent = now.")] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="First replay its page samples, unless that was done of late.")
    ] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Use the demo instance.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON (docs/recommend-json.md).")] = False,
) -> None:
    """Say which DRAM:CXL ratio keeps a loss target, for a service or a page trace, and what would firm that up."""
    if not 0.0 < loss_target <= MOST_LOSS or not 0.0 <= growth <= MOST_LOSS:
        fail(
            "a loss target is above 0 and at most 0.5, growth is at least 0 and at most 0.5",
            next_step="write 5 % as 0.05",
            status=BAD_USAGE,
        )
    from tierscope.cli.ratio.reports import describe_ratio

    if (path is None) == (service is None):
        fail("say whose ratio it is, once", next_step="name --service X, or a page trace", status=BAD_USAGE)
    asked = _policy(policy)
    if service is not None:
        view = _ask(
            service, loss_target, hold_hot=hold_hot, growth=growth, policy=asked, to=to, replay=replay, demo=demo
        )
    else:
        assert path is not None
        view = _of_trace(path, loss_target, hold_hot=hold_hot, growth=growth, policy=asked)
    if as_json:
        print_json(_document(view))
    else:
        typer.echo(describe_ratio(view))
    if view.answer == "refused":
        raise typer.Exit(NOT_ENOUGH_DATA)


def _policy(name: str | None) -> PolicyName | None:
    """A policy that a kernel runs over two tiers."""
    from tierscope.domain.knobs.policy import askable_policies

    known = {str(policy): policy for policy in askable_policies()}
    if name is not None and name not in known:
        fail(f"{name} is no policy of two tiers", next_step=f"name one of {', '.join(known)}", status=BAD_USAGE)
    return None if name is None else known[name]


def _ask(
    service: str,
    loss_target: float,
    *,
    hold_hot: bool,
    growth: float,
    policy: PolicyName | None,
    to: str | None,
    replay: bool,
    demo: bool,
) -> Ratio:
    from functools import partial

    from tierscope.cli.base.database import open_fleet
    from tierscope.core.clock import utc_now
    from tierscope.usecases.base.context import ReadContext
    from tierscope.usecases.base.subjects import service_named
    from tierscope.usecases.ratio.placement import read_replayed
    from tierscope.usecases.ratio.reads import RatioReads

    settings = Settings()
    with open_fleet(settings, demo=demo) as database:
        reads = RatioReads(ReadContext(database, utc_now, settings), partial(read_replayed, asked=policy))
        found = service_named(database, service)
        if replay:
            _replay(database, found, policy)
        return reads.service(found, loss_target=loss_target, hold_hot=hold_hot, growth=growth, from_=None, to=to)


def _of_trace(path: Path, loss_target: float, *, hold_hot: bool, growth: float, policy: PolicyName | None) -> Ratio:
    from tierscope.core.clock import utc_now
    from tierscope.core.errors import Unprocessable
    from tierscope.usecases.ratio.inputs import RatioQuery
    from tierscope.usecases.recordings.ratio import recommend_recording

    if not path.is_file():
        fail(f"{path} is no file", next_step="name a page trace (Parquet), or --service X", status=BAD_USAGE)
    try:
        query = RatioQuery(loss_target, hold_hot=hold_hot, growth=growth)
        return recommend_recording(path, query, now=utc_now(), policy=policy)
    except Unprocessable as error:
        fail(error.detail, next_step=error.next_step, status=BAD_USAGE)


def _replay(database: Database, service_id: str, policy: PolicyName | None) -> None:
    from tierscope.core.clock import utc_now
    from tierscope.usecases.simulate.placements import ReplayPlacements

    try:
        ReplayPlacements(database, utc_now).refresh_named(service_id, policy)
    except RuntimeError as error:
        fail(str(error), next_step="run `make simcore`")


def _document(view: Ratio) -> Any:  # noqa: ANN401 - JSON
    """The answer as the API gives it."""
    from pydantic import TypeAdapter

    from tierscope.usecases.ratio.answers import Ratio

    return TypeAdapter(Ratio).dump_python(view, mode="json")
