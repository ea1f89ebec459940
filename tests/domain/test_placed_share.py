"""The share on slow memory that hosts measure, and a placement bent to it, on pages whose accesses are known."""

import numpy as np
import numpy.typing as npt
import pytest

from tierscope.domain.ratio.placed_share import HostAccesses, Interpolated, MeasuredShare, measure_share
from tierscope.domain.slowdown import LEVEL, ShareOnSlow

Floats = npt.NDArray[np.float64]
GIB = float(1 << 30)
PARTS = np.linspace(0.0, 1.0, 101)


def shares_of(weights: Floats, order: npt.NDArray[np.int64]) -> Floats:
    """Share of `weights` [n] on slow memory by the part of pages in DRAM, which come in this order."""
    served = np.concatenate([[0.0], np.cumsum(weights[order])]) / weights.sum()
    return np.asarray(1.0 - np.interp(PARTS, np.linspace(0.0, 1.0, len(served)), served), np.float64)


def curve_of(shares: Floats, error: float = 0.1) -> Interpolated:
    columns = (shares, shares * (1.0 - error), np.minimum(shares * (1.0 + error), 1.0))
    return Interpolated(tuple(PARTS.tolist()), *(tuple(column.tolist()) for column in columns))


def measured_at(held: float, share: float, reach: float = 1.3) -> MeasuredShare:
    return MeasuredShare(held, ShareOnSlow(share, share / reach, min(share * reach, 1.0), LEVEL), "memory_traffic", 3)


@pytest.mark.parametrize("held", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("skew", [0.5, 1.0, 1.4])
def test_active_intervals_bent_to_a_measurement_hold_the_share_of_accesses(held: float, skew: float) -> None:
    """Pages with zipf accesses, of which a busy interval counts once: what they say is many times what is true."""
    rates = 400.0 / np.arange(1.0, 2001.0) ** skew
    active, order = 1.0 - np.exp(-rates), np.argsort(-rates)
    true, told = shares_of(rates, order), shares_of(active, order)
    there = float(np.interp(held, PARTS, true))
    bent = curve_of(told).through(measured_at(held, there))
    assert bent(held).value == pytest.approx(there)
    for part, share in zip(PARTS, true, strict=True):
        found = bent(float(part))
        assert share <= found.hi + 1e-9
        if part <= held:
            assert found.lo <= share + 1e-9
    assert float(np.interp(0.9, PARTS, told)) > 1.5 * bent(0.9).value, "it says less than before where it said too much"


def test_more_dram_never_serves_less_than_was_measured_and_the_ends_stay() -> None:
    told = curve_of((1.0 - PARTS) ** 2)
    for share in (0.001, 0.25, 0.7):
        bent = told.through(measured_at(0.5, share))
        values, most = np.array(bent.value), np.array(bent.hi)
        assert (np.diff(values) <= 1e-12).all()
        assert (bent(0.0).value, bent(1.0).value) == (1.0, 0.0)
        assert most[np.array(bent.parts) >= 0.5].max() <= share * 1.3 + 1e-9
        assert (np.array(bent.lo) <= values).all()
        assert (values <= most).all()


def test_a_placement_that_does_worse_than_its_replay_is_believed() -> None:
    """Limits that bind, say, of which a replay knows nothing."""
    told = curve_of(np.where(PARTS < 0.4, 1.0 - PARTS, 0.001 * (1.0 - PARTS)))
    bent = told.through(measured_at(0.6, 0.2))
    assert bent(0.6).value == pytest.approx(0.2)
    assert bent(0.5).value >= 0.2
    assert bent(0.8).value == pytest.approx(0.1)
    nothing = curve_of(np.where(PARTS < 0.4, 1.0 - PARTS, 0.0)).through(measured_at(0.6, 0.2))
    assert nothing(0.8).value == pytest.approx(0.1), "where the replay says none, memory that is left is in proportion"


def traffic(fast: float, slow: float, moved: float = 0.0, held: float = 0.6) -> HostAccesses:
    return HostAccesses("memory_traffic", fast, slow, moved, held * 100 * GIB, (1 - held) * 100 * GIB)


def test_page_moves_are_no_accesses() -> None:
    found = measure_share([traffic(1e9, 3e7, moved=2e7)])
    assert found is not None
    assert found.share.value == pytest.approx(1e7 / (1e9 - 2e7 + 1e7))
    quiet = measure_share([traffic(1e9, 1e7)])
    assert quiet is not None
    assert found.share.hi / found.share.value > quiet.share.hi / quiet.share.value, "what is taken off is not exact"
    assert measure_share([traffic(1e9, 1e7, moved=2e7)]) is None, "moves alone say nothing of accesses"


def test_hosts_that_differ_widen_it_and_few_sampled_loads_say_nothing() -> None:
    alike = measure_share([traffic(1e9, 1e8, held=held) for held in (0.5, 0.6, 0.7)])
    differ = measure_share([traffic(1e9, slow) for slow in (1e7, 1e8, 3e8)])
    assert alike is not None
    assert differ is not None
    assert (alike.held, alike.n_hosts) == (pytest.approx(0.6), 3)
    assert differ.share.hi / differ.share.value > 2 * alike.share.hi / alike.share.value
    loads = HostAccesses("sampled_loads", 150.0, 20.0, 0.0, GIB, GIB)
    assert measure_share([loads]) is None
    assert measure_share([]) is None
