"""Logging in through an OpenID provider: with a real one as its own process, and with one that lies."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import OctKey

from factories.loopback import NO_AUTHORITIES, free_port
from factories.oidc_provider import CLIENT_ID, CLIENT_SECRET, Provider, new_key, oidc_provider
from factories.people import ADMIN, keep_session_key, make_user
from factories.prometheus import answers
from factories.services import running
from factories.waiting import DEADLINE_SECONDS, until
from tierscope.core.settings import Settings
from tierscope.usecases.access.oidc.provider import AT_ONCE
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.access.users import Users, UserUpdate

pytestmark = [pytest.mark.parametrize("storage_mode", ["native"], indirect=True), pytest.mark.running_clock]

LOGOUT = "/v1/login/oidc/logout"
ROLES = {"role_claim": "realm_access.roles", "roles": {"mem-admins": "admin", "mem-team": "operator"}}


def settings(database_url: str, issuer: str, **oidc: object) -> Settings:
    """Settings with a provider; its loopback address is allowed, as an internal one would have to be."""
    own = {"issuer": issuer, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "allow": "127.0.0.1"}
    return Settings.model_validate({"database_url": database_url, "oidc": own | {"default_role": "viewer"} | oidc})


@pytest.fixture
def provider() -> Iterator[Provider]:
    with oidc_provider() as running_provider:
        yield running_provider


def go(client: httpx.Client, next_path: str = "/services?range=7d") -> httpx.Response:
    """Goes to the provider and comes back, as a browser does; returns the last redirect of the service."""
    keep_session_key(client)
    client.cookies.clear()
    to_provider = client.get("/v1/login/oidc/start", params={"next": next_path})
    assert to_provider.status_code == 303, to_provider.text
    # The provider sees none of the service's cookies.
    with httpx.Client(timeout=DEADLINE_SECONDS, verify=NO_AUTHORITIES) as elsewhere:
        back = elsewhere.get(to_provider.headers["location"])
    return client.get(back.headers["location"])


def who(client: httpx.Client) -> dict[str, Any]:
    answer: dict[str, Any] = client.get("/v1/session").json()
    return answer


def test_a_login_makes_the_user_and_goes_where_it_began(database_url: str, provider: Provider) -> None:
    provider.claims |= {"email": "ann@example.org", "realm_access": {"roles": ["mem-team", "other"]}}
    with running(settings(database_url, provider.issuer, **ROLES)) as (app, client):
        begun = client.get("/v1/login/oidc/start")
        cookie = begun.headers["set-cookie"].lower()
        assert "samesite=lax" in cookie
        assert "httponly" in cookie
        assert "max-age=600" in cookie
        answer = go(client)
        assert (answer.status_code, answer.headers["location"]) == (303, "/services?range=7d")
        session = next(
            value
            for value in answer.headers.get_list("set-cookie")
            if value.startswith("tierscope_session_") and "=tss_" in value
        )
        assert "samesite=strict" in session.lower()
        told = who(client)
        assert (told["kind"], told["name"], told["role"]) == ("session", "ann", "operator")
        (user,) = app.state.use_cases.users.list()
        assert (user.source, user.email, user.name) == ("oidc", "ann@example.org", "ann")
        # The provider is believed anew at each login.
        provider.claims["realm_access"] = {"roles": ["mem-admins"]}
        assert go(client).headers["location"] == "/services?range=7d"
        assert who(client)["role"] == "admin"
        assert len(app.state.use_cases.users.list()) == 1
        actions = [item["action"] for item in client.get("/v1/audit").json()["items"]]
        assert actions == ["session.create", "user.update", "session.create", "user.create"]
    assert provider.refusals == []


def lie(**claims: object) -> Callable[[dict[str, Any]], None]:
    """Changes claims before they are signed; None removes one."""

    def change(signed: dict[str, Any]) -> None:
        for name, value in claims.items():
            if value is None:
                signed.pop(name, None)
            else:
                signed[name] = value

    return change


LIES: dict[str, dict[str, object]] = {
    "another nonce": {"nonce": "mine"},
    "no nonce": {"nonce": None},
    "expired": {"exp": 1_700_000_000},
    "no expiry": {"exp": None},
    "for another client": {"aud": "another"},
    "for several, not said for whom": {"aud": [CLIENT_ID, "another"]},
    "for several, and for another": {"aud": [CLIENT_ID, "another"], "azp": "another"},
    "of another issuer": {"iss": "https://elsewhere.example"},
    "of nobody": {"sub": None},
    "of another access token": {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
    "made in the future": {"iat": 4_000_000_000},
}


def test_what_is_not_for_this_login_is_refused(database_url: str, provider: Provider) -> None:
    wrong = []
    with running(settings(database_url, provider.issuer)) as (app, client):
        for name, claims in LIES.items():
            provider.tamper = lie(**claims)
            answer = go(client)
            if answer.headers["location"] != "/login?error=failed" or who(client)["kind"] == "session":
                wrong.append(f"{name}: {answer.headers['location']}")
        assert app.state.use_cases.users.list() == []
        provider.tamper = None
        assert go(client).headers["location"] == "/services?range=7d"
    assert wrong == []


TEXTS = {
    "a surrogate": "ann\ud800",
    "a zero byte": "ann\0",
    "as much as a token holds": "ann" + "n" * 60_000,
}


@pytest.mark.parametrize("claim", ["sub", "preferred_username", "name", "email", "realm_access", "groups"])
def test_texts_of_a_provider_are_stored_or_refused(database_url: str, provider: Provider, claim: str) -> None:
    own = {**ROLES, "default_role": "viewer", "team_claim": "groups"}
    provider.userinfo = {"sub": "ann-1"}
    with running(settings(database_url, provider.issuer, **own)) as (_, client):
        for name, text in TEXTS.items():
            provider.claims = {"sub": "ann-1", claim: {"roles": [text]} if claim == "realm_access" else text}
            location = go(client).headers["location"]
            assert location == ("/login?error=failed" if claim == "sub" else "/services?range=7d"), name


@pytest.mark.parametrize("path", ["/token", "/keys", "/userinfo", "/.well-known/openid-configuration"])
def test_a_provider_that_answers_anything_is_refused(database_url: str, provider: Provider, path: str) -> None:
    bodies = (b"[" * 200_000, b'{"a":' * 100_000, b"\xff\xfe", b"null", b'{"keys": 7, "id_token": 7, "issuer": []}')
    for body in (*bodies, b'{"keys": [7, {"kty": "EC", "crv": "P-0"}, {"kty": "RSA", "n": "AA", "e": ""}]}'):
        provider.bodies = {path: body}
        provider.userinfo = {"sub": "ann-1"}
        with running(settings(database_url, provider.issuer, team_claim="groups")) as (_, client):
            to_provider = client.get("/v1/login/oidc/start")
            if path == "/.well-known/openid-configuration":
                assert to_provider.headers["location"] == "/login?error=failed", body[:9]
            else:
                assert go(client).headers["location"] == "/login?error=failed", body[:9]


@pytest.mark.parametrize(
    "payload", [b"[" * 200_000, b'{"exp": 1e999, "iat": 1e999, "sub": "a"}', b'{"aud": {"a": []}}']
)
def test_a_signed_text_that_is_no_token_is_refused(database_url: str, provider: Provider, payload: bytes) -> None:
    with running(settings(database_url, provider.issuer)) as (_, client):
        provider.payload = payload
        assert go(client).headers["location"] == "/login?error=failed"


def test_a_key_that_cannot_be_read_is_passed_over(database_url: str, provider: Provider) -> None:
    keys = [{"kty": "EC", "crv": "P-0", "x": "AA", "y": "AA"}, provider.signing_key.as_dict(private=False)]
    provider.bodies = {"/keys": json.dumps({"keys": keys}).encode()}
    with running(settings(database_url, provider.issuer)) as (_, client):
        assert go(client).headers["location"] == "/services?range=7d"


def test_a_provider_that_says_nothing_holds_up_nobody_else(database_url: str, provider: Provider) -> None:
    with running(settings(database_url, provider.issuer)) as (_, client), ThreadPoolExecutor(60) as pool:
        begun = client.get("/v1/login/oidc/start")
        back = httpx.get(begun.headers["location"], verify=NO_AUTHORITIES).headers["location"]
        cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}
        client.cookies.clear()
        provider.answers.clear()
        try:
            waiting = [pool.submit(client.get, back, headers=cookie) for _ in range(60)]
            until(lambda: sum(one.done() for one in waiting) >= 60 - AT_ONCE, "all but a few are told")
            told = {one.result().headers["location"] for one in waiting if one.done()}
            assert told == {"/login?error=unreachable"}
            assert client.get("/v1/hosts").status_code == 200
        finally:
            provider.answers.set()
    assert provider.asked < 60


def test_signatures_of_others_are_refused_and_new_keys_are_fetched(database_url: str, provider: Provider) -> None:
    with running(settings(database_url, provider.issuer)) as (app, client):
        assert go(client).headers["location"] == "/services?range=7d"
        known = provider.signing_key
        # A key of nobody's under the known name, one under another name, no signature, the client's secret as a key.
        for key, header in (
            (new_key("k1"), {}),
            (new_key("k9"), {}),
            (known, {"alg": "none"}),
            (OctKey.import_key(CLIENT_SECRET), {"alg": "HS256", "kid": "k1"}),
        ):
            provider.signing_key, provider.header = key, header
            assert go(client).headers["location"] == "/login?error=failed"
        # The provider changes its key: what is unknown is asked for again, though not at once after the last time.
        provider.header = {}
        provider.signing_key = changed = new_key("k2")
        provider.published.append(changed)
        reads = provider.key_reads
        app.state.use_cases.oidc._provider.monotonic = lambda: time.monotonic() + 60
        assert go(client).headers["location"] == "/services?range=7d"
        assert provider.key_reads == reads + 1


def test_a_browser_that_did_not_begin_is_not_logged_in(database_url: str, provider: Provider) -> None:
    with running(settings(database_url, provider.issuer)) as (_, client):
        begun = client.get("/v1/login/oidc/start")
        asked = parse_qs(urlsplit(begun.headers["location"]).query)
        assert asked["code_challenge_method"] == ["S256"]
        back = httpx.get(begun.headers["location"], verify=NO_AUTHORITIES).headers["location"]
        address = urlsplit(back)
        mine = dict(client.cookies)
        for cookies, query in (
            ({}, address.query),  # another browser
            (mine, address.query.replace("state=", "state=x")),
            (mine, "code=code-0"),
            ({"tierscope_oidc": "a.b.c"}, address.query),
            ({"tierscope_oidc": mine["tierscope_oidc"] + "x"}, address.query),
        ):
            client.cookies.clear()
            for name, value in cookies.items():
                client.cookies.set(name, value)
            answer = client.get(f"{address.path}?{query}")
            assert answer.headers["location"] == "/login?error=expired"
        client.cookies.clear()
        client.cookies.set("tierscope_oidc", mine["tierscope_oidc"])
        assert client.get(f"{address.path}?{address.query}&iss=https://elsewhere.example").status_code == 303
        assert who(client)["kind"] != "session"


@pytest.mark.parametrize(
    "place",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        "evil.example",
        "",
        "/é",
    ],
)
def test_a_login_leads_nowhere_else(database_url: str, provider: Provider, place: str) -> None:
    with running(settings(database_url, provider.issuer)) as (_, client):
        answer = client.get("/v1/login/oidc/start", params={"next": place})
        assert answer.status_code == 400
        assert "location" not in answer.headers


def test_people_are_kept_out_as_the_settings_and_administrators_say(database_url: str, provider: Provider) -> None:
    provider.userinfo = {"sub": "ann-1"}
    with running(settings(database_url, provider.issuer, default_role=None, **ROLES)) as (app, client):
        assert go(client).headers["location"] == "/login?error=not-allowed"
        assert app.state.use_cases.users.list() == []
        provider.claims["realm_access"] = {"roles": ["mem-team"]}
        assert go(client).headers["location"] == "/services?range=7d"
        bearer = dict(client.cookies)
        (user,) = app.state.use_cases.users.list()
        change = UserUpdate(display_name="", email=None, role="operator", disabled=True)
        app.state.use_cases.users.update(user.public_id, change, by=ADMIN)
        client.cookies.clear()
        for name, value in bearer.items():
            client.cookies.set(name, value)
        assert who(client)["kind"] == "anonymous"  # its session ended at once
        assert go(client).headers["location"] == "/login?error=disabled"
        provider.error = "access_denied"
        assert go(client).headers["location"] == "/login?error=refused"


def test_names_are_not_what_people_are_known_by(database_url: str, provider: Provider) -> None:
    with running(settings(database_url, provider.issuer)) as (app, client):
        local = make_user(app.state.use_cases.database, "ann", "admin")
        assert go(client).headers["location"] == "/services?range=7d"
        told = who(client)
        assert (told["role"], told["name"] == "ann", told["user_id"] == local.public_id) == ("viewer", False, False)
        provider.claims |= {"sub": "ann-2"}
        assert go(client).headers["location"] == "/services?range=7d"
        assert len(Users(app.state.use_cases.database).list()) == 3


def test_teams_follow_the_claim_and_what_the_token_lacks_is_asked_for(database_url: str, provider: Provider) -> None:
    own = {"team_claim": "groups", "teams": {"g-17": "storage"}}
    with running(settings(database_url, provider.issuer, **own)) as (app, client):
        by = Caller(kind="token", name="test", role="admin")
        team = app.state.use_cases.teams.create(_team("storage"), by=by)
        app.state.use_cases.teams.create(_team("search"), by=by)
        provider.claims["groups"] = ["g-17", "search", "unknown"]
        go(client)
        assert [item["name"] for item in who(client)["teams"]] == ["search", "storage"]
        del provider.claims["groups"]
        provider.userinfo = {"sub": "ann-1", "groups": ["g-17"]}
        go(client)
        assert [item["id"] for item in who(client)["teams"]] == [team.public_id]
        provider.userinfo = {"sub": "ann-2", "groups": ["search"]}
        assert go(client).headers["location"] == "/login?error=failed"


def _team(name: str) -> Any:  # noqa: ANN401 - a use case's value
    from tierscope.usecases.access.teams import TeamRequest  # noqa: PLC0415 - used here alone

    return TeamRequest(name, [], [])


def test_a_provider_that_is_not_there_or_not_allowed_is_said(database_url: str, provider: Provider) -> None:
    with running(settings(database_url, provider.issuer, allow="")) as (_, client):
        assert client.get("/v1/login/oidc/start").headers["location"] == "/login?error=unreachable"
    with running(settings(database_url, provider.issuer.replace("http://127.0.0.1", "http://10.0.0.1"))) as (_, client):
        assert client.get("/v1/login/oidc/start").headers["location"] == "/login?error=failed"  # http beyond loopback
    with running(settings(database_url, f"{provider.issuer}/")) as (_, client):
        assert client.get("/v1/login/oidc/start").headers["location"] == "/login?error=failed"  # another issuer


def test_without_a_provider_there_is_no_such_login(database_url: str) -> None:
    with running(Settings(database_url=database_url)) as (_, client):
        assert client.get("/v1/login/methods").json() == {"password": True, "oidc": None}
        assert client.get("/v1/login/oidc/start").status_code == 404
        assert client.get(LOGOUT).headers["location"] == "/login"


@pytest.mark.parametrize(
    ("offered", "place"),
    [
        ("https://login.example/bye", "https://login.example/bye?client_id=tierscope"),
        ("https://login.example/bye?realm=main", "https://login.example/bye?realm=main&client_id=tierscope"),
        (None, "/login"),
        ("http://login.example/bye", "/login?error=failed"),  # not over https
    ],
)
def test_a_logout_goes_on_to_the_provider(
    database_url: str, provider: Provider, offered: str | None, place: str
) -> None:
    provider.end_session = offered
    answers = settings(database_url, provider.issuer, end_provider_session=True)
    with running(answers.model_copy(update={"public_url": "https://tierscope.example/"})) as (_, client):
        location = client.get(LOGOUT).headers["location"]
        back = "&post_logout_redirect_uri=https%3A%2F%2Ftierscope.example%2Flogin"
        assert location == place + (back if place.startswith("https") else "")


def test_only_those_who_came_through_the_provider_are_sent_there(database_url: str, provider: Provider) -> None:
    for wanted in (False, True):
        with running(settings(database_url, provider.issuer, end_provider_session=wanted)) as (app, client):
            assert who(client)["logout_url"] is None
            go(client)
            assert who(client)["logout_url"] == (LOGOUT if wanted else None)
            headers = {"X-CSRF-Token": who(client)["csrf_token"]}
            assert client.get(LOGOUT).headers["location"] == "/login"  # it ends no session
            assert who(client)["kind"] == "session"
            assert client.delete("/v1/session", headers=headers).status_code == 204
            assert who(client)["kind"] == "anonymous"
            link = app.state.use_cases.access.create_link(actor="test")
            assert client.post("/v1/session", json={"link": link.secret}).json()["logout_url"] is None
            client.cookies.clear()


@contextmanager
def provider_process(*users: Mapping[str, object]) -> Iterator[str]:
    """Yields the issuer of a provider that runs as a process of its own."""
    port = free_port()
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), "--require-nonce", "true"]
    for user in users:
        command += ["--user-claims", json.dumps(user)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        issuer = f"http://127.0.0.1:{port}"
        until(lambda: answers(f"{issuer}/jwks"), "the provider answers", alive={"it": process})
        yield issuer
    finally:
        process.terminate()
        process.communicate()


def test_a_login_through_a_real_provider(database_url: str) -> None:
    people = ({"sub": "ann", "groups": ["mem-admins"]}, {"sub": "bob", "groups": ["other"]})
    own = {"role_claim": "groups", "roles": {"mem-admins": "admin"}, "default_role": None, "name_claim": "sub"}
    with (
        provider_process(*people) as issuer,
        running(settings(database_url, issuer, label="Company login", **own)) as (_, client),
        httpx.Client(timeout=DEADLINE_SECONDS, verify=NO_AUTHORITIES) as elsewhere,
    ):
        keep_session_key(client)
        offered = client.get("/v1/login/methods").json()["oidc"]
        assert offered == {"label": "Company login", "start_url": "/v1/login/oidc/start"}
        for person, place, role in (("ann", "/hosts", "admin"), ("bob", "/login?error=not-allowed", None)):
            client.cookies.clear()
            begun = client.get(offered["start_url"], params={"next": "/hosts"})
            assert "Authorize" in elsewhere.get(begun.headers["location"]).text
            back = elsewhere.post(begun.headers["location"], data={"sub": person})
            assert back.status_code == 302
            answer = client.get(back.headers["location"])
            assert answer.headers["location"] == place
            assert who(client)["role"] == role
        leaving = elsewhere.get(client.get(LOGOUT).headers["location"])
        assert leaving.status_code == 200
        assert "/login" in leaving.text, "where the provider will lead back to"
