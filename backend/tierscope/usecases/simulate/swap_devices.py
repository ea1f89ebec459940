"""Swap devices compared: every device at every use, under one load; simulated, the same for the same request."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from tierscope.core.errors import BadRequest
from tierscope.domain.base.described import Described
from tierscope.domain.simulate.swap_devices import (
    DEVICE_LABELS,
    SEEDS,
    SWAP_DEVICES,
    DevicePoint,
    SwapDeviceError,
    SwapDeviceName,
    device_settings,
    read_devices,
    read_loads,
    simulate_device,
)
from tierscope.domain.simulate.swap_points import KEPT_LOADS, PUBLISHED, Published, kept_points

UTILISATIONS = (0.3, 0.5, 0.7, 0.9)
MOST_RUNS = 120
"""Runs of one request, a third of a second each."""


@dataclass(frozen=True, slots=True)
class WantedDevices:
    """What to compare. `loads`: names of loads, one tenant each; `local_ratio` and `store_ratio` change all of them."""

    devices: tuple[str, ...] = ("block_trim_coarse", "zns")
    utilisations: tuple[float, ...] = UTILISATIONS
    loads: tuple[str, ...] = ("mixed",)
    store_ratio: float | None = None
    local_ratio: float | None = None
    settings: Mapping[str, float] | None = None
    seeds: tuple[int, ...] = SEEDS


@dataclass(frozen=True, slots=True)
class SwapDevices:
    """Devices by use: amplification of writes, throughput and times of swap-in, each with its interval over seeds."""

    origin: Literal["simulated"]
    loads: tuple[str, ...]
    seeds: tuple[int, ...]
    settings: Annotated[dict[str, float], Described("Settings of the model, the defaults too.")]
    labels: Annotated[dict[str, str], Described("Names of the devices for people.")]
    points: tuple[DevicePoint, ...]
    published: Annotated[
        tuple[Published, ...],
        Described("Of the ZNSwap paper, on another machine and drive, at an unknown use."),
    ]


def compare_swap_devices(wanted: WantedDevices, *, most_runs: int | None = MOST_RUNS) -> SwapDevices:
    """Each device at each use: as it was simulated once where that is kept, else simulated now.

    Raises:
        BadRequest: a device, load, use or setting that cannot be, or too many of them.
    """
    runs = len(wanted.devices) * len(wanted.utilisations) * len(wanted.seeds)
    if runs == 0 or (most_runs is not None and runs > most_runs):
        raise BadRequest(
            f"{len(wanted.devices)} devices at {len(wanted.utilisations)} utilisations with {len(wanted.seeds)} seeds"
            f" are {runs} runs: 1 to {MOST_RUNS} are possible",
            next_step="Name fewer devices, utilisations or seeds.",
        )
    try:
        settings = device_settings(wanted.settings)
        loads = [
            replace(
                load,
                store_ratio=load.store_ratio if wanted.store_ratio is None else wanted.store_ratio,
                local_ratio=load.local_ratio if wanted.local_ratio is None else wanted.local_ratio,
            )
            for load in read_loads(wanted.loads)
        ]
        devices = read_devices(wanted.devices)
        points = tuple(
            _kept(wanted, device, utilisation)
            or simulate_device(device, utilisation, loads, settings=settings, seeds=wanted.seeds)
            for device in devices
            for utilisation in wanted.utilisations
        )
    except SwapDeviceError as error:
        raise BadRequest(str(error), next_step="See docs/method/swap-devices.md for what can be set.") from error
    labels: dict[str, str] = {name: DEVICE_LABELS[name] for name in devices}
    published = tuple(one for one in PUBLISHED if wanted.loads == (one.load,))
    return SwapDevices("simulated", wanted.loads, wanted.seeds, settings, labels, points, published)


def _kept(wanted: WantedDevices, device: SwapDeviceName, utilisation: float) -> DevicePoint | None:
    """The point as it was simulated once, where nothing else is asked for than it has."""
    changed = (wanted.store_ratio, wanted.local_ratio) != (None, None) or wanted.settings or wanted.seeds != SEEDS
    if changed or len(wanted.loads) != 1:
        return None
    return kept_points().get((device, wanted.loads[0], utilisation))


class SwapDeviceReads:
    """What is kept of the model of swap devices: it needs no simulation."""

    def curves(self, load: str) -> SwapDevices:
        """All devices at all uses under one load.

        Raises:
            BadRequest: a load of which nothing is kept.
        """
        if load not in KEPT_LOADS:
            raise BadRequest(
                f"no curves are kept of the load {load[:40]!r}; there are {', '.join(KEPT_LOADS)}",
                next_step="`tierscope swap-device --load` simulates others.",
            )
        uses = tuple(sorted({use for _, kept, use in kept_points() if kept == load}))
        return compare_swap_devices(WantedDevices(SWAP_DEVICES, uses, (load,)), most_runs=None)
