"""Verdicts on the corpus: never fine where many accesses are slow, and right where they are measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus.score import NOT_KNOWN, Told, judge_corpus

CORPUS = Path(__file__).resolve().parents[1] / "data" / "kernel-corpus"


@pytest.fixture(scope="module")
def told() -> list[Told]:
    """All intervals, judged once."""
    return list(judge_corpus(CORPUS))


def test_no_interval_with_many_slow_accesses_is_called_fine(told: list[Told]) -> None:
    many = [one for one in told if one.slow_access_ratio >= 0.3]
    assert len(many) >= 300
    assert [one for one in many if one.is_fine] == []


def test_most_words_are_right_where_slow_accesses_are_measured(told: list[Told]) -> None:
    measured = [one for one in told if one.measured]
    known = [one for one in measured if one.word != NOT_KNOWN]
    assert len(known) >= 0.98 * len(measured)
    assert sum(one.is_right for one in known) >= 0.78 * len(known)


def test_few_slow_accesses_are_a_good_state_where_they_are_measured(told: list[Told]) -> None:
    good = [one for one in told if one.measured and one.state == "good"]
    assert len(good) >= 20
    assert [one for one in good if not one.is_right] == []
