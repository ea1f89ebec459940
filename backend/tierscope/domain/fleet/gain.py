"""What memory behind CXL in place of DRAM would save a year, of a service and of all together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from tierscope.domain.base.described import Described


@dataclass(frozen=True, slots=True)
class ServiceGain:
    """The safe ratio of a service, what DRAM it frees, and what that saves a year, net of the memory in its place.

    Hosts that run several services are shared out by their resident memory, so that gains of services add up.
    """

    ratio: Annotated[
        str | None, Described("DRAM:CXL that keeps the loss of 5 % with 95 % confidence; null: none is proven.")
    ]
    dram_ratio: Annotated[float, Described("DRAM's share of the memory at that ratio; 1: all of it.")]
    how: Annotated[
        Literal["cxl", "ddr4"] | None,
        Described("What takes the place of DRAM: new memory, or reused DDR4, whichever saves more; null: not costed."),
    ]
    dram_freed_bytes: float | None
    net_per_year: Annotated[float | None, Described("The median over draws of prices and losses; negative: a cost.")]
    net_per_year_p10: float | None
    net_per_year_p90: float | None
    currency: str | None
    grade: Annotated[str | None, Described("Of the ratio: `early`, `provisional` or `established`.")]
    why_not: Annotated[str | None, Described("Why nothing is saved, or why that is not known.")]


@dataclass(frozen=True, slots=True)
class FleetGain:
    """The sum of the gains of services of which a saving is proven: whose 10th percentile is above zero.

    Both ends are sums of those of services, as if all erred to one side.
    """

    net_per_year: float
    net_per_year_p10: float
    net_per_year_p90: float
    currency: str
    dram_freed_bytes: float
    n_services: Annotated[int, Described("Services that it is the sum of.")]
    n_judged: Annotated[int, Described("Services with a ratio answer.")]


def read_gain(stored: Mapping[str, Any]) -> ServiceGain:
    """A gain as it was stored."""
    values: dict[str, Any] = {field.name: stored.get(field.name) for field in fields(ServiceGain)}
    return ServiceGain(**values)


def sum_gains(gains: Iterable[ServiceGain]) -> FleetGain | None:
    """Of services with a proven saving; None where none was costed."""
    judged = list(gains)
    costed = [gain for gain in judged if gain.net_per_year_p10 is not None]
    if not costed:
        return None
    proven = [gain for gain in costed if (gain.net_per_year_p10 or 0.0) > 0.0]
    return FleetGain(
        sum(gain.net_per_year or 0.0 for gain in proven),
        sum(gain.net_per_year_p10 or 0.0 for gain in proven),
        sum(gain.net_per_year_p90 or 0.0 for gain in proven),
        costed[0].currency or "",
        sum(gain.dram_freed_bytes or 0.0 for gain in proven),
        len(proven),
        len(judged),
    )
