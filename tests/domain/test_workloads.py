"""Synthetic traces: one seed gives one trace, mixes have the rates that were asked for, patterns do what they say."""

import numpy as np
import pytest

from tierscope.domain.simulate import (
    PATTERNS,
    Pattern,
    Population,
    TraceColumns,
    compile_trace,
    generate,
    make_pattern,
    make_policy,
    replay,
    split_machine,
)

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")

PAGES, INTERVALS = 2000, 40


def pattern(name: Pattern, seed: int = 1) -> TraceColumns:
    return make_pattern(name, pages=PAGES, intervals=INTERVALS, seed=seed)


def active(trace: TraceColumns) -> np.ndarray:
    """Whether each page was accessed in each interval, [intervals, pages]."""
    found = np.zeros((trace.intervals, len(trace.kinds)), np.bool_)
    found[trace.row_interval, trace.row_page] = True
    return found


@pytest.mark.parametrize("name", PATTERNS)
def test_a_seed_gives_one_trace_that_can_be_replayed(name: Pattern) -> None:
    one, same, other = pattern(name), pattern(name), pattern(name, seed=2)
    assert (one.row_page == same.row_page).all()
    assert (one.row_accesses == same.row_accesses).all()
    assert len(one.row_page) != len(other.row_page) or (one.row_accesses != other.row_accesses).any()
    trace = compile_trace(one)
    assert trace.pages == PAGES
    assert trace.accesses == one.row_accesses.sum()


def test_patterns_do_what_they_say() -> None:
    totals = np.bincount(pattern("zipf").row_page, weights=pattern("zipf").row_accesses)
    assert np.sort(totals)[::-1][: PAGES // 10].sum() > 0.6 * totals.sum()
    # Each interval of a scan touches a tenth, and ten in a row all pages once.
    scanned = active(pattern("scan"))[10:20]
    assert scanned.any(axis=0).mean() > 0.95
    assert scanned.sum(axis=0).max() == 1
    moving = active(pattern("phase_change"))
    overlap = [(moving[8] & moving[9]).sum(), (moving[9] & moving[10]).sum()]
    assert overlap[0] > 5 * overlap[1]
    resident = pattern("growth").first
    assert (resident == 0).mean() == pytest.approx(0.2, abs=0.01)
    assert resident.max() == INTERVALS - 1
    swinging = active(pattern("ping_pong"))
    assert (swinging[4] & swinging[8]).sum() > 5 * (swinging[4] & swinging[6]).sum()


def test_ping_pong_goes_round_under_tpp_and_growth_does_not() -> None:
    def ratio(name: Pattern) -> float:
        trace = compile_trace(pattern(name))
        totals = replay(trace, make_policy("tpp"), split_machine(trace.peak_units, 0.5)).totals(10)
        return totals.round_trips_long_pages / trace.pages

    assert ratio("ping_pong") > 10 * ratio("growth")


def test_mixes_have_the_shares_and_rates_that_were_asked_for() -> None:
    mix = [
        Population("anon", 0.3, touched=0.9, accesses=50),
        Population("file", 0.7, touched=0.1, accesses=5, born=(0, 9), lives=8, written=0),
    ]
    trace = generate(mix, pages=5000, intervals=60, seed=3)
    resident = (trace.first <= 30) & (trace.last >= 30)
    assert (resident & (trace.kinds == 0)).sum() == 1500
    assert (resident & (trace.kinds == 1)).sum() == 3500
    found = active(trace)
    lives = trace.first[trace.kinds == 1], trace.last[trace.kinds == 1]
    assert (lives[1] - lives[0]).max() == 7
    settled = resident & (trace.first < 30)
    assert found[30, settled & (trace.kinds == 0)].mean() == pytest.approx(0.9, abs=0.03)
    assert found[30, settled & (trace.kinds == 1)].mean() == pytest.approx(0.1, abs=0.03)
    of_kind = trace.kinds[trace.row_page]
    assert np.median(trace.row_accesses[of_kind == 0]) == pytest.approx(50, rel=0.05)
    assert not trace.row_written[of_kind == 1].any()
    compile_trace(trace)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one page"):
        make_pattern("zipf", pages=0, intervals=3, seed=1)
    with pytest.raises(ValueError, match="at least one page"):
        generate([Population("anon", 1, 1, 1)], pages=1, intervals=0, seed=1)
    with pytest.raises(ValueError, match="a share below 0"):
        generate([Population("anon", 0, 1, 1)], pages=10, intervals=2, seed=1)
