"""The OpenID provider: what it says of itself, its keys, and what it says of a person."""

import json
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlencode, urlsplit

from tierscope.core.errors import OutgoingFailed, OutgoingRefused
from tierscope.core.outgoing import OutgoingCalls
from tierscope.core.settings import Oidc
from tierscope.usecases.access.oidc.refusal import LoginRefused, Reason

if TYPE_CHECKING:
    from joserfc.jwk import Key, KeySet

DISCOVERY = "/.well-known/openid-configuration"
DISCOVERY_SECONDS = 3600.0
AT_ONCE = 12
"""Logins that wait for the provider: each holds a thread for as long as it may take, and others need some, too."""
FAILED_SECONDS = 5.0
"""So long a failure to read its description or keys stands: those who waited for it do not each wait again."""
KEYS_SECONDS = 3600.0
KEYS_AGAIN_SECONDS = 10.0  # an unknown key id asks for the keys again, and no oftener than this
_NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_ADDRESSES = frozenset({*_NEEDED, "userinfo_endpoint", "end_session_endpoint"})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}


@dataclass(frozen=True, slots=True)
class Endpoints:
    """What discovery tells. `userinfo` and `end_session` are None where the provider has none."""

    authorization: str
    token: str
    keys: str
    userinfo: str | None
    end_session: str | None
    token_methods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a code was traded for."""

    id_token: str
    access_token: str | None


@dataclass(slots=True)
class Provider:
    """One provider. Answers are kept for an hour; one object may be used from several threads."""

    settings: Oidc
    secret: str | None
    calls: OutgoingCalls
    monotonic: Callable[[], float] = time.monotonic
    _endpoints: tuple[float, Endpoints] | None = None
    _keys: "tuple[float, KeySet] | None" = None
    _failed: dict[str, tuple[float, LoginRefused]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _places: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(AT_ONCE))

    @property
    def issuer(self) -> str:
        """The configured issuer."""
        return self.settings.issuer or ""

    @contextmanager
    def visit(self) -> Iterator[None]:
        """Around whatever asks the provider for one login.

        Raises:
            LoginRefused: as many wait for it as may.
        """
        if not self._places.acquire(blocking=False):
            raise LoginRefused("unreachable", f"{AT_ONCE} logins wait for the provider already")
        try:
            yield
        finally:
            self._places.release()

    def endpoints(self) -> Endpoints:
        """Returns what discovery tells.

        Raises:
            LoginRefused: it cannot be read, or is about another issuer.
        """
        with self._lock:
            if self._endpoints is None or self._endpoints[0] < self.monotonic():
                found = self._discover()
                self._endpoints = (self.monotonic() + DISCOVERY_SECONDS, found)
            return self._endpoints[1]

    def trade(self, code: str, *, verifier: str, redirect_uri: str) -> Tokens:
        """Trades a code for tokens.

        Raises:
            LoginRefused: the provider cannot be reached, or does not give them.
        """
        endpoints = self.endpoints()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        headers = dict(_FORM)
        if self.secret is None:
            form["client_id"] = self.settings.client_id
        elif "client_secret_basic" in endpoints.token_methods:
            # RFC 6749, 2.3.1: both are form-encoded before they are put together.
            pair = f"{quote_plus(self.settings.client_id)}:{quote_plus(self.secret)}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": self.settings.client_id, "client_secret": self.secret}
        answer = self._ask("POST", endpoints.token, headers, urlencode(form).encode())
        id_token, access_token = answer.get("id_token"), answer.get("access_token")
        if not isinstance(id_token, str):
            raise LoginRefused("failed", f"{_place(endpoints.token)} gave no ID token")
        return Tokens(id_token, access_token if isinstance(access_token, str) else None)

    def read_signed(self, token: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns header and claims of a token whose signature is one of the provider's keys.

        Raises:
            LoginRefused: another key or algorithm signed it, or it is no token.
        """
        from joserfc import jws  # noqa: PLC0415 - loaded with the first login through the provider
        from joserfc.errors import JoseError  # noqa: PLC0415 - likewise

        algorithms = list(self.settings.algorithms)
        try:
            header = jws.extract_compact(token.encode()).headers()
            if header.get("alg") not in algorithms:
                raise LoginRefused("failed", f"the ID token is signed with {str(header.get('alg'))[:20]!r}")
            found = jws.deserialize_compact(token, self._keys_for(header.get("kid")), algorithms=algorithms)
            claims = json.loads(found.payload)
        except (JoseError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise LoginRefused("failed", f"the ID token cannot be trusted: {type(error).__name__}") from error
        if not isinstance(claims, dict):
            raise LoginRefused("failed", "the ID token holds no claims")
        return dict(header), claims

    def read_userinfo(self, access_token: str) -> dict[str, Any]:
        """Returns what the provider says of the person beyond the ID token; nothing where it does not offer it."""
        url = self.endpoints().userinfo
        if url is None:
            return {}
        headers = {"Authorization": f"Bearer {access_token}", "Accept": "application/json"}
        return self._ask("GET", url, headers)

    def _discover(self) -> Endpoints:
        _check_scheme(self.issuer)
        document = self._ask_for_all(self.issuer.rstrip("/") + DISCOVERY)
        if document.get("issuer") != self.issuer:
            raise LoginRefused(
                "failed", f"the provider calls itself {str(document.get('issuer'))[:200]!r}, not {self.issuer!r}"
            )
        found = {name: value for name, value in document.items() if name in _ADDRESSES and isinstance(value, str)}
        for name in _NEEDED:
            if name not in found:
                raise LoginRefused("failed", f"the provider's description has no {name}")
        for value in found.values():
            _check_scheme(value)
        methods = document.get("token_endpoint_auth_methods_supported")
        return Endpoints(
            authorization=found["authorization_endpoint"],
            token=found["token_endpoint"],
            keys=found["jwks_uri"],
            userinfo=found.get("userinfo_endpoint"),
            end_session=found.get("end_session_endpoint"),
            token_methods=tuple(methods) if isinstance(methods, list) else ("client_secret_basic",),
        )

    def _keys_for(self, key_id: object) -> "KeySet":
        """The provider's keys, asked for again where they are old or do not hold this one: providers change keys."""
        url = self.endpoints().keys
        with self._lock:
            now = self.monotonic()
            if self._keys is not None:
                read_at, keys = self._keys
                known = key_id is None or any(key.kid == key_id for key in keys.keys)
                if now - read_at < (KEYS_SECONDS if known else KEYS_AGAIN_SECONDS):
                    return keys
            document = self._ask_for_all(url)
            from joserfc.jwk import KeySet  # noqa: PLC0415 - loaded with the first login through the provider

            keys = KeySet([key for told in document.get("keys", ()) if (key := _signing_key(told)) is not None])
            self._keys = (now, keys)
            return keys

    def _ask_for_all(self, url: str) -> dict[str, Any]:
        """What every login needs, asked for by one of them."""
        until, failure = self._failed.get(url, (0.0, None))
        if failure is not None and self.monotonic() < until:
            raise LoginRefused(failure.reason, failure.detail)
        try:
            return self._ask("GET", url, {"Accept": "application/json"})
        except LoginRefused as refused:
            self._failed[url] = (self.monotonic() + FAILED_SECONDS, refused)
            raise

    def _ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> dict[str, Any]:
        place = _place(url)
        try:
            answer = self.calls.send(method, url, headers=headers, body=body)
        except OutgoingRefused as error:
            cause = f"{error.detail}; list it in TIERSCOPE_OIDC__ALLOW if the provider lives there"
            raise LoginRefused("unreachable", cause) from error
        except OutgoingFailed as error:
            raise LoginRefused("unreachable", error.detail) from error
        try:
            document = json.loads(answer.body)
        except (ValueError, RecursionError):
            document = None
        if not answer.ok:
            said = document.get("error") if isinstance(document, dict) else None
            why: Reason = "failed" if answer.status_code < 500 else "unreachable"  # noqa: PLR2004 - the class of HTTP status
            raise LoginRefused(why, f"{place} answered {answer.status_code} {str(said or '')[:100]}".strip())
        if not isinstance(document, dict):
            raise LoginRefused("failed", f"{place} did not answer with a JSON object")
        return document


def _signing_key(told: object) -> "Key | None":
    """A key that may sign tokens; None for kinds that we do not know, and for what is no key.

    Symmetric ones are never the provider's to publish.
    """
    from joserfc.errors import JoseError  # noqa: PLC0415 - loaded with the first login through the provider
    from joserfc.jwk import JWKRegistry  # noqa: PLC0415 - likewise

    if not (isinstance(told, dict) and told.get("kty") in ("RSA", "EC", "OKP") and told.get("use", "sig") == "sig"):
        return None
    try:
        return JWKRegistry.import_key(told)
    except (JoseError, ValueError, TypeError, KeyError):
        return None


def _check_scheme(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise LoginRefused("failed", f"{_place(url)} is not an https address")


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}{parts.path}"
