"""`tierscope swap-tier`: whether swap pays below DRAM for a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tierscope.cli.base.exits import NOT_ENOUGH_DATA, print_answer
from tierscope.cli.base.figures import figure_text
from tierscope.cli.base.options import AsJson, Demo, From, To

if TYPE_CHECKING:
    from tierscope_client import models

_SHOWN_SECONDS = (0, 60, 120, 300, 600, 1200, 1800, 2700, 3600, 7200)
"""Ages that the table has, beside the best one."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("swap-tier")(swap_tier)


def swap_tier(
    service: Annotated[str, typer.Argument(help="Service id, or namespace/name.")],
    *,
    loss_target: Annotated[float, typer.Option(help="Largest loss of throughput wanted, such as 0.01.")] = 0.01,
    cores: Annotated[
        float | None, typer.Option(min=0.001, help="Busy processors of all its hosts; absent: one for each host.")
    ] = None,
    device: Annotated[
        Literal["block", "zns", "zram"] | None, typer.Option(help="What to swap to; absent: what its hosts swap to.")
    ] = None,
    from_: From = None,
    to: To = None,
    demo: Demo = False,
    as_json: AsJson = False,
) -> None:
    """Say whether swap pays below DRAM for a service, from its measured cold memory and prices."""
    from tierscope.cli.base.service import open_service, service_id

    with open_service(demo=demo) as client:
        found = client.read_service_swap_tier(
            service_id(client, service), loss_target=loss_target, cores=cores, device=device, from_=from_, to=to
        )
    print_answer(found, _describe, as_json=as_json)
    if found["verdict"] is None:
        raise typer.Exit(NOT_ENOUGH_DATA)


def _describe(found: models.ServiceSwapTier) -> str:
    label = " (simulated)" if found["origin"] == "simulated" else ""
    lines = [f"{found['name']}{label}: {found['sentence']}"]
    if found["reason"] is not None:
        return "\n".join([*lines, f"Not known: {found['reason']}"])
    lines += ["", "Cold for at least    on swap, GiB             loss, %                saving a year"]
    lines += [_age(age, is_best=age == found["best"]) for age in _shown(found)]
    if found["cxl"] is not None:
        lines += ["", found["cxl"]["sentence"]]
    lines += [*map(_host, found["hosts"]), *(f"Warning: {text}" for text in found["warnings"])]
    lines += ["", f"Loss target {found['loss_target']:.1%}. Assumed:"]
    lines += [f"  {one['name']}: {one['value']} ({one['why']})" for one in found["assumptions"]]
    return "\n".join(lines)


def _shown(found: models.ServiceSwapTier) -> list[models.SwapAgeView]:
    """The best age and few others: neighbours differ little, and `--json` has all."""
    ages = [age["age_seconds"] for age in found["ages"]]
    near = {next((age for age in ages if age >= shown), None) for shown in _SHOWN_SECONDS}
    return [age for age in found["ages"] if age["age_seconds"] in near or age == found["best"]]


def _age(age: models.SwapAgeView, *, is_best: bool) -> str:
    from tierscope.domain.base.words import age_words

    saving, around = age["saving_per_year"], age["saving_per_year"]["interval"]
    money = f"{saving['value']:,.0f} [{around['lo']:,.0f}, {around['hi']:,.0f}] {saving['currency']}"
    out = figure_text(age["out_bytes"], lambda value: f"{value / 2**30:,.2f}")
    loss = figure_text(age["loss_ratio"], lambda value: f"{value * 100:,.2f}")
    best = "  <- best" if is_best else ""
    return f"{age_words(age['age_seconds']):20} {out:24} {loss:22} {money}{best}"


def _host(host: models.SwappingHost) -> str:
    areas = "; ".join(map(_area, host["areas"])) or "no swap"
    rates = ((host["swapped_in_pages_per_s"], "in"), (host["swapped_out_pages_per_s"], "out"))
    moved = ", ".join(f"{way} {'not counted' if rate is None else f'{rate:,.1f} pages/s'}" for rate, way in rates)
    stalled = host["memory_stall_ratio"]
    waits = "not known" if stalled is None else f"{stalled:.1%}"
    return f"{host['host']}: {areas}; {moved}; all tasks wait for memory {waits} of the time"


def _area(area: models.SwapArea) -> str:
    trim = {True: "takes TRIM", False: "no TRIM", None: "TRIM not known"}[area["discard"]]
    used = "use not known" if area["used_ratio"] is None else f"{area['used_ratio']:.0%} used"
    return f"{area['name']} ({area['kind']}, zoned: {area['zoned'] or 'not known'}, {trim}, {used})"
