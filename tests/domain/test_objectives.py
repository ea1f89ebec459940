"""Service levels of tiered memory: the rate of promotions, its target, and its series."""

from dataclasses import replace

import numpy as np
import pytest

from tierscope.domain.sensitivity.objectives import Ratio, TierLoads, idle_intervals, meets_target, slow_accesses


@pytest.mark.parametrize(
    ("seconds", "intervals"), [(60, 2), (30, 4), (5, 24), (45, 3), (120, 1), (300, 1), (1, None), (2, 60)]
)
def test_two_minutes_of_idleness_in_intervals(seconds: int, intervals: int | None) -> None:
    assert idle_intervals(seconds * 10**9) == intervals


def test_the_target_is_met_missed_or_not_decided() -> None:
    rate = Ratio(0.001, 0.0005, 0.0015, 0.95, np.zeros(1), 3)
    assert meets_target(rate) is True
    assert meets_target(replace(rate, lo=0.003, hi=0.004)) is False
    assert meets_target(replace(rate, hi=0.004)) is None
    assert meets_target(replace(rate, lo=None, hi=None)) is True
    assert meets_target(replace(rate, value=0.0021, lo=None, hi=None)) is False


def test_slow_accesses_are_a_ratio_of_sums_over_hosts() -> None:
    busy = TierLoads(np.array([10.0, 0.0]), np.array([100.0, 0.0]), 100)
    quiet = TierLoads(np.array([5.0, 5.0]), np.array([10.0, 10.0]), 20)
    found = slow_accesses([busy, quiet])
    assert found is not None
    assert found.value == pytest.approx(20 / 120)
    assert found.series.tolist() == pytest.approx([15 / 110, 0.5])
    assert found.lo is not None
    assert found.lo <= found.value
    assert slow_accesses([TierLoads(np.zeros(2), np.zeros(2), 0)]) is None
