"""How much DRAM of the fleet holds cold memory, what it costs a year, and how much of all memory that rests on."""

from dataclasses import dataclass
from typing import Annotated

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Interval, absent
from tierscope.domain.fleet.gain import FleetGain, sum_gains
from tierscope.domain.tco.idle_dram import dram_cost_per_year
from tierscope.domain.tco.scenario import Finance, Range
from tierscope.storage.fleet.services import read_gains
from tierscope.storage.tco.prices import PriceRow, prices_in_force
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.fleet.overview_hosts import read_fleet_memory
from tierscope.usecases.heat.services import fleet_figures, read_heat_now
from tierscope.usecases.tco.prices import Price, view_in_force
from tierscope.usecases.tco.scenario_documents import FinanceDocument

KNOWN = "fleet.known_heat_ratio/1"


@dataclass(frozen=True, slots=True)
class AnnualCost:
    """What the DRAM costs a year, before what would hold the cold memory instead; capital alone."""

    value: float
    interval: Annotated[Interval, Described("From the bounds of the bytes and of the price.")]
    currency: str
    life_years: Annotated[float, Described("The years that a purchase is spread over.")]
    price: Price


@dataclass(frozen=True, slots=True)
class ReclaimableDram:
    """Cold memory in DRAM, now, of hosts whose server answers.

    `known_heat_ratio` is the share of those hosts' memory that the bytes rest on.
    """

    cold_in_dram_bytes: Figure
    known_heat_ratio: Figure
    annual_cost: Annotated[AnnualCost | None, Described("Null without the bytes, or without a confirmed price.")]
    reason: Annotated[str | None, Described("Why there is no cost, and what to do.")]
    saving: Annotated[
        FleetGain | None, Described("What the safe ratios of services save a year; null: no service is costed yet.")
    ]


class ReclaimableReads(ContextUseCase):
    """DRAM of the fleet that holds cold memory."""

    def read(self, *, currency: str) -> ReclaimableDram:
        """Bytes, cost and coverage of all hosts, now; the cost in one currency."""
        now = self._context.clock()
        with self._context.database.read() as session:
            memory = read_fleet_memory(session, now=now)
            heats = list(read_heat_now(session, now=now).values())
            price = prices_in_force(session, currency).get("dram")
            gains = [gain for gain in read_gains(session).values() if gain.currency in (None, currency)]
        heat = fleet_figures(heats, now=now).weighted
        cold = heat.cold_in_dram_bytes
        cost = _cost(cold, price)
        reason = None
        if cost is None:
            reason = (
                cold.reason if price else f"No price of DRAM in {currency} is confirmed. Confirm one on the TCO page."
            )
        return ReclaimableDram(cold, _known(heat.resident_bytes, memory), cost, reason, sum_gains(gains))


def _known(measured: Figure, memory: Figure) -> Figure:
    if measured.value is None or not memory.value:
        return absent(KNOWN, "ratio", "not_collected", measured.reason or memory.reason or "No host says.")
    value = min(measured.value / memory.value, 1.0)
    return Figure(
        KNOWN,
        "ok",
        value,
        "ratio",
        method="counters",
        n_hosts=memory.n_hosts,
        grade=measured.grade,
        warnings=measured.warnings,
    )


def _cost(cold: Figure, price: PriceRow | None) -> AnnualCost | None:
    if cold.value is None or price is None:
        return None
    terms = FinanceDocument()
    finance = Finance(terms.life_years, terms.discount_rate, terms.method)
    bounds = (cold.value, cold.value) if cold.interval is None else (cold.interval.lo, cold.interval.hi)
    shown = view_in_force(price)
    value, interval = dram_cost_per_year((cold.value, *bounds), Range(shown.value, shown.low, shown.high), finance)
    return AnnualCost(value, interval, shown.currency, finance.life_years, shown)
