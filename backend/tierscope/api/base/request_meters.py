"""Counts and times requests by route, as plain ASGI because every request passes here."""

import time

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tierscope.usecases.ingest.meters import IngestMeters
from tierscope.usecases.operate.telemetry.process import make_registry

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0, 10.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
ELSEWHERE = "none"
"""The route of requests that none took: their addresses are whatever callers send, and must not become labels."""
FAILED = 500


class RequestMeters:
    """The counters of one process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "tierscope_http_requests",
            "Requests that were answered, by the route's template.",
            ["method", "route", "status"],
            registry=registry,
        )
        self._seconds = Histogram(
            "tierscope_http_request_seconds",
            "Time from a request's first byte to the end of its answer.",
            ["method", "route"],
            buckets=SECONDS,
            registry=registry,
        )
        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        key = (method if method in METHODS else "other", route, status)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._requests.labels(*key[:2], str(status)), self._seconds.labels(*key[:2])
        requests, durations = found
        requests.inc()
        durations.observe(seconds)


class RequestMetersMiddleware:
    """Tells the meters of each request, the ones that fail too."""

    def __init__(self, app: ASGIApp, *, meters: RequestMeters) -> None:
        self._app = app
        self._meters = meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), FAILED

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, send_noting)
        finally:
            self._meters.count(scope["method"], _route_of(scope), status, time.perf_counter() - start)


def _route_of(scope: Scope) -> str:
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else ELSEWHERE


class Meters:
    """The registry of this process's metrics, and what counts in it before the application starts."""

    def __init__(self) -> None:
        self.registry = make_registry()
        self.requests = RequestMeters(self.registry)
        self.ingest = IngestMeters(self.registry)
