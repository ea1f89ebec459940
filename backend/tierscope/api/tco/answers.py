"""Shapes of the answers about cost. Money is in the currency of the answer; `annual` is per year."""

from datetime import date

from pydantic import Field

from tierscope.api.base.figures import Model
from tierscope.api.tco.prices import Price
from tierscope.domain.tco.analysis import Bin, TornadoBar
from tierscope.domain.tco.published import PublishedSaving
from tierscope.domain.tco.results import Fleet, PerHost, WaterfallStep
from tierscope.usecases.tco.answers import Baseline, Difference, LossSource, MemoryFit, MemoryNeed, TcoInput


class BreakEven(Model):
    """Where the saving is zero, all else as given. Null: none in range, or no such memory; `why` says which."""

    cxl_price: float | None
    ddr4_price: float | None
    dram_price: float | None
    loss: float | None
    why: list[str]


class Distribution(Model):
    """The saving per year and unit of work over random draws of all ranges."""

    p10: float
    p50: float
    p90: float
    p_positive: float = Field(description="Share of draws in which the option saves.")
    bins: list[Bin]
    draws: int
    seed: int


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


class MissingInput(Model):
    """Something without which nothing is costed."""

    what: str = Field(description="Such as `dram price`.")
    path: str = Field(description="Where it belongs in the scenario.")
    why: str
    next_step: str
    presets: list[Price] = Field(description="Published prices that could be confirmed.")


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


class TcoComparison(Model):
    """Scenarios side by side."""

    currency: str
    scenarios: list[ComparedScenario]
    differences: list[Difference]
