"""The swap device of a run as figures. Everything here is simulated."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tierscope.domain.base.figures import Figure, Interval
from tierscope.domain.simulate.swap_devices import DEVICE_LABELS, LEVEL
from tierscope.usecases.simulate.basis import Basis
from tierscope.usecases.simulate.views import SweepSwap

_GROUNDING = "A model of swap devices, compared with ZNSwap: docs/validation.md"
_NOTHING_WRITTEN = "Nothing is written to flash."
_NO_SWAP_INS = "Nothing is swapped in."
_UNSETTLED = "Too little is written for the flash to be in a steady state: amplification may still grow."


def view_swap(use: Mapping[str, Any] | None, basis: Basis) -> SweepSwap | None:
    """A stored `DeviceUse` with its evidence; None where nothing swapped.

    Without figures each of them says why: the area is too small for the model, or the device has no room.
    """
    if use is None:
        return None
    point = use["point"]
    tenant = point["tenants"][0] if point["tenants"] else {}
    warnings = (_UNSETTLED,) if use["is_settled"] is False else ()

    def make(name: str, unit: str, found: Mapping[str, float] | None, reason: str, scale: float = 1.0) -> Figure:
        value = None if found is None else found["value"] * scale
        figure = basis.figure(f"simulator.swap_{name}/1", unit, value, point["error"] or reason)
        if found is None:
            return figure
        interval = Interval(found["lo"] * scale, found["hi"] * scale, LEVEL, "confidence")
        return replace(figure, interval=interval, grounding=_GROUNDING, warnings=(*figure.warnings, *warnings))

    return SweepSwap(
        device=point["device"],
        label=DEVICE_LABELS[point["device"]],
        used_ratio=basis.figure("simulator.swap_used_ratio/1", "ratio", point["utilisation"], ""),
        write_amplification=make("write_amplification", "times", point["write_amplification"], _NOTHING_WRITTEN),
        swap_out_bytes_per_s=make("out_bytes_per_s", "bytes_per_s", tenant.get("swap_out_bytes_per_s"), _NO_SWAP_INS),
        swap_in_bytes_per_s=make("in_bytes_per_s", "bytes_per_s", tenant.get("swap_in_bytes_per_s"), _NO_SWAP_INS),
        swap_in_p99_us=make("in_p99_us", "us", tenant.get("swap_in_p99_seconds"), _NO_SWAP_INS, 1e6),
        flash_writes_per_day=make("flash_writes_per_day", "per_day", use["flash_writes_per_day"], _NOTHING_WRITTEN),
        drive_life_years=make("drive_life_years", "years", use["drive_life_years"], _NOTHING_WRITTEN),
        keeps_up_ratio=make("keeps_up_ratio", "ratio", use["keeps_up_ratio"], _NOTHING_WRITTEN),
    )
