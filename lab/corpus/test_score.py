"""Verdicts on the corpus: never fine where many accesses are slow, and right where they are measured."""

from pathlib import Path

import pytest

from corpus.score import Told, judge_corpus
from corpus.truth import INTERVAL_S
from fixtures.elsewhere import long

pytestmark = long

CORPUS = Path(__file__).resolve().parents[2] / "tests" / "data" / "kernel-corpus"


@pytest.fixture(scope="module")
def told() -> list[Told]:
    """All intervals of the truth as it is stored, judged once."""
    return list(judge_corpus(CORPUS, every_s=INTERVAL_S))


def test_no_interval_with_many_slow_accesses_is_called_fine(told: list[Told]) -> None:
    many = [one for one in told if one.slow_access_ratio >= 0.3]
    assert len(many) >= 300
    assert [one for one in many if one.is_fine] == []


def test_most_words_are_right_on_recordings_left_out_where_slow_accesses_are_measured(told: list[Told]) -> None:
    left_out = [one for one in told if one.measured and one.is_left_out]
    known = [one for one in left_out if one.is_known]
    assert len(left_out) >= 200
    assert len(known) >= 0.98 * len(left_out)
    assert sum(one.is_right for one in known) >= 0.86 * len(known)


def test_few_slow_accesses_are_a_good_state_where_they_are_measured(told: list[Told]) -> None:
    good = [one for one in told if one.measured and one.state == "good"]
    assert len(good) >= 20
    assert [one for one in good if not one.is_right] == []


def test_nodes_in_one_tier_are_told_with_certainty_where_slow_accesses_are_measured(told: list[Told]) -> None:
    bad = [one for one in told if one.measured and one.has_one_tier and one.state != "good"]
    assert len({one.recording for one in bad}) >= 10
    assert {(one.word, one.confidence) for one in bad} == {("one_tier", "certain")}


def test_a_limit_below_which_nothing_is_promoted_is_not_why() -> None:
    """The kernel's kswapd had given up before this load began: no page went down, so none could come up."""
    held = [
        one
        for one in judge_corpus(CORPUS, every_s=INTERVAL_S, only="6.12-nvdimm-slower-promotion-limited-fast")
        if one.measured
    ]
    assert {(one.state, one.word) for one in held} == {("standing", "promotion_failing")}


def test_a_slow_node_that_takes_no_page_is_called_full(told: list[Told]) -> None:
    full = [one for one in told if one.measured and one.state == "full"]
    assert len({one.recording for one in full}) >= 5
    assert sum(one.is_right for one in full) >= 0.8 * len(full)


@pytest.mark.parametrize(("confidence", "low", "high"), [("likely", 0.80, 1.0), ("possible", 0.60, 0.85)])
def test_words_of_certainty_are_as_often_right_on_recordings_left_out_as_is_stated(
    told: list[Told], confidence: str, low: float, high: float
) -> None:
    known = [one for one in told if one.is_left_out and one.is_known and one.confidence == confidence]
    assert len(known) >= 100
    assert low <= sum(one.is_right for one in known) / len(known) <= high
