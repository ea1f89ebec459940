"""Access density by page kind: its value, its interval over pages and hosts, and the index of two kinds."""

import numpy as np
import pytest

from tierscope.domain.curve.bands import HostPages
from tierscope.domain.curve.density import densities

ANON, FILE = 1, 2


def host(anon: np.ndarray, file: np.ndarray, *, weight: float = 1.0) -> HostPages:
    halves = np.repeat(np.concatenate([anon, file])[:, None] / 2, 2, axis=1).astype(float)
    kinds = np.array([ANON] * len(anon) + [FILE] * len(file))
    return HostPages(halves, np.full(len(kinds), 4096.0), kinds, None, 0.0, weight)


def test_density_of_the_worked_example() -> None:
    found = densities([host(np.full(40, 2.0), np.full(60, 1 / 3))], 4)
    assert found is not None
    assert [kind.density.value for kind in found.kinds] == pytest.approx([2.0, 1 / 3])
    index = found.log2_ratio(ANON, FILE)
    assert index is not None
    assert index.value == pytest.approx(2.585, abs=5e-4)


def test_the_interval_holds_the_truth_over_samples_of_pages() -> None:
    random = np.random.default_rng(4)
    anon, file = random.lognormal(1.0, 1.0, 4000), random.lognormal(0.0, 1.0, 6000)
    truth = np.log2((anon.sum() / 4000) / (file.sum() / 6000))
    held = []
    for _ in range(60):
        hosts = [host(random.choice(anon, 400), random.choice(file, 600)) for _ in range(3)]
        found = densities(hosts, 4)
        assert found is not None
        index = found.log2_ratio(ANON, FILE)
        assert index is not None
        held.append(index.lo <= truth <= index.hi)
    assert np.mean(held) >= 0.93


def test_known_resident_bytes_replace_those_of_the_pages_seen() -> None:
    seen = host(np.full(30, 3.0), np.full(30, 1.0))
    known = HostPages(
        seen.halves, seen.sizes_bytes, seen.kinds, np.array([0.0, 1e6, 9e6, 0.0]), seen.unseen_ratio, seen.weight
    )
    found = densities([known], 4)
    assert found is not None
    assert found.kinds[0].bytes_ratio.value == pytest.approx(0.1)
    assert found.kinds[0].density.value == pytest.approx(7.5)


def test_without_accesses_there_is_no_density() -> None:
    assert densities([host(np.zeros(3), np.zeros(3), weight=0.0)], 4) is None
    found = densities([host(np.full(3, 1.0), np.zeros(3))], 4)
    assert found is not None
    assert found.log2_ratio(ANON, FILE) is None
