"""A service beside slow memory that its hosts do not have: what is known of them then, and devices by their loss."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tierscope.domain.slowdown import (
    REFERENCE_RHO,
    Device,
    LoadedLatency,
    Point,
    Tier,
    loss_of,
    odds_of,
    scaling_sd,
)
from tierscope.usecases.ratio.answers import Ratio, RatioCandidate
from tierscope.usecases.ratio.inputs import RatioInputs

GIB = float(1 << 30)
"""Memory is priced by what modules call a GB."""
HOST_BYTES = 768 * GIB
"""Of a host without an inventory [A]."""


def beside_device(known: RatioInputs, device: Device) -> RatioInputs:
    """The hosts with this device in place of their slow memory, and with their own DRAM where it was measured."""
    memory = known.hardware.memory
    slow = device.tier
    dram = memory.dram
    if slow is not None and dram is not None:
        # The device beside this DRAM: its extra latency is its own, whatever DRAM it was measured beside.
        extra_ns = dram.loaded_latency.idle_ns - device.dram_idle_ns
        least_ns = dram.loaded_latency.idle_ns
        points = tuple((load, max(ns + extra_ns, least_ns)) for load, ns in slow.loaded_latency.points)
        slow = Tier(slow.bandwidth_gb_per_s, LoadedLatency(points[0][1], points))
    hardware = replace(known.hardware, memory=replace(memory, slow=slow), slow_elsewhere=False)
    return replace(known, hardware=hardware)


def move_points(points: Sequence[Point], own: float | None, rho: float) -> list[Point]:
    """Losses that were measured beside slow memory of the ratio `own`, as they would be at `rho`."""
    at = own or REFERENCE_RHO
    factor, doubt = (rho - 1.0) / (at - 1.0), max(scaling_sd(rho), scaling_sd(at))
    moved = []
    for point in points:
        loss = loss_of(odds_of(point.loss) * factor)
        slope = loss * (1.0 - loss)
        sd = (point.variance + doubt**2) ** 0.5 * slope
        moved.append(Point(point.share_on_cxl, loss, sd))
    return moved


@dataclass(frozen=True, slots=True)
class RankedDevice:
    """A device at one ratio. `worth_usd_per_gb`: what a GiB of it may cost more than one of the device that loses most.

    The hosts that it saves, spread over the slow memory of a host of `host_bytes`; None where it was not judged.
    """

    device: Device
    answer: Ratio
    at: RatioCandidate | None
    host_bytes: float
    worth_usd_per_gb: float | None


def rank_devices(
    answers: Sequence[tuple[Device, Ratio]], *, at: str | None, host_usd: float
) -> tuple[RankedDevice, ...]:
    """Devices from the least loss to the most at one ratio; without `at` that with the least DRAM that any allows."""
    name = at or _common_ratio([answer for _, answer in answers])
    found = [(device, answer, _candidate(answer, name)) for device, answer in answers]
    found.sort(key=lambda one: 1.0 if one[2] is None else one[2].loss_median.value or 0.0)
    worst = max((one.loss_median.value or 0.0 for _, _, one in found if one is not None), default=0.0)
    ranked = []
    for device, answer, candidate in found:
        size = _host_bytes(answer)
        worth = None if candidate is None else _worth(candidate, worst, host_usd, size)
        ranked.append(RankedDevice(device, answer, candidate, size, worth))
    return tuple(ranked)


def _common_ratio(answers: Sequence[Ratio]) -> str | None:
    """The least DRAM that any of the devices likely allows, so that they differ; the most DRAM where none does."""
    likely = [answer.range for answer in answers if answer.range is not None]
    named = [one for one in likely if one.likely is not None]
    if named:
        return min(named, key=lambda one: one.likely_dram_ratio).likely
    return next((answer.candidates[0].name for answer in answers if answer.candidates), None)


def _candidate(answer: Ratio, name: str | None) -> RatioCandidate | None:
    return next((one for one in answer.candidates if one.name == name), None)


def _host_bytes(answer: Ratio) -> float:
    """Memory of a host of the kind that the answer is for; of a usual one where no inventory says."""
    kind = next((one for one in answer.kinds if one.headline), None)
    dram = None if kind is None else kind.dram_bytes
    return HOST_BYTES if kind is None or not dram else dram + (kind.slow_bytes or 0.0)


def _worth(candidate: RatioCandidate, worst: float, host_usd: float, host_bytes: float) -> float:
    # A loss of l takes 1 / (1 - l) hosts for the same work.
    more = 1.0 / (1.0 - worst) - 1.0 / (1.0 - (candidate.loss_median.value or 0.0))
    return more * host_usd / ((1.0 - candidate.dram_ratio) * host_bytes / GIB)
