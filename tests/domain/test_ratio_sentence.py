"""The first line of an answer about a ratio never says what its own sweep contradicts."""

import pytest

from tierscope.domain.ratio import RATIOS, SWEEP, Choice, Demand, choose
from tierscope.domain.slowdown import Belief, ShareOnSlow
from tierscope.usecases.ratio.answers import RatioEnds
from tierscope.usecases.ratio.sentence import describe

TARGET = 0.05
DEMAND = Demand(TARGET, None, None)
HARMLESS, HARMFUL = 1e-4, 0.9


def judge(harmless_from: float) -> tuple[Choice, Choice]:
    """Ratios and the sweep, where DRAM of this share and more serves nearly everything, and less of it little."""

    def placement(dram_share: float) -> ShareOnSlow:
        return ShareOnSlow.exactly(HARMLESS if dram_share >= harmless_from else HARMFUL)

    belief = Belief(exponents=(1.5,))
    sweep = [(f"{share:.2f}", share) for share in SWEEP]
    return choose(RATIOS, placement, belief, DEMAND), choose(sweep, placement, belief, DEMAND)


@pytest.mark.parametrize("harmless_from", [0.1, 0.15, 0.17, 0.19, 0.2, 0.21, 0.3, 0.34, 0.5, 0.6, 0.75, 0.8, 0.93])
def test_less_dram_is_ruled_out_only_where_the_sweep_rules_it_out(harmless_from: float) -> None:
    choice, fine = judge(harmless_from)
    shares = dict(RATIOS)
    safe = None if choice.safe is None else choice.safe.name
    share = shares.get(safe or "", 1.0)
    least = None if fine.safe is None else fine.safe.dram_share
    ends = RatioEnds(safe, safe, safe, share, share, share)
    sentence = describe("range", ends, None, (), loss_target=TARGET, least=least)
    kept_below = [one.dram_share for one in fine.candidates if one.dram_share < share and not one.faults(DEMAND)]
    assert ("less DRAM does not" in sentence) == (not kept_below), sentence
    if kept_below:
        assert f"{min(kept_below):.0%}".replace("%", " %") in sentence
        assert ("least that was judged" in sentence) == (min(kept_below) == SWEEP[0])


@pytest.mark.parametrize(
    ("safe", "likely", "plausible", "says"),
    [
        ("1:1", "1:2", "1:4", "1:2 needs a test."),
        ("1:1", "1:1", "1:4", "1:4 is not ruled out, but expected to miss it."),
        (None, "4:1", "1:4", "4:1 needs a test."),
        (None, None, "1:4", "1:4 is not ruled out, but expected to miss it."),
    ],
)
def test_what_needs_a_test_is_what_is_expected_to_hold(
    safe: str | None, likely: str | None, plausible: str, says: str
) -> None:
    shares = dict(RATIOS)
    ends = RatioEnds(safe, likely, plausible, *(shares.get(name or "", 1.0) for name in (safe, likely, plausible)))
    assert describe("range", ends, None, (), loss_target=TARGET, least=None).endswith(says)


def test_what_is_needed_is_said_beside_what_is_sold() -> None:
    ends = RatioEnds("1:1", "1:2", "1:4", 1 / 2, 1 / 3, 1 / 5)
    sentence = describe("range", ends, None, (), loss_target=TARGET, least=0.36)
    assert "with 95 % confidence; so does DRAM of 36 % of the memory. 1:2 needs a test." in sentence
