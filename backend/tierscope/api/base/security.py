"""Checks Host and Origin and puts security headers on every answer, as plain ASGI: every request passes here."""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tierscope.api.base.problems import problem_response
from tierscope.core.errors import BadHost, BadOrigin, TierscopeError
from tierscope.core.settings import Settings

_HOST = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::[0-9]*)?")
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
PROBES = frozenset({"/healthz", "/readyz"})
SCRAPED = frozenset({"/metrics", "/metrics/fleet"})
"""Probes and Prometheus call each process by its address. A page that is reached by an address is on that machine: only
names can be made to lead elsewhere."""
FORMS = frozenset({"/login", "/login/password"})
"""Browsers say `Origin: null` with forms of pages whose address is told to nobody, as ours are."""

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
    """Returns the name in a Host header, without its port, in lower case; all of it where it is no name and port."""
    found = _HOST.fullmatch(header)
    return (header if found is None else found[1]).lower()


def allowed_names(settings: Settings) -> frozenset[str]:
    """Returns the names under which the service may be called."""
    return LOOPBACK_NAMES | {settings.host.lower()} | {name.lower() for name in settings.allowed_hosts}


class SecurityMiddleware:
    """A page of another site cannot reach the service through a name of its own (DNS rebinding)."""

    def __init__(self, app: ASGIApp, *, settings: Settings) -> None:
        self._app = app
        self._names = allowed_names(settings)
        public = {host_name(urlsplit(settings.public_url).netloc)} if settings.public_url else set()
        self._origins = self._names | public

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

        refusal = self._refusal(scope["path"], Headers(scope=scope))
        if refusal is not None:
            await problem_response(refusal, scope["path"])(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _refusal(self, path: str, headers: Headers) -> TierscopeError | None:
        hosts = headers.getlist("host") or [""]
        for header in hosts:
            name = host_name(header)
            if name not in self._names and not (_is_address(name) and _by_address(path, headers)):
                return BadHost(f"Host is {header[:100]!r}")
        for origin in headers.getlist("origin"):
            if not (_of_own_page(path, headers) if origin == "null" else _origin_name(origin) in self._origins):
                return BadOrigin(f"Origin is {origin[:100]!r}")
        if _of_foreign_page(headers):
            return BadOrigin("a page of another site made the browser ask")
        return None


def _of_foreign_page(headers: Headers) -> bool:
    """Whether a page of another site has a browser ask, and not to show the answer by itself.

    Such a page cannot read the answer, but the work would be done, and where reading needs no login by anybody.
    """
    shown = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") in ("document", None)
    return headers.get("sec-fetch-site") == "cross-site" and not shown


def _by_address(path: str, headers: Headers) -> bool:
    """Whether a request may come under any address: probes, and scrapes that carry a token."""
    return path in PROBES or (path in SCRAPED and headers.get("authorization", "").lower().startswith("bearer "))


def _is_address(name: str) -> bool:
    """Whether the name in a Host header is an IP address, or none as simple probes say it."""
    try:
        ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    except ValueError:
        return name == ""
    return True


def _origin_name(origin: str) -> str | None:
    try:
        return host_name(urlsplit(origin).netloc)
    except ValueError:
        return None


def _of_own_page(path: str, headers: Headers) -> bool:
    """Whether a request that hides its origin is of a page of ours, as far as its browser says."""
    site = headers.get("sec-fetch-site")
    return path in FORMS if site is None else site in ("same-origin", "none")
