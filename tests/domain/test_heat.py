"""Heat: the worked examples of the method, and what holds for any histogram."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.domain.heat import (
    EDGES,
    Folded,
    capacity_weighted,
    classify,
    describe,
    estimate_median,
    file_partial,
    find_misplaced,
    judge_enough,
    make_rule,
    order_statistic_interval,
    valid_run,
)
from tierscope.domain.heat.classes import class_shares

KIB = 1024


def test_a_share_has_no_value_where_too_little_memory_has_a_class() -> None:
    """After a restart of a sampler idle memory is unknown, and must not look as if it had become hot."""
    classes = np.array([[1, 1, 2, 0], [1, 1, 2, 1], [1, 0, 0, 3], [0, 0, 0, 0]], np.float64)
    assert class_shares(classes, "cold")[:2].tolist() == [0.5, 0.4]
    assert np.isnan(class_shares(classes, "cold")[2:]).all()


def folded(
    age: list[int], never: list[int] | None = None, *, count: list[int] | None = None, hi: list[int] | None = None
) -> Folded:
    a, n = np.array([age], np.int64), np.array([never or [0] * 9], np.int64)
    resident = a.sum(axis=-1) + n.sum(axis=-1)
    lo = np.stack([a[..., : EDGES.index(w)].sum(axis=-1) for w in (1, 2, 5, 10)], axis=-1)
    counts = np.array([count or [int(resident[0]), *[0] * 10]], np.int64)
    return Folded(resident, a, n, counts, lo, np.array([hi], np.int64) if hi else lo)


# Six pages of test A1: ages 0, 1, 3, 9, 10 and none, the third of 2 MiB.
A1 = folded([4 * KIB, 4 * KIB, 0, 2048 * KIB, 4 * KIB, 4 * KIB, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 4 * KIB])


@pytest.mark.parametrize(("window", "ratio"), [(1, 0.001934), (2, 0.003868), (5, 0.994197), (10, 0.996132)])
def test_worked_example_of_byte_heat_by_window(window: int, ratio: float) -> None:
    value = classify(A1, make_rule("cold_age", window)).value[0]
    assert round(value[0] / A1.resident[0], 6) == ratio


def test_recency_splits_worked_example() -> None:
    value = classify(A1, make_rule("recency")).value[0] / KIB
    assert value.tolist() == [8, 2052, 8, 0]


def test_never_active_is_unknown_until_its_run_reaches_the_threshold() -> None:
    short = folded([0] * 9, [0, 0, 0, 0, 100, 0, 0, 0, 0])
    long = folded([0] * 9, [0, 0, 0, 0, 0, 100, 0, 0, 0])
    assert classify(short, make_rule("recency")).value[0].tolist() == [0, 0, 0, 100]
    assert classify(long, make_rule("recency")).value[0].tolist() == [0, 0, 100, 0]
    assert classify(short, make_rule("cold_age", 5)).value[0].tolist() == [0, 0, 100, 0]


def test_unknown_bytes_widen_every_class() -> None:
    classes = classify(folded([60, 0, 0, 0, 0, 0, 0, 0, 0], [40, 0, 0, 0, 0, 0, 0, 0, 0]), make_rule("recency"))
    assert (classes.lo[0, 0], classes.hi[0, 0]) == (60, 100)
    assert (classes.lo[0, 2], classes.hi[0, 2]) == (0, 40)


def test_mapping_granularity_gives_bounds() -> None:
    coarse = folded([10, 0, 0, 0, 0, 90, 0, 0, 0], hi=[30, 30, 50, 50])
    classes = classify(coarse, make_rule("recency"))
    assert (classes.lo[0, 0], classes.hi[0, 0]) == (10, 30)
    assert (classes.lo[0, 2], classes.value[0, 2]) == (50, 90)


def test_frequency_counts_active_intervals() -> None:
    histogram = folded([50, 0, 0, 0, 0, 50, 0, 0, 0], count=[40, 10, 0, 0, 0, 20, 0, 0, 0, 0, 30])
    assert classify(histogram, make_rule("frequency")).value[0].tolist() == [50, 10, 40, 0]


def test_threshold_is_snapped_to_a_bucket_edge_and_says_so() -> None:
    rule = make_rule("cold_age", 7)
    assert rule.threshold == 5
    assert rule.snapped is not None
    assert "7" in rule.snapped
    assert make_rule("cold_age", 10).snapped is None
    assert describe(make_rule("recency"))[2] == "idle for 10 intervals or longer"


def test_a_missing_interval_makes_older_activity_unknown_not_cold() -> None:
    age = np.array([[0, 0, 0, 0, 0, 100, 0, 0, 0]], np.int64)
    never = np.zeros((1, 9), np.int64)
    hole_at_three = np.array([0xFFFF_FFFF_FFFF_FFF7], np.uint64)
    moved_age, moved_never = file_partial(age, never, hole_at_three)
    assert moved_age.sum() == 0
    assert moved_never[0].tolist() == [0, 0, 0, 100, 0, 0, 0, 0, 0]
    whole = np.array([0xFFFF_FFFF_FFFF_FFFF], np.uint64)
    assert file_partial(age, never, whole)[0].tolist() == age.tolist()


@given(st.integers(0, 64))
def test_valid_run_counts_from_the_newest(run: int) -> None:
    bits = (1 << run) - 1
    assert valid_run(np.array([bits], np.uint64))[0] == run


@given(
    st.lists(st.integers(0, 10**12), min_size=9, max_size=9),
    st.lists(st.integers(0, 10**12), min_size=9, max_size=9),
    st.sampled_from(["recency", "frequency", "cold_age"]),
    st.integers(1, 64),
)
def test_classes_share_out_exactly_the_resident_bytes(
    age: list[int], never: list[int], scheme: str, threshold: int
) -> None:
    histogram = folded(age, never, count=[sum(never), *[0] * 9, sum(age)])
    classes = classify(histogram, make_rule(scheme, threshold))  # type: ignore[arg-type]
    assert classes.value[0].sum() == histogram.resident[0]
    assert (classes.lo <= classes.value).all()
    assert (classes.value <= classes.hi).all()


def test_fleet_ratio_weighs_by_capacity() -> None:
    assert capacity_weighted([50, 60], [100, 300]) == pytest.approx(0.275)
    assert np.mean([50 / 100, 60 / 300]) == pytest.approx(0.35)
    assert capacity_weighted([], []) is None


def test_order_statistics_of_ten_hosts() -> None:
    r, level = order_statistic_interval(10)
    assert (r, round(level, 6)) == (2, 0.978516)
    assert order_statistic_interval(3) == (1, 0.75)
    assert order_statistic_interval(1)[1] == 0.0
    assert order_statistic_interval(5000) == (2431, pytest.approx(0.9506841418954, abs=1e-12))


def test_few_hosts_publish_the_level_that_they_reach() -> None:
    found = estimate_median([0.2, 0.4, 0.3])
    assert (found.value, found.lo, found.hi, found.level) == (0.3, 0.2, 0.4, 0.75)
    alone = estimate_median([0.2])
    assert (alone.lo, alone.level) == (None, None)


def test_bootstrap_over_hosts_is_reproducible_and_holds_the_median() -> None:
    values = [0.1 + 0.05 * i for i in range(12)]
    first, again = estimate_median(values), estimate_median(list(reversed(values)))
    assert first == again
    assert first.level == 0.95
    assert first.lo is not None
    assert first.hi is not None
    assert values[0] <= first.lo < first.value < first.hi <= values[-1]


def test_placement_unknown_is_not_zero() -> None:
    pair = np.concatenate
    hot, cold = folded([100, 0, 0, 0, 0, 0, 0, 0, 0]), folded([0, 0, 0, 0, 0, 100, 0, 0, 0])
    both = Folded(
        *(pair([getattr(hot, f), getattr(cold, f)]) for f in ("resident", "age", "never", "count", "lo", "hi"))
    )
    classes = classify(both, make_rule("recency"))
    assert find_misplaced(classes, ["", ""]) is None
    found = find_misplaced(classes, ["cxl", "dram"])
    assert found is not None
    assert (found[0].value, found[1].value) == (100, 100)
    part = find_misplaced(classes, ["", "dram"])
    assert part is not None
    assert (part[0].value, part[0].hi, part[0].unplaced_share) == (0, 100, 0.5)


@pytest.mark.parametrize(
    ("hosts", "intervals", "coverage", "history", "grade"),
    [
        (3, 60, 0.95, 64, "good"),
        (3, 60, 0.85, 64, "partial"),
        (3, 60, 0.60, 64, "partial"),
        (1, 600, 1.0, 64, "early"),
        (3, 20, 1.0, 20, "early"),
        (3, 60, 0.40, 64, None),
        (3, 60, 1.0, 5, None),
        (0, 0, 0.0, 0, None),
    ],
)
def test_minimum_data_decides_the_grade(
    hosts: int, intervals: int, coverage: float, history: int, grade: str | None
) -> None:
    found = judge_enough(n_hosts=hosts, n_intervals=intervals, coverage=coverage, history=history, needed_history=10)
    assert found.grade == grade
    assert (grade == "good") == (not found.warnings)
