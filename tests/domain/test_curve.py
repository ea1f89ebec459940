"""Served accesses: the worked examples of the method, and what holds for any pages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tierscope.domain.curve.hit_ratio import (
    DRAM_SHARES,
    Pages,
    cross_fitted_curve,
    density_curve,
    lower_for_unseen,
    lru_interval_curve,
)


def pages(*intervals: list[float], sizes: list[float] | None = None) -> Pages:
    counts = np.array(intervals, np.float64).T
    return Pages(counts, np.array(sizes or [1.0] * len(counts)))


def test_reuse_in_intervals_counts_pages_touched_and_says_where_it_is_not_known() -> None:
    survival = np.array([0.5, 0.3, 0.3, 0.1, np.nan, np.nan])
    sizes = np.array([50.0, 100.0, 125.0, 150.0, 180.0, 195.0, 210.0, 211.0, 1000.0])
    least, most = lru_interval_curve(survival, 100.0, 1000.0, sizes / 1000.0)
    assert least == pytest.approx([0.0, 0.5, 0.6, 0.7, 0.7, 0.8, 0.9, 0.9, 0.9])
    assert most == pytest.approx([0.5, 0.5, 0.6, 0.7, 0.7, 0.8, 0.9, 1.0, 1.0])
    everything, _ = lru_interval_curve(np.array([0.5, 0.0]), 100.0, 1000.0, np.array([1.0]))
    assert everything.tolist() == [1.0]
    nothing, all_ = lru_interval_curve(np.full(3, np.nan), 100.0, 1000.0, np.array([0.05, 0.5]))
    assert (nothing.tolist(), all_.tolist()) == ([0.0, 0.0], [1.0, 1.0])


def test_the_densest_bytes_of_the_worked_example() -> None:
    assert density_curve(pages([50, 30, 10, 5, 5]), np.array([0.4]))[0] == pytest.approx(0.80)


def test_cross_fitting_of_the_worked_example() -> None:
    both = pages([4, 3, 1, 1, 1], [2, 1, 3, 2, 2])
    assert density_curve(pages([4, 3, 1, 1, 1]), np.array([0.4]))[0] == pytest.approx(0.70)
    assert cross_fitted_curve(both, np.array([0.4]))[0] == pytest.approx(0.40)


def test_a_page_on_the_edge_counts_pro_rata_and_large_pages_by_density() -> None:
    mixed = pages([100, 60, 1], sizes=[512.0, 1.0, 1.0])
    curve = density_curve(mixed, np.array([1 / 514, 257 / 514, 1.0]))
    assert curve[0] == pytest.approx(60 / 161)
    assert curve[1] == pytest.approx((60 + 1 + 100 * 255 / 512) / 161)
    assert curve[2] == pytest.approx(1.0)


def test_memory_without_accesses_takes_room() -> None:
    assert density_curve(pages([1, 1]), np.array([0.25]), resident_bytes=8)[0] == pytest.approx(1.0)


def test_unseen_traffic_lowers_the_curve_and_nothing_seen_gives_none() -> None:
    assert lower_for_unseen(np.array([0.8]), 0.1)[0] == pytest.approx(0.72)
    assert np.isnan(density_curve(pages([0, 0]), DRAM_SHARES)).all()
    assert np.isnan(cross_fitted_curve(pages([1, 2]), DRAM_SHARES)).all()
    with pytest.raises(ValueError, match="sizes"):
        Pages(np.ones((2, 1)), np.array([0.0, 1.0]))


COUNTS = arrays.arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 6)), elements=st.integers(0, 50))


@given(COUNTS)
def test_curves_rise_and_ranking_on_the_same_accesses_is_never_worse(counts: np.ndarray) -> None:
    some = Pages(counts, np.ones(len(counts)))
    in_sample, fitted = density_curve(some, DRAM_SHARES), cross_fitted_curve(some, DRAM_SHARES)
    if np.isfinite(fitted).all():
        assert (np.diff(fitted) >= -1e-12).all()
        even = density_curve(Pages(counts[:, ::2], some.sizes_bytes), DRAM_SHARES)
        odd = density_curve(Pages(counts[:, 1::2], some.sizes_bytes), DRAM_SHARES)
        weights = counts[:, ::2].sum(), counts[:, 1::2].sum()
        best = (even * weights[0] + odd * weights[1]) / sum(weights)
        assert (fitted <= best + 1e-9).all()
    if np.isfinite(in_sample).all():
        assert in_sample[-1] == pytest.approx(1.0)
