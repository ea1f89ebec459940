"""DRAM that holds cold memory: what it costs a year."""

import pytest

from tierscope.domain.tco.idle_dram import dram_cost_per_year
from tierscope.domain.tco.scenario import Finance, Range

TIB = float(1 << 40)


def test_a_price_is_spread_over_the_years_and_bounds_multiply() -> None:
    finance = Finance(life_years=5.0, discount_rate=0.0, method="straight_line")
    value, interval = dram_cost_per_year((TIB, 0.5 * TIB, 2.0 * TIB), Range(10.0, 8.0, 12.0), finance)
    assert value == pytest.approx(1024 * 10 / 5)
    assert (interval.lo, interval.hi) == pytest.approx((512 * 8 / 5, 2048 * 12 / 5))
    assert (interval.level, interval.kind) == (None, "range")


def test_money_costs_money() -> None:
    price = Range(10.0, 10.0, 10.0)
    plain = dram_cost_per_year((TIB, TIB, TIB), price, Finance(5.0, 0.0, "crf"))[0]
    dear = dram_cost_per_year((TIB, TIB, TIB), price, Finance(5.0, 0.08, "crf"))[0]
    assert dear == pytest.approx(plain * 5 * 0.08 / (1 - 1.08**-5))
