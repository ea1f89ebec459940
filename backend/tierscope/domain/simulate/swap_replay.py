"""What the swap traffic of a replay makes of a swap device: amplification, wear, throughput and times of swap-in.

The traffic is played to the device in its order and at its times, again and again until the flash is in a steady state
(`backend/simcore/swapdev/src/play.rs`). docs/method/swap-devices.md says what that leaves out. Simulated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tierscope.domain.base.compiled import compiled_core
from tierscope.domain.base.page_size import MODEL_PAGE_BYTES
from tierscope.domain.simulate.endurance import DAY_SECONDS, drive_life_years
from tierscope.domain.simulate.machine import SwapDevice
from tierscope.domain.simulate.replay import Ints, Outcome, SwapTraffic
from tierscope.domain.simulate.swap_devices import (
    SEEDS,
    DevicePoint,
    Estimate,
    Run,
    SwapDeviceError,
    SwapDeviceName,
    device_settings,
    estimate,
    point_of,
    read_devices,
)

OWN_DEVICE: Mapping[SwapDevice, SwapDeviceName] = {"ssd": "block_trim_coarse", "zns": "zns"}
"""Which device of the model a policy swaps to."""
CLUSTER_SLOTS, MIN_SLOTS, MAX_SLOTS = 512, 2_048, 65_536
"""Slots are given out by clusters; a larger area is played from a sample of its pages, on a device as much smaller."""
OUT = 0


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """A device under a replay's own traffic.

    `point` has the figures, rates of a whole machine; its `utilisation` is the share of the area that pages take at
    most which are nowhere else. `area_bytes`: of that machine. `pages_ratio`: pages that were played, of those that
    swapped. `keeps_up_ratio`: time that the traffic takes over what the device needs for it, 1 where it keeps up.
    `is_settled`: whether the flash was written often enough before anything counted. `flash_writes_per_day`: in sizes
    of the area. `drive_life_years`: by the rating, None without flash and where nothing is written.
    """

    point: DevicePoint
    area_bytes: float
    pages_ratio: float = 1.0
    keeps_up_ratio: Estimate | None = None
    is_settled: bool | None = None
    flash_writes_per_day: Estimate | None = None
    drive_life_years: Estimate | None = None


def most_out(traffic: SwapTraffic) -> int:
    """Most base pages that were on swap and nowhere else at once."""
    order = np.argsort(traffic.page, kind="stable")
    page, step = traffic.page[order], traffic.step[order]
    before = np.concatenate([[-1], step[:-1].astype(np.int64)])
    before[np.concatenate([[True], page[1:] != page[:-1]])] = -1
    change = np.where(step == OUT, before != OUT, 0) - np.where((step != OUT) & (before == OUT), 1, 0)
    in_time: Ints = np.zeros(len(step), np.int64)
    in_time[order] = change
    return int(np.cumsum(in_time).max(initial=0))


def play_on_device(
    outcome: Outcome,
    device: SwapDeviceName | None = None,
    utilisation: float | None = None,
    *,
    settings: Mapping[str, float] | None = None,
    seeds: Sequence[int] = SEEDS,
) -> DeviceUse | None:
    """Play a replay's traffic to a device. None where nothing went to swap, or its traffic was not kept.

    Args:
        outcome: of a replay `with_swap`.
        device: None takes what the policy swaps to.
        utilisation: at most so much of the device in use, which says how large it is; None takes the policy's area.
        settings: of the model, as `DEVICE_SETTINGS` names them.
        seeds: of the times of events within their intervals, and of compression.

    Raises:
        SwapDeviceError: a device, use or setting that cannot be.
        RuntimeError: the compiled core is not built, or is older than this program.
    """
    traffic, machine = outcome.swap_traffic, outcome.machine
    if traffic is None or machine.swap is None or not len(traffic.page):
        return None
    name = OWN_DEVICE[machine.swap] if device is None else read_devices([device])[0]
    peak = most_out(traffic)
    if utilisation is not None and not 0.0 < utilisation <= 1.0:
        raise SwapDeviceError(f"a utilisation is above 0 and at most 1, not {utilisation:g}")
    area = float(machine.swap_pages) if utilisation is None else peak / utilisation
    use, area_bytes = peak / area, area * machine.page_bytes / machine.sampled_ratio
    ratio = min(1.0, MAX_SLOTS / area)
    slots = int(area * ratio) // CLUSTER_SLOTS * CLUSTER_SLOTS
    if slots < MIN_SLOTS:
        error = f"the swap area has {area:,.0f} pages of the trace, too few to be a device: {MIN_SLOTS:,} are needed"
        return DeviceUse(DevicePoint(name, use, error=error), area_bytes)
    numbers = device_settings(settings) | {"slots": float(slots)}
    numbers["pool_bytes"] = numbers.pop("pool_ratio") * machine.dram_pages * ratio * MODEL_PAGE_BYTES
    # Fewer pages on a device with all its dies: time runs as much faster, so that the dies have the machine's load.
    interval_ns = outcome.interval_s * 1e9 * ratio * machine.sampled_ratio
    pass_ns = int(interval_ns * len(outcome.figures.promoted))
    chosen = _sample(traffic, ratio)
    core = compiled_core("play_swap_traffic", "swap traffic is played by")
    runs: list[Run] = []
    for seed in seeds:
        draws = np.random.default_rng(seed).random(len(chosen.page))
        at_ns = np.minimum(np.sort(chosen.interval + draws) * interval_ns, pass_ns).astype(np.uint64)
        try:
            runs.append(
                core.play_swap_traffic(
                    name, numbers, at_ns=at_ns, page=chosen.page, step=chosen.step, pass_ns=pass_ns, seed=seed
                )
            )
        except core.SwapDeviceFull as error:
            return DeviceUse(DevicePoint(name, use, error=str(error)), area_bytes, ratio)
        except ValueError as error:
            raise SwapDeviceError(str(error)) from error
    return _use(point_of(name, use, runs), area_bytes, ratio, runs)


def _sample(traffic: SwapTraffic, ratio: float) -> SwapTraffic:
    """Events of pages that a hash chooses, numbered anew."""
    if ratio >= 1.0:
        return traffic
    pages = np.arange(int(traffic.page.max()) + 1, dtype=np.uint64)
    kept = (pages * np.uint64(2_654_435_761) & np.uint64(0xFFFF_FFFF)) < ratio * 2.0**32
    number = np.cumsum(kept, dtype=np.uint32) - np.uint32(1)
    chosen = kept[traffic.page]
    return SwapTraffic(traffic.interval[chosen], number[traffic.page[chosen]], traffic.step[chosen])


def _use(point: DevicePoint, area_bytes: float, ratio: float, runs: Sequence[Run]) -> DeviceUse:
    found = [run[0] for run in runs]
    kept_up = [_keeps_up(one["asked_ns"], one["elapsed_ns"]) for one in found]
    rate = point.flash_bytes_per_s
    daily = None if rate is None else _scaled(rate, DAY_SECONDS / area_bytes)
    return DeviceUse(
        point,
        area_bytes,
        ratio,
        keeps_up_ratio=estimate(kept_up),
        is_settled=all(one["is_settled"] for one in found),
        flash_writes_per_day=daily,
        drive_life_years=None if daily is None or daily.lo <= 0.0 else _life(daily),
    )


def _keeps_up(asked_ns: float | None, elapsed_ns: float | None) -> float | None:
    return None if asked_ns is None or not elapsed_ns else min(asked_ns / elapsed_ns, 1.0)


def _scaled(one: Estimate, scale: float) -> Estimate:
    return Estimate(one.value * scale, one.lo * scale, one.hi * scale, one.seeds)


def _life(daily: Estimate) -> Estimate:
    value, hi, lo = (float(years) for years in drive_life_years([daily.value, daily.lo, daily.hi]))
    return Estimate(value, lo, hi, daily.seeds)
