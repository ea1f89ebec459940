"""Ratio advice: the worked examples of the method, and what holds for any belief."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.domain.curve.bands import HostPages
from tierscope.domain.ratio import RATIOS, Choice, Demand, choose, classify_service, settle
from tierscope.domain.ratio.memory import HostKind, MeasuredHost, MeasuredNode, group_alike, join_nodes, model_memory
from tierscope.domain.ratio.slow_share import share_on_slow
from tierscope.domain.slowdown import (
    EXPONENTS,
    LATENCY_SD,
    LEVEL_SD,
    PRIOR,
    Belief,
    LoadedLatency,
    Point,
    ShareOnSlow,
    balanced_share,
    bandwidth_loss,
    deliverable,
    gain_bound,
    interleave_weights,
    physical_loss,
    predict_point,
)
from tierscope.domain.slowdown.loss import Posterior, odds_of

GIVEN = dict(zip([share for _, share in RATIOS], [0.005, 0.015, 0.04, 0.10, 0.25, 0.50], strict=True))


@pytest.mark.parametrize(
    ("share", "loss"), [(0.05, 0.002787), (0.10, 0.007844), (0.25, 0.030303), (0.50, 0.081210), (0.80, 0.151741)]
)
def test_median_loss_of_the_prior(share: float, loss: float) -> None:
    assert round(PRIOR.loss_median(share), 6) == loss


def test_the_physical_form_of_the_worked_example() -> None:
    assert round(physical_loss(0.2, 0.1, 2.2), 6) == 0.023438


def updated(prior: Posterior, point: Point) -> Posterior:
    """The conjugate normal posterior of ln a: the point is ln(o / h^b) with its own variance."""
    precision = 1.0 / prior.variance + 1.0 / point.variance
    seen = math.log(odds_of(point.loss) / point.share_on_cxl**prior.exponent)
    weighted = prior.mean_ln_a / prior.variance + seen / point.variance
    return replace(prior, mean_ln_a=weighted / precision, variance=1.0 / precision)


def test_one_ab_test_updates_the_belief() -> None:
    error = math.sqrt(0.09) * 0.015 * 0.985
    belief = updated(PRIOR, Point(0.25, 0.015, error))
    assert round(belief.mean_ln_a, 6) == -2.036059
    assert round(math.exp(belief.mean_ln_a), 6) == 0.130542
    assert round(belief.variance, 6) == 0.081350


def test_latency_scales_the_extra_time() -> None:
    assert PRIOR.at_latency(2.8).loss_median(0.1) == pytest.approx(2 * 0.25 * 0.1**1.5 / (1 + 2 * 0.25 * 0.1**1.5))
    with pytest.raises(ValueError, match="slower"):
        PRIOR.at_latency(1.0)


def test_bandwidth_of_the_worked_examples() -> None:
    assert round(balanced_share(221, 22), 6) == 0.090535
    assert round(gain_bound(221, 22), 6) == 1.099548
    assert interleave_weights(balanced_share(221, 22)) == (9, 1)
    assert [round(deliverable(200, 50, share), 2) for share in (0, 0.1, 0.2, 0.3, 0.5)] == [
        200,
        222.22,
        250,
        166.67,
        100,
    ]
    assert interleave_weights(balanced_share(200, 50)) == (4, 1)
    assert interleave_weights(balanced_share(300, 36)) == (8, 1)
    assert interleave_weights(0.005) is None


def test_a_measured_latency_is_interpolated() -> None:
    assert LoadedLatency.measured([(0.9, 300), (0.1, 100)]).at(0.5) == pytest.approx(200)


def test_the_class_follows_what_limits_the_service() -> None:
    def kind(utilisation: float, loaded: float, loss: float) -> str:
        return classify_service(dram_utilisation_p95=utilisation, loaded_over_idle=loaded, upper_loss_at_even=loss)

    assert kind(0.8, 1.6, 0.2) == "bandwidth"
    assert kind(0.8, 1.2, 0.2) == "mixed"
    assert kind(0.3, 1.0, 0.2) == "latency"
    assert kind(0.3, 1.0, 0.005) == "insensitive"


class Prior:
    """The prior as it was published: one spread at all shares."""

    def loss_lower(self, share: ShareOnSlow) -> float:
        """By the prior alone."""
        return PRIOR.loss_upper(share.value, 0.05)

    def loss_median(self, share: ShareOnSlow) -> float:
        """By the prior alone."""
        return PRIOR.loss_median(share.value)

    def loss_upper(self, share: ShareOnSlow) -> float:
        """By the prior alone."""
        return PRIOR.loss_upper(share.value)


def choose_given(
    target: float,
    *,
    hot: float = 100,
    hold_hot: bool = False,
    bandwidth_loss: Callable[[float], float | None] | None = None,
) -> Choice:
    demand = Demand(target, required_bytes=1000, hot_bytes=hot, hold_hot=hold_hot)
    if bandwidth_loss is not None:
        demand = replace(demand, bandwidth_loss=bandwidth_loss)
    return choose(RATIOS, lambda share: ShareOnSlow.exactly(GIVEN[share]), Prior(), demand)


def test_the_choice_of_the_worked_example() -> None:
    def pick(target: float) -> str | None:
        choice = choose_given(target)
        medians = [round(candidate.loss_median, 6) for candidate in choice.candidates]
        assert medians == [0.000088, 0.000459, 0.001996, 0.007844, 0.030303, 0.081210]
        uppers = [round(candidate.loss_upper, 6) for candidate in choice.candidates]
        assert uppers == [0.000401, 0.002081, 0.009001, 0.034660, 0.124284, 0.286437]
        return choice.safe.name if choice.safe else None

    assert pick(0.01) == "2:1"
    assert pick(0.05) == "1:1"
    assert pick(0.0001) is None


def test_hot_bytes_and_bandwidth_hold_the_choice_back() -> None:
    def pick(**options: Any) -> str | None:  # noqa: ANN401 - handed on
        safe = choose_given(0.05, **options).safe
        return safe.name if safe else None

    assert pick(hot=600) == "1:1", "the rule of hot bytes binds those who ask for it"
    assert pick(hot=600, hold_hot=True) == "2:1"
    assert pick(hot=100, bandwidth_loss=lambda on_cxl: 0.0 if on_cxl <= 0.02 else 0.04) == "4:1"
    worst = choose_given(0.05, bandwidth_loss=lambda _share: 0.3).candidates[0]
    assert (worst.loss_median, worst.loss_upper, worst.bandwidth_ok) == (0.3, 0.3, False)
    faults = worst.faults(Demand(0.05, 1000, 100))
    assert [fault.constraint for fault in faults] == ["loss", "bandwidth"]
    assert faults[0].text.startswith("a loss of up to 30.0%")
    assert choose_given(0.05).candidates[0].bandwidth_ok is None


def test_bandwidth_that_is_not_delivered_is_lost() -> None:
    assert bandwidth_loss(200, 50, 200, 0.3) == pytest.approx(1 - 166.666667 / 200)
    assert bandwidth_loss(200, 50, 200, 0.2) == 0.0
    assert bandwidth_loss(200, 50, 0, 0.9) == 0.0


def test_unknown_bytes_are_not_taken_as_held() -> None:
    demand = Demand(0.05, required_bytes=None, hot_bytes=100, hold_hot=True)
    choice = choose(RATIOS, lambda share: ShareOnSlow.exactly(GIVEN[share]), Belief(PRIOR), demand)
    assert choice.candidates[0].holds_hot is None
    assert choice.safe is None, "what was not measured passes no check"
    assert choice.binding == ("hot_bytes",)
    assert choice.plausible is not None


def test_a_range_runs_from_what_surely_keeps_the_target_to_what_may() -> None:
    choice = choose_given(0.05)
    ends = [end.name if end else None for end in (choice.safe, choice.likely, choice.plausible)]
    assert ends == ["1:1", "1:2", "1:4"]
    assert choice.binding == ("loss",)
    held_back = choose_given(0.05, hot=600, hold_hot=True)
    assert held_back.binding == ("hot_bytes",)
    assert choose_given(0.5).binding == ()


def test_one_ratio_needs_a_replay_an_own_measurement_and_bandwidth_that_was_checked() -> None:
    choice, hopeless = choose_given(0.05), choose_given(0.05, bandwidth_loss=lambda _share: 0.3)
    assert settle(choice, replayed=True, measured=True, bandwidth_checked=True) == "ratio"
    for missing in ("replayed", "measured", "bandwidth_checked"):
        given = {"replayed": True, "measured": True, "bandwidth_checked": True, missing: False}
        assert settle(choice, **given) == "range"
    assert settle(hopeless, replayed=True, measured=False, bandwidth_checked=True) == "all_dram"
    unsure = replace(choice, safe=None)
    assert settle(unsure, replayed=True, measured=True, bandwidth_checked=True) == "all_dram"
    assert settle(unsure, replayed=True, measured=False, bandwidth_checked=True) == "range"


@given(st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_less_dram_never_looks_better(served: list[float]) -> None:
    by_share = dict(zip([share for _, share in RATIOS], served, strict=True))
    candidates = choose(
        RATIOS, lambda share: ShareOnSlow.exactly(by_share[share]), Belief(PRIOR), Demand(0.05, 1, 0)
    ).candidates
    losses = [candidate.loss_upper for candidate in candidates]
    assert losses == sorted(losses)


def test_at_a_measured_share_a_point_does_what_the_conjugate_update_does() -> None:
    point = Point(0.25, 0.015, math.sqrt(0.09) * 0.015 * 0.985)
    line = replace(PRIOR, variance=LEVEL_SD**2)
    conjugate, here = updated(line, point), replace(Belief.of(PRIOR, [point]), exponents=(1.5,)).at(0.25)
    assert here.mean_ln_a == pytest.approx(conjugate.mean_ln_a, abs=2e-3)
    assert here.variance == pytest.approx(conjugate.variance, abs=1e-3)
    assert Belief.of(PRIOR, [Point(0.25, -0.01, 0.01)]) == Belief(PRIOR)


def test_belief_widens_away_from_what_was_measured() -> None:
    belief, prior = Belief.of(PRIOR, [Point(0.25, 0.015, 0.0005)]), Belief(PRIOR)
    variances = [belief.at(share).variance for share in (0.25, 0.1, 0.03, 0.01)]
    assert variances == sorted(variances)
    assert variances[0] < 0.01
    assert all(belief.at(share).variance < prior.at(share).variance for share in (0.9, 0.25, 0.03, 0.001))
    assert prior.at(0.22).variance == pytest.approx(LEVEL_SD**2)
    assert prior.at(0.02).variance > prior.at(0.22).variance
    guessed = Belief(PRIOR, latency_measured=False)
    assert guessed.at(0.22).variance == pytest.approx(LEVEL_SD**2 + LATENCY_SD**2)


def test_points_tell_the_exponents_apart() -> None:
    def points(exponent: float, *shares: float) -> list[Point]:
        losses = [0.1 * share**exponent / (1 + 0.1 * share**exponent) for share in shares]
        return [Point(share, loss, 0.001 * loss) for share, loss in zip(shares, losses, strict=True)]

    assert Belief().weights == (0.5, 0.5)
    assert Belief().exponent == 1.25
    one = Belief.of(PRIOR, points(1.0, 0.3))
    assert one.weights == pytest.approx((0.5, 0.5), abs=0.02), "one share tells nothing of a slope"
    straight = Belief.of(PRIOR, points(1.0, 0.02, 0.1, 0.4))
    bent = Belief.of(PRIOR, points(1.5, 0.02, 0.1, 0.4))
    assert straight.exponent < 1.1
    assert bent.exponent > 1.4
    assert straight.loss_median(ShareOnSlow.exactly(0.1)) == pytest.approx(0.01 / 1.01, rel=0.05)


@given(st.floats(1e-5, 1.0), st.floats(0.0, 2.0), st.floats(0.5, 0.99))
def test_quantiles_of_the_mixture_lie_between_those_of_its_lines(share: float, log_sd: float, level: float) -> None:
    at = ShareOnSlow.exactly(share).widened(log_sd)
    both = Belief().loss_upper(at, level)
    alone = [replace(Belief(), exponents=(exponent,)).loss_upper(at, level) for exponent in EXPONENTS]
    assert min(alone) - 1e-12 <= both <= max(alone) + 1e-12


@given(st.floats(0.001, 0.5), st.floats(0.0, 1.0), st.floats(0.01, 1.0))
def test_a_widened_share_holds_the_one_before(value: float, below: float, log_sd: float) -> None:
    share = ShareOnSlow(value, value * below, min(value * 1.5, 1.0), 0.95)
    wider = share.widened(log_sd)
    assert wider.value == share.value
    assert wider.lo <= share.lo
    assert share.hi <= wider.hi <= 1.0
    assert share.widened(0.0) == share
    assert ShareOnSlow(0.0, 0.0, 0.01, 0.95).widened(log_sd).hi > 0.01


def test_what_was_not_seen_makes_no_placement_worse_than_chance() -> None:
    """A quarter of memory that is accessed evenly serves a quarter of the accesses, on all days and hosts."""
    even, skewed = ShareOnSlow(0.24, 0.23, 0.25, 0.95), ShareOnSlow(0.01, 0.009, 0.011, 0.95)
    for log_sd in (0.3, 0.6, 3.0):
        assert even.hi <= even.widened(log_sd, most=0.25).hi <= 0.25 + 1e-12
        # Where little is on slow memory, chance is far: the error is one of the logarithm.
        assert skewed.widened(0.3, most=0.25).hi == pytest.approx(skewed.widened(0.3).hi, rel=0.05)
    assert even.widened(0.5, less_sd=1.0, most=0.25).lo == even.widened(0.5, less_sd=1.0).lo
    # Accesses of which no sample tells where they lie are by chance at most, too.
    unseen = ShareOnSlow(0.004, 0.002, 0.25, 0.95)
    assert unseen.widened(0.0, most=0.13).hi == pytest.approx(0.13)
    # Seen to be worse than chance, it may be so elsewhere.
    worse = ShareOnSlow(0.3, 0.28, 0.32, 0.95)
    assert worse.widened(0.5, most=0.25).hi == pytest.approx(0.32)


def test_the_upper_loss_holds_the_uncertainty_of_the_share() -> None:
    belief = Belief(PRIOR)
    known, unsure = ShareOnSlow.exactly(0.1), ShareOnSlow(0.1, 0.05, 0.2, 0.95)
    assert belief.loss_upper(unsure) > belief.loss_upper(known)
    assert belief.loss_median(unsure) == belief.loss_median(known)
    assert belief.loss_lower(unsure) < belief.loss_lower(known) < belief.loss_median(known)
    nothing = ShareOnSlow(0.0, 0.0, 0.0, 0.95)
    assert (belief.loss_median(nothing), belief.loss_lower(nothing), belief.loss_upper(nothing)) == (0.0, 0.0, 0.0)
    assert 0.0 < belief.loss_upper(ShareOnSlow(0.0, 0.0, 0.01, 0.95)) < belief.loss_upper(ShareOnSlow.exactly(0.05))


def test_losses_of_bounds_are_judged_at_their_ends() -> None:
    belief, bounds = Belief(), ShareOnSlow(0.02, 0.01, 0.03, 0.95).as_bounds(0.12)
    assert (bounds.lo, bounds.hi, bounds.level) == (0.01, 0.12, 1.0)
    assert belief.loss_upper(bounds) == belief.loss_upper(ShareOnSlow.exactly(0.12))
    assert belief.loss_lower(bounds) == belief.loss_lower(ShareOnSlow.exactly(0.01))
    assert belief.loss_median(bounds) == belief.loss_median(ShareOnSlow.exactly(0.02))


def test_another_exponent_keeps_the_fit_in_the_middle_of_the_published_shares() -> None:
    assert PRIOR.turned(1.1).loss_median(0.22) == pytest.approx(PRIOR.loss_median(0.22))
    assert PRIOR.turned(1.1).loss_median(0.02) > PRIOR.loss_median(0.02)


def host_pages(scores: list[float], *, weight: float = 1.0, unseen: float = 0.0) -> HostPages:
    halves = np.array([[score, score] for score in scores])
    return HostPages(halves, np.full(len(scores), 4096.0), np.ones(len(scores), np.int64), None, unseen, weight)


def test_the_share_on_slow_memory_of_pages_that_are_known() -> None:
    found = share_on_slow([host_pages([50.0, 30.0, 10.0, 5.0, 5.0])], np.array([0.4, 1.0]))
    assert found is not None
    assert found[0].value == pytest.approx(0.20)
    assert found[0].lo <= 0.20 <= found[0].hi
    assert found[1].value == 0.0
    assert found[1].hi > 0.0, "five pages rule nothing out"
    assert share_on_slow([host_pages([0.0, 0.0])], np.array([0.5])) is None


def test_hosts_that_differ_and_traffic_that_was_missed_widen_the_interval() -> None:
    alike = [host_pages([8.0, 4.0, 2.0, 1.0] * 200) for _ in range(3)]
    differing = [host_pages([top, 4.0, 2.0, 1.0] * 200) for top in (4.0, 8.0, 32.0)]
    missed = [host_pages([8.0, 4.0, 2.0, 1.0] * 200, unseen=0.1) for _ in range(3)]
    widths = []
    for hosts in (alike, differing, missed):
        found = share_on_slow(hosts, np.array([0.5]))
        assert found is not None
        widths.append(math.log(found[0].hi / found[0].value))
    assert widths[1] > 3 * widths[0]
    assert widths[2] > 2 * widths[0]


def test_hosts_are_of_one_kind_where_only_firmware_takes_its_part() -> None:
    host = HostKind("x", 64e9, None)
    assert host.is_like(HostKind("x", 63e9, None))
    kinds = {1: HostKind("x", 128e9, None), 2: host, 3: HostKind("y", 64e9, None), 4: HostKind("x", 63e9, None)}
    groups = group_alike(kinds)
    assert [hosts for _, hosts in groups] == [(2, 4), (1,), (3,)], "the kind with the most hosts first"
    assert len(group_alike({1: host, 2: HostKind("x", 64e9, 32e9)})) == 2
    assert group_alike({}) == []


def test_memory_as_measured_adds_nodes_and_takes_the_median_host() -> None:
    def host(idle: float) -> MeasuredHost:
        node = MeasuredNode(100.0, idle, ((50.0, idle * 1.2), (90.0, idle * 2.5)))
        return MeasuredHost((node, node), (MeasuredNode(30.0, 2.2 * idle, ()),))

    hosts = [host(90.0), host(100.0), host(110.0), MeasuredHost((), ())]
    memory = model_memory([join_nodes(one) for one in hosts])
    assert memory.dram is not None
    assert memory.slow is not None
    assert (memory.dram.bandwidth_gb_per_s, memory.slow.bandwidth_gb_per_s, memory.n_hosts) == (200.0, 30.0, 3)
    assert memory.latency_ratio() == pytest.approx(2.2)
    assert memory.latency_ratio(0.5) == pytest.approx(2.2 * (1 + 0.15 * 0.5 / 0.6) / 1.2)
    assert memory.loaded_over_idle(0.99) == pytest.approx(2.5)
    assert model_memory([]).latency_ratio() is None


def test_memory_stalls_foretell_the_loss_on_slow_memory_alone() -> None:
    point = predict_point(0.3, 2.0, rho_measured=True)
    assert point is not None
    assert (point.share_on_cxl, point.loss) == (1.0, pytest.approx(0.3 / 1.3))
    doubtful = predict_point(0.3, 2.0, rho_measured=False)
    assert doubtful is not None
    assert doubtful.loss_standard_error > point.loss_standard_error > 0.053
    assert predict_point(0.0, 2.0, rho_measured=True) is None
    assert predict_point(0.3, 1.0, rho_measured=True) is None, "memory that is no slower costs nothing"


def test_a_prediction_narrows_what_is_believed_of_small_shares() -> None:
    share = ShareOnSlow.exactly(0.02)
    point = predict_point(0.12, 2.3, rho_measured=True)
    assert point is not None
    before, after = Belief.of(PRIOR.at_latency(2.3), ()), Belief.of(PRIOR.at_latency(2.3), (point,))
    assert after.loss_upper(share) < before.loss_upper(share)
    assert after.loss_lower(share) > before.loss_lower(share)
