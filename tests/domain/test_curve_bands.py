"""Bands of served accesses: what they hold over pages and over hosts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tierscope.domain.curve.bands import (
    MIN_PAGE_DRAWS,
    HostPages,
    ServedBand,
    draw_hosts,
    draw_pages,
    page_draws,
    serve_by_sample,
    serve_exactly,
)
from tierscope.domain.curve.hit_ratio import DRAM_SHARES, Pages, cross_fitted_curve, density_curve


def host(halves: np.ndarray, *, weight: float | None = None, unseen: float = 0.0) -> HostPages:
    kinds = np.ones(len(halves), np.int64)
    return HostPages(
        halves, np.full(len(halves), 4096.0), kinds, None, unseen, float(halves.sum()) if weight is None else weight
    )


def sampled(rates: np.ndarray, pages: int, seed: int) -> HostPages:
    """A hash sample of pages whose accesses come at these rates."""
    random = np.random.default_rng(seed)
    halves = random.poisson(np.repeat(rates[:, None] / 2, 2, axis=1)).astype(np.float64)
    return host(halves[random.choice(len(rates), pages, replace=False)])


def band(hosts: list[HostPages]) -> ServedBand:
    found = serve_by_sample(hosts, DRAM_SHARES)
    assert found is not None
    assert found.lo is not None
    assert found.hi is not None
    return found


@pytest.mark.parametrize("n_hosts", [1, 3])
def test_the_band_holds_the_curve_that_the_samples_were_drawn_from(n_hosts: int) -> None:
    rates = np.random.default_rng(0).lognormal(2.0, 1.5, 4000)
    truth = density_curve(Pages(rates[:, None], np.ones(4000)), DRAM_SHARES)
    held = []
    for run in range(40):
        found = band([sampled(rates, 600, 100 * run + i) for i in range(n_hosts)])
        assert found.lo is not None
        assert found.hi is not None
        held.append((found.lo <= truth + 1e-9) & (truth <= found.hi + 1e-9))
    assert np.mean(held) >= 0.95


def test_hosts_that_differ_make_the_band_wide() -> None:
    flat, steep = np.full((400, 2), 5.0), np.where(np.arange(400)[:, None] < 40, 45.0, 0.5) * np.ones((1, 2))
    alike, unlike = band([host(steep)] * 3), band([host(flat), host(steep), host(steep)])
    assert unlike.lo is not None
    assert unlike.hi is not None
    assert alike.lo is not None
    assert alike.hi is not None
    assert (unlike.hi - unlike.lo)[1] > 3 * (alike.hi - alike.lo)[1]


def test_hosts_weigh_by_their_traffic() -> None:
    busy, idle = host(np.array([[9.0, 9.0], [1.0, 1.0]]), weight=3.0), host(np.full((2, 2), 1.0), weight=1.0)
    found = band([busy, idle])
    assert found.served[9] == pytest.approx((3 * 0.9 + 0.5) / 4)
    exact = serve_exactly([busy, idle], DRAM_SHARES)
    assert exact is not None
    assert exact.served[9] == pytest.approx((3 * 0.9 + 0.5) / 4)


def test_unseen_traffic_lowers_the_lower_end_alone() -> None:
    halves = np.random.default_rng(1).poisson(5, (300, 2)).astype(np.float64)
    seen, missed = band([host(halves)]), band([host(halves, unseen=0.2)])
    np.testing.assert_allclose(missed.low, 0.8 * seen.low)
    np.testing.assert_array_equal(missed.served, seen.served)
    np.testing.assert_array_equal(missed.hi, seen.hi)


def test_without_accesses_in_both_halves_there_is_no_curve() -> None:
    assert serve_by_sample([host(np.array([[3.0, 0.0]]))], DRAM_SHARES) is None
    assert serve_exactly([host(np.zeros((2, 2)))], DRAM_SHARES) is None


def test_many_pages_are_drawn_fewer_times() -> None:
    assert page_draws([host(np.ones((100, 2)))]) > page_draws([host(np.ones((30_000, 2)))]) >= MIN_PAGE_DRAWS


def test_resampled_pages_and_hosts_keep_the_mean() -> None:
    times = draw_pages(host(np.ones((50, 2))), 200, np.random.default_rng(2))
    assert (times.sum(axis=1) == 50).all()
    points = np.array([[0.2], [0.4], [0.9], [0.5]])
    drawn = draw_hosts(points, points[:, None], np.ones(4))
    assert drawn.mean() == pytest.approx(0.5, abs=0.05)
    assert drawn.std() > points.std(ddof=1) / 2


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 3))
def test_the_curve_lies_in_its_band_and_below_the_one_ranked_on_the_same_accesses(seed: int, n_hosts: int) -> None:
    random = np.random.default_rng(seed)
    hosts = [host(random.poisson(random.gamma(0.5, 4, (60, 1)), (60, 2)) + 0.0) for _ in range(n_hosts)]
    hosts = [one for one in hosts if one.halves.sum(axis=0).all()]
    found = serve_by_sample(hosts, DRAM_SHARES)
    assert found is not None
    assert found.lo is not None
    assert found.hi is not None
    assert (found.lo <= found.served + 1e-12).all()
    assert (found.served <= found.hi + 1e-12).all()
    assert (np.diff(found.served) >= -1e-12).all()
    for one in hosts:
        pages = Pages(one.halves, one.sizes_bytes)
        even, odd = (density_curve(Pages(one.halves[:, [i]], one.sizes_bytes), DRAM_SHARES) for i in (0, 1))
        weights = one.halves.sum(axis=0)
        best = (even * weights[0] + odd * weights[1]) / weights.sum()
        assert (cross_fitted_curve(pages, DRAM_SHARES) <= best + 1e-9).all()
