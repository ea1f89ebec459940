"""What a page elsewhere makes a browser send: writes with a session's cookie, and cookies that are not one's own."""

from collections.abc import Iterator

from attack.assault import Assault
from factories.people import session_of

_WRITES = (
    ("POST", "/v1/events"),
    ("POST", "/v1/rules"),
    ("PUT", "/v1/alert-routes"),
    ("POST", "/v1/agents/pause"),
    ("POST", "/v1/users"),
    ("POST", "/v1/tokens"),
    ("DELETE", "/v1/session"),
    ("POST", "/v1/scenarios"),
    ("DELETE", "/v1/users/none"),
    ("POST", "/v1/me/tokens"),
    ("PUT", "/v1/me/password"),
)
_TYPES = ("application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "")
_ORIGINS = (
    "http://evil.example",
    "null",
    "http://localhost.evil.example",
    "http://localhost@evil.example",
    "https://evil.example#localhost",
    "http://[::1].evil.example",
    "file://",
    "chrome-extension://x",
    "http://evil.example\\@localhost",
    "http://localhost\x00.evil.example",
    "",
)


def attack(assault: Assault) -> None:
    """Forged writes, fixed sessions, strange cookies."""
    admin = assault.arena.sessions["admin"]
    for method, path in assault.some(_WRITES, 5):
        for name, headers in _without_proof(assault, admin):
            for media in assault.some(_TYPES, 2):
                sent = {**headers, "Content-Type": media} if media else headers
                said = f"{method} {path} with {name} as {media}"
                assault.ask(method, path, headers=sent, content=b'{"text":"csrf"}', expect=(401, 403), what=said)
        for origin in assault.some(_ORIGINS, 4):
            sent = {**admin, "Origin": origin, "Content-Type": "application/json"}
            if origin:
                said = f"{method} {path} from {origin!r}"
                assault.ask(method, path, headers=_raw(sent), content=b"{}", expect=(400, 403), what=said)
    _fixation(assault)
    _cookies(assault)
    still = assault.ask("GET", "/v1/session", headers=admin, expect=(200,))
    if still is not None and still.json()["kind"] != "session":
        assault.found("a forged request ended the administrator's session")


def _raw(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as bytes; NUL is what no client lets through."""
    return [(name.encode(), value.replace("\x00", "\x01").encode("latin-1")) for name, value in headers.items()]


def _without_proof(assault: Assault, admin: dict[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """A session's cookie and what does not prove that its page asks."""
    cookie = {"Cookie": admin["Cookie"]}
    other = session_of(assault.arena.database, name=f"csrf-{assault.dice.getrandbits(40):x}", role="admin")
    yield "a cookie alone", cookie
    yield "an empty token", {**cookie, "X-CSRF-Token": ""}
    yield "a wrong token", {**cookie, "X-CSRF-Token": "0" * 64}
    yield "another session's token", {**cookie, "X-CSRF-Token": other["X-CSRF-Token"]}
    yield "the token in upper case", {**cookie, "X-CSRF-Token": admin["X-CSRF-Token"].upper()}
    yield "the token with more behind it", {**cookie, "X-CSRF-Token": admin["X-CSRF-Token"] + "0"}
    yield "the cookie as a token", {**cookie, "X-CSRF-Token": admin["Cookie"].partition("=")[2]}
    yield "an empty Authorization too", {**cookie, "Authorization": ""}
    yield "Basic too", {**cookie, "Authorization": "Basic YTpi"}


def _fixation(assault: Assault) -> None:
    """A cookie that was there before the login is not the session afterwards."""
    arena = assault.arena
    name = arena.sessions["admin"]["Cookie"].partition("=")[0]
    fixed = f"{name}=tss_{'a' * 43}"
    link = arena.access.create_link(actor="attack")
    entered = assault.ask("POST", "/v1/session", headers={"Cookie": fixed}, json={"link": link.secret}, expect=(200,))
    if entered is not None:
        set_cookie = entered.headers.get("set-cookie", "")
        if fixed in set_cookie or not set_cookie.startswith(name):
            assault.found(f"a login kept the cookie of before: {set_cookie[:80]}")
        if "HttpOnly" not in set_cookie or "samesite=strict" not in set_cookie.lower():
            assault.found(f"a session's cookie is open to scripts or other sites: {set_cookie[:160]}")
        _nobody(assault, set_cookie.partition(";")[0], "a cookie without its key")
    _nobody(assault, fixed, "a fixed cookie")
    assault.ask("POST", "/v1/session", json={"link": link.secret}, expect=(401,), what="a link, a second time")
    assault.ask("POST", "/login", data={"link": link.secret}, expect=(401,), what="a link, a second time as a form")
    opened = arena.access.create_link(actor="attack")
    for _ in range(3):
        assault.ask("GET", f"/login?link={opened.secret}", expect=(200,))
    assault.ask("POST", "/v1/session", json={"link": opened.secret}, expect=(200,), what="a link that was looked at")


def _cookies(assault: Assault) -> None:
    """Of another instance, several of one name, a very long one."""
    mine = assault.arena.sessions["admin"]["Cookie"]
    name, _, secret = mine.partition("=")
    _nobody(assault, f"tierscope_session_00000000={secret}", "a cookie of another instance")
    _nobody(assault, f"tierscope_session={secret}", "a cookie of no instance")
    _nobody(assault, f"{name.upper()}={secret}", "a cookie in upper case")
    _nobody(assault, f'{name}="{secret}x"', "a cookie in quotes")
    _nobody(assault, f"{name}={secret[:-1]}", "a cookie that was cut")
    viewer = assault.arena.sessions["viewer"]["Cookie"]
    for several in (f"{mine}; {viewer}", f"{viewer}; {mine}"):
        headers = {"Cookie": several, "X-CSRF-Token": "0" * 64}
        assault.ask("POST", "/v1/events", headers=headers, json={"text": "x"}, expect=(403,), what="two cookies")
    for size in (4 << 10, 30 << 10, 60 << 10):
        headers = {"Cookie": f"{name}={'x' * size}"}
        assault.ask("GET", "/v1/session", headers=headers, expect=(200, 400, 431), what=f"a cookie of {size} bytes")
        headers = {"Cookie": "; ".join(f"c{number}=x" for number in range(size // 8))}
        assault.ask("GET", "/v1/session", headers=headers, expect=(200, 400, 431), what=f"cookies of {size} bytes")


def _nobody(assault: Assault, cookie: str, what: str) -> None:
    answer = assault.ask("GET", "/v1/session", headers={"Cookie": cookie}, expect=(200,), what=what)
    if answer is not None and answer.status_code == 200 and answer.json()["kind"] == "session":
        assault.found(f"{what} was taken for a session")
