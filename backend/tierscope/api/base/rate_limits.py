"""How often who may ask: sliding windows by token or session, by agent, by address, and for logging in.

Whoever proved who it is counts by that alone; requests of nobody in particular count by address, so that many agents or
people behind one address do not stand in each other's way. Counts are this process's, or in Redis where several share
them; when Redis is away each process counts by itself.
"""

import math
import time
from dataclasses import dataclass
from typing import Literal

import structlog
from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from redis.asyncio import ConnectionPool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tierscope.api.base.peers import client_address, on_plain_loopback
from tierscope.api.base.problems import problem_response
from tierscope.api.base.security import PROBES
from tierscope.core.errors import ConfigurationError, TooMany
from tierscope.core.settings import RateLimits, Settings

Kind = Literal["caller", "address", "samples", "logins", "wrong-logins-here", "wrong-logins"]
WRONG_LOGIN_MINUTES = 5
WINDOW_SECONDS = 60
_REDIS_SECONDS = 0.5
_STATE = "rate_limit"
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a limit, after this request."""

    kind: Kind | Literal["batches"]
    limit: int
    window_seconds: int
    remaining: int
    reset_seconds: int

    def headers(self) -> dict[str, str]:
        """The fields of draft-ietf-httpapi-ratelimit-headers."""
        return {
            "RateLimit-Policy": f'"{self.kind}";q={self.limit};w={self.window_seconds}',
            "RateLimit": f'"{self.kind}";r={self.remaining};t={self.reset_seconds}',
        }


class Windows:
    """Counts of a process in sliding windows of a minute: the window before counts by the share of it that is inside.

    Agents' requests are counted so. They never wait for Redis, as there are many and each has its host.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._window = 0
        self._before: dict[str, int] = {}
        self._counts: dict[str, int] = {}

    def hit(self, key: str, now: float) -> bool:
        """Counts one more at `now` (seconds), unless there are as many as may be; whether it did."""
        if self._used(key, now) >= self._most:
            return False
        self._counts[key] = self._counts.get(key, 0) + 1
        return True

    def left(self, key: str, now: float) -> Left:
        """Returns what is left at `now`: all of it again once this window has ended, or the one before is outside."""
        remaining = max(0, self._most - self._used(key, now))
        reset = max(1, math.ceil(WINDOW_SECONDS - now % WINDOW_SECONDS))
        return Left("batches", self._most, WINDOW_SECONDS, remaining, reset)

    def _used(self, key: str, now: float) -> int:
        window = int(now // WINDOW_SECONDS)
        if window != self._window:
            self._before = self._counts if window == self._window + 1 else {}
            self._counts, self._window = {}, window
        inside = 1 - now % WINDOW_SECONDS / WINDOW_SECONDS
        return int(self._before.get(key, 0) * inside + self._counts.get(key, 0))


class RateLimiter:
    """Counts requests by kind and key. Belongs to one event loop."""

    def __init__(self, settings: RateLimits, *, redis_url: str | None = None) -> None:
        """Reads the settings; ConfigurationError where counts are to be shared and there is no Redis."""
        self._settings = settings
        self._items: dict[Kind, RateLimitItem] = {
            "caller": RateLimitItemPerMinute(settings.per_caller_per_minute),
            "address": RateLimitItemPerMinute(settings.per_address_per_minute),
            "samples": RateLimitItemPerMinute(settings.samples_per_token_per_minute),
            "logins": RateLimitItemPerMinute(settings.logins_per_address_per_minute),
            "wrong-logins-here": RateLimitItemPerMinute(
                settings.wrong_logins_per_name_and_address, WRONG_LOGIN_MINUTES
            ),
            "wrong-logins": RateLimitItemPerHour(settings.wrong_logins_per_name),
        }
        self._agents = Windows(settings.batches_per_host_per_minute)
        self._own = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._shared: SlidingWindowCounterRateLimiter | None = None
        self._redis_errors: tuple[type[Exception], ...] = ()
        self._pool: ConnectionPool | None = None
        if settings.enabled and settings.shared:
            if redis_url is None:
                raise ConfigurationError(
                    "rate limits are to be shared, and no Redis is configured", next_step="Set TIERSCOPE_REDIS_URL."
                )
            self._pool = ConnectionPool.from_url(
                redis_url, socket_timeout=_REDIS_SECONDS, socket_connect_timeout=_REDIS_SECONDS
            )
            storage = RedisStorage(
                "async+redis://",
                implementation="redispy",
                key_prefix="tierscope:limits",
                connection_pool=self._pool,  # type: ignore[arg-type] # as its description says, not as its types do
            )
            errors = storage.base_exceptions
            self._redis_errors = errors if isinstance(errors, tuple) else (errors,)
            self._shared = SlidingWindowCounterRateLimiter(storage)

    async def close(self) -> None:
        """Ends the connections to Redis."""
        if self._pool is not None:
            await self._pool.aclose()

    async def take(self, kind: Kind, *key: str) -> None:
        """Counts one request.

        Raises:
            TooMany: there were as many as may be; this one does not count.
        """
        if self._settings.enabled and not await self._ask("hit", kind, key):
            raise await self._too_many(kind, key)

    def take_agent(self, host_id: str) -> Left | None:
        """Counts one request of an agent, by this process alone, and returns what is left; None where nothing counts.

        Raises:
            TooMany: there were as many as may be; this one does not count.
        """
        if not self._settings.enabled:
            return None
        now = time.time()
        if self._agents.hit(host_id, now):
            return self._agents.left(host_id, now)
        most, left = self._settings.batches_per_host_per_minute, self._agents.left(host_id, now)
        raise TooMany(f"more than {most} in {WINDOW_SECONDS} s (batches)", retry_after_seconds=left.reset_seconds)

    def left_to_agent(self, host_id: str) -> Left | None:
        """Returns what is left to an agent; None where nothing counts."""
        return self._agents.left(host_id, time.time()) if self._settings.enabled else None

    async def note(self, kind: Kind, *key: str) -> None:
        """Counts one request that was answered already."""
        if self._settings.enabled:
            await self._ask("hit", kind, key)

    async def check(self, kind: Kind, *key: str) -> None:
        """Refuses where the limit is reached, and counts nothing.

        Raises:
            TooMany: it is.
        """
        if self._settings.enabled and not await self._ask("test", kind, key):
            raise await self._too_many(kind, key)

    async def left(self, kind: Kind, *key: str) -> Left | None:
        """Returns what is left; None where nothing is counted."""
        if not self._settings.enabled:
            return None
        item = self._items[kind]
        for limiter in self._limiters():
            try:
                found = await limiter.get_window_stats(item, kind, *key)
            except self._redis_errors:
                continue
            reset = max(1, math.ceil(found.reset_time - time.time()))
            return Left(kind, item.amount, item.get_expiry(), found.remaining, min(reset, item.get_expiry()))
        return None

    async def _ask(self, question: Literal["hit", "test"], kind: Kind, key: tuple[str, ...]) -> bool:
        item = self._items[kind]
        for limiter in self._limiters():
            try:
                answered: bool = await getattr(limiter, question)(item, kind, *key)
            except self._redis_errors as error:
                _log.warning("rate limits are counted by this process alone", cause=type(error).__name__)
                continue
            return answered
        return True

    def _limiters(self) -> tuple[SlidingWindowCounterRateLimiter, ...]:
        """Whom to ask, in this order."""
        return (self._own,) if self._shared is None else (self._shared, self._own)

    async def _too_many(self, kind: Kind, key: tuple[str, ...]) -> TooMany:
        left = await self.left(kind, *key)
        item = self._items[kind]
        return TooMany(
            f"more than {item.amount} in {item.get_expiry()} s ({kind})",
            retry_after_seconds=item.get_expiry() if left is None else left.reset_seconds,
        )


class RateLimitMiddleware:
    """Counts requests of nobody in particular by address, and says on every answer what is left of a limit."""

    def __init__(self, app: ASGIApp, *, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers it with 429."""
        if scope["type"] != "http" or not self._settings.rate_limits.enabled or scope["path"] in PROBES:
            await self._app(scope, receive, send)
            return
        limiter: RateLimiter = scope["app"].state.use_cases.rate_limiter
        address = client_address(scope, self._settings)
        counted = not on_plain_loopback(self._settings, Headers(scope=scope))
        state = scope.setdefault("state", {})

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                left: Left | None = state.get(_STATE)
                if left is None and counted:
                    # Nobody proved who it is: the address stands for it.
                    await limiter.note("address", address)
                    left = await limiter.left("address", address)
                if left is not None:
                    MutableHeaders(scope=message).update(left.headers())
            await send(message)

        try:
            if counted:
                await limiter.check("address", address)
        except TooMany as error:
            await problem_response(error, scope["path"])(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)
