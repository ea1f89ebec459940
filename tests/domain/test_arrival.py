"""Times of arrival: which are believed, rebuilt, too late, or set aside."""

import numpy as np
import pytest

from tierscope.domain.ingest.arrival import ArrivalRules, Clocks, boottime_of, place_times

SECOND = 10**9
ARRIVAL = 1_795_221_600 * SECOND
RULES = ArrivalRules()


def times(*offsets_s: float) -> np.ndarray:
    return np.array([ARRIVAL + int(offset * SECOND) for offset in offsets_s], dtype=np.int64)


def test_a_clock_within_the_limit_is_believed() -> None:
    clocks = Clocks(ARRIVAL, ARRIVAL + 29 * SECOND, 1000 * SECOND)
    placed = place_times(times(-60, 0), times(0, 0), None, clocks, RULES)
    assert placed.wall_ns.tolist() == times(-60, 0).tolist()
    assert not placed.corrected.any()


@pytest.mark.parametrize("skew_s", [-3600, 3600, 40])
def test_a_skewed_clock_is_replaced_by_the_boot_time_clock(skew_s: int) -> None:
    clocks = Clocks(ARRIVAL, ARRIVAL + skew_s * SECOND, 1000 * SECOND)
    boottimes = np.array([940, 1000], dtype=np.int64) * SECOND
    placed = place_times(times(skew_s - 60, skew_s), boottimes, None, clocks, RULES)
    assert placed.wall_ns.tolist() == times(-60, 0).tolist()
    assert placed.corrected.all()
    assert placed.keep.all()


def test_another_boot_is_not_rebuilt() -> None:
    clocks = Clocks(ARRIVAL, ARRIVAL + 3600 * SECOND, 1000 * SECOND)
    boottimes = np.array([9_000_000, 1000], dtype=np.int64) * SECOND
    placed = place_times(times(3500, 3600), boottimes, np.array([False, True]), clocks, RULES)
    assert placed.corrected.tolist() == [False, True]
    assert placed.keep.tolist() == [False, True]
    assert (placed.set_aside, placed.too_late) == (1, 0)


def test_the_future_without_a_boot_time_clock_is_set_aside_and_counted() -> None:
    clocks = Clocks(ARRIVAL, ARRIVAL + 3600 * SECOND, None)
    placed = place_times(times(299, 301), None, None, clocks, RULES)
    assert placed.keep.tolist() == [True, False]
    assert placed.set_aside == 1


def test_a_week_is_the_limit_for_late_points() -> None:
    placed = place_times(times(-7 * 86400, -7 * 86400 - 1), None, None, Clocks(ARRIVAL, None, None), RULES)
    assert placed.keep.tolist() == [True, False]
    assert placed.too_late == 1


def test_the_boot_time_clock_of_a_moment_follows_from_both_clocks() -> None:
    clocks = Clocks(ARRIVAL, ARRIVAL + 3600 * SECOND, 1000 * SECOND)
    found = boottime_of(times(3540), clocks)
    assert found is not None
    assert found.tolist() == [940 * SECOND]
    assert boottime_of(times(0), Clocks(ARRIVAL, None, 5)) is None
