"""Where requests meet their limits: callers, agents, and people who log in with a password."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Request

from tierscope.api.base.peers import client_address
from tierscope.api.base.rate_limits import Kind
from tierscope.api.base.use_cases import use_cases
from tierscope.core.errors import WrongLogin
from tierscope.domain.access.permissions import Permission
from tierscope.usecases.access.tokens import Caller


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
    await limiter.check("wrong-logins-here", address, known)
    await limiter.check("wrong-logins", known)
    try:
        yield
    except WrongLogin:
        await limiter.note("wrong-logins-here", address, known)
        await limiter.note("wrong-logins", known)
        raise


async def _limit(request: Request, kind: Kind, key: str) -> None:
    limiter = use_cases(request).rate_limiter
    try:
        await limiter.take(kind, key)
    finally:
        request.state.rate_limit = await limiter.left(kind, key)
