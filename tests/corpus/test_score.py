"""Verdicts on the corpus: never fine where many accesses are slow, and right where they are measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus.score import NOT_KNOWN, judge_corpus

CORPUS = Path(__file__).resolve().parents[1] / "data" / "kernel-corpus"


@pytest.mark.parametrize("measured", [True, False])
def test_no_interval_with_many_slow_accesses_is_called_fine(*, measured: bool) -> None:
    many = [one for one in judge_corpus(CORPUS, measured=measured) if one.slow_access_ratio >= 0.3]
    assert len(many) >= 40
    assert [one for one in many if one.is_fine] == []


def test_most_words_are_right_where_slow_accesses_are_measured() -> None:
    told = list(judge_corpus(CORPUS, measured=True))
    assert all(one.word != NOT_KNOWN for one in told)
    assert sum(one.is_right for one in told) >= 0.85 * len(told)
    assert all(
        one.is_fine or one.word in ("following_phases", "futile_ping_pong") for one in told if one.state == "good"
    )
