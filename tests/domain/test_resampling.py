"""The interval of a median is the one that scipy's bootstrap returns, for odd and even counts and with ties."""

import numpy as np
import pytest
from scipy import stats

from tierscope.domain.heat.resampling import DRAWS, _middle_places, bootstrap_median


@pytest.mark.parametrize("n", [8, 9, 31, 200, 501])
@pytest.mark.parametrize("digits", [2, 9])
def test_the_interval_is_that_of_scipy(n: int, digits: int) -> None:
    values = np.sort(np.round(np.random.default_rng(n).beta(2, 5, n), digits))
    wanted = stats.bootstrap(
        (values,),
        np.median,
        n_resamples=DRAWS,
        confidence_level=0.95,
        method="BCa",
        vectorized=True,
        rng=np.random.default_rng(7),
    ).confidence_interval
    found = bootstrap_median(values, 0.95, seed=7)
    assert found == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_many_hosts_are_drawn_in_parts_from_one_stream() -> None:
    values = np.sort(np.random.default_rng(3).random(5000))
    wanted = stats.bootstrap(
        (values,), np.median, n_resamples=DRAWS, method="BCa", vectorized=True, rng=np.random.default_rng(7)
    ).confidence_interval
    assert bootstrap_median(values, 0.95, seed=7) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_draws_that_are_all_the_same_have_no_interval() -> None:
    assert not np.isfinite(bootstrap_median(np.array([0.0] + [1.0] * 40 + [2.0]), 0.95, seed=7)).any()


@pytest.mark.parametrize("n", [10_001, 10_002])
def test_middle_values_of_many_hosts_are_distributed_as_those_of_resamples(n: int) -> None:
    rng = np.random.default_rng(5)
    ranked = np.array([np.partition(rng.integers(0, n, n), [(n - 1) // 2, n // 2]) for _ in range(DRAWS)])
    expected = ranked[:, (n - 1) // 2], ranked[:, n // 2]
    found = _middle_places(n, 7)
    for ours, drawn in zip(found, expected, strict=True):
        assert stats.ks_2samp(ours, drawn).statistic < 0.06
    gaps = [upper - lower for lower, upper in (found, expected)]
    assert gaps[0].min() >= 0
    assert gaps[0].mean() == pytest.approx(gaps[1].mean(), abs=0.1)
