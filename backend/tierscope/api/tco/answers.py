"""Shapes of the answers about cost. Money is in the currency of the answer; `annual` is per year."""

from datetime import date
from typing import Literal

from pydantic import Field

from tierscope.api.base.figures import Figure, Model
from tierscope.api.tco.prices import Price


class CostPart(Model):
    """A part of a host's cost."""

    name: Literal[
        "base", "dram", "cxl_media", "ddr4_reused", "cxl_controllers", "swap_drive", "other", "energy", "wear"
    ]
    capex: float
    annual: float = Field(description="Share of the price that a year bears; for energy and wear what a year costs.")
    watts: float


class Endurance(Model):
    """How a swap drive wears."""

    written_tb_per_year: float = Field(description="Written by the host, TB of 10^12 bytes.")
    drive_writes_per_day: float = Field(description="Written to flash, in drive sizes a day.")
    drive_life_years: float | None = Field(description="Null where nothing is written.")


class PerHost(Model):
    """The cost of one host."""

    parts: list[CostPart]
    capex: float
    annual: float
    watts: float
    kwh_per_year: float = Field(description="With the building's overhead (PUE).")
    memory_gb: float = Field(description="What the host can hold over all tiers, GB of 2^30 bytes.")
    loss: float
    work: float = Field(description="Throughput over that of a host that loses nothing.")
    annual_per_work: float = Field(description="Cost per year and unit of work: what options are compared by.")
    endurance: Endurance | None


class FleetYear(Model):
    """One year of a fleet; year 1 is today's demand."""

    year: int
    hosts: int
    annual: float
    saving: float


class Fleet(Model):
    """A fleet that does the baseline's work, in whole hosts."""

    hosts: int
    extra_hosts: int = Field(description="Beyond the baseline's, to make up for lost throughput; negative: fewer.")
    capex: float
    annual: float
    watts: float
    saving: float
    saving_ratio: float
    years: list[FleetYear]
    total: float
    total_saving: float
    present_value: float | None = Field(description="Of all years, discounted; null with straight-line costs.")


class LossSource(Model):
    """Where a loss of throughput is from."""

    kind: Literal["number", "service", "sweep"]
    value: float
    low: float = Field(description="Low end of the range, or the 5th percentile of a belief.")
    high: float = Field(description="High end of the range, or the 95th percentile of a belief.")
    distribution: Literal["triangular", "log_normal_odds", "certain"]
    source: str
    simulated: bool


class MemoryFit(Model):
    """Whether a host holds what the work needs; null where that is not known."""

    holds_required: bool | None
    dram_holds_hot: bool | None = Field(description="Whether DRAM holds 1.1 times the hot bytes.")


class BreakEven(Model):
    """Where the saving is zero, all else as given. Null: none in range, or no such memory; `why` says which."""

    cxl_price: float | None
    ddr4_price: float | None
    dram_price: float | None
    loss: float | None
    why: list[str]


class TornadoBar(Model):
    """The saving with one input at the ends of its range; widest reach first."""

    input: str = Field(description="Name of an input of the answer, `loss` or `swap_out_mb_per_s`.")
    low: float
    high: float
    saving_low: float
    saving_high: float


class WaterfallStep(Model):
    """A step from the baseline's cost per unit of work to the option's; all steps add up to minus the saving."""

    part: str
    delta: float


class Bin(Model):
    """Draws whose saving lies in [lo, hi)."""

    lo: float
    hi: float
    n: int


class Distribution(Model):
    """The saving per year and unit of work over random draws of all ranges."""

    p10: float
    p50: float
    p90: float
    p_positive: float = Field(description="Share of draws in which the option saves.")
    bins: list[Bin]
    draws: int
    seed: int


class Baseline(Model):
    """The hosts of today."""

    name: str
    per_host: PerHost
    fleet: Fleet
    loss: LossSource
    fit: MemoryFit | None


class Option(Model):
    """Hosts as they could be. `saving` is per year and unit of work."""

    name: str
    per_host: PerHost
    saving: float
    saving_ratio: float
    hosts_needed: int
    fleet: Fleet
    loss: LossSource
    fit: MemoryFit | None
    break_even: BreakEven
    tornado: list[TornadoBar]
    waterfall: list[WaterfallStep]
    distribution: Distribution | None = Field(description="Null where only the fast parts were asked for.")
    warnings: list[str]


class TcoInput(Model):
    """An input as it was used."""

    name: str
    label: str
    value: float
    low: float
    high: float
    unit: str
    origin: Literal["scenario", "price_book", "default", "follows_dram"]
    source: str
    date: date | None
    grounding: str


class MissingInput(Model):
    """Something without which nothing is costed."""

    what: str = Field(description="Such as `dram price`.")
    path: str = Field(description="Where it belongs in the scenario.")
    why: str
    next_step: str
    presets: list[Price] = Field(description="Published prices that could be confirmed.")


class MemoryNeed(Model):
    """What the work needs on one host."""

    source: str
    required_bytes: Figure
    hot_bytes: Figure


class PublishedSaving(Model):
    """A published saving, to hold the result against."""

    source: str
    what: str
    low_ratio: float
    high_ratio: float


class TcoAnswer(Model):
    """Answer of /v1/tco/evaluate. `baseline` is null and `options` empty while something is missing."""

    name: str
    currency: str
    price_date: date | None = Field(description="The day that the price of DRAM held on.")
    baseline: Baseline | None
    options: list[Option]
    missing: list[MissingInput]
    inputs: list[TcoInput]
    memory: MemoryNeed | None
    sanity: list[PublishedSaving]
    notes: list[str]


class ComparedScenario(Model):
    """A stored scenario beside others."""

    id: str
    version: int
    answer: TcoAnswer


class Difference(Model):
    """A place in which the scenarios differ; values in their order, null where one says nothing."""

    path: str
    values: list[str | None]


class TcoComparison(Model):
    """Scenarios side by side."""

    currency: str
    scenarios: list[ComparedScenario]
    differences: list[Difference]
