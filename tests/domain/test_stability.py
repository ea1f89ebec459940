"""Stability: the worked examples of the method, warm-up, and the edges of its classes."""

import numpy as np
import pytest
from scipy import stats

from tierscope.domain.sensitivity.stability import (
    interquartile_range,
    is_stable,
    jaccard,
    last_day,
    name_overlap,
    theil_sen,
    warm_up_end,
)

MINUTE, HOUR = 60.0, 3600.0


def test_slope_of_the_worked_example_ignores_one_outlier() -> None:
    found = theil_sen(np.arange(5.0), np.array([0.50, 0.52, 0.54, 0.80, 0.58]))
    assert found is not None
    assert found.value == pytest.approx(0.02, abs=1e-12)
    assert found.lo <= 0.02 <= found.hi


def test_overlap_of_the_worked_example() -> None:
    one, other = {1, 2, 3, 4}, {2, 3, 4, 5}
    assert jaccard(len(one & other), len(one | other)) == pytest.approx(0.6)
    assert jaccard(0, 0) is None


@pytest.mark.parametrize(
    ("overlap", "state"),
    [(1.0, "stable"), (0.7, "stable"), (0.69, "moving"), (0.4, "moving"), (0.39, "volatile"), (0.0, "volatile")],
)
def test_overlaps_are_named(overlap: float, state: str) -> None:
    assert name_overlap(overlap) == state


def test_a_share_is_stable_below_five_points() -> None:
    assert is_stable(0.049 / 24, 0.049)
    assert not is_stable(0.051 / 24, 0.0)
    assert not is_stable(-0.051 / 24, 0.0)
    assert not is_stable(0.0, 0.051)


@pytest.mark.parametrize("values", ["drawn", "tied"])
def test_slopes_and_their_intervals_are_those_of_scipy(values: str) -> None:
    rng = np.random.default_rng(5)
    for n in range(3, 40):
        x = np.sort(rng.integers(0, 60, n)).astype(np.float64)
        y = rng.normal(size=n) if values == "drawn" else rng.integers(0, 5, n).astype(np.float64)
        found, known = theil_sen(x, y), stats.theilslopes(y, x, alpha=0.95)
        assert found is not None
        assert (found.value, found.lo, found.hi) == (known.slope, known.low_slope, known.high_slope)


def test_gaps_and_single_times_have_no_slope() -> None:
    assert theil_sen(np.arange(3.0), np.full(3, np.nan)) is None
    assert theil_sen(np.zeros(3), np.arange(3.0)) is None
    gappy = theil_sen(np.arange(4.0), np.array([0.0, np.nan, 0.2, 0.3]))
    assert gappy is not None
    assert gappy.value == pytest.approx(0.1)


def test_many_points_are_thinned_and_keep_the_slope() -> None:
    times = np.arange(20_000.0)
    found = theil_sen(times, 0.3 + 1e-6 * times)
    assert found is not None
    assert found.value == pytest.approx(1e-6)


def test_spread_of_the_last_day_leaves_out_older_points() -> None:
    times = np.arange(0, 48 * HOUR, 10 * MINUTE)
    shares = np.where(times < 20 * HOUR, 0.1, 0.5)
    assert interquartile_range(last_day(times, shares)) == 0.0
    assert interquartile_range(np.full(3, np.nan)) is None


def test_warm_up_ends_when_the_hourly_mean_stays_near() -> None:
    times = np.arange(0, 30 * HOUR, MINUTE)
    shares = 0.6 - 0.4 * np.exp(-times / HOUR)
    found = warm_up_end(times, shares)
    assert found.outcome == "settled"
    assert found.at_s is not None
    # The mean of the hour before t is 0.6 - 0.4 (e - 1) exp(-t): five points below 0.6 at t = ln(0.4 (e - 1) / 0.05) h.
    expected = np.log(0.4 * (np.e - 1) / 0.05) * HOUR
    assert found.at_s == pytest.approx(expected, abs=2 * MINUTE)


def test_warm_up_that_came_before_or_has_not_ended() -> None:
    times = np.arange(0, 6 * HOUR, MINUTE)
    assert warm_up_end(times, np.full(len(times), 0.5)).outcome == "before"
    late = np.where(times < 5.5 * HOUR, 0.2, 0.9)
    assert warm_up_end(times, late).outcome == "not_yet"
    assert warm_up_end(times[:60], np.full(60, 0.5)).outcome == "unknown"


def test_a_short_spike_moves_the_end_of_warm_up_behind_it() -> None:
    times = np.arange(0, 10 * HOUR, MINUTE)
    shares = np.where((times > 5 * HOUR) & (times < 5.5 * HOUR), 0.9, 0.5)
    found = warm_up_end(times, shares)
    assert found.at_s is not None
    assert 5.5 * HOUR < found.at_s < 6.5 * HOUR
