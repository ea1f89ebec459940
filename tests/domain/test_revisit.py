"""Revisit: the worked examples of the method, and what holds for any gaps."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fixtures.draws import drawn
from tierscope.domain.curve.reaccess import (
    LENGTHS,
    Gaps,
    cold_start,
    detection,
    host_band,
    publishable_from,
    reaccess_curve,
    sampled_band,
)


def from_lists(closed: Sequence[int], freed: Sequence[int] = (), censored: Sequence[int] = ()) -> Gaps:
    """Single gaps of weight 1, by length."""
    return Gaps(
        *(np.bincount(lengths, minlength=LENGTHS + 1)[1:].astype(float) for lengths in (closed, freed, censored))
    )


def at(lags: list[int], values: np.ndarray) -> list[float]:
    return [round(float(values[lag - 1]), 6) for lag in lags]


def test_kaplan_meier_of_the_worked_example() -> None:
    curve = reaccess_curve(from_lists(closed=[1, 1, 2, 4, 5], censored=[3, 5, 10]))
    assert at([1, 2, 4, 5], 1 - curve.share) == [0.75, 0.625, 0.46875, 0.3125]
    assert round(float(curve.share[4]), 4) == 0.6875
    assert curve.method == "kaplan_meier"


def test_dropping_censored_gaps_or_calling_them_never_gives_another_answer() -> None:
    dropped = reaccess_curve(from_lists(closed=[1, 1, 2, 4, 5]))
    never = reaccess_curve(from_lists(closed=[1, 1, 2, 4, 5], censored=[63, 63, 63]))
    assert float(dropped.share[4]) == 1.0
    assert float(never.share[4]) == 0.625


def test_unmaps_compete_with_reaccess() -> None:
    gaps = from_lists(closed=[1, 3], freed=[2], censored=[4])
    curve = reaccess_curve(gaps)
    assert curve.method == "cumulative_incidence"
    assert at([1, 2, 3, 4], curve.share) == [0.25, 0.25, 0.5, 0.5]
    as_censored = reaccess_curve(Gaps(gaps.closed, np.zeros(LENGTHS), gaps.at_risk_only + gaps.freed))
    assert at([3], as_censored.share) == [0.625]


def test_the_clock_of_cold_memory_starts_at_the_idle_age() -> None:
    cold = cold_start(from_lists(closed=[1, 2, 3, 5], freed=[4], censored=[2, 63]), 2)
    assert (cold.closed[0], cold.closed[2], cold.closed.sum()) == (1, 1, 2)
    assert (cold.freed[1], cold.at_risk_only[60], cold.at_risk_only.sum()) == (1, 1, 1)


def test_lags_that_sampling_would_stretch_are_not_published() -> None:
    assert publishable_from(1.0) == 1
    assert publishable_from(0.3) == 5
    assert publishable_from(0.01) is None


@pytest.mark.parametrize("chance", [0.05, 0.3, 0.9, 1.0])
def test_the_chance_of_detection_leaves_out_pages_that_were_never_seen(chance: float) -> None:
    of_ten = stats.binom.pmf(np.arange(11), 10, chance) * 1e9
    of_ten[0] += 5e9
    assert detection(of_ten) == pytest.approx(chance, abs=1e-6)
    assert detection(np.eye(11)[0]) is None
    assert publishable_from(detection(np.eye(11)[1]) or 1.0) is None


def test_nothing_at_risk_is_not_zero() -> None:
    curve = reaccess_curve(from_lists(closed=[1], censored=[3]))
    assert np.isnan(curve.share[3:]).all()
    assert float(curve.share[2]) == 0.5


GROUPS = st.lists(st.floats(0, 1e12), min_size=LENGTHS, max_size=LENGTHS).map(np.array)


@given(GROUPS, GROUPS, GROUPS)
def test_the_share_rises_from_zero_to_one_at_most(closed: np.ndarray, freed: np.ndarray, alive: np.ndarray) -> None:
    share = reaccess_curve(Gaps(closed, freed, alive)).share
    known = share[np.isfinite(share)]
    assert ((known >= -1e-12) & (known <= 1 + 1e-9)).all()
    assert (np.diff(known) >= -1e-12).all()


def test_the_band_comes_from_hosts_and_holds_the_pooled_curve() -> None:
    random = np.random.default_rng(5)
    hosts = [from_lists(closed=random.integers(1, 12, 400).tolist(), censored=[20] * 50) for _ in range(12)]
    band = host_band(hosts)
    pooled = reaccess_curve(sum(hosts[1:], hosts[0])).share
    assert (band.lo[:20] <= pooled[:20]).all()
    assert (pooled[:20] <= band.hi[:20]).all()
    assert np.isnan(host_band(hosts[:1]).lo).all()


def test_a_band_of_hosts_that_agree_is_no_narrower_than_their_sampled_pages_allow() -> None:
    hosts = [from_lists(closed=[1] * 9_900 + [30] * 100)] * 3
    pooled = reaccess_curve(sum(hosts[1:], hosts[0]))
    alike = host_band(hosts)
    assert alike.hi[0] - alike.lo[0] == pytest.approx(0.0, abs=1e-9)
    band = sampled_band(pooled, 300, alike)
    # Wilson's interval of 297 in 300.
    assert band.lo[0] == pytest.approx(0.9710, abs=5e-4)
    assert band.hi[0] == pytest.approx(0.9966, abs=5e-4)
    assert np.isnan(band.lo[40])
    assert sampled_band(pooled, None, alike) is alike


def test_a_single_host_has_the_band_of_its_sampled_pages() -> None:
    host = from_lists(closed=[1] * 50 + [3] * 50)
    band = sampled_band(reaccess_curve(host), 100, host_band([host]))
    assert (band.lo[0], band.hi[0]) == (pytest.approx(0.4038, abs=5e-4), pytest.approx(0.5962, abs=5e-4))


@pytest.mark.rates
@pytest.mark.parametrize("n_hosts", [3, 8])
def test_the_band_holds_where_pages_are_few_and_each_keeps_its_own_pace(n_hosts: int) -> None:
    random = np.random.default_rng(n_hosts)
    runs, pages, lag, held = drawn(300), 60, 5, 0
    # Of twenty pages one is slow: its gaps are all longer than the lag.
    slow = 0.05
    for _ in range(runs):
        hosts = []
        for _host in range(n_hosts):
            n_slow = random.binomial(pages, slow)
            hosts.append(from_lists(closed=[20] * n_slow + [2] * (pages - n_slow)))
        pooled = reaccess_curve(sum(hosts[1:], hosts[0]))
        band = sampled_band(pooled, pages * n_hosts, host_band(hosts))
        held += bool(band.lo[lag - 1] <= 1 - slow <= band.hi[lag - 1])
    assert held / runs >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)


@pytest.mark.rates
@pytest.mark.parametrize("n_hosts", [2, 3, 8])
def test_the_band_of_few_hosts_holds_what_is_true_of_all_of_them(n_hosts: int) -> None:
    random = np.random.default_rng(n_hosts)
    runs, lag, held = drawn(400), 5, 0
    for _ in range(runs):
        # A gap ends within an interval with a chance that differs between hosts: 0.2 on average.
        chances = random.normal(0.2, 0.01, n_hosts)
        hosts = [from_lists(closed=np.minimum(random.geometric(chance, 300), LENGTHS).tolist()) for chance in chances]
        band = host_band(hosts)
        held += bool(band.lo[lag - 1] <= 1 - 0.8**lag <= band.hi[lag - 1])
    assert held / runs >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)
