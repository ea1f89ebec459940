"""`tierscope swap-tier`: whether swap pays below DRAM for a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from tierscope.cli.base.exits import NOT_ENOUGH_DATA, print_json
from tierscope.cli.base.figures import figure_text
from tierscope.cli.base.swap_options import DEVICES, check_device, check_loss_target
from tierscope.core.settings import Settings

if TYPE_CHECKING:
    from tierscope.domain.capacity.swap import SwapDevice
    from tierscope.usecases.knobs.swap_hosts import SwapArea, SwappingHost
    from tierscope.usecases.knobs.swap_tier import ServiceSwapTier, SwapAgeView

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
        str | None, typer.Option(help=f"What to swap to: {', '.join(DEVICES)}; absent: what its hosts swap to.")
    ] = None,
    from_: Annotated[str | None, typer.Option("--from", help="Start of the window, such as -24h.")] = None,
    to: Annotated[str | None, typer.Option(help="End of the window.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Use the demo instance.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer of the API as JSON.")] = False,
) -> None:
    """Say whether swap pays below DRAM for a service, from its measured cold memory and prices."""
    check_loss_target(loss_target)
    if device is not None:
        check_device(device)
    from pydantic import TypeAdapter

    from tierscope.cli.base.database import open_fleet
    from tierscope.core.clock import utc_now
    from tierscope.usecases.base.context import ReadContext
    from tierscope.usecases.base.subjects import service_named
    from tierscope.usecases.knobs.swap_tier import ServiceSwapTier, SwapTierReads

    settings = Settings()
    with open_fleet(settings, demo=demo) as database:
        reads = SwapTierReads(ReadContext(database, utc_now, settings))
        named = service_named(database, service)
        found = reads.service(
            named,
            loss_target=loss_target,
            cores=cores,
            from_=from_,
            to=to,
            device=cast("SwapDevice | None", device),
        )
    if as_json:
        print_json(TypeAdapter(ServiceSwapTier).dump_python(found, mode="json"))
    else:
        typer.echo(_describe(found))
    if found.verdict is None:
        raise typer.Exit(NOT_ENOUGH_DATA)


def _describe(found: ServiceSwapTier) -> str:
    label = " (simulated)" if found.origin == "simulated" else ""
    lines = [f"{found.name}{label}: {found.sentence}"]
    if found.reason is not None:
        return "\n".join([*lines, f"Not known: {found.reason}"])
    lines += ["", "Cold for at least    on swap, GiB             loss, %                saving a year"]
    lines += [_age(age, is_best=age == found.best) for age in _shown(found)]
    if found.cxl is not None:
        lines += ["", found.cxl.sentence]
    lines += [*map(_host, found.hosts), *(f"Warning: {text}" for text in found.warnings)]
    lines += ["", f"Loss target {found.loss_target:.1%}. Assumed:"]
    lines += [f"  {one.name}: {one.value} ({one.why})" for one in found.assumptions]
    return "\n".join(lines)


def _shown(found: ServiceSwapTier) -> list[SwapAgeView]:
    """The best age and few others: neighbours differ little, and `--json` has all."""
    near = {next((age.age_seconds for age in found.ages if age.age_seconds >= shown), None) for shown in _SHOWN_SECONDS}
    return [age for age in found.ages if age.age_seconds in near or age == found.best]


def _age(age: SwapAgeView, *, is_best: bool) -> str:
    from tierscope.usecases.knobs.swap_tier import age_words

    saving, around = age.saving_per_year, age.saving_per_year.interval
    money = f"{saving.value:,.0f} [{around.lo:,.0f}, {around.hi:,.0f}] {saving.currency}"
    out = figure_text(age.out_bytes, lambda value: f"{value / 2**30:,.2f}")
    loss = figure_text(age.loss_ratio, lambda value: f"{value * 100:,.2f}")
    best = "  <- best" if is_best else ""
    return f"{age_words(age.age_seconds):20} {out:24} {loss:22} {money}{best}"


def _host(host: SwappingHost) -> str:
    areas = "; ".join(map(_area, host.areas)) or "no swap"
    rates = ((host.swapped_in_pages_per_s, "in"), (host.swapped_out_pages_per_s, "out"))
    moved = ", ".join(f"{way} {'not counted' if rate is None else f'{rate:,.1f} pages/s'}" for rate, way in rates)
    waits = "not known" if host.memory_stall_ratio is None else f"{host.memory_stall_ratio:.1%}"
    return f"{host.host}: {areas}; {moved}; all tasks wait for memory {waits} of the time"


def _area(area: SwapArea) -> str:
    trim = {True: "takes TRIM", False: "no TRIM", None: "TRIM not known"}[area.discard]
    used = "use not known" if area.used_ratio is None else f"{area.used_ratio:.0%} used"
    return f"{area.name} ({area.kind}, zoned: {area.zoned or 'not known'}, {trim}, {used})"
