"""The device behind the slower tier moves the loss, and a 95 % bound also holds far from where the prior was fitted."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from tierscope.domain.simulate.costs import Costs
from tierscope.domain.slowdown import (
    REFERENCE_RHO,
    Belief,
    DeviceError,
    LoadedBelief,
    LoadedLatency,
    ShareOnSlow,
    Tier,
    believe,
    device_presets,
    predict_point,
    read_devices,
    stalls_on_dram,
)

Floats = npt.NDArray[np.float64]

SHARES = np.array((0.01, 0.05, 0.2, 0.6))
RATIOS_OF_LATENCY = (1.3, 1.5, 1.82, REFERENCE_RHO, 2.5, 3.0, 4.2, 6.0)
POND = ((0.001, 0.0), (0.01, 0.26), (0.05, 0.43), (0.25, 0.79), (0.5, 1.0))
"""Loss with all memory on slow memory at 1.82 times the latency, and the share of 158 workloads below it."""
POND_RHO = 1.82
POWERS = (0.9, 1.6)
"""Of (rho - 1): about what the quantiles of Pond's two machines say, which differ in more than their latency."""


def exceeded(belief: Belief, rho: float) -> Floats:
    """How often a loss is above the upper one at each share, for services that lose in proportion to the share."""
    random = np.random.default_rng(7)
    losses, below = (np.array(column) for column in zip(*POND, strict=True))
    at_pond = np.interp(random.random(8000), below, np.log(losses / (1.0 - losses)))
    true = np.exp(at_pond + random.uniform(*POWERS, 8000) * math.log((rho - 1.0) / (POND_RHO - 1.0)))
    upper = np.array([belief.loss_upper(ShareOnSlow.exactly(share)) for share in SHARES.tolist()])
    odds = true[:, None] * SHARES
    return np.asarray((odds / (1.0 + odds) > upper).mean(axis=0), np.float64)


@pytest.mark.parametrize("rho", RATIOS_OF_LATENCY)
def test_the_upper_loss_holds_for_services_whose_loss_follows_the_device(rho: float) -> None:
    found = exceeded(believe(rho), rho)
    assert found.mean() <= 0.05
    assert found.max() <= 0.075, "as far as it holds at the latency of the pairs: 0.06 at a hundredth of the accesses"


def test_without_the_doubt_about_a_far_device_the_bound_would_not_hold() -> None:
    sure = replace(believe(4.2), device_sd=0.0)
    assert exceeded(sure, 4.2).max() > 0.1
    at_the_pairs = believe(REFERENCE_RHO)
    assert exceeded(at_the_pairs, 4.2).min() > 0.1, "nor one that does not know the device"


def test_the_belief_is_that_of_the_pairs_at_their_latency_and_widens_beyond() -> None:
    share = ShareOnSlow.exactly(0.22)
    at_pairs = believe(REFERENCE_RHO)
    assert at_pairs.device_sd == pytest.approx(0.0)
    medians = [believe(rho).loss_median(share) for rho in (1.1, 1.5, 1.9, 2.5, 4.0)]
    assert medians == sorted(medians)
    for towards in ((1.9, 2.5, 3.0, 4.2, 6.0), (1.9, 1.5, 1.2)):
        widths = [believe(rho).device_sd for rho in towards]
        assert all(less < more for less, more in pairwise(widths)), "faster ones than any of the pairs are unknown too"
    kind = device_presets()["cxl-switch"]
    assert believe(kind.rho, log_sd=kind.log_sd).device_sd > believe(kind.rho).device_sd
    assert believe(None).latency_measured is False
    slow, fast = (predict_point(0.2, rho, rho_measured=True) for rho in (4.2, 1.9))
    assert slow is not None
    assert fast is not None
    assert slow.variance > fast.variance, "waits that were counted on DRAM say less of a far slower device"


def test_a_device_that_carries_much_of_its_bandwidth_loses_more() -> None:
    def belief(slow_gb_per_s: float, demand: float | None) -> LoadedBelief:
        dram = Tier(200.0, LoadedLatency.default(100.0))
        slow = Tier(slow_gb_per_s, LoadedLatency.default(250.0))
        return LoadedBelief(believe(2.5), 2.5, dram, slow, demand)

    share = ShareOnSlow.exactly(0.2)
    wide, narrow = belief(60.0, 80.0), belief(18.0, 80.0)
    assert narrow.loss_median(share) > 1.5 * wide.loss_median(share)
    assert narrow.loss_upper(share) > wide.loss_upper(share)
    assert belief(18.0, None).loss_median(share) == believe(2.5).loss_median(share), "an unknown load adds nothing"


def test_no_loss_is_more_than_waiting_for_each_slow_read_alone() -> None:
    """A service that seldom reads memory loses little, whatever is not known of how slow memory hurts."""
    dram, slow = (Tier(100.0, LoadedLatency(ns, ((0.0, ns), (1.0, ns)))) for ns in (100.0, 500.0))

    def belief(reads_per_cpu_s: float | None) -> LoadedBelief:
        return LoadedBelief(believe(5.0), 5.0, dram, slow, None, reads_per_cpu_s)

    share = ShareOnSlow(0.2, 0.1, 0.4, 0.95)
    unknown, seldom, often = belief(None), belief(1e5), belief(1e9)
    # 100,000 reads, of which four in ten are slow at most, wait 400 ns longer: 16 ms of each second.
    most = seldom.loss_upper(share)
    assert 0.2 * 0.04 < most < 0.4 * 0.04 * 1.25
    assert most < unknown.loss_upper(share) / 5
    assert seldom.loss_lower(share) <= seldom.loss_median(share) <= most
    assert often.loss_upper(share) == unknown.loss_upper(share), "reads overlap: many of them bound nothing"
    assert replace(seldom, slow=None).loss_upper(share) == replace(unknown, slow=None).loss_upper(share)


def test_waits_for_slow_memory_are_no_waits_on_dram() -> None:
    """A fifth of the cycles waits on DRAM; at three times the latency three tenths of the accesses add to it."""
    for exponent in (1.0, 1.5):
        waits = 0.25 * (1.0 + 0.3**exponent * 2.0)
        found = stalls_on_dram(waits / (1.0 + waits), 0.3, 3.0)
        assert found == pytest.approx(0.2, rel=0.15)
    assert stalls_on_dram(0.2, 0.0, 3.0) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("label = 'x'", "idle_ns is missing"),
        ("idle_ns = 0", "idle_ns must be"),
        ("idle_ns = 200\nlatency = 3", "latency is no field"),
        ("idle_ns = 200\nlow_ns = 300", "between"),
        ("idle_ns = 200\nloaded = [[1]]", "loaded"),
        ("idle_ns = ", "no TOML"),
        ("device = 3", "tables"),
    ],
)
def test_a_device_that_cannot_be_is_named_by_its_field(text: str, said: str) -> None:
    with pytest.raises(DeviceError, match=said):
        read_devices(text, "x")


def test_presets_have_sources_and_files_are_read_as_they_are() -> None:
    presets = device_presets()
    assert len(presets) >= 6
    assert all(device.source and device.date and device.low_ns <= device.high_ns for device in presets.values())
    (own,) = read_devices("idle_ns = 250\ngb_per_s = 30\nloaded = [[10, 260], [30, 800]]\nusd_per_gb = 6.5", "mine")
    assert (own.name, own.rho, own.log_sd, own.usd_per_gb) == ("mine", 2.5, 0.0, 6.5)
    assert own.curve.at(1.0) == 800


def test_the_simulators_loss_follows_latency_and_bandwidth() -> None:
    away = ShareOnSlow.exactly(0.15)
    losses = [Costs(slow_latency_ns=ns).lose_by_prior(away).median for ns in (150, 200, 220, 300, 1000, 3000)]
    assert all(less < more for less, more in pairwise(losses))
    assert Costs().lose_by_prior(away).median == believe(REFERENCE_RHO).loss_median(away)
    rates = {"dram_gb_per_s": 200.0, "demand_gb_per_s": 150.0}
    wide, narrow = (Costs(slow_gb_per_s=rate, **rates).lose_by_prior(away).median for rate in (100.0, 10.0))
    assert narrow > wide
    assert narrow >= 1.0 - (10.0 / 0.15) / 150.0, "what is not delivered is lost"
    with pytest.raises(ValueError, match="go together"):
        Costs(slow_gb_per_s=10.0)
