"""Answers over long windows are computed once for a while, and by one of those who ask at once."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from tierscope.api.base.kept_answers import Answers, AtOnce
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


def test_who_asks_while_an_answer_is_made_gets_the_next_one_with_all_others() -> None:
    async def work() -> None:
        answers, made, go_on = AtOnce[bytes](), Made(), asyncio.Event()
        known: list[Callable[[], bool]] = []

        async def make(shared: Callable[[], bool]) -> bytes:
            known.append(shared)
            found = made()
            if made.count == 1:
                await go_on.wait()
            return found

        async def another(_: Callable[[], bool]) -> bytes:
            return b"another"

        first, *later = [asyncio.create_task(answers.get("a", make)) for _ in range(5)]
        await asyncio.sleep(0)
        assert await answers.get("b", another) == b"another"
        assert len(answers) == 1 + len(later)
        assert not known[0](), "nobody shares the first one"
        gone = later.pop()
        gone.cancel()  # a client that goes takes nobody's answer along
        go_on.set()
        assert await first == b"answer 1"
        assert [await one for one in later] == [b"answer 2"] * 3
        assert known[1]()
        assert await answers.get("a", make) == b"answer 3"
        assert len(answers) == 0

    asyncio.run(work())


def test_an_answer_that_fails_fails_for_those_who_share_it_alone() -> None:
    async def work() -> None:
        answers = AtOnce[bytes]()

        async def fail(_: Callable[[], bool]) -> bytes:
            raise ValueError("no")

        async def succeed(_: Callable[[], bool]) -> bytes:
            return b"yes"

        with pytest.raises(ValueError, match="no"):
            await answers.get("a", fail)
        assert await answers.get("a", succeed) == b"yes"

    asyncio.run(work())
