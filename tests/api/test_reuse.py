"""Answers over long windows are computed once for a while, and by one of those who ask at once."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

import pytest

from tierscope.api.base.kept_answers import Answers, AtOnce
from tierscope.api.base.reuse import LONGEST_SECONDS, reuse_seconds
from tierscope.api.base.turns import Turns


class Made:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> bytes:
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

        @asynccontextmanager
        async def turn(shared: Callable[[], bool]) -> AsyncIterator[None]:
            known.append(shared)
            yield

        async def make() -> bytes:
            found = made()
            if made.count == 1:
                await go_on.wait()
            return found

        async def another() -> bytes:
            return b"another"

        first, *later = [asyncio.create_task(answers.get("a", make, turn=turn)) for _ in range(5)]
        await asyncio.sleep(0)
        assert await answers.get("b", another, turn=at_once) == b"another"
        assert len(answers) == 1 + len(later)
        assert not known[0](), "nobody shares the first one"
        gone = later.pop()
        gone.cancel()  # a client that goes takes nobody's answer along
        go_on.set()
        assert await first == b"answer 1"
        assert [await one for one in later] == [b"answer 2"] * 3
        assert known[1]()
        assert await answers.get("a", make, turn=turn) == b"answer 3"
        assert len(answers) == 0

    asyncio.run(work())


def test_who_asks_for_what_waits_for_its_turn_shares_it() -> None:
    async def work() -> None:
        answers, made, turns = AtOnce[bytes](), Made(), Turns(1)

        async def make() -> bytes:
            return made()

        async with turns.turn("another"):
            asking = [asyncio.create_task(answers.get("a", make, turn=lambda _: turns.turn("x"))) for _ in range(5)]
            await asyncio.sleep(0)
            assert len(turns) == 1
        assert [await one for one in asking] == [b"answer 1"] * 5

    asyncio.run(work())


def test_an_answer_that_fails_fails_for_those_who_share_it_alone() -> None:
    async def work() -> None:
        answers = AtOnce[bytes]()

        async def fail() -> bytes:
            raise ValueError("no")

        async def succeed() -> bytes:
            return b"yes"

        with pytest.raises(ValueError, match="no"):
            await answers.get("a", fail, turn=at_once)
        assert await answers.get("a", succeed, turn=at_once) == b"yes"

    asyncio.run(work())


def at_once(_: Callable[[], bool]) -> AbstractAsyncContextManager[None]:
    return nullcontext()
