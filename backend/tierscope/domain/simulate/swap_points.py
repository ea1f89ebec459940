"""Points of swap devices that were simulated once and kept, so that charts, costs and advice need no simulation.

`swap_points.json` is an output of `simulate_device` with the default settings and seeds, written by
`PYTHONPATH=lab:tests .venv/bin/python -m validation --swap-points`; a test runs the model again and compares.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from tierscope.domain.simulate.swap_devices import (
    LOADS,
    SEEDS,
    SWAP_DEVICES,
    DevicePoint,
    Estimate,
    SwapDeviceName,
    TenantFigures,
    simulate_device,
)

KEPT_LOADS = ("read_mostly", "mixed", "write_heavy")
KEPT_UTILISATIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
DIGITS = 4
"""Significant digits that are kept."""
_DEVICE = (
    "write_amplification",
    "host_amplification",
    "device_amplification",
    "used_ratio",
    "busy_ratio",
    "flash_bytes_per_s",
    "compression_ratio",
    "trims_per_swap_out",
)
_TENANT = tuple(TenantFigures.__dataclass_fields__)

Key = tuple[SwapDeviceName, str, float]


@dataclass(frozen=True, slots=True)
class Published:
    """A figure of the ZNSwap paper. At which use it was measured the text does not say."""

    label: str
    load: str
    swap_out_bytes_per_s: float


PUBLISHED = (
    Published("ZNSwap: block SSD, uniform writes", "uniform_writes", 480e6),
    Published("ZNSwap: block SSD, TRIM of 8 slots, skewed", "write_heavy", 324e6),
    Published("ZNSwap: block SSD, TRIM of 512 slots, skewed", "write_heavy", 195e6),
)
"""[S] of another machine and drive: ratios between them can be compared, not their height (docs/validation.md)."""


@cache
def kept_points() -> Mapping[Key, DevicePoint]:
    """All kept points, by device, load and utilisation."""
    text = resources.files("tierscope.domain.simulate").joinpath("swap_points.json").read_text("utf-8")
    return {(device, load, use): _read(device, use, figures) for device, load, use, figures in json.loads(text)}


def simulate_point(device: SwapDeviceName, load: str, utilisation: float) -> DevicePoint:
    """Run the model for one point, and round it as kept points are.

    Raises:
        RuntimeError: the compiled core is not built.
    """
    return _read(device, utilisation, _written(simulate_device(device, utilisation, [LOADS[load]])))


def write_points() -> str:
    """The text of the file, a line for each point. Takes minutes.

    Raises:
        RuntimeError: the compiled core is not built.
    """
    rows = [
        json.dumps([device, load, use, _written(simulate_device(device, use, [LOADS[load]]))], separators=(",", ":"))
        for device in SWAP_DEVICES
        for load in KEPT_LOADS
        for use in KEPT_UTILISATIONS
    ]
    return "[\n" + ",\n".join(rows) + "\n]\n"


Numbers = list[float] | None


def _written(point: DevicePoint) -> list[Numbers] | str:
    if point.error is not None:
        return point.error
    tenant = point.tenants[0]
    return [
        *(_numbers(getattr(point, name)) for name in _DEVICE),
        *(_numbers(getattr(tenant, name)) for name in _TENANT),
    ]


def _numbers(one: Estimate | None) -> Numbers:
    return None if one is None else [float(f"{value:.{DIGITS}g}") for value in (one.value, one.lo, one.hi)]


def _read(device: SwapDeviceName, use: float, written: list[Numbers] | str) -> DevicePoint:
    if isinstance(written, str):
        return DevicePoint(device, use, error=written)
    found: list[Any] = [None if one is None else Estimate(one[0], one[1], one[2], len(SEEDS)) for one in written]
    tenant = TenantFigures(*found[len(_DEVICE) :])
    return DevicePoint(device, use, **dict(zip(_DEVICE, found, strict=False)), tenants=(tenant,))
