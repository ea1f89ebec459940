"""`tierscope swap-device`: write amplification and times of swap-in of swap devices, simulated."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tierscope.cli.base.exits import BAD_USAGE, fail, print_answer

if TYPE_CHECKING:
    from tierscope.domain.simulate.swap_devices import DevicePoint, Estimate
    from tierscope.usecases.simulate.swap_devices import SwapDevices

SCHEMA = "tierscope.swap-device/1"
HEADER = ("device", "use", "WAF", "host", "device", "tenant", "swap-in MB/s", "swap-out MB/s", "p50", "p99", "p99.9 ms")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("swap-device")(swap_device)


def swap_device(
    *,
    devices: Annotated[
        list[str] | None, typer.Option("--device", "-d", help="A device, more than once (block_trim_coarse and zns).")
    ] = None,
    utilisations: Annotated[
        list[float] | None,
        typer.Option("--utilisation", "-u", help="Share of the device in use, more than once (0.3, 0.5, 0.7, 0.9)."),
    ] = None,
    loads: Annotated[
        list[str] | None, typer.Option("--load", "-l", help="A tenant's load; more than once: tenants (mixed).")
    ] = None,
    store_ratio: Annotated[
        float | None, typer.Option("--store-ratio", help="Share of accesses that write, in place of the load's.")
    ] = None,
    local_ratio: Annotated[
        float | None, typer.Option("--local-ratio", help="Share of pages that fit into memory (0.3).")
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="key=value: a setting of the model.")] = None,
    seeds: Annotated[int, typer.Option(min=3, max=9, help="Seeds, each of which is one run.")] = 3,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the answer as JSON (schema tierscope.swap-device/1).")
    ] = False,
) -> None:
    """Simulate swap devices: write amplification, throughput and tail latency of swap-in against use.

    Devices are block, block_trim_fine, block_trim_coarse, zns, zns_per_core, zns_hot_cold, zns_per_tenant, zram and
    zswap; loads are read_only, read_mostly, mixed, write_heavy and uniform_writes. Each figure is a mean with its 95 %
    interval over seeds. Simulated: nothing on this host is looked at or changed.
    """
    from tierscope.core.errors import BadRequest
    from tierscope.domain.simulate import SettingsError, parse_settings
    from tierscope.usecases.simulate.swap_devices import WantedDevices, compare_swap_devices

    asked = WantedDevices()
    try:
        wanted = WantedDevices(
            devices=tuple(devices or asked.devices),
            utilisations=tuple(utilisations or asked.utilisations),
            loads=tuple(loads or asked.loads),
            store_ratio=store_ratio,
            local_ratio=local_ratio,
            settings=parse_settings(settings or []),
            seeds=tuple(range(1, seeds + 1)),
        )
        found = compare_swap_devices(wanted)
    except SettingsError as error:
        fail(str(error), next_step="write --set key=value", status=BAD_USAGE)
    except BadRequest as error:
        fail(error.detail, next_step=error.next_step, status=BAD_USAGE)
    print_answer({"schema": SCHEMA, "simulated": True, **asdict(found)}, _describe(found), as_json=as_json)


def _describe(found: SwapDevices) -> str:
    rows = [HEADER, *(row for point in found.points for row in _rows(point))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    title = f"Simulated: {', '.join(found.loads)}; mean of {len(found.seeds)} seeds, in brackets the 95 % interval."
    errors = [f"{point.device} at {point.utilisation:g}: {point.error}" for point in found.points if point.error]
    return "\n".join([title, "", *lines, *errors])


def _rows(point: DevicePoint) -> list[tuple[str, ...]]:
    amplified = (point.write_amplification, point.host_amplification, point.device_amplification)
    lead = (point.device, f"{point.utilisation:g}", figure_text(amplified[0], 1, digits=2, interval=True))
    parts = tuple(figure_text(one, 1, digits=2) for one in amplified[1:])
    rows = []
    for number, tenant in enumerate(point.tenants, start=1):
        rates = (tenant.swap_in_bytes_per_s, tenant.swap_out_bytes_per_s)
        times = (tenant.swap_in_p50_seconds, tenant.swap_in_p99_seconds, tenant.swap_in_p999_seconds)
        rows.append(
            (
                *(lead + parts if number == 1 else ("",) * (len(lead) + len(parts))),
                str(number),
                *(figure_text(rate, 1e-6, digits=0, interval=True) for rate in rates),
                *(figure_text(time, 1e3, digits=2) for time in times),
            )
        )
    return rows


def figure_text(figure: Estimate | None, scale: float, *, digits: int, interval: bool = False) -> str:
    """A figure times `scale`, with its interval in brackets where asked for; a dash where there is none."""
    if figure is None:
        return "-"
    text = f"{scale * figure.value:.{digits}f}"
    return f"{text} [{scale * figure.lo:.{digits}f}, {scale * figure.hi:.{digits}f}]" if interval else text
