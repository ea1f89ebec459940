"""What a what-if of cost is asked about: machines, their memory, prices and how sure they are. Frozen values.

Money is in one currency, which the caller names. Memory is in GiB, which a module's label calls GB; a GB of a
drive is 10^9 bytes. Shares and losses are in 0..1.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

SharedName = Literal[
    "dram",
    "cxl_media",
    "ddr4_reused",
    "cxl_controller",
    "ssd",
    "electricity",
    "dram_w_per_gb",
    "cxl_w_per_gb",
    "ddr4_w_per_gb",
    "controller_w",
    "pue",
    "drive_writes_per_day",
    "drive_years",
    "waf_ssd",
    "waf_zns",
    "waf_rated",
]
SHARED_INPUTS: tuple[SharedName, ...] = get_args(SharedName)
"""Names of the inputs that all machines of a scenario share. Prices are per GB, per device and per kWh."""
POSITIVE_INPUTS = frozenset({"dram", "pue", "drive_writes_per_day", "drive_years", "waf_ssd", "waf_zns", "waf_rated"})
GIB = 1 << 30
"""Bytes of what is sold as a GB of memory: a GiB."""
HIGHEST_LOSS = 0.99
UPPER_QUANTILE = 1.6448536269514722
"""Of the one-sided 95 % bound of a normal distribution."""

Method = Literal["straight_line", "crf"]
Paid = Literal["capex", "wear"]
Credit = Literal["same", "more"]


class ScenarioError(ValueError):
    """A scenario contradicts itself; `path` says where."""

    def __init__(self, path: str, cause: str) -> None:
        super().__init__(f"{path}: {cause}")
        self.path = path
        self.cause = cause


@dataclass(frozen=True, slots=True)
class Range:
    """A value with the ends that it may take: a triangular distribution, or a certain value where both are equal."""

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.value <= self.high):
            raise ValueError(f"a range has low <= value <= high, not {self.low}, {self.value}, {self.high}")

    @classmethod
    def exactly(cls, value: float) -> "Range":
        """A value that is certain."""
        return cls(value, value, value)

    @property
    def is_certain(self) -> bool:
        """Whether there is nothing to draw."""
        return self.low == self.high


@dataclass(frozen=True, slots=True)
class LogOdds:
    """A loss whose odds l / (1 - l) are log-normal on each side of their median: what ratio advice believes.

    `sd_below` and `sd_above`: of the logarithm, below and above the median.
    """

    median: float
    sd_below: float
    sd_above: float

    def __post_init__(self) -> None:
        sds = self.sd_below, self.sd_above
        if not (0.0 < self.median <= HIGHEST_LOSS and all(math.isfinite(sd) and sd >= 0.0 for sd in sds)):
            raise ValueError(f"a loss of uncertain odds has a median in (0, {HIGHEST_LOSS}] and sd >= 0")

    @property
    def value(self) -> float:
        """The median."""
        return self.median

    @property
    def low(self) -> float:
        """The 5th percentile."""
        return self._at(-UPPER_QUANTILE * self.sd_below)

    @property
    def high(self) -> float:
        """The 95th percentile."""
        return self._at(UPPER_QUANTILE * self.sd_above)

    @property
    def is_certain(self) -> bool:
        """Whether there is nothing to draw."""
        return self.sd_below == self.sd_above == 0.0

    def _at(self, distance: float) -> float:
        if distance == 0.0:
            return self.median
        odds = self.median / (1.0 - self.median) * math.exp(distance)
        return min(odds / (1.0 + odds), HIGHEST_LOSS)


Loss = Range | LogOdds


@dataclass(frozen=True, slots=True)
class Expander:
    """Memory behind CXL controllers of one host: its size and the number of devices (controller with board)."""

    gb: float
    devices: int


@dataclass(frozen=True, slots=True)
class Swap:
    """A drive that memory is swapped to. `used_gb` is memory that lives there, at most the drive's size.

    `paid` says where the drive is counted, once: `capex` where it is bought for this, `wear` where it is there anyway.
    """

    zoned: bool
    gb: float
    used_gb: float
    swap_out_mb_per_s: Range
    paid: Paid
    watts: float = 0.0


@dataclass(frozen=True, slots=True)
class Zswap:
    """A pool of compressed memory within DRAM: it holds ratio times its size and takes a share of the CPU time."""

    pool_gb: float
    compression_ratio: float
    cpu_ratio: float


@dataclass(frozen=True, slots=True)
class Sku:
    """A machine without its memory: price and power of chassis, processors, network."""

    name: str
    price: float
    watts: float


@dataclass(frozen=True, slots=True)
class Design:
    """One host as it would be built, and the share of its throughput that slow memory costs.

    `dram_price_ratio`: price of its DRAM over the scenario's, by the size of its modules, `dram_module_gb`.
    """

    name: str
    sku: Sku
    dram_gb: float
    cxl: Expander | None
    ddr4_reused: Expander | None
    swap: Swap | None
    zswap: Zswap | None
    loss: Loss
    other_capex: float = 0.0
    credit: Credit = "same"
    dram_price_ratio: float = 1.0
    dram_module_gb: float | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.loss.low <= self.loss.high <= HIGHEST_LOSS:
            raise ScenarioError("loss", f"a loss is in 0..{HIGHEST_LOSS}")
        if self.zswap and self.zswap.pool_gb > self.dram_gb:
            raise ScenarioError("zswap.pool_gb", "the pool is part of DRAM and cannot be larger")
        if self.swap and self.swap.used_gb > self.swap.gb:
            raise ScenarioError("swap.used_gb", "more memory than the drive holds")

    @property
    def priced_dram_gb(self) -> float:
        """DRAM in GiB of the scenario's price."""
        return self.dram_gb * self.dram_price_ratio

    @property
    def memory_gb(self) -> float:
        """Memory that the host can hold over all tiers; a compressed pool counts as what it holds."""
        slow = sum(tier.gb for tier in (self.cxl, self.ddr4_reused) if tier)
        swapped = self.swap.used_gb if self.swap else 0.0
        compressed = self.zswap.pool_gb * (self.zswap.compression_ratio - 1.0) if self.zswap else 0.0
        return self.dram_gb + slow + swapped + compressed


@dataclass(frozen=True, slots=True)
class Finance:
    """How long hosts are kept, and what money costs: straight line, or the capital recovery factor (crf)."""

    life_years: float
    discount_rate: float
    method: Method

    def factor(self, years: float) -> float:
        """Share of the price that one of so many years bears."""
        if self.method == "straight_line" or self.discount_rate == 0.0:
            return 1.0 / years
        return self.discount_rate / (1.0 - math.pow(1.0 + self.discount_rate, -years))


@dataclass(frozen=True, slots=True)
class Fleet:
    """Hosts of the baseline today, how demand grows a year (0.2 = 20 %), and over how many years."""

    hosts: int
    growth_per_year: float
    years: int


@dataclass(frozen=True, slots=True)
class Scenario:
    """A baseline, options, and the inputs that they share, by the names of `SHARED_INPUTS`.

    `linked` says that CXL media has no price of its own and follows that of DRAM.
    """

    name: str
    currency: str
    baseline: Design
    options: tuple[Design, ...]
    inputs: Mapping[SharedName, Range]
    finance: Finance
    fleet: Fleet
    linked: bool = field(default=False)

    def __post_init__(self) -> None:
        missing = [name for name in SHARED_INPUTS if name not in self.inputs]
        if missing:
            raise ScenarioError("inputs", f"missing: {', '.join(missing)}")
        for name, item in self.inputs.items():
            if item.low < 0.0 or (name in POSITIVE_INPUTS and item.low <= 0.0):
                raise ScenarioError(f"inputs.{name}", "cannot be negative, nor zero where something is divided by it")
        if self.baseline.memory_gb <= 0.0:
            raise ScenarioError("baseline", "a host without memory")

    @property
    def designs(self) -> tuple[Design, ...]:
        """The baseline, then the options."""
        return (self.baseline, *self.options)
