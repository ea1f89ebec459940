"""Ping-pong by followed pages: intervals against drawn hosts whose every page is known."""

import numpy as np
import pytest

from tierscope.domain.ledger.followed import FollowedMoves, RoundTrips, share_of_round_trips

PAGES, FOLLOWED, HOUR_S, STEP_S = 20_000, 2_000, 3600, 15


def _share(*parts: FollowedMoves) -> RoundTrips:
    found = share_of_round_trips(parts)
    assert found is not None
    return found


def _moves(
    promotions: int, round_trips: int, *, squared: int = 0, unsure: int = 0, promoted: int = 1000
) -> FollowedMoves:
    return FollowedMoves(promotions, squared or promotions, round_trips, unsure, promoted, 0, promoted)


def _drawn_host(rng: np.random.Generator) -> tuple[float, FollowedMoves]:
    """The true share of an hour on a host, and what 2,000 followed pages tell of it.

    Each page that moves has its own mean times in either tier, so that few pages may make most of the moves.
    """
    moving = int(PAGES * rng.uniform(0.1, 0.6))
    away_s, stay_s = (rng.uniform(30, 1500) * rng.lognormal(0, rng.uniform(0.3, 1.0), moving) for _ in range(2))
    is_top = rng.random(moving) < 0.5
    left_s = np.full(moving, -np.inf)
    promotions, trips = np.zeros(moving, np.int64), np.zeros(moving, np.int64)
    for at in range(0, HOUR_S + 1200, STEP_S):
        flips = rng.random(moving) < STEP_S / np.where(is_top, stay_s, away_s)
        counted = flips & ~is_top & (at >= 1200)
        promotions += counted
        trips += counted & (at - left_s <= 600)
        left_s[flips & is_top] = at
        is_top ^= flips
    followed = rng.permutation(PAGES)[:FOLLOWED]
    followed = followed[followed < moving]
    counts = promotions[followed]
    seen = _moves(int(counts.sum()), int(trips[followed].sum()), squared=int((counts**2).sum()))
    return float(trips.sum() / promotions.sum()), seen


def test_two_thousand_pages_tell_the_share_within_twenty_points_and_hold_it() -> None:
    rng = np.random.default_rng(11)
    held, widths = [], []
    for _ in range(60):
        truth, seen = _drawn_host(rng)
        found = _share(seen)
        held.append(found.lo <= truth <= found.hi)
        widths.append(found.hi - found.lo)
    assert np.mean(held) >= 0.93
    assert max(widths) < 0.2


def test_moves_that_may_be_none_widen_the_interval_to_either_side() -> None:
    sure, unsure = _share(_moves(400, 200)), _share(_moves(400, 200, unsure=40))
    assert sure.value == unsure.value == 0.5
    assert unsure.lo < 160 / 360 < sure.lo < sure.hi < 200 / 360 < unsure.hi
    nothing = _share(_moves(10, 4, unsure=10))
    assert (nothing.lo, nothing.hi) == (0.0, 1.0)


def test_promotions_of_few_pages_tell_less() -> None:
    many, few = _share(_moves(400, 200)), _share(_moves(400, 200, squared=4000))
    assert few.hi - few.lo == pytest.approx(np.sqrt(10) * (many.hi - many.lo), rel=0.1)


def test_hosts_count_by_the_pages_that_they_promoted() -> None:
    busy, quiet = _moves(300, 270, promoted=9000), _moves(300, 30, promoted=1000)
    assert _share(busy, quiet).value == pytest.approx(0.9 * 0.9 + 0.1 * 0.1)


def test_of_hosts_that_follow_none_the_bounds_are_in_the_interval() -> None:
    bounded = FollowedMoves(0, 0, 0, 0, 1000, 100, 600)
    found = _share(_moves(10_000, 5000, promoted=3000), bounded)
    assert found.unfollowed_ratio == 0.25
    assert found.lo == pytest.approx(0.75 * 0.49 + 0.025, abs=0.002)
    assert found.hi == pytest.approx(0.75 * 0.51 + 0.15, abs=0.002)
    assert share_of_round_trips([bounded]) is None
