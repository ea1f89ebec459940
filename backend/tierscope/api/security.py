"""Checks the Host header and puts security headers on every answer, as plain ASGI because every request passes here."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tierscope.api.problems import problem_response
from tierscope.core.errors import BadHost
from tierscope.core.settings import Settings

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
PROBES = frozenset({"/healthz", "/readyz"})
SCRAPED = frozenset({"/metrics", "/metrics/fleet"})
"""Prometheus calls each process by its address. A page of another site has no token, so it gains nothing by a name."""

# Plotly and the component library write inline styles; scripts come from our own files alone.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:;"
    " font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; object-src 'none'; base-uri 'none';"
    " form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def host_name(header: str) -> str:
    """Returns the name in a Host header, without its port, in lower case."""
    if header.startswith("["):
        return header.partition("]")[0].lower() + "]"
    return header.partition(":")[0].lower()


class SecurityMiddleware:
    """A page of another site cannot reach the service through a name of its own (DNS rebinding)."""

    def __init__(self, app: ASGIApp, *, settings: Settings) -> None:
        self._app = app
        self._names = LOOPBACK_NAMES | {settings.host.lower()} | {name.lower() for name in settings.allowed_hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers it with a problem."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        header = headers.get("host", "")
        if host_name(header) not in self._names and not _by_address(scope["path"], headers):
            response = problem_response(BadHost(f"Host is {header[:100]!r}"), scope["path"])
            await response(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


def _by_address(path: str, headers: Headers) -> bool:
    """Whether a request may come under any name: probes, and scrapes that carry a token."""
    return path in PROBES or (path in SCRAPED and headers.get("authorization", "").lower().startswith("bearer "))
