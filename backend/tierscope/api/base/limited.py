"""Where requests meet their limits: callers, agents, people who log in with a password, questions that may take much.

Of the latter a few are answered at a time in a process, callers by turns, and none for who has gone. What one takes by
itself is bounded where it is answered; this bounds all of them together, so that everything else (enrolment, batches,
logins, probes) has threads, connections and memory left. So does the door for readers, who wait there before they are
known, each by its credential; who goes on to wait for a turn leaves it to others meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar
from weakref import WeakValueDictionary

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tierscope.api.base.peers import client_address
from tierscope.api.base.rate_limits import Kind
from tierscope.api.base.turns import RETRY_SECONDS, Held, Turns, Working
from tierscope.api.base.use_cases import use_cases
from tierscope.core.errors import AnswerTooLarge, BusyReading, SlowQuery, WrongLogin
from tierscope.core.metering import metered
from tierscope.core.process_memory import LOOK_BYTES, resident_bytes, trim_heaps
from tierscope.domain.access.permissions import Permission
from tierscope.domain.base.budget import GROWN_BYTES
from tierscope.domain.base.budget import Budget as AnyBudget
from tierscope.domain.promql.budget import Budget
from tierscope.usecases.access.tokens import Caller

B = TypeVar("B", bound=AnyBudget)
READER_SECONDS = 20.0
_HELD = "tierscope.door"
_trying: "WeakValueDictionary[tuple[str, str], asyncio.Lock]" = WeakValueDictionary()


async def limit_caller(request: Request, caller: Caller, permission: Permission) -> None:
    """Counts a request of a token or session.

    Raises:
        TooMany: it asked more often than the settings allow.
    """
    await _limit(request, "samples" if permission == "write:samples" else "caller", caller.key)


def limit_agent(request: Request, host_id: str) -> None:
    """Counts a request of an agent.

    Raises:
        TooMany: it asked more often than the settings allow.
    """
    limiter = use_cases(request).rate_limiter
    try:
        limiter.take_agent(host_id)
    finally:
        request.state.rate_limit = limiter.left_to_agent(host_id)


@asynccontextmanager
async def guarded_login(request: Request, name: str) -> AsyncIterator[None]:
    """Lets a few attempts at a password through, and counts those that fail: by address and by name, never for good.

    Raises:
        TooMany: there were too many.
    """
    limiter, address = use_cases(request).rate_limiter, client_address(request.scope, use_cases(request).settings)
    known = name.strip().lower()[:200]
    await limiter.take("logins", address)
    # One after the other: of many at once each is judged after those before it have counted.
    async with _trying.setdefault((address, known), asyncio.Lock()):
        await limiter.check("wrong-logins-here", address, known)
        await limiter.check("wrong-logins", known)
        try:
            yield
        except WrongLogin:
            await limiter.note("wrong-logins-here", address, known)
            await limiter.note("wrong-logins", known)
            raise


@asynccontextmanager
async def question(request: Request, make: Callable[..., B], *, shared: Callable[[], bool] = bool) -> AsyncIterator[B]:
    """The budget of a question, made once it has its turn; it ends with the client, unless others share the answer.

    Raises:
        BusyReading: no turn came in time.
    """
    await request.body()  # what comes after it says that the client has gone
    leave(request.scope)
    async with use_cases(request).turns.turn(_key(request)):
        turns = use_cases(request).turns
        await _give_back(request)
        with turns.working(resident_bytes()) as own:
            budget = make(grown_bytes=lambda: _grown_bytes(turns, own))
            looking = asyncio.create_task(_cancel_with(request, budget, shared))
            try:
                with metered(budget):
                    yield budget
            finally:
                looking.cancel()
                with suppress(asyncio.CancelledError):
                    await looking
        await _give_back(request)


async def _give_back(request: Request) -> None:
    """Gives free pages back while no question is worked on: what one may take is reckoned from what is in use."""
    shared = use_cases(request)
    if not shared.turns.at_work and shared.freed.has_grown(LOOK_BYTES):
        await run_in_threadpool(shared.freed.give_back)


def _grown_bytes(turns: Turns, own: Working) -> int:
    """By how much the process has grown since questions are worked on without a pause.

    Raises:
        BusyReading: by too much, and not for this question alone.
    """
    if (grown := resident_bytes() - turns.began_bytes) <= GROWN_BYTES:
        return grown
    trim_heaps()
    grown = resident_bytes() - turns.began_bytes
    if grown > GROWN_BYTES and own.beside:
        raise BusyReading(
            f"this answer and what was worked on beside it need more than {GROWN_BYTES >> 20} MiB of memory",
            retry_after_seconds=RETRY_SECONDS,
        )
    return grown


async def costly(request: Request) -> AsyncIterator[None]:
    """A dependency of routes that may take much: waits for a turn, and bounds what the answer takes.

    Raises:
        BusyReading: no turn came in time.
    """
    async with question(request, reader_budget):
        yield


COSTLY = Depends(costly, scope="function")
"""Stands behind the permission of its route: who has none takes no turn."""


async def budgeted(request: Request) -> AsyncIterator[Budget]:
    """The budget of a query of PromQL.

    Raises:
        BusyReading: no turn came in time.
    """
    async with question(request, Budget) as budget:
        yield budget


def reader_budget(*, grown_bytes: Callable[[], int]) -> AnyBudget:
    """What any other answer may take."""
    return AnyBudget(
        seconds=READER_SECONDS,
        too_much=AnswerTooLarge,
        timed_out=lambda detail: SlowQuery(detail, retry_after_seconds=5),
        grown_bytes=grown_bytes,
    )


async def _cancel_with(request: Request, budget: AnyBudget, shared: Callable[[], bool]) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    if not shared():
        budget.cancel()


def _key(request: Request) -> str:
    caller = getattr(request.state, "caller", None)
    return "" if caller is None else str(caller.key)


async def _limit(request: Request, kind: Kind, key: str) -> None:
    limiter = use_cases(request).rate_limiter
    try:
        await limiter.take(kind, key)
    finally:
        request.state.rate_limit = await limiter.left(kind, key)


async def enter(request: Request) -> None:
    """Waits until a reader is let in, once for a request whatever it requires.

    Raises:
        BusyReading: too many wait, or it would take too long.
    """
    inside: list[Held] = request.scope[_HELD]
    if not inside:
        inside.append(await use_cases(request).door.take(_credential(request)))


def leave(scope: Scope) -> None:
    """Lets the next one in, once."""
    for held in scope[_HELD]:
        held.give()


class DoorMiddleware:
    """Who was let in leaves when its answer begins, however slowly it is read, or when there is none."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope[_HELD] = []

        async def send_outside(message: Message) -> None:
            leave(scope)
            await send(message)

        try:
            await self._app(scope, receive, send_outside)
        finally:
            leave(scope)


def _credential(request: Request) -> str:
    """What tells readers apart who are not known yet."""
    return request.headers.get("authorization") or request.headers.get("cookie", "")
