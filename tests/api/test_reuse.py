"""Answers over long windows are computed once for a while, and by one of those who ask at once."""

import threading

import pytest

from tierscope.api.base.kept_answers import Answers
from tierscope.api.base.reuse import LONGEST_SECONDS, reuse_seconds


class Made:
    """Counts how often an answer is made."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> bytes:
        """The next answer."""
        self.count += 1
        return f"answer {self.count}".encode()


def test_an_answer_is_used_until_it_is_old() -> None:
    now, made = [100.0], Made()
    answers = Answers(clock=lambda: now[0])
    assert answers.get("a", 60.0, made) == b"answer 1"
    now[0] = 159.9
    assert answers.get("a", 60.0, made) == b"answer 1"
    assert answers.get("b", 60.0, made) == b"answer 2"
    now[0] = 160.0
    assert answers.get("a", 60.0, made) == b"answer 3"


def test_those_who_ask_at_once_share_one_answer() -> None:
    answers, made, found = Answers(), Made(), []
    started = threading.Barrier(4)

    def ask() -> None:
        started.wait()
        found.append(answers.get("a", 60.0, made))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [b"answer 1"] * 4


def test_one_that_failed_is_made_again() -> None:
    answers = Answers()

    def fail() -> bytes:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        answers.get("a", 60.0, fail)
    assert answers.get("a", 60.0, lambda: b"yes") == b"yes"


@pytest.mark.parametrize(("start", "seconds"), [("-6h", 21.6), ("-1d", 86.4), ("-7d", LONGEST_SECONDS), (None, 21.6)])
def test_a_longer_window_is_used_for_longer(start: str | None, seconds: float) -> None:
    assert reuse_seconds(start, None) == pytest.approx(seconds, rel=1e-3)
