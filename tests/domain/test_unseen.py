"""Estimates of what a sample did not hit, against worked examples and against the truth of recorded traces."""

import math

import numpy as np
import pytest

from fixtures.draws import drawn
from fixtures.elsewhere import long
from fixtures.page_traces import TRACES
from fixtures.sampled_traces import fold_sampled, sum_windows
from tierscope.domain.heat.unseen import (
    CLAIMS,
    PageCounts,
    Touched,
    bound_touched,
    estimate_chao1,
    estimate_events,
    traffic_coverage,
)
from tierscope.storage.curve.page_traces import read_page_trace

PERIOD_EVENTS = 200.0
SEEDS = drawn(200)
INSUFFICIENT, LOWER_BOUND, INTERVAL = range(len(CLAIMS))


def counts(*, samples: int, distinct: int, f1: int, f2: int, resident: int) -> PageCounts:
    return PageCounts(*(np.array(value) for value in (samples, distinct, f1, f2, resident)))


def test_coverage_and_chao1_of_the_worked_example() -> None:
    example = counts(samples=4000, distinct=1000, f1=400, f2=200, resident=5000)
    assert float(traffic_coverage(example.samples, example.f1)) == pytest.approx(0.90)
    chao = estimate_chao1(example)
    assert round(float(chao.value), 3) == 1397.015
    assert round(float(chao.variance), 3) == 2757.458
    assert (round(float(chao.lo), 3), round(float(chao.hi), 3)) == (1306.697, 1513.930)
    shares = [round(float(value) / 5000, 4) for value in (1000, chao.value, chao.lo, chao.hi)]
    assert shares == [0.2000, 0.2794, 0.2613, 0.3028]


def test_few_singletons_and_few_resident_pages_bound_chao1() -> None:
    one = estimate_chao1(counts(samples=50, distinct=7, f1=1, f2=0, resident=100))
    assert (float(one.value), float(one.lo), float(one.hi)) == (7, 7, 7)
    no_doubles = estimate_chao1(counts(samples=20, distinct=10, f1=6, f2=0, resident=1000))
    unseen = 6 * 5 / 2
    variance = unseen + 6 * 11**2 / 4 - 6**4 / (4 * (10 + unseen))
    assert float(no_doubles.variance) == pytest.approx(variance)
    assert float(no_doubles.value) == 25
    capped = estimate_chao1(counts(samples=4000, distinct=1000, f1=400, f2=200, resident=1350))
    assert (float(capped.value), float(capped.hi)) == (1350, 1350)
    assert float(capped.lo) == pytest.approx(1306.697, abs=1e-3)


def test_event_totals_of_the_worked_example() -> None:
    events, below, above = (float(part) for part in estimate_events(4000, 200, 0.25))
    assert events == 3_200_000
    # Half the width of the normal interval is 99,167; the exact one is a little longer above than below.
    assert below < 99_167 < above
    assert below == pytest.approx(99_167, rel=0.02)
    assert above == pytest.approx(99_167, rel=0.02)


def test_no_sample_bounds_the_events_from_above() -> None:
    events, below, above = (float(part) for part in estimate_events(0, 200, 0.25))
    assert (events, below) == (0.0, 0.0)
    assert above == pytest.approx(-math.log(0.025) * 800)


@pytest.mark.rates
@pytest.mark.parametrize("mean", [0.5, 3.0, 20.0])
def test_intervals_of_few_samples_hold_the_events_at_their_rate(mean: float) -> None:
    counts = np.random.default_rng(1).poisson(mean, drawn(4000))
    events, below, above = estimate_events(counts, 1.0, 1.0)
    held = (events - below <= mean) & (mean <= events + above)
    assert held.mean() >= 0.95 - 0.01


def claim_of(touched: Touched) -> str:
    return CLAIMS[int(touched.claim)]


def test_claims_need_samples_coverage_and_a_narrow_interval() -> None:
    good = counts(samples=4000, distinct=1000, f1=400, f2=200, resident=1500)
    assert claim_of(bound_touched(good, PERIOD_EVENTS, 1.0)) == "interval"
    wide = counts(samples=4000, distinct=1000, f1=400, f2=200, resident=5000)
    touched = bound_touched(wide, PERIOD_EVENTS, 1.0)
    assert (claim_of(touched), float(touched.hi)) == ("lower_bound", 5000)
    thin = counts(samples=4000, distinct=2500, f1=1900, f2=300, resident=4000)
    assert claim_of(bound_touched(thin, PERIOD_EVENTS, 1.0)) == "lower_bound"
    poor = counts(samples=4000, distinct=3000, f1=2400, f2=300, resident=4000)
    assert claim_of(bound_touched(poor, PERIOD_EVENTS, 1.0)) == "insufficient"
    few = counts(samples=999, distinct=300, f1=20, f2=30, resident=320)
    assert claim_of(bound_touched(few, PERIOD_EVENTS, 1.0)) == "insufficient"
    nothing = bound_touched(counts(samples=0, distinct=0, f1=0, f2=0, resident=10), PERIOD_EVENTS, 1.0)
    assert (claim_of(nothing), bool(np.isnan(nothing.coverage))) == ("insufficient", True)


def test_without_singletons_unseen_pages_are_bounded_by_the_unseen_events() -> None:
    # No page was seen once: at most 3.69 unseen events in the sample's terms, which is 734 events and pages.
    touched = bound_touched(counts(samples=9000, distinct=5000, f1=0, f2=3, resident=9000), PERIOD_EVENTS, 1.0)
    assert float(touched.lo) == 5000
    assert float(touched.hi) == pytest.approx(5000 + 3.688879 * 199)
    assert claim_of(touched) == "interval"


def test_windows_end_with_their_interval() -> None:
    values = np.arange(1, 13).reshape(-1, 1)
    sums = sum_windows(values)[:, :, 0]
    assert sums[0].tolist() == [1, 1, 1, 1]
    assert sums[11].tolist() == [12, 23, 50, 75]


@pytest.mark.slow
@pytest.mark.rates
@pytest.mark.parametrize(
    ("name", "merged", "answered_at_least"),
    [
        pytest.param("redis-zipf.miss", 1, None, marks=long),
        ("redis-zipf.miss", 6, None),
        ("sqlite.miss", 1, 0.85),
        ("sqlite.miss", 6, 0.95),
    ],
)
def test_true_pages_lie_in_the_interval_wherever_one_is_claimed(
    name: str, merged: int, answered_at_least: float | None
) -> None:
    core = pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
    trace = core.PageTrace(TRACES / f"{name}.parquet", merged)
    truth = trace.loaded_pages
    for core_groups in (1, 4):
        bounds = [
            bound_touched(
                fold_sampled(trace, period_events=PERIOD_EVENTS, core_groups=core_groups, enabled_groups=1, seed=seed),
                PERIOD_EVENTS,
                1.0 / core_groups,
            )
            for seed in range(SEEDS)
        ]
        claims = np.stack([bound.claim for bound in bounds])
        above = np.stack([truth >= bound.lo for bound in bounds])
        inside = above & np.stack([truth <= bound.hi for bound in bounds])
        # Each claim is checked cell by cell: the share of the seeds that claim it and are right.
        for claim, right in ((INTERVAL, inside), (LOWER_BOUND, above)):
            made = (claims == claim).sum(axis=0)
            held = ((claims == claim) & right).sum(axis=0)
            cells = made >= max(SEEDS // 10, 20)  # of fewer, one that is wrong says nothing
            assert (held[cells] >= 0.9 * made[cells]).all(), (name, core_groups, CLAIMS[claim])
            assert held.sum() >= 0.95 * made.sum(), (name, core_groups, CLAIMS[claim])
        covered = np.stack([bound.coverage for bound in bounds]) >= 0.8
        answered = (claims[covered] == INTERVAL).mean() if covered.any() else None
        if core_groups == 1:
            assert (answered is None) == (answered_at_least is None)
            assert answered is None or answered >= answered_at_least, (name, answered)
        print(f"{name} x{merged} d=1/{core_groups}: {covered.sum()} cells covered, answered: {answered}")


def test_the_fold_counts_what_was_sampled() -> None:
    pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
    trace = read_page_trace(TRACES / "sqlite.miss.parquet")
    every = fold_sampled(trace, period_events=1.0, core_groups=1, enabled_groups=1, seed=1)
    assert (every.samples == sum_windows(trace.loads)).all()
    assert (every.distinct == trace.loaded_pages).all()
    quarter = fold_sampled(trace, period_events=200.0, core_groups=4, enabled_groups=1, seed=1)
    assert quarter.samples[:, 0].sum() == pytest.approx(trace.loads.sum() / 800, rel=0.01)
    assert ((quarter.f1 + quarter.f2) <= quarter.distinct).all()
    with pytest.raises(ValueError, match="1 to 4 core groups"):
        fold_sampled(trace, period_events=200.0, core_groups=4, enabled_groups=5, seed=1)


def test_a_file_that_is_no_trace_is_named() -> None:
    pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
    with pytest.raises(ValueError, match=r"README\.md"):
        read_page_trace(TRACES.parent / "README.md")
