"""What the answer to a what-if of cost holds; attributes are those of the API's models."""

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure
from tierscope.domain.tco.analysis import Distribution, TornadoBar
from tierscope.domain.tco.published import PublishedSaving
from tierscope.domain.tco.results import Fleet, PerHost, WaterfallStep
from tierscope.usecases.tco.prices import Price

Spread = Literal["triangular", "log_normal_odds", "certain"]
InputOrigin = Literal["scenario", "price_book", "default", "follows_dram", "simulated"]


@dataclass(frozen=True, slots=True)
class TcoInput:
    """A shared input as it was used, with where it is from and the day it held on; None where nobody says."""

    name: str
    label: str
    value: float
    low: float
    high: float
    unit: str
    origin: InputOrigin
    source: str
    date: date | None
    grounding: str


@dataclass(frozen=True, slots=True)
class MissingInput:
    """Something without which nothing can be costed: where it belongs, and prices that could be confirmed."""

    what: Annotated[str, Described("Such as `dram price`.")]
    path: Annotated[str, Described("Where it belongs in the scenario.")]
    why: str
    next_step: str
    presets: Annotated[tuple[Price, ...], Described("Published prices that could be confirmed.")]


@dataclass(frozen=True, slots=True)
class LossSource:
    """Where an option's loss of throughput is from. `low` and `high` are the ends, or the 5th and 95th percentile."""

    kind: Literal["number", "service", "sweep", "workload"]
    value: float
    low: Annotated[float, Described("Low end of the range, or the 5th percentile of a belief.")]
    high: Annotated[float, Described("High end of the range, or the 95th percentile of a belief.")]
    distribution: Spread
    source: str
    simulated: bool


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """What the work needs on one host."""

    source: str
    required_bytes: Figure
    hot_bytes: Figure


@dataclass(frozen=True, slots=True)
class MemoryFit:
    """Whether a host holds what the work needs; None where that is not known."""

    holds_required: bool | None
    dram_holds_hot: Annotated[bool | None, Described("Whether DRAM holds 1.1 times the hot bytes.")]


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Values at which the saving is zero, all else as given; None where `why` says that there is none in range."""

    cxl_price: float | None
    ddr4_price: float | None
    dram_price: float | None
    loss: float | None
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the hosts of today cost."""

    name: str
    per_host: PerHost
    fleet: Fleet
    loss: LossSource
    fit: MemoryFit | None


@dataclass(frozen=True, slots=True)
class Option:
    """Hosts as they could be. Savings are per year and unit of work."""

    name: str
    per_host: PerHost
    saving: Annotated[float, Described("The median of `distribution`.")]
    saving_ratio: Annotated[float, Described("The median over the baseline's cost per year and unit of work.")]
    saving_as_given: Annotated[
        float, Described("With every input at its value: what break-even points, tornado and waterfall are about.")
    ]
    hosts_needed: int
    fleet: Fleet
    loss: LossSource
    fit: MemoryFit | None
    break_even: BreakEven
    tornado: tuple[TornadoBar, ...]
    waterfall: tuple[WaterfallStep, ...]
    distribution: Distribution
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TcoAnswer:
    """The answer. `baseline` is None and `options` empty while something is missing."""

    name: str
    currency: str
    price_date: Annotated[date | None, Described("The day that the price of DRAM held on.")]
    baseline: Baseline | None
    options: tuple[Option, ...]
    missing: tuple[MissingInput, ...]
    inputs: tuple[TcoInput, ...]
    memory: MemoryNeed | None
    sanity: tuple[PublishedSaving, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComparedScenario:
    """A stored scenario beside others."""

    id: str
    version: int
    answer: TcoAnswer


@dataclass(frozen=True, slots=True)
class Difference:
    """A place in which scenarios differ: what each says there, in the order asked; None where it says nothing."""

    path: str
    values: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class TcoComparison:
    """Scenarios side by side, in one currency."""

    currency: str
    scenarios: tuple[ComparedScenario, ...]
    differences: tuple[Difference, ...]
