"""What an option saves over random draws, where it breaks even, which input matters most."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import scipy

from tierscope.domain.base.described import Described
from tierscope.domain.tco.costs import Floats, HostCost, Own, cost_host, hosts_for
from tierscope.domain.tco.draws import as_given, draw_own, draw_shared, own_as_given, with_input
from tierscope.domain.tco.scenario import HIGHEST_LOSS, SHARED_INPUTS, Design, Range, Scenario, SharedName

HIGHEST_PRICE_FACTOR = 100.0
"""Break-even prices are sought from zero to so many times the price of DRAM."""
BINS = 40
PERCENTILES = (10.0, 50.0, 90.0)

BreakEvenOf = Literal["cxl_price", "ddr4_price", "dram_price", "loss"]


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The value at which the saving is zero, all else as given; None with the reason where there is none in range."""

    of: BreakEvenOf
    value: float | None
    lowest: float
    highest: float
    why: str | None


@dataclass(frozen=True, slots=True)
class TornadoBar:
    """The saving with one input at the ends of its range; `input` is a shared input, `loss` or `swap_out_mb_per_s`."""

    input: Annotated[str, Described("Name of an input of the answer, `loss` or `swap_out_mb_per_s`.")]
    low: float
    high: float
    saving_low: float
    saving_high: float

    @property
    def reach(self) -> float:
        """How far the saving moves."""
        return abs(self.saving_high - self.saving_low)


@dataclass(frozen=True, slots=True)
class Bin:
    """Draws whose saving is in [lo, hi); the last bin holds its upper end too."""

    lo: float
    hi: float
    n: int


@dataclass(frozen=True, slots=True)
class Distribution:
    """The saving per year and unit of work over random draws of all ranges; its median is the saving of an option."""

    p10: float
    p50: float
    p90: float
    p_positive: Annotated[float, Described("Share of draws in which the option saves.")]
    bins: tuple[Bin, ...]
    draws: int
    seed: int


@dataclass(frozen=True, slots=True)
class DrawnFleet:
    """The saving of a fleet per year over the same draws."""

    p10: float
    p50: float
    p90: float
    saving: Floats


@dataclass(frozen=True, slots=True)
class DrawnSavings(Distribution):
    """The same with the saving of each draw, in the order drawn, and that of the fleet."""

    saving: Floats
    fleet: DrawnFleet


def saving_at(scenario: Scenario, option: Design, name: SharedName, values: list[float]) -> Floats:
    """The saving of an option with one shared input at each of these values, all else as given."""
    cases = with_input(scenario, name, values)
    base = cost_host(scenario.baseline, scenario, cases, own_as_given(scenario.baseline, len(values)))
    other = cost_host(option, scenario, cases, own_as_given(option, len(values)))
    return base.annual_per_work - other.annual_per_work


def saving_at_own(scenario: Scenario, option: Design, own: Own) -> Floats:
    """The saving of an option for values of its own, the shared inputs as given."""
    times = len(own.loss)
    cases = as_given(scenario, times)
    base = cost_host(scenario.baseline, scenario, cases, own_as_given(scenario.baseline, times))
    return base.annual_per_work - cost_host(option, scenario, cases, own).annual_per_work


def find_break_evens(scenario: Scenario, option: Design) -> tuple[BreakEven, ...]:
    """Where an option breaks even, by price of each kind of memory and by loss."""
    highest = HIGHEST_PRICE_FACTOR * scenario.inputs["dram"].value
    prices: tuple[tuple[BreakEvenOf, SharedName, bool], ...] = (
        ("cxl_price", "cxl_media", any(design.cxl for design in (scenario.baseline, option))),
        ("ddr4_price", "ddr4_reused", any(design.ddr4_reused for design in (scenario.baseline, option))),
        ("dram_price", "dram", True),
    )
    found = []
    for of, name, used in prices:
        if not used:
            found.append(BreakEven(of, None, 0.0, highest, "neither host has such memory"))
            continue
        # The price of CXL media moves alone even where it is that of DRAM otherwise: that is what is asked.
        apart = replace(scenario, linked=False, inputs=_unlinked(scenario)) if name == "cxl_media" else scenario

        def saving(value: float, case: Scenario = apart, moved: SharedName = name) -> float:
            return float(saving_at(case, option, moved, [value])[0])

        found.append(_root(of, saving, 0.0, highest))
    given = own_as_given(option)

    def saving_of_loss(value: float) -> float:
        return float(saving_at_own(scenario, option, replace(given, loss=np.array([value])))[0])

    found.append(_root("loss", saving_of_loss, 0.0, HIGHEST_LOSS))
    return tuple(found)


def _unlinked(scenario: Scenario) -> dict[SharedName, Range]:
    inputs = dict(scenario.inputs)
    if scenario.linked:
        inputs["cxl_media"] = inputs["dram"]
    return inputs


def _root(of: BreakEvenOf, saving: Callable[[float], float], lowest: float, highest: float) -> BreakEven:
    """The root between the ends; none in range where the saving has one sign at both, or is zero throughout."""
    at_ends = saving(lowest), saving(highest)
    if at_ends[0] == at_ends[1]:
        return BreakEven(of, None, lowest, highest, "none in range: the saving does not depend on it")
    if at_ends[0] * at_ends[1] > 0.0:
        says = "saves" if at_ends[0] > 0.0 else "costs more"
        return BreakEven(of, None, lowest, highest, f"none in range {lowest:g} to {highest:g}: it {says} throughout")
    value = float(scipy.optimize.brentq(saving, lowest, highest, xtol=1e-12, rtol=1e-14))
    return BreakEven(of, value, lowest, highest, None)


def rank_inputs(scenario: Scenario, option: Design) -> tuple[TornadoBar, ...]:
    """One input at a time at the ends of its range, the widest reach first; inputs without reach are left out."""
    bars = []
    for name in SHARED_INPUTS:
        item = scenario.inputs[name]
        if item.is_certain or (scenario.linked and name == "cxl_media"):
            continue
        low, high = saving_at(scenario, option, name, [item.low, item.high])
        bars.append(TornadoBar(name, item.low, item.high, float(low), float(high)))
    given = own_as_given(option, 2)
    if not option.loss.is_certain:
        ends = np.array([option.loss.low, option.loss.high])
        low, high = saving_at_own(scenario, option, replace(given, loss=ends))
        bars.append(TornadoBar("loss", *map(float, (*ends, low, high))))
    if option.swap and not option.swap.swap_out_mb_per_s.is_certain:
        ends = np.array([option.swap.swap_out_mb_per_s.low, option.swap.swap_out_mb_per_s.high])
        low, high = saving_at_own(scenario, option, replace(given, swap_out_mb_per_s=ends))
        bars.append(TornadoBar("swap_out_mb_per_s", *map(float, (*ends, low, high))))
    return tuple(sorted((bar for bar in bars if bar.reach > 0.0), key=lambda bar: -bar.reach))


def draw_savings(scenario: Scenario, *, draws: int, seed: int) -> tuple[DrawnSavings, ...]:
    """The saving of each option over the same draws of the shared inputs."""
    cases = draw_shared(scenario, draws=draws, seed=seed)
    costs = [
        cost_host(design, scenario, cases, draw_own(design, place, draws=draws, seed=seed))
        for place, design in enumerate(scenario.designs)
    ]
    return tuple(_distribution(costs[0], cost, scenario.fleet.hosts, seed) for cost in costs[1:])


def _distribution(base: HostCost, option: HostCost, hosts: int, seed: int) -> DrawnSavings:
    saving = base.annual_per_work - option.annual_per_work
    of_fleet = hosts * base.annual - hosts_for(hosts, base.work, option.work) * option.annual
    fleet = DrawnFleet(*_percentiles(of_fleet), of_fleet)
    p10, p50, p90 = _percentiles(saving)
    counts, edges = np.histogram(saving, bins=_edges(saving))
    bins = tuple(Bin(float(lo), float(hi), int(n)) for lo, hi, n in zip(edges[:-1], edges[1:], counts, strict=True))
    return DrawnSavings(p10, p50, p90, float(np.mean(saving > 0.0)), bins, len(saving), seed, saving, fleet)


def _percentiles(saving: Floats) -> tuple[float, float, float]:
    p10, p50, p90 = np.percentile(saving, PERCENTILES)
    return float(p10), float(p50), float(p90)


def _edges(saving: Floats) -> Floats:
    """Edges of bins; a single one where all draws are the same."""
    low, high = float(saving.min()), float(saving.max())
    if low == high:
        return np.array([low, np.nextafter(high, np.inf)])
    return np.linspace(low, high, BINS + 1)
