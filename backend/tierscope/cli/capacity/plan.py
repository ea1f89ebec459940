"""`tierscope capacity-plan`: how many hosts the fleet needs by quarter, without and with tiering and swap."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail, print_answer
from tierscope.cli.base.figures import figure_text
from tierscope.cli.base.options import AsJson, Demo

if TYPE_CHECKING:
    from tierscope_client import models

GIB = 1 << 30
DEFAULT_SKU: models.PlanSku = {
    "name": "2-socket",
    "dram_slots": 24,
    "dimm_bytes": [32 * GIB, 64 * GIB],
    "dimms_min": 8,
    "dimm_step": 8,
    "cxl_devices_max": 2,
    "cxl_device_bytes": 256 * GIB,
}
"""The host type that the page starts with."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("capacity-plan")(capacity_plan)


def capacity_plan(
    *,
    hosts: Annotated[
        Path | None,
        typer.Option(help="JSON file of host types, as `skus` of POST /v1/capacity/plan; absent: 2 sockets, 24 slots."),
    ] = None,
    quarters: Annotated[int, typer.Option(min=1, max=12, help="Quarters ahead.")] = 4,
    headroom: Annotated[float, typer.Option(min=0, max=1, help="Memory beyond what is used, such as 0.1.")] = 0.1,
    loss_target: Annotated[
        float | None, typer.Option(help="DRAM by ratio advice, and swap, at this loss, such as 0.01.")
    ] = None,
    swap: Annotated[
        Literal["as_found", "block", "zns", "zram"] | None,
        typer.Option(help="Cold memory may lie on swap; absent: none does."),
    ] = None,
    service: Annotated[list[str] | None, typer.Option(help="Services by id or namespace/name; absent: all.")] = None,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Pack the services on hosts: how many it takes without tiering, with it, and with cold memory on swap."""
    from tierscope.cli.base.service import open_service, service_id

    skus = [DEFAULT_SKU] if hosts is None else _read_skus(hosts)
    with open_service(demo=demo) as client:
        found = client.plan_capacity(
            {
                "skus": skus,
                "horizon_quarters": quarters,
                "loss_target": loss_target,
                "headroom_ratio": headroom,
                "service_ids": [service_id(client, name) for name in service] if service else None,
                "swap": swap,
            }
        )
    print_answer(found, _describe(found, [sku["name"] for sku in skus]), as_json=as_json)


def _read_skus(path: Path) -> list[models.PlanSku]:
    """The host types of a file, which the service checks."""
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        fail(f"{path} cannot be read: {error}", next_step="name a JSON file of host types", status=BAD_USAGE)
    if not isinstance(found, list) or not all(isinstance(sku, dict) and "name" in sku for sku in found):
        fail(
            f"{path} is no list of host types with names",
            next_step='write a list such as [{"name": "2s", "dram_slots": 16, "dimm_bytes": [34359738368]}]',
            status=BAD_USAGE,
        )
    return cast("list[models.PlanSku]", found)


def _describe(found: models.CapacityPlan, skus: list[str]) -> str:
    swapped = found["packing"]["with_swap"] is not None
    lines = ["Hosts            without tiering  with tiering" + ("  with swap" if swapped else "")]
    for one in found["quarters"]:
        counts = f"{_count(one['hosts_without_tiering']):>15}  {_count(one['hosts_with_tiering']):>12}"
        lines.append(f"{one['quarter']:15}  {counts}" + (f"  {_count(one['hosts_with_swap']):>9}" if swapped else ""))
    if found["swap"] is not None:
        lines += ["", *_swap(found["swap"])]
    lines += ["", f"Host types: {', '.join(skus)}. Headroom {found['headroom_ratio']:.0%}."]
    lines += [f"Does not fit in {left['quarter']}: {left['service']}, {left['why']}." for left in found["unplaced"]]
    return "\n".join([*lines, *found["notes"]])


def _count(hosts: int | None) -> str:
    return "does not fit" if hosts is None else f"{hosts:,}"


def _swap(swap: models.PlanSwap) -> list[str]:
    lines = [f"On swap ({swap['device'].replace('_', ' ')}, loss target {swap['loss_target']:.1%}):"]
    if swap["cost_per_year"] is None:
        lines.append("  nothing")
    else:
        years = swap["drive_life_years"]
        life = str(years["reason"]) if years["value"] is None else f"{figure_text(years, '{:,.1f}'.format)} years"
        lines += [
            f"  memory           {figure_text(swap['swap_bytes'], _gib)} GiB",
            f"  DRAM for it      {figure_text(swap['pool_bytes'], _gib)} GiB",
            f"  cost a year      {_money(swap['cost_per_year'])}",
            f"  saving a year    {_money(swap['saving_per_year'])}",
            f"  drives last      {life}",
            f"  added waits      {figure_text(swap['wait_ratio'], lambda wait: f'{wait * 1e3:,.2f}')} ms a second",
        ]
    for one in swap["services"]:
        lines.append(f"  {one['service']}: {'on swap' if one['held'] else 'not on swap'}. {one['why']}")
    if swap["not_judged"]:
        lines.append(f"  {swap['not_judged']} smaller services are not judged: their memory stays in DRAM and on CXL")
    return lines


def _gib(value: float) -> str:
    return f"{value / GIB:,.2f}"


def _money(one: models.YearlyMoney | None) -> str:
    if one is None:
        return "not known"
    return f"{one['value']:,.0f} [{one['interval']['lo']:,.0f}, {one['interval']['hi']:,.0f}] {one['currency']}"
