"""Sensitivity: the worked examples of the method, known truths found again, and refusals."""

from dataclasses import replace

import numpy as np
import pytest

from tierscope.domain.sensitivity.estimate import (
    Panel,
    density_index,
    effective_size,
    estimate,
    hour_of_week,
    inflation,
    level_correlations,
    level_line,
    neighbours,
    partial_correlation,
    thin,
)


def test_small_formulas_of_the_worked_examples() -> None:
    assert round(partial_correlation(0.8, 0.5, 0.4), 6) == 0.755929
    assert effective_size(100, 0.6) == pytest.approx(25)
    assert effective_size(100, -0.5) == 100
    assert round(inflation(0.9), 6) == 5.263158


def test_density_of_the_worked_example() -> None:
    found = density_index((80, 20), (40, 60))
    assert found is not None
    assert [round(value, 4) for value in found] == [2.0, 0.3333, 2.585]
    assert density_index((80, 20), (0, 60)) is None


def panel(
    *,
    hosts: int,
    n: int,
    noise: float = 0.01,
    file_sd: float = 0.05,
    tie: float = 0.0,
    memory: float = 0.0,
    seed: int = 1,
) -> Panel:
    """Hosts of different sizes with elasticities of 0.5 and 0.1; noise remembers `memory` of itself."""
    random = np.random.default_rng(seed)
    shape = (hosts, n)
    anon = np.cumsum(random.normal(0, 0.05, shape), axis=1)
    file = np.cumsum(random.normal(0, file_sd, shape), axis=1) + tie * anon
    load = random.normal(0, 0.05, shape)
    errors = random.normal(0, noise, shape)
    for at in range(1, n):
        errors[:, at] += memory * errors[:, at - 1]
    size = random.normal(0, 1, (hosts, 1))
    work = 0.5 * anon + 0.1 * file + 0.3 * load + errors + size
    index = np.arange(hosts * n)
    return Panel(
        host=index // n,
        interval=index % n,
        calendar=(index % n) // 60,
        anon_bytes=np.asarray(np.exp(20 + anon + size).ravel(), np.float64),
        file_bytes=np.asarray(np.exp(19 + file).ravel(), np.float64),
        throughput=np.asarray(np.exp(8 + work).ravel(), np.float64),
        load=np.asarray(np.exp(5 + load).ravel(), np.float64),
    )


@pytest.mark.parametrize(("hosts", "errors"), [(4, "hac"), (24, "clustered")])
def test_a_known_truth_is_found_again(hosts: int, errors: str) -> None:
    found = estimate(panel(hosts=hosts, n=400))
    assert found.errors == errors
    assert found.refused == {}
    assert found.anon is not None
    assert found.file is not None
    assert found.anon.lo <= 0.5 <= found.anon.hi
    assert found.file.lo <= 0.1 <= found.file.hi
    assert found.anon.hi - found.anon.lo < 0.1


def test_a_kind_that_hardly_varies_is_refused_alone() -> None:
    found = estimate(panel(hosts=6, n=300, file_sd=0.0005))
    assert found.file is None
    assert "hardly varies" in found.refused["file"][0]
    assert found.anon is not None


def test_kinds_that_move_together_are_refused() -> None:
    found = estimate(panel(hosts=6, n=300, file_sd=0.005, tie=1.0))
    assert found.anon is None
    assert "move together" in found.refused["anon"][0]


def test_few_observations_and_unknown_load_are_refused() -> None:
    short = estimate(panel(hosts=2, n=20))
    assert short.anon is None
    assert any("independent" in reason or "too few" in reason for reason in short.refused["anon"])
    known = panel(hosts=6, n=300)
    blind = estimate(replace(known, load=None))
    assert blind.anon is None
    assert "load is not collected" in blind.refused["anon"][0]


def test_noise_alone_gives_intervals_around_zero_or_a_refusal() -> None:
    held = 0
    for seed in range(20):
        known = panel(hosts=6, n=200, seed=seed)
        random = np.random.default_rng(1000 + seed)
        blank = np.asarray(np.exp(random.normal(8, 0.05, len(known.host))), np.float64)
        found = estimate(replace(known, throughput=blank))
        held += found.anon is None or found.anon.lo <= 0 <= found.anon.hi
    assert held >= 17


@pytest.mark.parametrize(("hosts", "n", "memory"), [(1, 400, 0.0), (6, 200, 0.6), (24, 60, 0.6)])
def test_intervals_hold_the_truth_at_their_stated_rate(hosts: int, n: int, memory: float) -> None:
    runs = 120
    found = [estimate(panel(hosts=hosts, n=n, noise=0.02, tie=0.3, memory=memory, seed=seed)) for seed in range(runs)]
    anon = [one.anon for one in found if one.anon is not None]
    file = [one.file for one in found if one.file is not None]
    assert len(anon) == len(file) == runs
    # 95 % of 120: two standard deviations of the count are four either way.
    for truth, some in ((0.5, anon), (0.1, file)):
        held = sum(one.lo <= truth <= one.hi for one in some)
        assert 0.95 * runs - 6 <= held


def test_hours_of_the_week_take_a_daily_rhythm_out() -> None:
    known = panel(hosts=6, n=24 * 14)
    hour = known.interval % 24
    steps = 0.2 * np.sin(2 * np.pi * hour / 24)
    rhythm = replace(
        known,
        calendar=known.interval % 168,
        throughput=known.throughput * np.exp(np.cumsum(steps.reshape(6, -1), axis=1).ravel()),
    )
    with_hours, without = estimate(rhythm), estimate(replace(rhythm, calendar=np.zeros_like(hour)))
    assert with_hours.anon is not None
    assert with_hours.anon.lo <= 0.5 <= with_hours.anon.hi
    assert without.anon is None or without.anon.hi - without.anon.lo > 3 * (with_hours.anon.hi - with_hours.anon.lo)


def test_a_kind_that_never_changes_is_refused_and_the_other_is_told() -> None:
    known = panel(hosts=6, n=300)
    without_its_effect = known.throughput / np.sqrt(known.anon_bytes)
    found = estimate(replace(known, anon_bytes=np.full(len(known.host), 5e9), throughput=without_its_effect))
    assert found.anon is None
    assert found.refused["anon"] == ("it never changes",)
    assert found.file is not None
    assert found.file.lo <= 0.1 <= found.file.hi


def test_hosts_of_different_sizes_are_no_variation() -> None:
    known = panel(hosts=6, n=300)
    random = np.random.default_rng(3)
    flat = np.exp(20 + known.host + random.normal(0, 0.02, len(known.host)))
    found = estimate(replace(known, anon_bytes=np.asarray(flat, np.float64)))
    assert found.anon is None
    assert "hardly varies" in found.refused["anon"][0]


def test_autocorrelated_errors_count_for_fewer_observations() -> None:
    known = panel(hosts=2, n=60, noise=0.0)
    random = np.random.default_rng(5)
    drift = np.zeros((2, 60))
    step = np.zeros(2)
    for at in range(1, 60):
        step = 0.95 * step + random.normal(0, 0.002, 2)
        drift[:, at] = drift[:, at - 1] + step
    found = estimate(replace(known, throughput=known.throughput * np.exp(drift.ravel())))
    assert found.n == 118
    assert found.n_effective < 60
    assert any("independent" in reason for reason in found.refused["anon"])


def test_only_neighbouring_intervals_are_compared() -> None:
    host = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    interval = np.array([0, 1, 2, 7, 3, 6, 9, 12])
    assert neighbours(host, interval).tolist() == [True, True, False, False, True, True, True]


def test_hours_of_the_week_begin_on_monday_in_utc() -> None:
    monday = 1_700_438_400.0  # 2023-11-20T00:00:00Z
    assert hour_of_week(np.array([monday, monday + 3599, monday + 3600, monday - 1])).tolist() == [0, 0, 1, 167]


def test_levels_have_a_line_and_a_partial_correlation() -> None:
    bytes_ = np.array([1.0, 2.0, 3.0, 4.0])
    line = level_line(bytes_, 10 + 2 * bytes_)
    assert line is not None
    assert [line.slope, line.intercept] == pytest.approx([2, 10])
    assert level_line(np.ones(4), bytes_) is None
    known = level_correlations(panel(hosts=1, n=300))
    assert known["anon"] is not None
    assert known["anon"] > 0.9
    assert level_correlations(replace(panel(hosts=1, n=9), file_bytes=np.ones(9))) == {"anon": None, "file": None}


@pytest.mark.parametrize(("n", "kept"), [(0, 0), (1999, 1999), (2000, 2000), (2001, 1001), (50_000, 2000)])
def test_a_scatter_is_thinned_evenly(n: int, kept: int) -> None:
    places = thin(n, 2000)
    assert len(places) == kept
    assert len(set(np.diff(places).tolist())) <= 1
