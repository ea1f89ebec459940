"""How firm an answer about a ratio is: grades by time and hosts, and an interval that shrinks as more is seen."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.domain.ratio import RatioGrade, Seen, grade_of, reached_at, total_sd, unseen_sd
from tierscope.domain.slowdown import pool_shares

START = datetime(2026, 11, 2, tzinfo=UTC)
MINUTES_10 = 10 / 1440
WEEK = Seen(START, days=7.0, n_hosts=3, gaps_ratio=0.0, coverage=None)


@pytest.mark.parametrize(
    ("seen", "grade"),
    [
        (replace(WEEK, days=MINUTES_10, n_hosts=1), "early"),
        (replace(WEEK, days=0.99, n_hosts=20), "early"),
        (replace(WEEK, days=1.0, n_hosts=1), "provisional"),
        (replace(WEEK, days=6.9), "provisional"),
        (replace(WEEK, n_hosts=2), "provisional"),
        (replace(WEEK, gaps_ratio=0.11), "provisional"),
        (replace(WEEK, coverage=0.79), "provisional"),
        (replace(WEEK, coverage=0.8, gaps_ratio=0.1), "established"),
        (WEEK, "established"),
    ],
)
def test_the_grade_is_by_time_and_hosts(seen: Seen, grade: RatioGrade) -> None:
    assert grade_of(seen) == grade


def test_what_was_not_seen_widens_by_the_written_method() -> None:
    assert unseen_sd(WEEK) == {}
    first = unseen_sd(replace(WEEK, days=MINUTES_10, n_hosts=1))
    assert first == pytest.approx({"hours": 0.498, "days": 0.25, "hosts": 0.3}, abs=5e-4)
    assert total_sd(first) == pytest.approx(math.hypot(0.498, 0.25, 0.3), abs=5e-4)
    assert unseen_sd(replace(WEEK, days=1.0)) == pytest.approx({"days": 0.25 * math.sqrt(6 / 7)})
    assert unseen_sd(replace(WEEK, n_hosts=2)) == pytest.approx({"hosts": 0.3 / math.sqrt(2)})
    assert unseen_sd(replace(WEEK, gaps_ratio=0.5)) == pytest.approx({"days": 0.25 * math.sqrt(0.5)})
    replayed = replace(WEEK, share_days=1.0)
    assert unseen_sd(replayed) == unseen_sd(replace(WEEK, days=1.0)), "a replay of one day saw no other"
    assert grade_of(replayed) == "established"


@given(st.floats(0.005, 8.0), st.integers(1, 5), st.floats(0.0, 0.9), st.floats(1.0, 3.0))
def test_more_to_see_never_widens(days: float, hosts: int, gaps: float, factor: float) -> None:
    less = Seen(START, days=days, n_hosts=hosts, gaps_ratio=gaps, coverage=None)
    more = replace(less, days=days * factor, n_hosts=hosts + 1, gaps_ratio=gaps / factor)
    assert total_sd(unseen_sd(more)) <= total_sd(unseen_sd(less))


def test_the_day_on_which_a_grade_can_be_reached_is_told() -> None:
    assert reached_at("provisional", WEEK) == START + timedelta(days=1)
    assert reached_at("established", WEEK) == START + timedelta(days=7)


def pooled(values: list[float], variance: float, *, n_pages: int = 10_000) -> tuple[float, float, float]:
    array = np.array(values)
    share = pool_shares(
        array,
        np.full(len(values), variance),
        np.ones(len(values)),
        page_freedom=5,
        unseen_ratios=np.zeros(len(values)),
        n_pages=n_pages,
    )
    return share.lo, share.value, share.hi


def test_a_poorly_known_small_share_does_not_become_anything() -> None:
    lo, value, hi = pooled([0.00035], variance=0.001**2)
    assert (value, lo < value) == (0.00035, True)
    assert hi < 0.01, "an error of seven times the share is no error of e^7"
    assert hi > value + 2.57 * 0.001, "and it is not below the plain interval"
    known = pooled([0.1], variance=0.005**2)
    assert known[2] == pytest.approx(0.1 * math.exp(2.5706 * 0.05), rel=1e-4)


def test_every_page_known_leaves_the_error_over_hosts_alone() -> None:
    assert pooled([0.02], variance=0.0, n_pages=0) == (0.02, 0.02, 0.02)
    assert pooled([0.0], variance=0.0, n_pages=0) == (0.0, 0.0, 0.0)
    lo, value, hi = pooled([0.018, 0.02, 0.022], variance=0.0, n_pages=0)
    assert lo < 0.018 < value < 0.022 < hi < 0.03
    two = pooled([0.019, 0.021], variance=0.0, n_pages=0)
    assert two[2] < 0.025, "two hosts say little of their spread, and what is not seen is added elsewhere"
