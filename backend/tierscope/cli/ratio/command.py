"""`tierscope recommend`: how small DRAM can be at a stated loss, for a service or a recorded page trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tierscope.cli.base.exits import BAD_USAGE, NOT_ENOUGH_DATA, fail, print_json
from tierscope.cli.base.options import AsJson, Demo
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tierscope.core.database import Database
    from tierscope.domain.simulate import PolicyName
    from tierscope.domain.slowdown import Device
    from tierscope.usecases.ratio.answers import Ratio
    from tierscope.usecases.ratio.inputs import RatioQuery

MOST_LOSS = 0.5
HOST_USD = 20_000.0
"""What one more host costs unless it is said [A]: a server with its memory."""


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
    device: Annotated[
        list[str] | None,
        typer.Option(help="Slow memory to judge: a preset's name or a file, more than once to rank them; `list`."),
    ] = None,
    at: Annotated[
        str | None, typer.Option(help="Of --device: the ratio at which they are ranked, such as 2:1.")
    ] = None,
    host_price: Annotated[
        float, typer.Option(min=0, help="Of --device: what one more host costs, in USD; what a loss is worth.")
    ] = HOST_USD,
    to: Annotated[str | None, typer.Option(help="End of the eight days that are read; absent = now.")] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="First replay its page samples, unless that was done of late.")
    ] = False,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Say which DRAM:CXL ratio keeps a loss target, for a service or a page trace, and what would firm that up."""
    if not 0.0 < loss_target <= MOST_LOSS or not 0.0 <= growth <= MOST_LOSS:
        fail(
            "a loss target is above 0 and at most 0.5, growth is at least 0 and at most 0.5",
            next_step="write 5 % as 0.05",
            status=BAD_USAGE,
        )
    from tierscope.cli.ratio.devices import describe_devices
    from tierscope.cli.ratio.reports import describe_ratio
    from tierscope.usecases.ratio.inputs import RatioQuery
    from tierscope.usecases.slowdown.devices import device_names

    if device == ["list"]:
        typer.echo(describe_devices())
        return
    if (path is None) == (service is None):
        fail("say whose ratio it is, once", next_step="name --service X, or a page trace", status=BAD_USAGE)
    devices = _devices(device or [])
    wanted = [RatioQuery(loss_target, hold_hot=hold_hot, growth=growth, device=one) for one in devices or (None,)]
    asked = _policy(policy)
    of_files = not set(device or ()) <= set(device_names())
    if service is not None and (replay or asked is not None or of_files):
        views = _ask_database(service, wanted, policy=asked, to=to, replay=replay, demo=demo)
    elif service is not None:
        views = _ask(service, wanted, presets=device or [None], to=to, demo=demo)
    else:
        assert path is not None
        views = _of_trace(path, wanted, policy=asked)
    if devices:
        _rank(devices, views, at, host_price, as_json=as_json)
    elif as_json:
        print_json(_document(views[0]))
    else:
        typer.echo(describe_ratio(views[0]))
    if all(view.answer == "refused" for view in views):
        raise typer.Exit(NOT_ENOUGH_DATA)


def _devices(words: list[str]) -> tuple[Device, ...]:
    from tierscope.core.errors import BadRequest
    from tierscope.usecases.slowdown.devices import read_named_devices

    try:
        return read_named_devices(words)
    except BadRequest as error:
        fail(error.detail, next_step=error.next_step, status=BAD_USAGE)


def _rank(devices: Sequence[Device], views: Sequence[Ratio], at: str | None, host_usd: float, *, as_json: bool) -> None:
    """Print devices from the least loss to the most."""
    from dataclasses import asdict

    from tierscope.cli.ratio.devices import describe_ranking
    from tierscope.domain.ratio import RATIOS
    from tierscope.usecases.ratio.devices import rank_devices

    names = [name for name, _ in RATIOS]
    if at is not None and at not in names:
        fail(f"{at} is no ratio", next_step=f"name one of {', '.join(names)}", status=BAD_USAGE)
    ranked = rank_devices(list(zip(devices, views, strict=True)), at=at, host_usd=host_usd)
    if as_json:
        rows = [
            {
                "device": asdict(one.device),
                "at": None if one.at is None else one.at.name,
                "host_bytes": one.host_bytes,
                "worth_usd_per_gb": one.worth_usd_per_gb,
                "answer": _document(one.answer),
            }
            for one in ranked
        ]
        print_json({"schema": "tierscope.devices/1", "host_usd": host_usd, "devices": rows})
    else:
        typer.echo(describe_ranking(ranked, host_usd))


def _policy(name: str | None) -> PolicyName | None:
    """A policy that a kernel runs over two tiers."""
    from tierscope.domain.knobs.policy import askable_policies

    known = {str(policy): policy for policy in askable_policies()}
    if name is not None and name not in known:
        fail(f"{name} is no policy of two tiers", next_step=f"name one of {', '.join(known)}", status=BAD_USAGE)
    return None if name is None else known[name]


def _ask(
    service: str,
    wanted: Sequence[RatioQuery],
    *,
    presets: Sequence[str | None],
    to: str | None,
    demo: bool,
) -> list[Ratio]:
    """Ask the service over HTTP; `presets` names the device of each query."""
    from pydantic import TypeAdapter

    from tierscope.cli.base.service import open_service, service_id
    from tierscope.usecases.ratio.answers import Ratio

    with open_service(demo=demo) as client:
        found = service_id(client, service)
        return [
            TypeAdapter(Ratio).validate_python(
                client.read_ratio(
                    found,
                    loss_target=one.loss_target,
                    hold_hot=one.hold_hot,
                    growth=one.growth,
                    to=to,
                    device=device,
                )
            )
            for one, device in zip(wanted, presets, strict=True)
        ]


def _ask_database(
    service: str,
    wanted: Sequence[RatioQuery],
    *,
    policy: PolicyName | None,
    to: str | None,
    replay: bool,
    demo: bool,
) -> list[Ratio]:
    """Compute beside the database what the API does not answer: a replay now, another policy, devices of files."""
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
        return [
            reads.service(
                found,
                loss_target=one.loss_target,
                hold_hot=one.hold_hot,
                growth=one.growth,
                from_=None,
                to=to,
                device=one.device,
            )
            for one in wanted
        ]


def _of_trace(path: Path, wanted: Sequence[RatioQuery], *, policy: PolicyName | None) -> list[Ratio]:
    from tierscope.core.clock import utc_now
    from tierscope.core.errors import Unprocessable
    from tierscope.usecases.recordings.ratio import recommend_by_query

    if not path.is_file():
        fail(f"{path} is no file", next_step="name a page trace (Parquet), or --service X", status=BAD_USAGE)
    try:
        return recommend_by_query(path, wanted, now=utc_now(), policy=policy)
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
    from pydantic import TypeAdapter

    from tierscope.usecases.ratio.answers import Ratio

    return TypeAdapter(Ratio).dump_python(view, mode="json")
