"""`tierscope network`: whether RDMA or SMC-R may explain a difference between services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tierscope.cli.base.exits import NOT_ENOUGH_DATA, print_json
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.usecases.statistics.network import ComparedNetwork, NetworkComparison


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(network)


def network(
    service: Annotated[str, typer.Argument(help="Service id, or namespace/name.")],
    other: Annotated[str | None, typer.Argument(help="The service beside it; absent: itself at another time.")] = None,
    *,
    from_: Annotated[str | None, typer.Option("--from", help="Start of the window, such as -24h.")] = None,
    to: Annotated[str | None, typer.Option(help="End of the window.")] = None,
    other_from: Annotated[str | None, typer.Option(help="Start on the other side; absent: the same window.")] = None,
    other_to: Annotated[str | None, typer.Option(help="End on the other side.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Use the demo instance.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer of the API as JSON.")] = False,
) -> None:
    """Say whether RDMA or SMC-R on one side alone, or a change of it, may explain a difference between services."""
    from pydantic import TypeAdapter

    from tierscope.cli.base.database import open_fleet
    from tierscope.core.clock import utc_now
    from tierscope.usecases.base.context import ReadContext
    from tierscope.usecases.base.subjects import service_named
    from tierscope.usecases.statistics.network import NetworkComparison, NetworkReads

    settings = Settings()
    with open_fleet(settings, demo=demo) as database:
        one = service_named(database, service)
        two = None if other is None else service_named(database, other)
        reads = NetworkReads(ReadContext(database, utc_now, settings))
        found = reads.compare(one, two, from_=from_, to=to, other_from=other_from, other_to=other_to)
    if as_json:
        print_json(TypeAdapter(NetworkComparison).dump_python(found, mode="json"))
    else:
        typer.echo(_describe(found))
    if found.effect == "not_known":
        raise typer.Exit(NOT_ENOUGH_DATA)


def _describe(found: NetworkComparison) -> str:
    lines = [*found.warnings, ""] if found.warnings else []
    if found.effect == "none":
        lines.append("RDMA and SMC-R are alike on both sides: no difference is theirs.")
    return "\n".join([*lines, *map(_side, (found.side, found.other)), *found.peers])


def _side(side: ComparedNetwork) -> str:
    share = "not known" if side.with_rdma_ratio is None else f"on {side.with_rdma_ratio:.0%} of {side.n_known} hosts"
    changed = f", changed on {', '.join(side.changed)}" if side.changed else ""
    return f"{side.service}, {side.window.start:%Y-%m-%d %H:%M} to {side.window.end:%H:%M} UTC: {share}{changed}"
