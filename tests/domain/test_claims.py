"""What is claimed of a replay: quantiles of kept residuals, the regime that a replay is of, and reasons for nothing."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tierscope.domain.simulate import Machine, Outcome, TraceColumns, claim_replay, compile_trace, make_policy, replay
from tierscope.domain.simulate.claims import (
    LEVEL,
    Claim,
    Residual,
    find_regime,
    join_claims,
    kept_residuals,
    make_claim,
    quantile,
    write_residuals,
)

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")

PAGES, INTERVALS = 40, 12
ANON, FILE = 0, 1
NAMES = ("base_pages", "huge_pages", "read_once")


def trace_of(regime: str) -> TraceColumns:
    """Pages that are used in each interval, of one base page or of 512; or such, and files that come once."""
    intervals, pages = np.divmod(np.arange(PAGES * INTERVALS), PAGES)
    kinds, first = np.full(PAGES, ANON), np.zeros(PAGES, np.int64)
    if regime == "read_once":
        kinds, first = np.append(kinds, np.full(INTERVALS, FILE)), np.append(first, np.arange(INTERVALS))
        intervals = np.append(intervals, np.arange(INTERVALS))
        pages = np.append(pages, PAGES + np.arange(INTERVALS))
    order = np.argsort(intervals, kind="stable")
    return TraceColumns(
        intervals=INTERVALS,
        kinds=kinds,
        units=np.full(len(kinds), 512 if regime == "huge_pages" else 1),
        first=first,
        last=np.full(len(kinds), INTERVALS - 1),
        row_interval=intervals[order],
        row_page=pages[order],
        row_accesses=np.full(len(order), 3),
        row_written=np.zeros(len(order), np.bool_),
    )


def replayed(regime: str, policy: str, settings: dict[str, float] | None = None) -> tuple[Claim, Outcome]:
    """A replay with a quarter of the memory in DRAM, and what is claimed of it."""
    trace = compile_trace(trace_of(regime))
    machine = Machine(trace.peak_units // 4, trace.peak_units)
    outcome = replay(trace, make_policy(policy, settings), machine)
    return claim_replay(trace, outcome), outcome


def test_quantiles_are_split_conformal() -> None:
    assert quantile([0.3, 0.1, 0.2]) is None, "three hold 75 % at most"
    assert quantile([0.3, 0.1, 0.4, 0.2]) == 0.4
    assert quantile([float(score) for score in range(1, 10)]) == 8.0


def test_quantiles_hold_their_level_of_new_scores() -> None:
    random = np.random.default_rng(3)
    held = []
    for _ in range(2000):
        scores = random.exponential(size=22)
        half = quantile(scores[:21].tolist())
        assert half is not None
        held.append(scores[21] <= half)
    # 18 of 22 equal places: 81.8 %, and three standard errors of 2,000 draws.
    assert np.mean(held) == pytest.approx(18 / 22, abs=0.026)


@pytest.mark.parametrize("regime", NAMES)
def test_the_regime_is_told_from_the_pages_of_a_trace(regime: str) -> None:
    trace = compile_trace(trace_of(regime))
    for policy, expected in (("hot_page_selection", regime), ("first_touch", "still"), ("tpp", "tpp")):
        machine = Machine(trace.peak_units // 4, trace.peak_units)
        assert find_regime(trace, replay(trace, make_policy(policy), machine)) == expected
    fitting = Machine(2 * trace.peak_units, 0)
    assert find_regime(trace, replay(trace, make_policy("hot_page_selection"), fitting)) == "still"


def test_files_that_are_read_once_and_are_few_are_no_flood() -> None:
    columns = trace_of("read_once")
    trace = compile_trace(columns)
    assert trace.read_once_units() == INTERVALS
    outcome = replay(trace, make_policy("hot_page_selection"), Machine(10, 100))
    few = replace(outcome, machine=Machine(10 * INTERVALS + 1, 100))
    assert (find_regime(trace, outcome), find_regime(trace, few)) == ("read_once", "base_pages")


@pytest.mark.parametrize("regime", NAMES)
def test_moves_of_a_users_trace_are_not_claimed_and_its_share_has_an_interval(regime: str) -> None:
    claim, outcome = replayed(regime, "hot_page_selection")
    kept = [one for one in kept_residuals() if (one.way, one.regime, one.interval_s) == ("defaults", regime, 20.0)]
    assert claim.n_recordings == len(kept) >= 5
    assert claim.share_error == quantile([abs(one.share_error) for one in kept])
    assert claim.share_reason is None
    assert claim.moves_ends(100.0) is None
    assert claim.moves_reason is not None
    assert claim.moves_reason.startswith("Moves are not claimed: ")
    assert f"of {len(kept)} recordings" in claim.moves_reason
    assert outcome.interval_s == 60.0


def test_intervals_stay_between_nothing_and_everything() -> None:
    claim = Claim(0.2, None, 1.5, None, 9)
    low, high, moves = claim.share_ends(0.1, 0.3), claim.share_ends(0.9, 0.9), claim.moves_ends(300.0)
    assert low is not None
    assert high is not None
    assert moves is not None
    assert (low.lo, low.hi) == (0.0, pytest.approx(0.5))
    assert (high.lo, high.hi) == (pytest.approx(0.7), 1.0)
    assert (moves.lo, moves.hi, moves.level) == (200.0, 450.0, LEVEL)


def test_what_nothing_recorded_is_like_has_no_interval_and_says_why() -> None:
    reasons = {
        ("oracle", None): "bound",
        ("autotiering", None): "no recorded kernel ran AutoTiering",
        ("interleave", None): "no recorded kernel ran Interleave",
        ("swap_ssd", None): "swap",
        ("hot_page_selection", "continuous_kswapd"): "continuous_kswapd",
    }
    for (policy, switch), cause in reasons.items():
        claim, _ = replayed("base_pages", policy, None if switch is None else {switch: 1.0})
        assert (claim.share_error, claim.moves_factor) == (None, None), policy
        for reason in (claim.share_reason, claim.moves_reason):
            assert reason is not None
            assert cause in reason


def test_all_dram_is_exact_and_first_touch_moves_nothing() -> None:
    exact, _ = replayed("base_pages", "all_dram")
    still, _ = replayed("base_pages", "first_touch")
    assert (exact.share_error, exact.moves_reason, still.moves_reason) == (0.0, None, None)
    assert still.share_error is not None
    assert 0.0 < still.share_error < 0.02


def test_moves_are_claimed_where_the_level_is_within_a_factor_of_two() -> None:
    def of(factors: list[float]) -> Claim:
        return make_claim("base_pages", [Residual("a", "kernel", 1.0, "base_pages", 0.01, one) for one in factors])

    assert of([1.2, 1.1, 2.0, 1.3]).moves_factor == 2.0
    assert of([1.2, 1.1, 2.1, 1.3]).moves_factor is None
    assert of([1.2, 1.1, 1.3]).share_reason == (
        "No interval: 3 recordings of base pages and no flood of files are too few for 80%."
    )


def test_the_claim_of_several_hosts_is_the_weakest() -> None:
    strong, weak, none = Claim(0.1, None, 1.2, None, 5), Claim(0.3, None, 1.1, None, 5), Claim(None, "a", None, "b", 0)
    joined = join_claims([strong, weak])
    assert (joined.share_error, joined.moves_factor) == (0.3, 1.2)
    assert join_claims([strong, none]) == none


def test_residuals_are_read_as_they_were_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    written = [
        Residual("a", "kernel", 1.0, "still", -0.0123, None),
        Residual("b", "defaults", 20.0, "huge_pages", 0.2, math.inf),
    ]
    (tmp_path / "residuals.json").write_text(write_residuals(written), encoding="utf-8")
    monkeypatch.setattr("tierscope.domain.simulate.claims.resources.files", lambda _: tmp_path)
    assert list(kept_residuals.__wrapped__()) == written
