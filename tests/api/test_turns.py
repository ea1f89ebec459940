"""Questions that may take much: so many at once, callers by turns, and a clear refusal of the others."""

import asyncio

import pytest

from tierscope.api.base.kept_answers import WAITING_MAX, WAITING_OF_ONE_MAX, Turns
from tierscope.core.errors import BusyReading


def test_callers_take_turns_each_with_its_oldest_question() -> None:
    async def work() -> list[str]:
        turns = Turns(1)
        done: list[str] = []

        async def ask(key: str, name: str) -> None:
            async with turns.turn(key):
                done.append(name)
                await asyncio.sleep(0)

        asked = ("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("b", "b2"), ("c", "c1")
        await asyncio.gather(*(ask(key, name) for key, name in asked))
        assert len(turns) == 0
        return done

    assert asyncio.run(work()) == ["a1", "a2", "b1", "c1", "a3", "b2"]


def test_who_would_wait_too_long_is_told_to_come_again_and_leaves_no_gap() -> None:
    async def work() -> None:
        turns = Turns(1, wait_seconds=0.0)
        async with turns.turn("a"):
            with pytest.raises(BusyReading, match="no turn came"):
                await turns.turn("b").__aenter__()
            assert len(turns) == 0
        async with turns.turn("b"):
            pass

    asyncio.run(work())


def test_so_many_wait_and_no_more() -> None:
    async def work() -> None:
        turns = Turns(1)
        waiting: list[asyncio.Task[None]] = []

        async def ask(key: str) -> None:
            async with turns.turn(key):
                pass

        async with turns.turn("a"):
            for n in range(WAITING_MAX):
                waiting.append(asyncio.create_task(ask(f"{n // WAITING_OF_ONE_MAX}")))
                await asyncio.sleep(0)
            assert len(turns) == WAITING_MAX
            for key in ("0", "another"):
                with pytest.raises(BusyReading, match="questions wait"):
                    await ask(key)
            waiting[-1].cancel()  # a client that goes leaves its place
            await asyncio.wait(waiting[-1:])
            assert len(turns) == WAITING_MAX - 1
        await asyncio.gather(*waiting[:-1])

    asyncio.run(work())
