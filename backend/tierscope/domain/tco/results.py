"""The answer to a what-if: cost per host and for the fleet, what an option saves, and what to check about it.

The saving of an option is the median over random draws of all uncertain inputs, per host and for the fleet. The saving
with every input at its value stands beside it: parts, break-even points and the tornado are about that one.
"""

import math
from dataclasses import dataclass
from typing import Annotated

from tierscope.domain.base.described import Described
from tierscope.domain.tco.analysis import (
    BreakEven,
    DrawnFleet,
    DrawnSavings,
    TornadoBar,
    draw_savings,
    find_break_evens,
    rank_inputs,
)
from tierscope.domain.tco.costs import (
    KILOHOURS_PER_YEAR,
    SLACK,
    HostCost,
    PartName,
    capacity_factor,
    cost_host,
    hosts_for,
    whole_hosts,
)
from tierscope.domain.tco.draws import as_given, own_as_given
from tierscope.domain.tco.published import NOTABLE_SAVING, PUBLISHED_SAVINGS
from tierscope.domain.tco.scenario import Design, Scenario


@dataclass(frozen=True, slots=True)
class CostPart:
    """A part of a host's cost."""

    name: PartName
    capex: float
    annual: Annotated[
        float,
        Described("Share of the price that a year bears; for energy and wear what a year costs."),
    ]
    watts: float


@dataclass(frozen=True, slots=True)
class Endurance:
    """How a swap drive wears; `drive_life_years` None where nothing is written."""

    written_tb_per_year: Annotated[float, Described("Written by the host, TB of 10^12 bytes.")]
    drive_writes_per_day: Annotated[float, Described("Written to flash, in drive sizes a day.")]
    drive_life_years: Annotated[float | None, Described("Null where nothing is written.")]


@dataclass(frozen=True, slots=True)
class PerHost:
    """The cost of one host. `work` is its throughput over that of one that loses nothing."""

    parts: tuple[CostPart, ...]
    capex: float
    annual: float
    watts: float
    kwh_per_year: Annotated[float, Described("With the building's overhead (PUE).")]
    memory_gb: Annotated[float, Described("What the host can hold over all tiers, GiB.")]
    dram_price_per_gb: Annotated[float, Described("What its DRAM costs, in modules of the size that it needs.")]
    dram_module_gb: Annotated[float | None, Described("Size of its DRAM modules; null: no modules are priced.")]
    loss: float
    work: Annotated[float, Described("Throughput over that of a host that loses nothing.")]
    annual_per_work: Annotated[float, Described("Cost per year and unit of work: what options are compared by.")]
    endurance: Endurance | None


@dataclass(frozen=True, slots=True)
class FleetYear:
    """One year of a fleet: hosts for that year's demand, and their cost."""

    year: int
    hosts: int
    annual: float
    saving: float


@dataclass(frozen=True, slots=True)
class Fleet:
    """A fleet that does the baseline's work. `extra_hosts` make up for lost throughput (negative: fewer are needed).

    `hosts` are whole machines; money and power are of the work that they do, so that a machine that is hardly used
    costs what is used of it: others share it, and a tenth of a percent of loss buys none.
    `saving` is the median over random draws, `saving_ratio` its share of the baseline's cost;
    everything else is with every input at its value. `total` is the cost over all years, `present_value` the same
    discounted to today; None with straight-line costs, which have no price of money in them.
    """

    hosts: int
    extra_hosts: Annotated[int, Described("Beyond the baseline's, to make up for lost throughput; negative: fewer.")]
    capex: float
    annual: float
    watts: float
    saving: Annotated[float, Described("Per year: the median over random draws, by work and not by whole hosts.")]
    saving_p10: float
    saving_p90: float
    saving_ratio: Annotated[float, Described("The median over the baseline's cost per year.")]
    saving_as_given: Annotated[float, Described("With every input at its value.")]
    years: tuple[FleetYear, ...]
    total: float
    total_saving: float
    present_value: Annotated[float | None, Described("Of all years, discounted; null with straight-line costs.")]


@dataclass(frozen=True, slots=True)
class WaterfallStep:
    """A step from the baseline's cost per unit of work to the option's; they add up to minus the saving as given."""

    part: str
    delta: float


@dataclass(frozen=True, slots=True)
class OptionResult:
    """What an option costs and saves per year and unit of work.

    `saving` is the median of `distribution`, `saving_ratio` its share of the baseline's cost. `saving_as_given` has
    every input at its value: break-even points, tornado and waterfall are about it.
    """

    name: str
    per_host: PerHost
    saving: float
    saving_ratio: float
    saving_as_given: float
    fleet: Fleet
    break_even: tuple[BreakEven, ...]
    tornado: tuple[TornadoBar, ...]
    waterfall: tuple[WaterfallStep, ...]
    distribution: DrawnSavings
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BaselineResult:
    """What the hosts of today cost."""

    name: str
    per_host: PerHost
    fleet: Fleet


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A scenario, costed."""

    baseline: BaselineResult
    options: tuple[OptionResult, ...]


def evaluate(scenario: Scenario, *, draws: int, seed: int) -> Evaluation:
    """Cost a scenario with at least one random draw of its uncertain inputs."""
    cases = as_given(scenario)
    costs = [cost_host(design, scenario, cases, own_as_given(design)) for design in scenario.designs]
    hosts = [_per_host(design, cost, scenario) for design, cost in zip(scenario.designs, costs, strict=True)]
    base = hosts[0]
    base_fleet = _fleet(scenario, base, base, None)
    spread = draw_savings(scenario, draws=draws, seed=seed)
    options = tuple(
        _option(scenario, design, base, host, distribution)
        for design, host, distribution in zip(scenario.options, hosts[1:], spread, strict=True)
    )
    return Evaluation(BaselineResult(scenario.baseline.name, base, base_fleet), options)


def _per_host(design: Design, cost: HostCost, scenario: Scenario) -> PerHost:
    parts = tuple(
        CostPart(part.name, float(part.capex[0]), float(part.annual[0]), float(part.watts[0])) for part in cost.parts
    )
    wear = cost.endurance
    endurance = None
    if wear is not None:
        life = float(wear.drive_life_years[0])
        endurance = Endurance(
            float(wear.written_tb_per_year[0]),
            float(wear.drive_writes_per_day[0]),
            life if math.isfinite(life) else None,
        )
    watts = float(cost.watts[0])
    return PerHost(
        parts=parts,
        capex=float(cost.capex[0]),
        annual=float(cost.annual[0]),
        watts=watts,
        kwh_per_year=watts * KILOHOURS_PER_YEAR * scenario.inputs["pue"].value,
        memory_gb=design.memory_gb,
        dram_price_per_gb=design.dram_price_ratio * scenario.inputs["dram"].value,
        dram_module_gb=design.dram_module_gb,
        loss=design.loss.value,
        work=float(cost.work[0]),
        annual_per_work=float(cost.annual_per_work[0]),
        endurance=endurance,
    )


def _option(
    scenario: Scenario, design: Design, base: PerHost, host: PerHost, distribution: DrawnSavings
) -> OptionResult:
    ratio = distribution.p50 / base.annual_per_work if base.annual_per_work > 0.0 else 0.0
    return OptionResult(
        name=design.name,
        per_host=host,
        saving=distribution.p50,
        saving_ratio=ratio,
        saving_as_given=base.annual_per_work - host.annual_per_work,
        fleet=_fleet(scenario, base, host, distribution.fleet),
        break_even=find_break_evens(scenario, design),
        tornado=rank_inputs(scenario, design),
        waterfall=_waterfall(scenario, design, base, host),
        distribution=distribution,
        warnings=_warnings(scenario, design, host, ratio),
    )


def _fleet(scenario: Scenario, base: PerHost, host: PerHost, drawn: DrawnFleet | None) -> Fleet:
    """The fleet of one host; `drawn` None for that of the baseline, which saves nothing."""
    years, total, total_base, present = [], 0.0, 0.0, 0.0
    rate = scenario.finance.discount_rate
    for year in range(1, scenario.fleet.years + 1):
        demand = math.ceil(scenario.fleet.hosts * (1.0 + scenario.fleet.growth_per_year) ** (year - 1) - SLACK)
        needed = float(hosts_for(demand, base.work, host.work))
        annual, before = needed * host.annual, demand * base.annual
        years.append(FleetYear(year, whole_hosts(needed), annual, before - annual))
        total, total_base = total + annual, total_base + before
        present += annual / (1.0 + rate) ** year
    used = float(hosts_for(scenario.fleet.hosts, base.work, host.work))
    hosts = whole_hosts(used)
    before = scenario.fleet.hosts * base.annual
    p10, saving, p90 = (0.0, 0.0, 0.0) if drawn is None else (drawn.p10, drawn.p50, drawn.p90)
    return Fleet(
        hosts=hosts,
        extra_hosts=hosts - scenario.fleet.hosts,
        capex=used * host.capex,
        annual=used * host.annual,
        watts=used * host.watts,
        saving=saving,
        saving_p10=p10,
        saving_p90=p90,
        saving_ratio=saving / before if before > 0.0 else 0.0,
        saving_as_given=before - used * host.annual,
        years=tuple(years),
        total=total,
        total_saving=total_base - total,
        present_value=present if scenario.finance.method == "crf" else None,
    )


def _waterfall(scenario: Scenario, design: Design, base: PerHost, host: PerHost) -> tuple[WaterfallStep, ...]:
    """Parts as they differ per host, then what lost throughput and more memory do; the sum is -saving as given."""
    before = {part.name: part.annual for part in base.parts}
    after = {part.name: part.annual for part in host.parts}
    names = dict.fromkeys((*before, *after))
    steps = [WaterfallStep(name, after.get(name, 0.0) - before.get(name, 0.0)) for name in names]
    credited = capacity_factor(design, scenario)
    throughput = host.work / credited
    lost_before = base.annual_per_work - base.annual
    steps.append(WaterfallStep("lost_throughput", host.annual / throughput - host.annual - lost_before))
    if design.credit == "more":
        steps.append(WaterfallStep("more_memory_per_host", host.annual_per_work - host.annual / throughput))
    return tuple(steps)


def _warnings(scenario: Scenario, design: Design, host: PerHost, saving_ratio: float) -> tuple[str, ...]:
    found = []
    if saving_ratio > NOTABLE_SAVING:
        known = "; ".join(f"{one.span} of {one.what} ({one.source}, {one.year})" for one in PUBLISHED_SAVINGS)
        more = max(one.high_ratio for one in PUBLISHED_SAVINGS)
        beyond = " It is more than any of these." if saving_ratio > more else ""
        found.append(f"It saves {saving_ratio:.1%} per host. Published: {known}.{beyond}")
    base = scenario.baseline.memory_gb
    if design.memory_gb < base * (1.0 - SLACK):
        found.append(
            f"Holds {design.memory_gb:,.0f} GiB where the baseline holds {base:,.0f} GiB: part of the saving is memory"
            " that is missing, not memory that is cheaper."
        )
    elif design.credit == "same" and design.memory_gb > base * (1.0 + SLACK):
        found.append(
            f"Holds {design.memory_gb:,.0f} GiB, more than the baseline's {base:,.0f} GiB, and is not credited for it;"
            " set capacity to `more` where memory is what limits a host."
        )
    if host.endurance is not None and design.swap is not None:
        rated = scenario.inputs["drive_writes_per_day"].value
        if host.endurance.drive_writes_per_day > rated * scenario.inputs["waf_rated"].value:
            life = host.endurance.drive_life_years
            found.append(
                f"Swap writes {host.endurance.drive_writes_per_day:.2f} drive sizes a day to flash and the drive is"
                f" rated for {rated:g}: it lasts {life or 0.0:.1f} years."
            )
    return tuple(found)
