"""Runs of buckets, and the wider buckets that hold them."""

import itertools
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tierscope.domain.base.buckets import DAY_US, HOUR_US, TEN_MINUTES_US
from tierscope.usecases.base.spans import coarser, join_spans

START = datetime(2026, 3, 1, 23, 40, tzinfo=UTC)
STEP = timedelta(minutes=10)


@given(st.sets(st.integers(0, 200)))
def test_spans_hold_all_buckets_and_nothing_else(places: set[int]) -> None:
    buckets = [START + place * STEP for place in sorted(places)]
    spans = join_spans(buckets, TEN_MINUTES_US)
    covered = []
    for start, end in spans:
        at = start
        while at < end:
            covered.append(at)
            at += STEP
    assert covered == buckets
    assert all(before[1] < after[0] for before, after in itertools.pairwise(spans))


def test_wider_buckets_hold_the_fine_ones_once() -> None:
    buckets = [START, START + STEP, START + 2 * STEP, START + 3 * STEP]
    assert coarser(buckets, HOUR_US) == [datetime(2026, 3, 1, 23, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC)]
    assert coarser(buckets, DAY_US) == [datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC)]
