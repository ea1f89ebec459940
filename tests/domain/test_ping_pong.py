"""Ping-pong: the worked examples of the method, and what bounds must never do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.domain.ledger import (
    COLUMN_INDEX,
    COLUMN_KEYS,
    Ledger,
    bound_churn,
    count_returns,
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


def test_worked_example_of_the_churn_bound_and_its_cost() -> None:
    bounded = bound_churn(promoted_pages=120_000, demoted_pages=150_000, seconds=60.0, dram_bytes=256 * GIB)
    assert bounded.round_trip_pages_hi == 120_000
    assert bounded.round_trip_pages_lo == 0
    assert cpu_core_ratio(270_000 * 4096, 0, 60.0) == pytest.approx(0.0135)
    assert move_bytes_per_s(270_000, 4096, 60.0) == pytest.approx(18.432e6)
    assert move_bytes_per_s(270_000, 65536, 60.0) == pytest.approx(16 * 18.432e6)


def test_warning_turns_on_after_three_and_off_after_three() -> None:
    ratios = [share / 100 for share in (4, 11, 12, 13, 9, 6, 4, 4, 4)]
    states = follow_states(ratios, [True] * 9)
    assert states == ["ok", "ok", "ok", "warn", "warn", "warn", "warn", "warn", "ok"]


def test_critical_at_once_and_only_with_traffic() -> None:
    assert follow_states([0.4, 0.4], [True, False]) == ["crit", "ok"]


def test_a_missing_interval_leaves_the_streak_as_it_is() -> None:
    assert follow_states([0.2, 0.2, None, 0.2], [True] * 4) == ["ok", "ok", "ok", "warn"]


def ledger_of(promoted: list[int], slow_pages: list[int], spilled: list[int | None], *, huge: int = 0) -> Ledger:
    """A minute a row; None: allocations were not counted."""
    n = len(promoted)
    values, present = np.zeros((n, len(COLUMN_KEYS)), np.int64), np.zeros((n, len(COLUMN_KEYS)), bool)
    columns: dict[str, list[int | None]] = {
        "promoted_pages": [*promoted],
        "slow_resident_bytes": [4096 * pages for pages in slow_pages],
        "allocation_spill": spilled,
        "huge_pte_updates": [huge] * n,
    }
    for key, column in columns.items():
        present[:, COLUMN_INDEX[key]] = [value is not None for value in column]
        values[:, COLUMN_INDEX[key]] = [value or 0 for value in column]
    return Ledger(60.0 * np.arange(1.0, n + 1), np.full(n, 60.0), values, present, np.zeros(n, np.int8))


@pytest.mark.parametrize(
    ("promoted", "slow_pages", "spilled", "huge", "returned"),
    [
        # Of 900 promoted pages after the first minute 500 were on slow memory, and 50 of 4 KiB were allocated there.
        ([100, 500, 400], [500, 500, 500], [0, 20, 30], 0, 900 - 510 - 50),
        # The memory filled at first: from the second minute on more is told.
        ([0, 0, 900], [0, 300, 300], [600, 600, 0], 0, 900 - 306),
        # Each allocation may have been a huge page.
        ([0, 0, 900], [100, 100, 100], [0, 0, 1], 3, 900 - 512 - 102),
        ([0, 0, 900], [100, 100, 100], [0, 0, None], 0, 0),
        ([0, 0, 90], [100, 100, 100], [0, 0, 0], 0, 0),
        ([5], [1], [0], 0, 0),
    ],
)
def test_promotions_beyond_the_slow_tier_must_have_come_back(
    promoted: list[int], slow_pages: list[int], spilled: list[int | None], huge: int, returned: int
) -> None:
    assert count_returns(ledger_of(promoted, slow_pages, spilled, huge=huge), 4096, 512) == returned


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 5)), min_size=1, max_size=40))
def test_the_lower_bound_never_exceeds_the_pages_that_really_went_round(minutes: list[tuple[int, int, int]]) -> None:
    """Pages with a name, of which each remembers whether it was demoted since the first minute."""
    fresh, demoted_before, returned, rows = 30, 0, 0, []
    for promote, demote, allocate in minutes:
        # The worst for the bound: pages that were never demoted go up first.
        from_fresh = min(promote, fresh)
        from_demoted = min(promote - from_fresh, demoted_before)
        fresh += allocate - from_fresh
        demoted_before += demote - from_demoted
        returned += from_demoted
        rows.append((from_fresh + from_demoted, fresh + demoted_before, allocate))
    promoted, slow, spilled = (list(column) for column in zip(*rows, strict=True))
    assert count_returns(ledger_of(promoted, slow, [*spilled]), 4096, 512) <= returned


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
    returned=st.integers(0, 10**9),
)
def test_bounds_are_ordered(promoted: int, demoted: int, returned: int) -> None:
    bounded = bound_churn(
        promoted_pages=promoted,
        demoted_pages=demoted,
        seconds=60.0,
        dram_bytes=GIB,
        returned_pages=returned,
    )
    assert 0 <= bounded.round_trip_pages_lo <= bounded.round_trip_pages_hi == min(promoted, demoted)
