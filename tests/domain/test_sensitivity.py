"""Sensitivity: the worked examples of the method, known truths found again, and refusals."""

import numpy as np
import pytest

from tierscope.domain.sensitivity import (
    Panel,
    density_index,
    effective_size,
    estimate,
    inflation,
    partial_correlation,
    regress,
)


def test_elasticities_of_the_worked_example() -> None:
    regressors = np.array([[0.1, 0.1], [-0.1, 0.1], [0.2, -0.1], [-0.2, -0.1]])
    found = regress(np.array([0.06, -0.04, 0.09, -0.11]), regressors)
    assert found.tolist() == pytest.approx([0.5, 0.1])


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


def panel(*, hosts: int, n: int, noise: float = 0.01, file_sd: float = 0.05, tie: float = 0.0, seed: int = 1) -> Panel:
    random = np.random.default_rng(seed)
    shape = (hosts, n)
    anon = np.cumsum(random.normal(0, 0.05, shape), axis=1)
    file = np.cumsum(random.normal(0, file_sd, shape), axis=1) + tie * anon
    load = random.normal(0, 0.05, shape)
    work = 0.5 * anon + 0.1 * file + 0.3 * load + random.normal(0, noise, shape)
    index = np.arange(hosts * n)
    return Panel(
        host=index // n,
        calendar=(index % n) // 60,
        anon_bytes=np.asarray(np.exp(20 + anon).ravel(), np.float64),
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
    blind = estimate(Panel(known.host, known.calendar, known.anon_bytes, known.file_bytes, known.throughput, None))
    assert blind.anon is None
    assert "load is not collected" in blind.refused["anon"][0]


def test_noise_alone_gives_intervals_around_zero_or_a_refusal() -> None:
    held = 0
    for seed in range(20):
        known = panel(hosts=6, n=200, seed=seed)
        random = np.random.default_rng(1000 + seed)
        blank = np.asarray(np.exp(random.normal(8, 0.05, len(known.host))), np.float64)
        found = estimate(Panel(known.host, known.calendar, known.anon_bytes, known.file_bytes, blank, known.load))
        held += found.anon is None or found.anon.lo <= 0 <= found.anon.hi
    assert held >= 17
