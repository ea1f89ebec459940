"""People and programs: links, sessions, CSRF, tokens, the Host header, the audit trail."""

import base64
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import quote

import httpx
import pytest

from factories.people import keep_session_key
from factories.services import running
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.storage.base.schema import upgrade
from tierscope.usecases.access.tokens import Access
from tierscope.usecases.base.subjects import encode_cursor

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@dataclass(slots=True)
class Service:
    client: httpx.Client
    access: Access

    def log_in(self) -> dict[str, str]:
        """Logs the client in as admin; returns the header that writes need."""
        keep_session_key(self.client)
        link = self.access.create_link(actor="test").secret
        answer = self.client.post("/v1/session", json={"link": link})
        assert answer.status_code == 200
        return {"X-CSRF-Token": answer.json()["csrf_token"]}


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with running(Settings(database_url=database_url, allowed_hosts=("tiers.example",))) as (app, client):
        yield Service(client, app.state.use_cases.access)


def slug(answer: httpx.Response) -> str:
    """The last part of a problem's type."""
    return str(answer.json()["type"]).rpartition("/")[2]


def test_a_link_logs_in_once(service: Service) -> None:
    link = service.access.create_link(actor="test").secret
    answer = service.client.post("/v1/session", json={"link": link})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    key = {"X-Session-Key": answer.json()["session_key"]}
    told = service.client.get("/v1/session", headers=key).json()
    assert (told["role"], told["session_key"]) == ("admin", None)
    service.client.cookies.clear()
    again = service.client.post("/v1/session", json={"link": link})
    assert (again.status_code, slug(again)) == (401, "unknown-token")


def test_the_login_page_uses_the_link_only_on_its_button(service: Service) -> None:
    link = service.access.create_link(actor="test").secret
    page = service.client.get("/login", params={"link": link})
    assert link in page.text
    assert "set-cookie" not in page.headers
    answer = service.client.post("/login", data={"link": link})
    place, _, key = answer.headers["location"].partition("#session-key=")
    assert (answer.status_code, place) == (303, "/")
    assert service.client.get("/v1/session", headers={"X-Session-Key": key}).json()["kind"] == "session"


def test_the_cookie_which_every_port_of_the_host_gets_is_no_session(service: Service) -> None:
    answer = service.client.post("/v1/session", json={"link": service.access.create_link(actor="test").secret})
    key, csrf = (answer.json()[name] for name in ("session_key", "csrf_token"))
    cookie = service.client.cookies[answer.headers["set-cookie"].partition("=")[0]]
    assert key not in cookie
    assert len(key) * 6 > 120, "bits of base64"
    for wrong in ({}, {"X-Session-Key": ""}, {"X-Session-Key": key[:-1]}, {"X-Session-Key": cookie + key}):
        told = service.client.get("/v1/session", headers=wrong).json()
        assert (told["kind"], told["csrf_token"]) == ("anonymous", None)
        sent = {**wrong, "X-CSRF-Token": csrf}
        answer = service.client.post("/v1/events", json={"kind": "mark", "text": "x"}, headers=sent)
        assert (answer.status_code, slug(answer)) == (401, "login-needed")


@pytest.mark.parametrize("place", ["/login", "/login/password"])
def test_a_link_that_is_void_says_so_on_a_page_and_to_programs_as_an_error(service: Service, place: str) -> None:
    form = {"link": "<b>void", "password": "correct horse battery staple"}
    page = service.client.post(place, data=form, headers={"Accept": "text/html,*/*;q=0.8"})
    assert (page.status_code, page.headers["content-type"].partition(";")[0]) == (401, "text/html")
    assert "has expired" in page.text
    assert "<code>tierscope " in page.text
    assert "<b>void" not in page.text
    weak = service.client.post(place, data={**form, "password": "short"}, headers={"Accept": "text/html"})
    assert (weak.status_code, weak.text) == (401, page.text)
    answer = service.client.post(place, data=form)
    assert (answer.status_code, slug(answer)) == (401, "unknown-token")


def test_the_login_page_escapes_what_it_is_given(service: Service) -> None:
    page = service.client.get("/login", params={"link": '"><script>alert(1)</script>'})
    assert "<script>" not in page.text


def test_a_write_of_a_session_needs_its_csrf_token(service: Service) -> None:
    header = service.log_in()
    event = {"text": "deployed"}
    for wrong in (b"", b"x", b"\xe9"):
        answer = service.client.post("/v1/events", json=event, headers={b"X-CSRF-Token": wrong})
        assert (answer.status_code, slug(answer)) == (403, "bad-csrf")
    assert service.client.post("/v1/events", json=event, headers=header).status_code == 201


def test_two_instances_on_one_machine_keep_their_sessions_apart(
    service: Service, database_url: str, empty_database_url: str
) -> None:
    upgrade(empty_database_url)
    live = service.log_in()
    with running(Settings(database_url=empty_database_url)) as (app, other):
        demo = Service(other, app.state.use_cases.access)
        demo.client.cookies.update(service.client.cookies)  # a browser sends cookies of all ports to each
        assert demo.client.get("/v1/session").json()["kind"] == "anonymous"
        demo.log_in()
        names = {name for name, _ in demo.client.cookies.items()}
        assert len(names) == 2
        assert all(name.startswith("tierscope_session_") for name in names)
        service.client.cookies.update(demo.client.cookies)
        assert service.client.get("/v1/session").json()["csrf_token"] == live["X-CSRF-Token"]
        assert demo.client.get("/v1/session").json()["csrf_token"] != live["X-CSRF-Token"]
    with closing(Database(database_url)) as database:
        assert Access(database).instance_name() == service.access.instance_name(), "another process has the same"


def test_logging_out_ends_the_session_for_good(service: Service) -> None:
    header = service.log_in()
    stolen = dict(service.client.cookies)
    assert service.client.delete("/v1/session", headers=header).status_code == 204
    for name, value in stolen.items():
        service.client.cookies.set(name, value)
    assert service.client.get("/v1/session").json()["kind"] == "anonymous"


def test_a_token_is_shown_once_and_revoked_at_once(service: Service) -> None:
    header = service.log_in()
    made = service.client.post("/v1/tokens", json={"role": "operator", "note": "ci"}, headers=header).json()
    listed = service.client.get("/v1/tokens").text
    assert made["id"] in listed
    assert made["token"] not in listed
    bearer = {"Authorization": f"Bearer {made['token']}"}
    service.client.cookies.clear()
    assert service.client.post("/v1/events", json={"text": "a"}, headers=bearer).status_code == 201
    service.access.revoke_token(made["id"], actor="test")
    assert service.client.post("/v1/events", json={"text": "a"}, headers=bearer).status_code == 401


def test_every_write_is_in_the_audit_trail(service: Service) -> None:
    header = service.log_in()
    join = service.client.post("/v1/agents/join-tokens", json={"labels": {"rack": "r1"}}, headers=header).json()
    body = {"join_token": join["token"], "hostname": "n", "labels": {"rack": "mine", "sku": "x"}}
    host = service.client.post("/v1/agents/enrol", json=body).json()
    service.client.post("/v1/events", json={"text": "t", "host_id": host["host_id"]}, headers=header)
    assert service.client.post(f"/v1/agents/{host['host_id']}/revoke", headers=header).status_code == 204
    page = service.client.get("/v1/audit", params={"limit": 3}).json()
    rest = service.client.get("/v1/audit", params={"cursor": page["next_cursor"]}).json()
    actions = [item["action"] for item in page["items"] + rest["items"]]
    assert actions == [
        "host.revoke",
        "event.create",
        "host.enrol",
        "token.create",
        "session.create",
        "token.create",
    ]
    assert host["credential"] not in str(page) + str(rest)


def test_a_join_token_has_as_many_uses_as_it_was_given(service: Service) -> None:
    token = service.access.create_join_token(uses=2, origin="import", actor="test").secret
    body = {"join_token": token, "hostname": "same-name"}
    answers = [service.client.post("/v1/agents/enrol", json=body) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [201, 201, 401]
    assert answers[0].json()["host_id"] != answers[1].json()["host_id"]


def test_the_settings_of_an_agent_are_not_sent_twice(service: Service) -> None:
    token = service.access.create_join_token(actor="test").secret
    host = service.client.post("/v1/agents/enrol", json={"join_token": token, "hostname": "n"}).json()
    bearer = {"Authorization": f"Bearer {host['credential']}"}
    first = service.client.get("/v1/agent/config", headers=bearer)
    assert first.json() == {
        "interval_seconds": 60,
        "send_minutes": 1,
        "paused": False,
        "heat": {"enabled": True, "services": None, "sample_services": None},
        "version": 1,
    }
    again = service.client.get("/v1/agent/config", headers=bearer | {"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_same_idempotency_key_stores_one_event(service: Service) -> None:
    header = service.log_in() | {"Idempotency-Key": "k1"}
    answers = [service.client.post("/v1/events", json={"text": "a"}, headers=header) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    other = service.client.post("/v1/events", json={"text": "b"}, headers=header)
    assert (other.status_code, slug(other)) == (409, "conflict")
    assert len(service.client.get("/v1/events").json()["items"]) == 1


def test_events_are_paged_newest_first(service: Service) -> None:
    header = service.log_in()
    for number in range(5):
        service.client.post("/v1/events", json={"text": f"e{number}"}, headers=header)
    texts, cursor = [], None
    while True:
        page = service.client.get("/v1/events", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        texts += [item["text"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert texts == ["e4", "e3", "e2", "e1", "e0"]
    assert slug(service.client.get("/v1/events", params={"cursor": "nonsense"})) == "bad-request"


@pytest.mark.parametrize(
    ("path", "cursor"),
    [
        ("/v1/sweeps", "9" * 30),
        ("/v1/sweeps", "\u0662"),
        ("/v1/experiments", "9" * 30),
        ("/v1/alerts", "1.0-" + "9" * 30),
        ("/v1/events", base64.urlsafe_b64encode(b"2026-01-01T00:00:00+00:00|" + b"9" * 30).decode()),
        ("/v1/scenarios", encode_cursor(10**30)),
        ("/v1/series?match=m", encode_cursor(10**30)),
    ],
)
def test_a_cursor_beyond_any_id_is_refused(service: Service, path: str, cursor: str) -> None:
    sent = quote(cursor)
    answer = service.client.get(f"{path}{'&' if '?' in path else '?'}cursor={sent}")
    assert (answer.status_code, slug(answer)) == (400, "bad-request")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("tiers.example", 200),
        ("[::1]:80", 200),
        ("evil.example", 400),
        ("[::1].evil.example", 400),
        ("[::1", 400),
        ("localhost:1.evil.example", 400),
        ("localhost:1@evil.example", 400),
    ],
)
def test_only_listed_names_reach_the_service(service: Service, host: str, status: int) -> None:
    answer = service.client.get("/v1/session", headers={"Host": host})
    assert answer.status_code == status
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert service.client.get("/healthz", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/metrics", "/metrics/fleet", "/v1/fleet", "/openapi.json", "/"]
)
def test_a_foreign_name_is_refused_everywhere(service: Service, path: str) -> None:
    for authorization in ("Bearer \xa0", "Bearer x", "Bearer", ""):
        headers = {b"Host": b"evil.example", b"Authorization": authorization.encode("latin-1")}
        answer = service.client.get(path, headers=headers)
        assert (answer.status_code, slug(answer)) == (400, "bad-host"), authorization


def test_probes_and_scrapes_with_a_token_may_name_an_address(service: Service) -> None:
    host = {"Host": "10.1.2.3:8480"}
    assert service.client.get("/healthz", headers=host).status_code == 200
    assert slug(service.client.get("/metrics", headers=host)) == "bad-host"
    odd = {b"Host": b"10.1.2.3:8480", b"Authorization": b"Bearer \xa0"}
    assert slug(service.client.get("/metrics", headers=odd)) == "unknown-token"


@pytest.mark.parametrize("value", [b"", b"Bearer", b"Bearer \xa0", b"Basic eDp5", b"x", b"\xff"])
def test_whoever_sends_an_authorization_is_never_anonymous(service: Service, value: bytes) -> None:
    assert service.client.get("/v1/fleet").status_code == 200
    for path in ("/v1/fleet", "/metrics", "/metrics/fleet", "/v1/session"):
        answer = service.client.get(path, headers={b"Authorization": value})
        assert (answer.status_code, slug(answer)) == (401, "unknown-token"), path
    service.log_in()
    assert service.client.get("/v1/fleet", headers={b"Authorization": value}).status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:5173", 200),
        ("https://tiers.example", 200),
        ("http://[::1]:80", 200),
        ("https://evil.example", 400),
        ("https://localhost.evil.example", 400),
        ("https://localhost:1@evil.example", 400),
        ("http://[::1].evil.example", 400),
        ("http://[", 400),
        ("null", 400),
        ("", 400),
    ],
)
def test_pages_of_other_sites_are_refused(service: Service, origin: str, status: int) -> None:
    for path in ("/v1/fleet", "/metrics", "/metrics/fleet", "/healthz"):
        answer = service.client.get(path, headers={"Origin": origin})
        assert answer.status_code == status, path
        assert status == 200 or slug(answer) == "bad-origin"


def test_the_login_form_may_hide_its_origin(service: Service) -> None:
    link = {"link": service.access.create_link(actor="test").secret}
    elsewhere = {"Origin": "null", "Sec-Fetch-Site": "cross-site"}
    assert slug(service.client.post("/login", data=link, headers=elsewhere)) == "bad-origin"
    assert service.client.post("/login", data=link, headers={"Origin": "null"}).status_code == 303


def test_unknown_addresses_and_methods_are_problems(service: Service) -> None:
    assert slug(service.client.get("/v1/nothing")) == "not-found"
    assert slug(service.client.put("/v1/events")) == "method-not-allowed"
    assert slug(service.client.post("/v1/agents/enrol", json={"hostname": 1})) == "invalid"
    assert service.client.get("/readyz").json() == {"ready": True, "reason": None}


def test_by_tls_the_session_is_of_this_host_alone(database_url: str) -> None:
    """Browsers take a cookie of this prefix with Secure, Path=/ and no Domain alone, when it is deleted too."""
    with running(Settings(database_url=database_url, secure_cookies=True)) as (app, client):
        link = app.state.use_cases.access.create_link(actor="t").secret
        answer = client.post("/v1/session", json={"link": link})
        (given,) = [one for one in answer.headers.get_list("set-cookie") if "=tss_" in one]
        pair, *marks = given.split("; ")
        name, _, secret = pair.partition("=")
        assert name == "__Host-tierscope_session_" + app.state.use_cases.access.instance_name()
        assert {"Secure", "HttpOnly", "Path=/", "SameSite=strict"} <= set(marks)
        assert not any(mark.startswith("Domain") for mark in marks)
        assert answer.json()["session_key"] is None, "no other port gets the cookie"
        by = {"Cookie": pair, "X-Session-Key": "of a session without TLS"}
        told = client.get("/v1/session", headers=by).json()
        assert told["kind"] == "session"
        plain = {"Cookie": f"{name.removeprefix('__Host-')}={secret}"}
        assert client.get("/v1/session", headers=plain).json()["kind"] != "session", "whoever else set it"
        ended = client.delete("/v1/session", headers={**by, "X-CSRF-Token": told["csrf_token"]})
        assert "Secure" in ended.headers["set-cookie"]
        assert ended.headers["set-cookie"].startswith(f"{name}=")
