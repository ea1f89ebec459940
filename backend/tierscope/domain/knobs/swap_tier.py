"""When swap pays as a tier below DRAM: how long memory should have been cold before it goes there, and what that saves.

Memory that turned cold at a steady rate has an age distribution with the shape of its survival S(t), the share that was
not accessed again (docs/method/swap-devices.md). So from the cold bytes and S follow, for an age at which pages go to
swap, the bytes that are out and the bytes that come back per second. Coming back costs time (loss) and, since a page
that comes back was written, flash (life of the drive). Every number has a central value and two ends, each from the
ends of what it is made of that are worst and best for swap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tierscope.domain.simulate.endurance import DAY_SECONDS, drive_life_years
from tierscope.domain.simulate.swap_amplification import Drive, amplification_at
from tierscope.domain.tco.scenario import GIB, Finance, Range

Floats = npt.NDArray[np.float64]
Verdict = Literal["pays", "may_pay", "does_not_pay", "keep_out"]
Binding = Literal["loss", "latency", "price", "endurance", "uncertainty", "none"]

PAGE_BYTES = 4096
USED_RATIO = 0.5
"""Of the device: above half Linux frees the slot of a page that comes back, and writes it again (`vm_swap_full`)."""
FAULT_S = Range(80e-6, 70e-6, 250e-6)
"""One swap-in from flash [A]: reading it, to the 99th percentile of a device with little load."""
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
    drive: Drive
    cores: float
    loss_target: float
    latency_p99_s: float | None = None


@dataclass(frozen=True, slots=True)
class SwapAge:
    """Memory goes to swap after it was cold for so long. `low` is the end that is worse for swap, except of loss."""

    age_seconds: float
    out_bytes: Range
    back_bytes_per_s: Range
    loss: Range
    saving_per_year: Range
    drive_life_years: Range


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
    life, out = age.drive_life_years, age.out_bytes.value
    swap = _range(
        _drive_cost(out, terms.ssd.value, life.value, terms.finance),
        _drive_cost(out, terms.ssd.low, life.high, terms.finance),
        _drive_cost(out, terms.ssd.high, life.low, terms.finance),
    )
    dram = Range(*(gb * price * factor for price in (terms.dram.value, terms.dram.low, terms.dram.high)))
    saving = _range(dram.value - cost.value, dram.low - cost.high, dram.high - cost.low)
    back, per_core = age.back_bytes_per_s, PAGE_BYTES * terms.cores
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
    if terms.latency_p99_s is not None and terms.latency_p99_s < LATENCY_FAULTS * FAULT_S.value:
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
    worn = best.drive_life_years.value < terms.finance.life_years
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
    amplified = amplification_at(terms.drive, USED_RATIO)
    per_core = PAGE_BYTES * terms.cores
    found = []
    for at in range(len(central.out)):
        out = _range(central.out[at], worst.out[at], best.out[at])
        back = _range(central.back[at], best.back[at], busiest.back[at])
        life = _range(
            _life(out.value, back.value, amplified.value),
            _life(out.low, back.high, amplified.high),
            _life(out.high, back.low, amplified.low),
        )
        loss = _range(
            min(back.value * FAULT_S.value / per_core, 1.0),
            min(back.low * FAULT_S.low / per_core, 1.0),
            min(back.high * FAULT_S.high / per_core, 1.0),
        )
        dram, ssd = terms.dram, terms.ssd
        saving = _range(
            _saving(out.value, dram.value, ssd.value, life.value, terms.finance),
            _saving(out.low, dram.low, ssd.high, life.low, terms.finance),
            _saving(out.high, dram.high, ssd.low, life.high, terms.finance),
            _saving(out.high, dram.low, ssd.high, life.low, terms.finance),
        )
        found.append(SwapAge(at * cold.interval_s, out, back, loss, saving, life))
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


def _life(out_bytes: float, back_bytes_per_s: float, amplification: float) -> float:
    daily = back_bytes_per_s * amplification * DAY_SECONDS / max(out_bytes / USED_RATIO, 1.0)
    return min(float(drive_life_years(daily)), LONGEST_LIFE_YEARS)


def _saving(out_bytes: float, dram: float, ssd: float, life_years: float, finance: Finance) -> float:
    """A year's cost of the DRAM that is freed less that of the drive; energy is not counted."""
    drive = _drive_cost(out_bytes, ssd, life_years, finance)
    return out_bytes / GIB * dram * finance.factor(finance.life_years) - drive


def _drive_cost(out_bytes: float, ssd: float, life_years: float, finance: Finance) -> float:
    """A year's cost of a drive of twice the size, which is bought again where it wears out before the host."""
    years = min(finance.life_years, max(life_years, SHORTEST_LIFE_YEARS))
    return out_bytes / USED_RATIO / GB * ssd * finance.factor(years)


def _range(value: float, *ends: float) -> Range:
    known: Sequence[float] = (value, *ends)
    return Range(float(value), float(min(known)), float(max(known)))
