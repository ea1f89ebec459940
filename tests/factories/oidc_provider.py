"""An OpenID provider for tests that checks what clients must send, and can be told to lie about everything it signs."""

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jws
from joserfc.jwk import ECKey, OctKey

from factories.loopback import LOOPBACK, QuietHandler, QuietServer, serving
from tierscope.core.clock import utc_now

CLIENT_ID = "tierscope"
CLIENT_SECRET = "s3cret with:odd&characters"


def new_key(kid: str) -> ECKey:
    return ECKey.generate_key("P-256", {"kid": kid, "use": "sig"}, private=True)


@dataclass(slots=True)
class Provider:
    """What the provider says, and what it was asked. Change a field to make it say something else."""

    issuer: str = ""
    claims: dict[str, Any] = field(default_factory=lambda: {"sub": "ann-1", "preferred_username": "ann"})
    userinfo: dict[str, Any] | None = None
    signing_key: ECKey | OctKey = field(default_factory=lambda: new_key("k1"))
    published: list[ECKey] = field(default_factory=list)
    header: dict[str, Any] = field(default_factory=dict)
    tamper: Callable[[dict[str, Any]], None] | None = None
    error: str | None = None
    end_session: str | None = None
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)
    key_reads: int = 0
    payload: bytes | None = None
    """What it signs in place of claims."""
    bodies: dict[str, bytes] = field(default_factory=dict)
    """What it answers at a path, whatever it was asked."""
    answers: threading.Event = field(default_factory=threading.Event)
    """Cleared, it takes requests and says nothing."""
    asked: int = 0
    """Requests that it took."""

    def __post_init__(self) -> None:
        """Publish the key that it signs with."""
        self.answers.set()
        assert isinstance(self.signing_key, ECKey)
        self.published = [self.signing_key]

    def id_token(self, asked: dict[str, str], access_token: str) -> str:
        now = int(utc_now().timestamp())
        half = hashlib.sha256(access_token.encode()).digest()[:16]
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "nonce": asked.get("nonce", ""),
            "at_hash": base64.urlsafe_b64encode(half).decode().rstrip("="),
            **self.claims,
        }
        if self.tamper is not None:
            self.tamper(claims)
        header = {"alg": "ES256", "kid": self.signing_key.kid, **self.header}
        if header["alg"] == "none":
            parts = (json.dumps(part).encode() for part in (header, claims))
            return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + "."
        payload = json.dumps(claims).encode() if self.payload is None else self.payload
        return jws.serialize_compact(header, payload, self.signing_key, algorithms=[header["alg"]])

    def refusal_of(self, form: dict[str, str], authorization: str) -> str | None:
        """Why a code is not traded: RFC 6749, 4.1.3, and RFC 7636, 4.6."""
        asked = self.codes.pop(form.get("code", ""), None)
        pair = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        name, _, secret = pair.partition(":")
        known = urlencode({"": CLIENT_SECRET}).removeprefix("=")
        if (name, secret) != (CLIENT_ID, known):
            return "invalid_client"
        if asked is None or asked["redirect_uri"] != form.get("redirect_uri"):
            return "invalid_grant"
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        self.codes["traded"] = asked
        return None if asked.get("code_challenge") == challenge else "invalid_grant"


class _Server(QuietServer):
    def __init__(self, provider: Provider) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.provider = provider


class _Handler(QuietHandler):
    @property
    def provider(self) -> Provider:
        assert isinstance(self.server, _Server)
        return self.server.provider

    def do_GET(self) -> None:  # noqa: N802 - the name that the base class calls
        """Discovery, keys, the question to the person (who always agrees), and user information."""
        parts = urlsplit(self.path)
        if self._lied(parts.path):
            return
        if parts.path == "/.well-known/openid-configuration":
            self._answer(_discovery(self.provider))
        elif parts.path == "/keys":
            self.provider.key_reads += 1
            self._answer({"keys": [key.as_dict(private=False) for key in self.provider.published]})
        elif parts.path == "/userinfo" and self.provider.userinfo is not None:
            self._answer(self.provider.userinfo)
        elif parts.path == "/authorize":
            asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            code = f"code-{len(self.provider.codes)}"
            self.provider.codes[code] = asked
            said = {"error": self.provider.error} if self.provider.error else {"code": code}
            back = urlencode({**said, "state": asked["state"], "iss": self.provider.issuer})
            self.send_response(302)
            self.send_header("Location", f"{asked['redirect_uri']}?{back}")
            self.end_headers()
        else:
            self._answer({"error": "not_found"}, status=404)

    def do_POST(self) -> None:  # noqa: N802 - the name that the base class calls
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self._lied(self.path):
            return
        form = {name: values[0] for name, values in parse_qs(body).items()}
        refusal = self.provider.refusal_of(form, self.headers.get("Authorization", ""))
        if refusal is not None:
            self.provider.refusals.append(refusal)
            self._answer({"error": refusal}, status=400)
            return
        access_token = "access-1"
        self._answer(
            {
                "access_token": access_token,
                "token_type": "Bearer",
                "id_token": self.provider.id_token(self.provider.codes.pop("traded"), access_token),
            }
        )

    def _lied(self, path: str) -> bool:
        """Says what it was told to say here, once it says anything."""
        self.provider.asked += 1
        self.provider.answers.wait()
        body = self.provider.bodies.get(path)
        if body is not None:
            self._send(body, 200)
        return body is not None

    def _answer(self, document: object, status: int = 200) -> None:
        self._send(json.dumps(document).encode(), status)

    def _send(self, body: bytes, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def oidc_provider() -> Iterator[Provider]:
    provider = Provider()
    server = _Server(provider)
    provider.issuer = f"http://{LOOPBACK}:{server.server_port}"
    with serving(server):
        yield provider


def _discovery(provider: Provider) -> dict[str, object]:
    issuer = provider.issuer
    offered = {} if provider.end_session is None else {"end_session_endpoint": provider.end_session}
    return {
        **offered,
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "jwks_uri": f"{issuer}/keys",
        "userinfo_endpoint": f"{issuer}/userinfo",
        "token_endpoint_auth_methods_supported": ["client_secret_basic"],
    }
