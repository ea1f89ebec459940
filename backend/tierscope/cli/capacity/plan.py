"""`tierscope capacity-plan`: how many hosts the fleet needs by quarter, without and with tiering and swap."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from tierscope.cli.base import swap_options
from tierscope.cli.base.exits import BAD_USAGE, fail, print_json
from tierscope.cli.base.figures import figure_text
from tierscope.cli.base.swap_options import check_device, check_loss_target
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.domain.capacity.skus import Sku
    from tierscope.usecases.base.money import YearlyMoney
    from tierscope.usecases.capacity.plan import Asked
    from tierscope.usecases.capacity.swap import PlanDevice, PlanSwap, SwapOfService
    from tierscope.usecases.capacity.views import CapacityPlan

DEVICES = ("as_found", *swap_options.DEVICES)
MOST_QUARTERS = 12
MOST_FILE_BYTES = 1 << 20
GIB = 1 << 30


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("capacity-plan")(capacity_plan)


def capacity_plan(
    *,
    hosts: Annotated[
        Path | None,
        typer.Option(help="JSON file of host types, as `skus` of POST /v1/capacity/plan; absent: 2 sockets, 24 slots."),
    ] = None,
    quarters: Annotated[int, typer.Option(min=1, max=MOST_QUARTERS, help="Quarters ahead.")] = 4,
    headroom: Annotated[float, typer.Option(min=0, max=1, help="Memory beyond what is used, such as 0.1.")] = 0.1,
    loss_target: Annotated[
        float | None, typer.Option(help="DRAM by ratio advice, and swap, at this loss, such as 0.01.")
    ] = None,
    swap: Annotated[
        str | None, typer.Option(help=f"Cold memory may lie on swap: {', '.join(DEVICES)}; absent: none does.")
    ] = None,
    service: Annotated[list[str] | None, typer.Option(help="Services by id or namespace/name; absent: all.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Use the demo instance.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer of the API as JSON.")] = False,
) -> None:
    """Pack the services on hosts: how many it takes without tiering, with it, and with cold memory on swap."""
    if swap is not None:
        check_device(swap, DEVICES)
    if loss_target is not None:
        check_loss_target(loss_target)
    from pydantic import TypeAdapter

    from tierscope.cli.base.database import open_fleet
    from tierscope.core.clock import utc_now
    from tierscope.usecases.base.context import ReadContext
    from tierscope.usecases.base.subjects import service_named
    from tierscope.usecases.capacity.plan import Asked, CapacityPlans
    from tierscope.usecases.capacity.views import CapacityPlan
    from tierscope.usecases.knobs.swap_tier import SwapTierReads

    skus = _default_skus() if hosts is None else _read_skus(hosts)
    settings = Settings()
    with open_fleet(settings, demo=demo) as database:
        ids = None if not service else tuple(service_named(database, name) for name in service)
        asked = Asked(skus, quarters, loss_target, headroom, ids, cast("PlanDevice | None", swap))
        context = ReadContext(database, utc_now, settings)
        found = CapacityPlans(context, SwapTierReads(context)).plan(asked)
    if as_json:
        print_json(TypeAdapter(CapacityPlan).dump_python(found, mode="json", by_alias=True))
    else:
        typer.echo(_describe(found, asked))


def _default_skus() -> tuple[Sku, ...]:
    """The host type that the page starts with."""
    from tierscope.domain.capacity.skus import Sku

    return (Sku("2-socket", 24, (32 * GIB, 64 * GIB), 8, 8, 2, 256 * GIB),)


def _read_skus(path: Path) -> tuple[Sku, ...]:
    from pydantic import TypeAdapter, ValidationError

    from tierscope.domain.capacity.skus import Sku

    try:
        with path.open("rb") as file:
            found = TypeAdapter(tuple[Sku, ...]).validate_json(file.read(MOST_FILE_BYTES))
    except OSError as error:
        fail(f"{path} cannot be read: {error.strerror}", next_step="name a JSON file of host types", status=BAD_USAGE)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, problem["loc"])) or "the file"
        fail(
            f"{path}: {where}: {problem['msg']}",
            next_step='write a list such as [{"name": "2s", "dram_slots": 16, "dimm_bytes": [34359738368]}]',
            status=BAD_USAGE,
        )
    if not found:
        fail(f"{path} has no host type", next_step="add one to the list", status=BAD_USAGE)
    return found


def _describe(found: CapacityPlan, asked: Asked) -> str:
    swapped = found.packing.with_swap is not None
    lines = ["Hosts            without tiering  with tiering" + ("  with swap" if swapped else "")]
    for one in found.quarters:
        counts = f"{_count(one.hosts_without_tiering):>15}  {_count(one.hosts_with_tiering):>12}"
        lines.append(f"{one.quarter:15}  {counts}" + (f"  {_count(one.hosts_with_swap):>9}" if swapped else ""))
    if found.swap is not None:
        lines += ["", *_swap(found.swap)]
    types = ", ".join(sku.name for sku in asked.skus)
    lines += ["", f"Host types: {types}. Headroom {found.headroom_ratio:.0%}."]
    for left in found.unplaced:
        lines.append(f"Does not fit in {left.quarter}: {left.service}, {left.why}.")
    return "\n".join([*lines, *found.notes])


def _count(hosts: int | None) -> str:
    return "does not fit" if hosts is None else f"{hosts:,}"


def _swap(swap: PlanSwap) -> list[str]:
    lines = [f"On swap ({swap.device.replace('_', ' ')}, loss target {swap.loss_target:.1%}):"]
    if swap.cost_per_year is None:
        lines.append("  nothing")
    else:
        lines += [
            f"  memory           {figure_text(swap.swap_bytes, _gib)} GiB",
            f"  DRAM for it      {figure_text(swap.pool_bytes, _gib)} GiB",
            f"  cost a year      {_money(swap.cost_per_year)}",
            f"  saving a year    {_money(swap.saving_per_year)}",
            f"  drives last      {_life(swap)}",
            f"  added waits      {figure_text(swap.wait_ratio, lambda wait: f'{wait * 1e3:,.2f}')} ms a second",
        ]
    lines += [f"  {_service(one)}" for one in swap.services]
    if swap.not_judged:
        lines.append(f"  {swap.not_judged} smaller services are not judged: their memory stays in DRAM and on CXL")
    return lines


def _life(swap: PlanSwap) -> str:
    life = swap.drive_life_years
    known = figure_text(life, lambda years: f"{years:,.1f}")
    return str(life.reason) if life.value is None else f"{known} years"


def _service(one: SwapOfService) -> str:
    held = "on swap" if one.held else "not on swap"
    return f"{one.service}: {held}. {one.why}"


def _gib(value: float) -> str:
    return f"{value / GIB:,.2f}"


def _money(one: YearlyMoney | None) -> str:
    if one is None:
        return "not known"
    return f"{one.value:,.0f} [{one.interval.lo:,.0f}, {one.interval.hi:,.0f}] {one.currency}"
