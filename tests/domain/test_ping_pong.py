"""Ping-pong: the worked examples of the method, and what bounds must never do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.domain.ledger import (
    bound_churn,
    cpu_core_ratio,
    follow_states,
    measure_tpp,
    move_bytes_per_s,
    traffic_holds,
)

GIB = 2**30


def test_worked_example_of_a_tpp_minute() -> None:
    measured = measure_tpp(
        candidates=200_000, candidates_demoted=30_000, demoted_pages=150_000, seconds=60.0, dram_bytes=256 * GIB
    )
    assert measured.ratio == pytest.approx(0.15)
    assert measured.return_ratio == pytest.approx(0.20)
    assert measured.pages_per_s == pytest.approx(500)
    assert measured.pages_per_s_per_gib == pytest.approx(1.953125)
    assert measured.bytes_per_s == pytest.approx(4.096e6)


def test_worked_example_of_the_churn_bound_and_its_cost() -> None:
    bounded = bound_churn(promoted_pages=120_000, demoted_pages=150_000, seconds=60.0, dram_bytes=256 * GIB)
    assert bounded.round_trip_pages_hi == 120_000
    assert bounded.round_trip_pages_lo == 0
    assert cpu_core_ratio(270_000, 0, 60.0) == pytest.approx(0.0135)
    assert move_bytes_per_s(120_000, 150_000, 60.0) == pytest.approx(18.432e6)


def test_warning_turns_on_after_three_and_off_after_three() -> None:
    ratios = [share / 100 for share in (4, 11, 12, 13, 9, 6, 4, 4, 4)]
    states = follow_states(ratios, [True] * 9)
    assert states == ["ok", "ok", "ok", "warn", "warn", "warn", "warn", "warn", "ok"]


def test_critical_at_once_and_only_with_traffic() -> None:
    assert follow_states([0.4, 0.4], [True, False]) == ["crit", "ok"]


def test_a_missing_interval_leaves_the_streak_as_it_is() -> None:
    assert follow_states([0.2, 0.2, None, 0.2], [True] * 4) == ["ok", "ok", "ok", "warn"]


def test_promotions_beyond_the_slow_tier_must_have_come_back() -> None:
    bounded = bound_churn(
        promoted_pages=258_633, demoted_pages=283_433, seconds=204.0, dram_bytes=None, slow_pages_at_start=47_000
    )
    assert bounded.round_trip_pages_lo == 258_633 - 47_000


def test_zero_denominators_give_no_ratio() -> None:
    measured = measure_tpp(candidates=0, candidates_demoted=0, demoted_pages=0, seconds=60.0, dram_bytes=None)
    assert measured.ratio is None
    assert measured.return_ratio is None
    assert measured.pages_per_s_per_gib is None


def test_traffic_threshold_is_the_smaller_of_both() -> None:
    assert traffic_holds(1e6, 768 * 2**20)
    assert not traffic_holds(1e6, 512 * GIB)
    assert traffic_holds(17e6, None)


@given(
    promoted=st.integers(0, 10**9),
    demoted=st.integers(0, 10**9),
    slow=st.none() | st.integers(0, 10**9),
    spill=st.integers(0, 10**9),
)
def test_bounds_are_ordered(promoted: int, demoted: int, slow: int | None, spill: int) -> None:
    bounded = bound_churn(
        promoted_pages=promoted,
        demoted_pages=demoted,
        seconds=60.0,
        dram_bytes=GIB,
        slow_pages_at_start=slow,
        allocated_slow=spill,
    )
    assert 0 <= bounded.round_trip_pages_lo <= bounded.round_trip_pages_hi == min(promoted, demoted)
