"""What hardware samples say: counted over runs of intervals, by pages of one size, loads and stores apart."""

import numpy as np
import pytest

from tierscope.domain.heat.rows import HeatRow, Method
from tierscope.domain.heat.sampler import read_samples
from tierscope.domain.heat.unseen import PageCounts, bound_touched

MINUTE_US = 60_000_000
PEBS = Method(1, 1, 60_000_000_000)


def row(minute: int, *, loads: int = 4000, f1: int = 400, f2: int = 200, distinct: int = 1000) -> HeatRow:
    """An interval of one group of 4 KiB pages; windows of all lengths hold the same pages."""
    one, zeros = np.array([1], np.int64), np.zeros(9, np.int64)
    return HeatRow(
        end_us=minute * MINUTE_US,
        boottime_ns=None,
        method=PEBS,
        groups=("server",),
        kinds=one,
        page_sizes=one * 4096,
        tiers=("dram",),
        validity=one * -1,
        resident_bytes=one * 5000 * 4096,
        age_bytes=zeros,
        never_bytes=zeros,
        active_count_bytes=np.zeros(11, np.int64),
        active_lo_bytes=np.zeros(4, np.int64),
        active_hi_bytes=np.zeros(4, np.int64),
        load_samples=one * loads,
        store_samples=one * 25,
        period_events=200.0,
        duty_ratio=0.25,
        distinct_pages=np.full(4, distinct),
        f1_pages=np.full(4, f1),
        f2_pages=np.full(4, f2),
        hot_intersection_bytes=None,
        hot_union_bytes=None,
    )


def test_a_window_needs_all_its_intervals_without_a_hole() -> None:
    whole = read_samples([[row(minute) for minute in range(1, 13)]])
    assert whole is not None
    assert [window.intervals for window in whole.windows] == [1, 2, 5, 10]
    holed = read_samples([[row(minute) for minute in (1, 2, 3, 5, 6)]])
    assert holed is not None
    assert [window.intervals for window in holed.windows] == [1, 2]


def test_the_newest_interval_gives_the_bounds_of_its_counts_in_bytes() -> None:
    found = read_samples([[row(7)]])
    assert found is not None
    (window,) = found.windows
    counts = PageCounts(*map(np.asarray, (4000, 1000, 400, 200, 5000)))
    expected = bound_touched(counts, 200.0, 0.25)
    assert window.lo == pytest.approx(float(expected.lo) * 4096)
    assert window.hi == pytest.approx(float(expected.hi) * 4096)
    assert window.coverage == pytest.approx(0.90)
    assert window.seen_bytes == 1000 * 4096


def test_loads_and_stores_are_scaled_apart() -> None:
    found = read_samples([[row(7)]])
    assert found is not None
    assert (found.loads.samples, found.loads.events) == (4000, 3_200_000)
    assert found.loads.hi - found.loads.lo == pytest.approx(2 * 99_167, rel=0.01)
    assert (found.stores.samples, found.stores.events) == (25, 20_000)


def test_the_weakest_host_decides_what_may_be_claimed() -> None:
    strong = row(7, loads=1_000_000, f1=20, f2=40, distinct=4990)
    assert (alone := read_samples([[strong]])) is not None
    both = read_samples([[strong], [row(7, loads=500)]])
    assert both is not None
    assert alone.windows[0].claim != "insufficient"
    assert both.windows[0].claim == "insufficient"


def test_rows_that_count_nothing_are_no_samples() -> None:
    assert read_samples([]) is None
    assert read_samples([[]]) is None
