"""Fair shares and who pushed whom out: what is divided adds up, bounds hold, and chance is not taken for a victim."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tierscope.domain.fairness.pushes import Demoted, attribute, correlate, taken_pages, uncounted_demotions
from tierscope.domain.fairness.shares import Bounded, fair_bounds, fair_bytes, scaled

GIB = float(1 << 30)
amounts = arrays(np.float64, 4, elements=st.floats(0.0, 1e12))


def test_hot_memory_comes_first_and_the_rest_of_the_tier_goes_to_the_rest_of_resident_memory() -> None:
    fair = fair_bytes(np.array([1.0, 3.0]), np.array([5.0, 5.0]), np.asarray(7.0))
    # 4 are claimed; 3 are left for rests of 4 and 2.
    assert fair == pytest.approx([1 + 3 * 4 / 6, 3 + 3 * 2 / 6])


def test_claims_beyond_what_there_is_are_cut_in_proportion() -> None:
    assert fair_bytes(np.array([8.0, 4.0]), np.array([8.0, 8.0]), np.asarray(6.0)) == pytest.approx([4.0, 2.0])


def test_no_claim_counts_beyond_resident_memory() -> None:
    assert fair_bytes(np.array([np.inf, 0.0]), np.array([2.0, 8.0]), np.asarray(6.0)) == pytest.approx([2.0, 4.0])


@given(claims=amounts, resident=amounts, part=st.floats(0.0, 1.0))
def test_what_is_divided_adds_up_and_no_one_gets_more_than_it_has(
    claims: np.ndarray, resident: np.ndarray, part: float
) -> None:
    pot = part * resident.sum()
    fair = fair_bytes(claims, resident, np.asarray(pot))
    assert fair.sum() == pytest.approx(pot, rel=1e-6, abs=1e-3)
    assert (fair <= resident * (1 + 1e-9) + 1e-3).all()


@given(low=amounts, width=amounts, resident=amounts, part=st.floats(0.0, 1.0), within=st.floats(0.0, 1.0))
def test_bounds_of_fair_shares_hold_for_all_claims_between_theirs(
    low: np.ndarray, width: np.ndarray, resident: np.ndarray, part: float, within: float
) -> None:
    claims = Bounded(low + within * width, low, low + width)
    fair = fair_bounds(claims, resident, part * float(resident.sum()))
    slack = 1e-6 * resident.sum() + 1e-3
    assert (fair.lo <= fair.value + slack).all()
    assert (fair.value <= fair.hi + slack).all()


def test_a_setting_of_all_memory_stands_for_its_part_of_the_top_tier() -> None:
    assert scaled(8 * GIB, 32 * GIB, 96 * GIB) == 2 * GIB
    assert scaled(8 * GIB, 32 * GIB, None) == 8 * GIB


def exact(pages: list[list[float]]) -> Demoted:
    found = np.array(pages)
    return Demoted(found, found, found)


def test_where_one_alone_took_memory_counting_tells_who_pushed() -> None:
    taken = np.array([[0.0, 0.0], [0.0, 100.0], [0.0, 0.0]])
    pushed = attribute(exact([[0, 0], [80, 0], [0, 0]]), taken, np.zeros(3))
    assert pushed.value[0].tolist() == [0.0, 80.0, 0.0]
    assert (pushed.lo[0, 1], pushed.hi[0, 1]) == (80.0, 80.0)


def test_where_several_took_memory_only_bounds_are_told() -> None:
    taken = np.array([[0.0, 0.0, 0.0], [0.0, 60.0, 40.0], [0.0, 0.0, 0.0]])
    pushed = attribute(exact([[0, 0, 0], [50, 0, 0], [0, 0, 0]]), taken, np.zeros(3))
    assert pushed.value[0].tolist() == [0.0, 30.0, 20.0, 0.0]
    assert (pushed.lo[0, 1], pushed.hi[0, 1]) == (10.0, 50.0)
    assert (pushed.lo[0, 2], pushed.hi[0, 2]) == (0.0, 40.0)


def test_demotions_beyond_what_was_taken_restored_free_memory() -> None:
    taken = np.array([[0.0, 0.0], [0.0, 20.0], [0.0, 0.0]])
    pushed = attribute(exact([[0, 0], [100, 0], [0, 0]]), taken, np.zeros(3))
    assert pushed.value[0].tolist() == [0.0, 20.0, 80.0]
    assert (pushed.lo[0, 1], pushed.hi[0, 1]) == (20.0, 20.0)


def test_what_one_took_once_is_not_set_against_two_victims() -> None:
    taken = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 100.0], [0.0, 0.0, 0.0]])
    pushed = attribute(exact([[0, 0, 0], [100, 0, 0], [0, 100, 0]]), taken, np.zeros(3))
    assert pushed.value[:2].tolist() == [[0.0, 0.0, 50.0, 50.0], [0.0, 0.0, 50.0, 50.0]]
    assert (pushed.lo[0, 2], pushed.hi[0, 2]) == (0.0, 100.0)


@given(
    demoted=arrays(np.float64, (6, 3), elements=st.floats(0.0, 1e6)),
    taken=arrays(np.float64, (6, 3), elements=st.floats(0.0, 1e6)),
    rest=arrays(np.float64, 6, elements=st.floats(0.0, 1e6)),
)
def test_the_split_adds_up_to_what_was_demoted_and_lies_within_its_bounds(
    demoted: np.ndarray, taken: np.ndarray, rest: np.ndarray
) -> None:
    pushed = attribute(Demoted(demoted, demoted, demoted), taken, rest)
    assert pushed.value.sum(axis=1) == pytest.approx(demoted.sum(axis=0), abs=1e-3)
    assert (pushed.lo <= pushed.value + 1e-3).all()
    assert (pushed.value <= pushed.hi + 1e-3).all()
    assert (pushed.value[:, :3].sum(axis=0) <= taken.sum(axis=0) + 1e-3).all()


def test_an_interval_that_misses_a_reading_is_left_out_as_a_whole() -> None:
    demoted = exact([[0, 0], [80, 0], [80, 0], [80, 0]])
    taken = np.array([[0.0, 0.0], [0.0, 100.0], [0.0, 100.0], [0.0, 100.0]])
    pushed = attribute(demoted, taken, np.array([0.0, 0.0, np.nan, 0.0]))
    assert pushed.n_intervals == 3
    assert pushed.value.sum() == 160.0


def test_growth_over_what_was_demoted_is_taken_and_promotions_are_its_least() -> None:
    top = np.array([[100.0], [110.0], [90.0], [90.0]])
    demoted = np.array([[0.0], [5.0], [0.0], [0.0]])
    promoted = np.array([[0.0], [0.0], [7.0], [0.0]])
    assert taken_pages(top, demoted, promoted)[1:, 0].tolist() == [15.0, 7.0, 0.0]
    assert np.isnan(taken_pages(top, demoted, promoted)[0, 0])


def test_without_counts_by_cgroup_what_left_for_slower_tiers_is_told_between_nothing_and_all_of_the_host() -> None:
    top, slow = np.array([[100.0], [60.0]]), np.array([[10.0], [40.0]])
    found = uncounted_demotions(top, slow, np.array([0.0, 35.0]))
    assert (found.value[1, 0], found.lo[1, 0], found.hi[1, 0]) == (30.0, 0.0, 35.0)


def walk(random: np.random.Generator, n: int) -> np.ndarray:
    """An autocorrelated series: each value keeps nine tenths of the one before."""
    out = np.zeros(n)
    for i in range(1, n):
        out[i] = 0.9 * out[i - 1] + random.normal()
    return out


def test_what_goes_along_is_told_with_its_interval() -> None:
    random = np.random.default_rng(1)
    taken = random.poisson(5.0, 200).astype(float)
    found = correlate(taken * 3 + random.normal(0, 2.0, 200), taken, pairs=6)
    assert found is not None
    assert 0.7 < found.lo < found.value < found.hi


def test_slow_series_that_only_seem_to_go_along_are_seldom_taken_for_victims() -> None:
    random = np.random.default_rng(2)
    drawn = [correlate(walk(random, 240), walk(random, 240), pairs=1) for _ in range(300)]
    told = [found for found in drawn if found is not None]
    assert len(told) > 200
    # Taken as independent, three in ten of these would be.
    assert np.mean([found.lo > 0 for found in told]) < 0.06


@pytest.mark.parametrize("n", [0, 5, 12])
def test_a_few_intervals_and_constant_flows_tell_nothing(n: int) -> None:
    assert correlate(np.arange(float(n)), np.arange(float(n)), pairs=1) is None
    assert correlate(np.zeros(100), np.arange(100.0), pairs=1) is None
