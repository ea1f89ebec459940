"""Figures scaled up from a random sample of pages: how wide their intervals are, and that they cover the truth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.domain.heat.aggregate import wilson_bounds
from tierscope.domain.heat.beside import combine_sampled
from tierscope.domain.heat.classes import ClassBytes
from tierscope.domain.heat.panel import find_margins, join_margins, widen

PAGE = 4096


def classes_of(hot: float, resident: float) -> ClassBytes:
    """One stratum of which `hot` bytes are hot and the rest cold."""
    value = np.array([[hot, 0.0, resident - hot, 0.0]])
    return ClassBytes(value, value.copy(), value.copy())


@pytest.mark.parametrize(("hits", "checks", "lo", "hi"), [(30, 100, 0.218949, 0.395849), (3, 20, 0.052369, 0.360419)])
def test_one_stratum_has_the_worked_interval(hits: int, checks: int, lo: float, hi: float) -> None:
    bounds = wilson_bounds(np.array([hits / checks]), np.array([float(checks)]))
    assert np.round(bounds, 6).ravel().tolist() == [lo, hi]
    resident = 1000.0 * PAGE
    classes = classes_of(resident * hits / checks, resident)
    margins = find_margins(classes, np.array([resident]), np.array([float(checks)]))
    total = ClassBytes(*(part[0] for part in (classes.value, classes.lo, classes.hi)))
    found = widen(total, margins, resident)
    assert round(found.lo[0] / resident, 6) == lo
    assert round(found.hi[0] / resident, 6) == hi
    assert found.value[0] == classes.value[0, 0]


def test_strata_of_which_all_pages_were_seen_add_no_error() -> None:
    classes = classes_of(10.0 * PAGE, 100.0 * PAGE)
    assert not find_margins(classes, np.array([100.0 * PAGE]), np.array([0.0])).sampled


def test_errors_of_independent_strata_add_up_in_squares() -> None:
    resident = 1000.0 * PAGE
    one = find_margins(classes_of(resident / 2, resident), np.array([resident]), np.array([100.0]))
    four = join_margins([one] * 4)
    total = ClassBytes(*[np.array([2 * resident, 0.0, 2 * resident, 0.0])] * 3)
    single = widen(ClassBytes(*[np.array([resident / 2, 0.0, resident / 2, 0.0])] * 3), one, resident)
    wide = widen(total, four, 4 * resident)
    assert wide.hi[0] - wide.value[0] == pytest.approx(2 * (single.hi[0] - single.value[0]))


def test_the_interval_covers_the_true_share_of_a_stratified_population() -> None:
    rng = np.random.default_rng(7)
    sizes, shares, samples = np.array([4000, 1000]), np.array([0.1, 0.7]), np.array([200, 60])
    truth = float((sizes * shares).sum()) * PAGE
    covered = 0
    for _ in range(300):
        seen = rng.binomial(samples, shares) / samples
        value = np.stack([sizes * seen, np.zeros(2), sizes * (1 - seen), np.zeros(2)], axis=1) * PAGE
        classes = ClassBytes(value, value, value)
        margins = find_margins(classes, sizes * float(PAGE), samples.astype(np.float64))
        total = ClassBytes(*[value.sum(axis=0)] * 3)
        found = widen(total, margins, float(sizes.sum()) * PAGE)
        covered += bool(found.lo[0] <= truth <= found.hi[0])
    assert 0.92 <= covered / 300 <= 0.99


def test_strata_merged_to_one_cell_are_as_sure_as_their_effective_size() -> None:
    resident, pages = np.array([100, 100, 50]), np.array([10, 10, 0])
    assert combine_sampled(resident, pages, np.array([0, 0, 1]), 2).tolist() == [20, 0]
    assert combine_sampled(resident, pages, np.array([0, 0, 0]), 1).tolist() == [31]


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_uneven_samples_never_seem_larger_than_they_are(first: int, second: int) -> None:
    resident, pages = np.array([4096 * 100, 4096 * 300]), np.array([first, second])
    (size,) = combine_sampled(resident, pages, np.zeros(2, np.int64), 1).tolist()
    assert 1 <= size <= first + second + 1
