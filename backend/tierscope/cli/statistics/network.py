"""`tierscope network`: whether RDMA or SMC-R may explain a difference between services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tierscope.cli.base.exits import NOT_ENOUGH_DATA, print_answer
from tierscope.cli.base.options import AsJson, Demo, From, To

if TYPE_CHECKING:
    from tierscope_client import models


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(network)


def network(
    service: Annotated[str, typer.Argument(help="Service id, or namespace/name.")],
    other: Annotated[str | None, typer.Argument(help="The service beside it; absent: itself at another time.")] = None,
    *,
    from_: From = None,
    to: To = None,
    other_from: Annotated[str | None, typer.Option(help="Start on the other side; absent: the same window.")] = None,
    other_to: Annotated[str | None, typer.Option(help="End on the other side.")] = None,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Say whether RDMA or SMC-R on one side alone, or a change of it, may explain a difference between services."""
    from tierscope.cli.base.service import open_service, service_id

    with open_service(demo=demo) as client:
        found = client.compare_network(
            service_id(client, service),
            other=None if other is None else service_id(client, other),
            from_=from_,
            to=to,
            other_from=other_from,
            other_to=other_to,
        )
    print_answer(found, _describe, as_json=as_json)
    if found["effect"] == "not_known":
        raise typer.Exit(NOT_ENOUGH_DATA)


def _describe(found: models.NetworkComparison) -> str:
    lines = [*found["warnings"], ""] if found["warnings"] else []
    if found["effect"] == "none":
        lines.append("RDMA and SMC-R are alike on both sides: no difference is theirs.")
    return "\n".join([*lines, *map(_side, (found["side"], found["other"])), *found["peers"]])


def _side(side: models.ComparedNetwork) -> str:
    ratio, (start, end) = side["with_rdma_ratio"], (side["window"]["start"], side["window"]["end"])
    share = "not known" if ratio is None else f"on {ratio:.0%} of {side['n_known']} hosts"
    changed = f", changed on {', '.join(side['changed'])}" if side["changed"] else ""
    return f"{side['service']}, {start[:16].replace('T', ' ')} to {end[11:16]} UTC: {share}{changed}"
