"""Where readers wait before they are known, each by its credential: a few are let in at once, the others by turns.

Beyond the door stand what all requests share, threads and connections of the database. Those who wait for it wait in a
line that is bounded and known, so that agents, logins and probes find both free. Who goes on to wait for a turn of its
own (limited.py) leaves the door to others meanwhile.
"""

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tierscope.api.base.kept_answers import Held
from tierscope.api.base.use_cases import use_cases

_HELD = "tierscope.door"


async def enter(request: Request) -> None:
    """Waits until a reader is let in, once for a request whatever it requires.

    Raises:
        BusyReading: too many wait, or it would take too long.
    """
    inside: list[Held] = request.scope[_HELD]
    if not inside:
        inside.append(await use_cases(request).door.take(_key(request)))


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


def _key(request: Request) -> str:
    """What tells readers apart who are not known yet."""
    return request.headers.get("authorization") or request.headers.get("cookie", "")
