"""A login provider that lies about everything it signs, answers anything and hangs; callbacks forged and sent again."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
from joserfc.jwk import OctKey

from api.test_oidc import LIES, lie
from attack.assault import Assault
from factories.loopback import NO_AUTHORITIES
from factories.oidc_provider import CLIENT_SECRET, Provider, new_key
from factories.waiting import DEADLINE_SECONDS

START = "/v1/login/oidc/start"
AT_ONCE = 60
"""More than the service has threads."""
_BODIES = (b"[" * 500_000, b'{"a":' * 200_000, b"\xff", b"null", b'{"keys": 7, "id_token": 7, "issuer": []}')
_ELSEWHERE = ("https://evil.example/", "//evil.example/", "/\\evil.example", "/\t/evil.example", "javascript:alert(1)")


def attack(assault: Assault) -> None:
    """Each lie in a login of its own, then many logins of a provider that says nothing."""
    provider = assault.arena.provider
    known = provider.signing_key
    for name, claims in LIES.items():
        _refused(assault, name, tamper=lie(**claims))
    for name, key, header in (
        ("a key of nobody under a known name", new_key("k1"), {}),
        ("no signature", known, {"alg": "none"}),
        ("the client's secret as a key", OctKey.import_key(CLIENT_SECRET), {"alg": "HS256", "kid": "k1"}),
        ("a key that the token brings", new_key("k1"), {"jku": f"{provider.issuer}/keys"}),
    ):
        _refused(assault, name, signing_key=key, header=header)
    for payload in (*_BODIES, b'{"exp": 1e999}', b'{"sub": "a\\u0000", "aud": {}}'):
        _refused(assault, f"signed {payload[:20]!r}", payload=payload)
    for body in _BODIES:
        _refused(assault, f"a code that is traded for {body[:20]!r}", bodies={"/token": body})
    _forged(assault)
    for place in _ELSEWHERE:
        assault.ask("GET", START, params={"next": place}, expect=(400,), what=f"a login that leads to {place!r}")
    _silent(assault, provider)


def _refused(assault: Assault, what: str, **lies: Any) -> None:  # noqa: ANN401 - of the provider
    provider = assault.arena.provider
    before = {name: getattr(provider, name) for name in lies}
    for name, value in lies.items():
        setattr(provider, name, value)
    try:
        _judge(assault, what, _come_back(assault))
    finally:
        for name, value in before.items():
            setattr(provider, name, value)


def _judge(assault: Assault, what: str, answer: httpx.Response | None) -> None:
    if answer is None:
        return
    if answer.status_code != 303 or not answer.headers.get("location", "").startswith("/login?error="):
        assault.found(f"a login with {what}: {answer.status_code} {answer.headers.get('location')}")
    if any("=tss_" in cookie for cookie in answer.headers.get_list("set-cookie")):
        assault.found(f"a login with {what} began a session")


def _begin(assault: Assault) -> tuple[str, str]:
    """The cookie of a login that has begun, and what the provider sends the browser back to."""
    begun = assault.ask("GET", START, expect=(303,))
    assert begun is not None
    cookie = begun.headers["set-cookie"].partition(";")[0]
    place = begun.headers["location"]
    back = urlsplit(httpx.get(place, timeout=DEADLINE_SECONDS, verify=NO_AUTHORITIES).headers["location"])
    return cookie, f"{back.path}?{back.query}"


def _come_back(assault: Assault, change: Callable[[str, str], tuple[str, str]] | None = None) -> httpx.Response | None:
    cookie, back = _begin(assault)
    if change is not None:
        cookie, back = change(cookie, back)
    return assault.ask("GET", back, headers={"Cookie": cookie}, expect=(303,))


def _forged(assault: Assault) -> None:
    """Callbacks that no browser brings, and one that is brought twice."""
    other, _ = _begin(assault)
    changes: dict[str, Callable[[str, str], tuple[str, str]]] = {
        "no cookie": lambda _, back: ("a=b", back),
        "another browser's cookie": lambda _, back: (other, back),
        "a changed cookie": lambda cookie, back: (cookie + "x", back),
        "another state": lambda cookie, back: (cookie, back.replace("state=", "state=x")),
        "another issuer": lambda cookie, back: (cookie, back.replace("iss=", "iss=https%3A%2F%2Fevil.example")),
        "another code": lambda cookie, back: (cookie, back.replace("code=", "code=x")),
    }
    for what, change in changes.items():
        _judge(assault, what, _come_back(assault, change))
    cookie, back = _begin(assault)
    first = assault.ask("GET", back, headers={"Cookie": cookie}, expect=(303,))
    if first is None or first.headers.get("location", "").partition("#")[0] != "/":
        assault.found("a login as it should be did not succeed")
    _judge(assault, "a code for the second time", assault.ask("GET", back, headers={"Cookie": cookie}, expect=(303,)))


def _silent(assault: Assault, provider: Provider) -> None:
    """Many logins of a provider that takes requests and says nothing: everybody else is served."""
    logins = [_begin(assault) for _ in range(assault.of(AT_ONCE, 45))]
    provider.answers.clear()
    try:
        with ThreadPoolExecutor(len(logins)) as pool:
            waiting = [pool.submit(assault.ask, "GET", back, headers={"Cookie": cookie}) for cookie, back in logins]
            while not all(one.done() for one in waiting):
                assault.ask("GET", "/v1/hosts", headers=assault.arena.admin, expect=(200,), what="beside logins")
            for one in waiting:
                _judge(assault, "a provider that says nothing", one.result())
    finally:
        provider.answers.set()
