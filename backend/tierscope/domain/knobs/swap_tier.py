"""When swap pays as a tier below DRAM: how long memory should have been cold before it goes there, and what that saves.

Memory that turned cold at a steady rate has an age distribution with the shape of its survival S(t), the share that was
not accessed again (docs/method/swap-devices.md). So from the cold bytes and S follow, for an age at which pages go to
swap, the bytes that are out and the bytes that come back per second. Coming back costs time (loss) and, since a page
that comes back was written, flash (life of the drive). Memory compressed in DRAM (zram) wears nothing, and takes the
DRAM of its pool. Every number has a central value and two ends, each from the
ends of what it is made of that are worst and best for swap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.page_size import MODEL_PAGE_BYTES
from tierscope.domain.capacity.swap import SwapDevice
from tierscope.domain.simulate.endurance import DAY_SECONDS, drive_life_years
from tierscope.domain.simulate.swap_amplification import amplification_at
from tierscope.domain.tco.scenario import GIB, Finance, Range

Floats = npt.NDArray[np.float64]
Verdict = Literal["pays", "may_pay", "does_not_pay", "keep_out"]
Binding = Literal["loss", "latency", "price", "endurance", "uncertainty", "none"]

USED_RATIO = 0.5
"""Of the device: above half Linux frees the slot of a page that comes back, and writes it again (`vm_swap_full`)."""
FAULT_S = Range(80e-6, 70e-6, 250e-6)
"""One swap-in of 4 KiB from flash [A]: reading it, to the 99th percentile of a device with little load. A larger page
costs as many of them as it is larger, at most."""
ZRAM_FAULT_S = Range(4e-6, 2e-6, 20e-6)
"""One swap-in from compressed memory [A]: a page fault with 1.5 us of lz4, to one that waits for a processor."""
ZRAM_RATIO = Range(3.0, 2.0, 4.0)
"""Pages that one page of compressed memory holds, on average [A]; the model of swap devices has 2.97."""
MOST_TAIL = 1000.0
"""Cold memory of which nothing comes back is taken to stay so for so many times as long as it was watched [A]."""
LAST_RATIO = 1.0 / 3.0
"""Part of the watch that says how memory comes back beyond it."""
LATENCY_FAULTS = 10.0
"""A service whose 99th percentile is shorter than so many swap-ins feels single ones."""
GB = 1e9
CXL_DEVICE_GB = Range(384.0, 128.0, 768.0)
"""Memory behind one CXL controller [A]: twelve modules of 32 GB, with the ends of smaller boards and larger modules."""
CXL_EXTRA_S = Range(150e-9, 70e-9, 300e-9)
"""What a line of CXL memory takes longer than one of DRAM [S MEMO, TPP]."""
CXL_LINES = Range(16.0, 1.0, 64.0)
"""Lines that are read of a page that comes back, before it is promoted [A]; a page has 64."""
MIN_OUT_RATIO = 0.01
"""Of the cold bytes: an age at which less is out is no tier."""
LONGEST_LIFE_YEARS = 100.0
"""Beyond it a drive is not worn by its writes."""
SHORTEST_LIFE_YEARS = 1e-3
"""Of a drive: far below what anybody would run, so that its cost stays a number."""


def fault_of(device: SwapDevice) -> Range:
    """Seconds of one swap-in."""
    return ZRAM_FAULT_S if device == "zram" else FAULT_S


@dataclass(frozen=True, slots=True)
class ColdMemory:
    """Cold bytes in DRAM, and the share accessed again within 1..n intervals since then, with its band, [n] each."""

    cold_bytes: Range
    interval_s: float
    share: Floats
    share_lo: Floats
    share_hi: Floats


@dataclass(frozen=True, slots=True)
class SwapTerms:
    """What is asked and assumed. `dram`: price of 2^30 bytes, `ssd`: of 10^9; `cores`: busy ones, of all hosts."""

    dram: Range
    ssd: Range
    finance: Finance
    device: SwapDevice
    cores: float
    loss_target: float
    latency_p99_s: float | None = None


@dataclass(frozen=True, slots=True)
class SwapAge:
    """Memory goes to swap after it was cold for so long.

    `pool_bytes`: DRAM that compressed memory takes. `wait_ratio`: seconds that all threads together wait for swap-ins
    in a second; `loss`: the same over the busy processors. `cost_per_year`: of what holds the middle of `out_bytes`.
    `drive_life_years`: None where nothing wears.
    """

    age_seconds: float
    out_bytes: Range
    pool_bytes: Range
    back_bytes_per_s: Range
    wait_ratio: Range
    loss: Range
    cost_per_year: Range
    saving_per_year: Range
    drive_life_years: Range | None


@dataclass(frozen=True, slots=True)
class SwapTier:
    """The verdict, what binds it, the age it is for (the least harmful one where none is kept), and all ages."""

    verdict: Verdict
    binding: Binding
    best: SwapAge
    ages: tuple[SwapAge, ...]


@dataclass(frozen=True, slots=True)
class BesideCxl:
    """The same memory on CXL instead: cost a year of either, saving against DRAM, and loss on CXL.

    `cheaper`: of those that keep the loss target the one that costs less, None where the ranges of the costs overlap,
    and where neither keeps it.
    """

    cost_per_year: Range
    swap_cost_per_year: Range
    saving_per_year: Range
    loss: Range
    cheaper: Literal["swap", "cxl"] | None


def weigh_cxl(found: SwapTier, terms: SwapTerms, media: Range, controller: Range) -> BesideCxl:
    """The memory of the best age on CXL: `media` is the price of 2^30 bytes, `controller` of a device with board."""
    age, factor = found.best, terms.finance.factor(terms.finance.life_years)
    gb = age.out_bytes.value / GIB
    cost = _range(
        gb * (media.value + controller.value / CXL_DEVICE_GB.value) * factor,
        gb * (media.low + controller.low / CXL_DEVICE_GB.high) * factor,
        gb * (media.high + controller.high / CXL_DEVICE_GB.low) * factor,
    )
    swap = age.cost_per_year
    dram = Range(*(gb * price * factor for price in (terms.dram.value, terms.dram.low, terms.dram.high)))
    saving = _range(dram.value - cost.value, dram.low - cost.high, dram.high - cost.low)
    back, per_core = age.back_bytes_per_s, MODEL_PAGE_BYTES * terms.cores
    loss = _range(
        *(
            min(rate * extra * lines / per_core, 1.0)
            for rate, extra, lines in (
                (back.value, CXL_EXTRA_S.value, CXL_LINES.value),
                (back.low, CXL_EXTRA_S.low, CXL_LINES.low),
                (back.high, CXL_EXTRA_S.high, CXL_LINES.high),
            )
        )
    )
    swap_keeps, cxl_keeps = found.verdict != "keep_out", loss.high <= terms.loss_target
    cheaper: Literal["swap", "cxl"] | None = None
    if swap_keeps and (not cxl_keeps or swap.high < cost.low):
        cheaper = "swap"
    elif cxl_keeps and (not swap_keeps or cost.high < swap.low):
        cheaper = "cxl"
    return BesideCxl(cost, swap, saving, loss, cheaper)


def judge_swap_tier(cold: ColdMemory, terms: SwapTerms) -> SwapTier:
    """Whether swap pays for a service, at the age of cold memory that saves most within the loss target.

    The loss is judged by its worse end. A service is kept out where no age keeps the target, or where single swap-ins
    show in its latency.
    """
    ages = _ages(cold, terms)
    calmest = min(ages, key=lambda age: age.loss.high)
    if terms.latency_p99_s is not None and terms.latency_p99_s < LATENCY_FAULTS * fault_of(terms.device).value:
        return SwapTier("keep_out", "latency", calmest, ages)
    least = MIN_OUT_RATIO * cold.cold_bytes.value
    kept = [age for age in ages if age.loss.high <= terms.loss_target and age.out_bytes.value >= least]
    if not kept:
        return SwapTier("keep_out", "loss", calmest, ages)
    best = max(kept, key=lambda age: age.saving_per_year.value)
    if best.saving_per_year.low > 0.0:
        held_back = best is not max(ages, key=lambda age: age.saving_per_year.value)
        return SwapTier("pays", "loss" if held_back else "none", best, ages)
    if best.saving_per_year.value > 0.0:
        return SwapTier("may_pay", "uncertainty", best, ages)
    worn = best.drive_life_years is not None and best.drive_life_years.value < terms.finance.life_years
    return SwapTier("does_not_pay", "endurance" if worn else "price", best, ages)


@dataclass(frozen=True, slots=True)
class _Flow:
    """Bytes out and bytes back per second, by age in intervals [n + 1]."""

    out: Floats
    back: Floats


def _ages(cold: ColdMemory, terms: SwapTerms) -> tuple[SwapAge, ...]:
    bytes_, width = cold.cold_bytes, cold.interval_s
    central = _flow(bytes_.value, cold.share, width, last_ratio=LAST_RATIO)
    best = _flow(bytes_.high, cold.share_lo, width, last_ratio=LAST_RATIO)
    # At worst cold memory comes back later as fast as it did on average since it turned cold, when it does most.
    worst = _flow(bytes_.low, cold.share_hi, width, last_ratio=1.0)
    busiest = _flow(bytes_.high, cold.share_hi, width, last_ratio=1.0)
    fault = fault_of(terms.device)
    found = []
    for at in range(len(central.out)):
        out = _range(central.out[at], worst.out[at], best.out[at])
        back = _range(central.back[at], best.back[at], busiest.back[at])
        wait = _range(*(rate / MODEL_PAGE_BYTES * each for rate, each in zip(_parts(back), _parts(fault), strict=True)))
        life = None if terms.device == "zram" else _life(out, back, terms.device)
        found.append(
            SwapAge(
                age_seconds=at * cold.interval_s,
                out_bytes=out,
                pool_bytes=_pool(out, terms.device),
                back_bytes_per_s=back,
                wait_ratio=wait,
                loss=_range(*(min(one / terms.cores, 1.0) for one in _parts(wait))),
                cost_per_year=_cost(out.value, life, terms),
                saving_per_year=_saving(out, life, terms),
                drive_life_years=life,
            )
        )
    return tuple(found)


def _flow(cold_bytes: float, share: Floats, interval_s: float, *, last_ratio: float) -> _Flow:
    """Flows of cold bytes whose share accessed again within 1..n intervals is `share`, by age 0..n.

    What is cold for longer than was watched comes back at the mean rate of this last part of the watch.
    """
    survival = np.concatenate([[1.0], 1.0 - np.clip(share, 0.0, 1.0)])
    steps = interval_s * (survival[:-1] + survival[1:]) / 2.0
    beyond = np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]]) + _tail(survival, interval_s, last_ratio)
    turned_cold = cold_bytes / beyond[0]
    return _Flow(turned_cold * beyond, turned_cold * survival)


def _tail(survival: Floats, interval_s: float, last_ratio: float) -> float:
    watched = len(survival) - 1
    part = max(round(watched * last_ratio), 1)
    last, before = float(survival[-1]), float(survival[watched - part])
    if last <= 0.0:
        return 0.0
    rate = max(float(np.log(before / last)) / part, 1.0 / (MOST_TAIL * watched))
    return last * interval_s / rate


def _life(out: Range, back: Range, device: Literal["block", "zns"]) -> Range:
    amplified = amplification_at(device, USED_RATIO)

    def years(out_bytes: float, back_bytes_per_s: float, amplification: float) -> float:
        daily = back_bytes_per_s * amplification * DAY_SECONDS / max(out_bytes / USED_RATIO, 1.0)
        return min(float(drive_life_years(daily)), LONGEST_LIFE_YEARS)

    return _range(
        years(out.value, back.value, amplified.value),
        years(out.low, back.high, amplified.high),
        years(out.high, back.low, amplified.low),
    )


def _cost(out_bytes: float, life: Range | None, terms: SwapTerms) -> Range:
    """A year's cost of what holds so many bytes, over prices, wear and compression; energy is not counted.

    A drive has twice the size, and is bought again where it wears out before the host. Without a life it is the DRAM
    of compressed memory.
    """
    finance = terms.finance
    if life is None:
        factor = finance.factor(finance.life_years)
        return _range(
            out_bytes / ZRAM_RATIO.value / GIB * terms.dram.value * factor,
            out_bytes / ZRAM_RATIO.high / GIB * terms.dram.low * factor,
            out_bytes / ZRAM_RATIO.low / GIB * terms.dram.high * factor,
        )

    def drive(price: float, life_years: float) -> float:
        years = min(finance.life_years, max(life_years, SHORTEST_LIFE_YEARS))
        return out_bytes / USED_RATIO / GB * price * finance.factor(years)

    ssd = terms.ssd
    return _range(drive(ssd.value, life.value), drive(ssd.low, life.high), drive(ssd.high, life.low))


def _pool(out: Range, device: SwapDevice) -> Range:
    if device != "zram":
        return Range(0.0, 0.0, 0.0)
    return _range(out.value / ZRAM_RATIO.value, out.low / ZRAM_RATIO.high, out.high / ZRAM_RATIO.low)


def _saving(out: Range, life: Range | None, terms: SwapTerms) -> Range:
    """A year's cost of the DRAM that is freed, less that of what holds the memory instead."""
    dram, factor = terms.dram, terms.finance.factor(terms.finance.life_years)
    if life is None:
        # Both are DRAM, so that one price is in force for what is freed and for what the pool takes.
        return _range(
            out.value * (1 - 1 / ZRAM_RATIO.value) / GIB * dram.value * factor,
            out.low * (1 - 1 / ZRAM_RATIO.low) / GIB * dram.low * factor,
            out.high * (1 - 1 / ZRAM_RATIO.high) / GIB * dram.high * factor,
        )

    def freed(bytes_: float, price: float) -> float:
        return bytes_ / GIB * price * factor

    return _range(
        freed(out.value, dram.value) - _cost(out.value, life, terms).value,
        freed(out.low, dram.low) - _cost(out.low, life, terms).high,
        freed(out.high, dram.high) - _cost(out.high, life, terms).low,
        freed(out.high, dram.low) - _cost(out.high, life, terms).high,
    )


def _parts(one: Range) -> tuple[float, float, float]:
    return one.value, one.low, one.high


def _range(value: float, *ends: float) -> Range:
    known: Sequence[float] = (value, *ends)
    return Range(float(value), float(min(known)), float(max(known)))
