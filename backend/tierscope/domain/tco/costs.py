"""What a host costs a year: capital, energy, wear, each part counted once, over many cases at once."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tierscope.domain.simulate.endurance import drive_life_years
from tierscope.domain.tco.scenario import Design, Finance, Scenario, SharedName, Swap

Floats = npt.NDArray[np.float64]
Cases = Mapping[SharedName, Floats]
"""Values of the shared inputs, one per case; all of one length."""

PartName = Literal[
    "base", "dram", "cxl_media", "ddr4_reused", "cxl_controllers", "swap_drive", "other", "energy", "wear"
]
KILOHOURS_PER_YEAR = 8.76
SECONDS_PER_YEAR = 365 * 86_400
MB_PER_TB = 1e6
GB_PER_TB = 1e3
DAYS_PER_YEAR = 365.0
SLACK = 1e-9
"""Rounding error that must not buy a host."""


@dataclass(frozen=True, slots=True)
class Own:
    """Values that one design has for itself, one per case: loss of throughput, MB/s that are swapped out."""

    loss: Floats
    swap_out_mb_per_s: Floats


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a host's cost in each case: price at purchase, cost per year, power drawn."""

    name: PartName
    capex: Floats
    annual: Floats
    watts: Floats


@dataclass(frozen=True, slots=True)
class Endurance:
    """How a swap drive wears: TB that the host writes a year, NAND writes in drive sizes a day, years that it lasts."""

    written_tb_per_year: Floats
    drive_writes_per_day: Floats
    drive_life_years: Floats


@dataclass(frozen=True, slots=True)
class HostCost:
    """The cost of one host in each case. `work` is its throughput, 1 = a host that loses nothing."""

    parts: tuple[Part, ...]
    work: Floats
    endurance: Endurance | None

    @property
    def capex(self) -> Floats:
        """Price at purchase."""
        return _total([part.capex for part in self.parts])

    @property
    def annual(self) -> Floats:
        """Cost per year."""
        return _total([part.annual for part in self.parts])

    @property
    def watts(self) -> Floats:
        """Power drawn, without what the building adds."""
        return _total([part.watts for part in self.parts])

    @property
    def annual_per_work(self) -> Floats:
        """Cost per year of what one host without loss does."""
        return self.annual / self.work


def cost_host(design: Design, scenario: Scenario, cases: Cases, own: Own) -> HostCost:
    """The cost of a design; memory that an option has more of counts as work only where its credit says `more`."""
    factor = scenario.finance.factor(scenario.finance.life_years)
    zero = np.zeros_like(cases["dram"])
    bought: list[tuple[PartName, Floats, Floats]] = [
        ("base", zero + design.sku.price, zero + design.sku.watts),
        ("dram", design.priced_dram_gb * cases["dram"], design.dram_gb * cases["dram_w_per_gb"]),
    ]
    if design.cxl:
        gb = design.cxl.gb
        bought.append(("cxl_media", gb * cases["cxl_media"], gb * cases["cxl_w_per_gb"]))
    if design.ddr4_reused:
        gb = design.ddr4_reused.gb
        bought.append(("ddr4_reused", gb * cases["ddr4_reused"], gb * cases["ddr4_w_per_gb"]))
    devices = sum(tier.devices for tier in (design.cxl, design.ddr4_reused) if tier)
    if devices:
        bought.append(("cxl_controllers", devices * cases["cxl_controller"], devices * cases["controller_w"]))
    if design.other_capex:
        bought.append(("other", zero + design.other_capex, zero))
    parts = [Part(name, capex, capex * factor, watts) for name, capex, watts in bought]
    endurance = None
    if design.swap:
        endurance = wear_of(design.swap, cases, own.swap_out_mb_per_s)
        parts.append(_swap_part(design.swap, scenario.finance, cases, endurance))
    watts = _total([part.watts for part in parts])
    energy = watts * KILOHOURS_PER_YEAR * cases["pue"] * cases["electricity"]
    parts.append(Part("energy", zero, energy, zero))
    return HostCost(tuple(parts), _work(design, scenario, own.loss), endurance)


def wear_of(swap: Swap, cases: Cases, swap_out_mb_per_s: Floats) -> Endurance:
    """How fast a swap drive wears; writes inside the drive are those of the host times its amplification (WAF)."""
    size_tb = swap.gb / GB_PER_TB
    waf = cases["waf_zns" if swap.zoned else "waf_ssd"]
    written = swap_out_mb_per_s * SECONDS_PER_YEAR / MB_PER_TB
    daily = written * waf / DAYS_PER_YEAR / size_tb
    life = drive_life_years(
        daily,
        rated_writes_per_day=cases["drive_writes_per_day"],
        rated_years=cases["drive_years"],
        rated_amplification=cases["waf_rated"],
    )
    return Endurance(written, daily, life)


def _swap_part(swap: Swap, finance: Finance, cases: Cases, endurance: Endurance) -> Part:
    """The drive, bought or worn. A bought one that wears out before the host is bought again: its own life counts."""
    price = swap.gb * cases["ssd"]
    watts = np.full_like(price, swap.watts)
    if swap.paid == "wear":
        return Part("wear", np.zeros_like(price), price / endurance.drive_life_years, watts)
    life = np.minimum(finance.life_years, endurance.drive_life_years)
    if finance.method == "straight_line" or finance.discount_rate == 0.0:
        factor = 1.0 / life
    else:
        factor = finance.discount_rate / (1.0 - (1.0 + finance.discount_rate) ** -life)
    return Part("swap_drive", price, price * factor, watts)


def _work(design: Design, scenario: Scenario, loss: Floats) -> Floats:
    cpu = design.zswap.cpu_ratio if design.zswap else 0.0
    return (1.0 - loss) * (1.0 - cpu) * capacity_factor(design, scenario)


def capacity_factor(design: Design, scenario: Scenario) -> float:
    """How many times the baseline's work the memory of a design holds: 1 unless it is credited with more memory."""
    if design.credit == "same" or design is scenario.baseline:
        return 1.0
    return design.memory_gb / scenario.baseline.memory_gb


def hosts_for(baseline_hosts: float, base_work: Floats | float, work: Floats | float) -> Floats:
    """Hosts that do the work of so many of the baseline's, in each case; of the last one maybe a part."""
    return np.asarray(baseline_hosts * base_work / work, np.float64)


def whole_hosts(hosts: float) -> int:
    """Machines that hold so many hosts' work."""
    return math.ceil(hosts - SLACK)


def _total(values: list[Floats]) -> Floats:
    return np.asarray(np.sum(values, axis=0), np.float64)
