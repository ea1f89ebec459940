"""What DRAM that holds cold memory costs a year: its price spread over the years that hosts are kept."""

from tierscope.domain.base.figures import Interval
from tierscope.domain.tco.scenario import GIB, Finance, Range


def dram_cost_per_year(
    held: tuple[float, float, float], price_per_gb: Range, finance: Finance
) -> tuple[float, Interval]:
    """The annual cost of DRAM and its range, in the currency of the price; energy is not counted.

    Args:
        held: bytes of DRAM as (value, lo, hi).
        price_per_gb: what 2^30 bytes cost at purchase.
        finance: how purchases are spread over years.
    """
    factor = finance.factor(finance.life_years) / GIB
    value, lo, hi = held
    return value * price_per_gb.value * factor, Interval(
        lo * price_per_gb.low * factor, hi * price_per_gb.high * factor, None, "range"
    )
