"""Local users: passwords and their links, sessions that end at once, tokens of one's own, teams that own services."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text

from factories.people import ADMIN, headers_after, make_owned, session_of
from factories.services import running
from tierscope.core.clock import utc_now
from tierscope.core.settings import Settings
from tierscope.usecases.access.tokens import Access
from tierscope.usecases.access.users import UserUpdate

pytestmark = [pytest.mark.parametrize("storage_mode", ["native"], indirect=True), pytest.mark.running_clock]

GOOD = "plover cutlass humid orbit"
OTHER = "seventeen quiet lanterns"


@dataclass(slots=True)
class Service:
    """A running service with an administrator who is logged in."""

    app: FastAPI
    client: httpx.Client
    admin: dict[str, str]

    def ask(self, method: str, path: str, *, body: object = None, as_: dict[str, str] | None = None) -> httpx.Response:
        """One request with the cookies of the headers alone; as the administrator unless said otherwise."""
        self.client.cookies.clear()
        return self.client.request(method, path, json=body, headers=self.admin if as_ is None else as_)

    def add(self, name: str, role: str = "viewer") -> str:
        made = self.ask("POST", "/v1/users", body={"name": name, "role": role})
        assert made.status_code == 201, made.text
        return str(made.json()["id"])

    def set_password(self, user_id: str, password: str) -> httpx.Response:
        """Uses a password link as a browser's form does."""
        path = self.ask("POST", f"/v1/users/{user_id}/password-link").json()["path"]
        link = path.partition("link=")[2]
        assert "<form" in self.client.get(path).text
        return self.client.post("/login/password", data={"link": link, "password": password})

    def log_in(self, name: str, password: str) -> httpx.Response:
        """Logs in; cookies are not kept."""
        self.client.cookies.clear()
        answer = self.client.post("/v1/session", json={"name": name, "password": password})
        self.client.cookies.clear()
        return answer


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    limits = {"wrong_logins_per_name_and_address": 3, "logins_per_address_per_minute": 1000}
    settings = Settings.model_validate({"database_url": database_url, "rate_limits": limits})
    with running(settings) as (app, client):
        yield Service(app, client, session_of(app.state.use_cases.database, name="root", role="admin"))


def slug(answer: httpx.Response) -> str:
    """The last part of a problem's type."""
    return str(answer.json()["type"]).rpartition("/")[2]


def test_a_user_sets_a_password_with_a_link_and_logs_in(service: Service) -> None:
    user = service.add("Ann.Lee", "operator")
    assert slug(service.log_in("ann.lee", GOOD)) == "wrong-login"  # there is no password yet
    path = service.ask("POST", f"/v1/users/{user}/password-link").json()["path"]
    void = path.partition("link=")[2]
    weak = service.set_password(user, "short")
    assert weak.status_code == 422
    assert "at least 15" in weak.text
    assert service.client.post("/login/password", data={"link": void, "password": GOOD}).status_code == 401
    done = service.set_password(user, GOOD)
    assert (done.status_code, done.headers["location"].partition("#session-key=")[0]) == (303, "/")
    assert "samesite=strict" in done.headers["set-cookie"].lower()
    told = service.log_in(" ANN.LEE ", GOOD).json()
    assert (told["name"], told["role"], told["kind"], told["user_id"]) == ("ann.lee", "operator", "session", user)
    (row,) = (row for row in service.ask("GET", "/v1/users").json() if row["id"] == user)
    assert row["last_login_at"] is not None
    for name, password in (("ann.lee", GOOD + " "), ("nobody", GOOD)):
        answer = service.log_in(name, password)
        assert (answer.status_code, slug(answer)) == (401, "wrong-login")


def test_a_link_that_sets_a_password_works_once(service: Service) -> None:
    user = service.add("ann")
    link = service.ask("POST", f"/v1/users/{user}/password-link").json()["path"].partition("link=")[2]
    form = {"link": link, "password": GOOD}
    assert service.client.post("/login/password", data=form).status_code == 303
    assert slug(service.client.post("/login/password", data=form)) == "unknown-token"
    assert slug(service.client.get("/login/password", params={"link": link})) == "unknown-token"
    # It is no login link, and a login link sets no password.
    assert slug(service.client.post("/v1/session", json={"link": link})) == "unknown-token"


@pytest.mark.usefixtures("whole_passwords")
def test_passwords_are_kept_as_argon2id_and_rehashed_when_parameters_change(service: Service) -> None:
    from argon2 import PasswordHasher  # noqa: PLC0415 - to make an old hash

    user = service.add("ann")
    service.set_password(user, GOOD)
    database = service.app.state.use_cases.database
    with database.read() as session:
        stored = session.execute(text("SELECT password_hash FROM users WHERE name = 'ann'")).scalar_one()
    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    old = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1).hash(GOOD)
    with database.write() as transaction:
        transaction.execute(text("UPDATE users SET password_hash = :old WHERE name = 'ann'"), {"old": old})
    assert service.log_in("ann", GOOD).status_code == 200
    with database.read() as session:
        stored = session.execute(text("SELECT password_hash FROM users WHERE name = 'ann'")).scalar_one()
    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert service.log_in("ann", GOOD).status_code == 200


def test_changing_the_password_ends_all_sessions_but_the_new_one(service: Service) -> None:
    service.set_password(service.add("ann"), GOOD)
    here, there = (headers_after(service.log_in("ann", GOOD)) for _ in range(2))
    change = {"current_password": "wrong", "new_password": OTHER}
    assert slug(service.ask("PUT", "/v1/me/password", body=change, as_=here)) == "wrong-login"
    weak = {"current_password": GOOD, "new_password": "annannannannannann"}
    assert slug(service.ask("PUT", "/v1/me/password", body=weak, as_=here)) == "weak-password"
    changed = service.ask("PUT", "/v1/me/password", body={"current_password": GOOD, "new_password": OTHER}, as_=here)
    for headers in (here, there):
        assert service.ask("GET", "/v1/me", as_=headers).status_code == 401
    assert service.ask("GET", "/v1/me", as_=headers_after(changed)).json()["name"] == "ann"
    assert service.log_in("ann", GOOD).status_code == 401
    assert service.log_in("ann", OTHER).status_code == 200


def test_disabling_ends_sessions_and_tokens_at_once_in_every_process(service: Service, database_url: str) -> None:
    user = service.add("ann", "operator")
    service.set_password(user, GOOD)
    session = headers_after(service.log_in("ann", GOOD))
    made = service.ask("POST", "/v1/me/tokens", body={"note": "ci", "scopes": ["write:events"]}, as_=session)
    token = {"Authorization": f"Bearer {made.json()['token']}"}
    event = {"text": "deployed"}
    with running(Settings(database_url=database_url)) as (_, second):
        assert second.post("/v1/events", json=event, headers=token).status_code == 201
        assert second.post("/v1/events", json=event, headers=session).status_code == 201
        change = {"role": "operator", "disabled": True}
        assert service.ask("PUT", f"/v1/users/{user}", body=change).json()["disabled"] is True
        second.cookies.clear()
        assert second.post("/v1/events", json=event, headers=token).status_code == 401
        assert second.post("/v1/events", json=event, headers=session).status_code == 401
    assert slug(service.log_in("ann", GOOD)) == "wrong-login"
    assert slug(service.ask("POST", f"/v1/users/{user}/password-link")) == "conflict"
    service.ask("PUT", f"/v1/users/{user}", body={"role": "operator", "disabled": False})
    for ended in (session, token):  # for good
        assert service.ask("POST", "/v1/events", body=event, as_=ended).status_code == 401
    assert service.log_in("ann", GOOD).status_code == 200


def test_another_role_counts_from_the_next_request_on(service: Service) -> None:
    user = service.add("ann", "operator")
    service.set_password(user, GOOD)
    session = headers_after(service.log_in("ann", GOOD))
    scopes = ["write:events", "read:fleet"]
    made = service.ask("POST", "/v1/me/tokens", body={"note": "ci", "scopes": scopes, "days": 1}, as_=session).json()
    token = {"Authorization": f"Bearer {made['token']}"}
    expires = datetime.fromisoformat(made["expires_at"]) - utc_now()
    assert timedelta(hours=23) < expires < timedelta(hours=25)
    assert service.ask("POST", "/v1/events", body={"text": "a"}, as_=token).json()["author"] == "ann/ci"
    service.ask("PUT", f"/v1/users/{user}", body={"role": "viewer"})
    assert service.ask("POST", "/v1/events", body={"text": "a"}, as_=token).status_code == 403
    assert service.ask("GET", "/v1/events", as_=token).status_code == 200
    assert service.ask("GET", "/v1/session", as_=session).json()["role"] == "viewer"


def test_tokens_of_ones_own_may_no_more_than_their_owner_and_change_no_account(service: Service) -> None:
    service.set_password(service.add("ann", "viewer"), GOOD)
    session = headers_after(service.log_in("ann", GOOD))
    for scopes in (["write:events"], ["write:own"], ["public"], ["read:everything"], []):
        answer = service.ask("POST", "/v1/me/tokens", body={"note": "n", "scopes": scopes}, as_=session)
        assert answer.status_code == 422, scopes
    made = service.ask("POST", "/v1/me/tokens", body={"note": "n", "scopes": ["read:fleet"]}, as_=session).json()
    token = {"Authorization": f"Bearer {made['token']}"}
    assert service.ask("GET", "/v1/fleet", as_=token).status_code == 200
    assert service.ask("GET", "/v1/me/tokens", as_=token).status_code == 403
    (listed,) = service.ask("GET", "/v1/me/tokens", as_=session).json()
    assert (listed["id"], listed["scopes"], listed["last_used_at"] is not None) == (made["id"], ["read:fleet"], True)
    other = session_of(service.app.state.use_cases.database, name="bob")
    assert service.ask("DELETE", f"/v1/me/tokens/{made['id']}", as_=other).status_code == 404
    assert service.ask("DELETE", f"/v1/me/tokens/{made['id']}", as_=session).status_code == 204
    assert service.ask("GET", "/v1/fleet", as_=token).status_code == 401


def test_the_use_of_a_token_is_noted_now_and_then_alone(service: Service) -> None:
    access: Access = service.app.state.use_cases.access
    made = access.create_api_token(role="viewer", note="n", lifetime=None, actor="test")
    token = {"Authorization": f"Bearer {made.secret}"}
    seen = set()
    for _ in range(3):
        service.ask("GET", "/v1/fleet", as_=token)
        (row,) = (row for row in access.list_tokens() if row.id == made.id)
        seen.add(row.last_used_at)
    assert len(seen) == 1
    assert None not in seen


def test_nobody_gives_what_it_does_not_have(service: Service) -> None:
    access: Access = service.app.state.use_cases.access
    scopes = ["write:tokens", "write:users", "write:events"]
    made = access.create_api_token(role="admin", scopes=scopes, note="n", lifetime=None, actor="test")
    token = {"Authorization": f"Bearer {made.secret}"}
    body = {"role": "admin", "note": "more"}
    assert service.ask("POST", "/v1/tokens", body=body, as_=token).status_code == 403
    assert service.ask("POST", "/v1/tokens", body=body | {"scopes": ["write:events"]}, as_=token).status_code == 201
    assert service.ask("POST", "/v1/users", body={"name": "eve", "role": "admin"}, as_=token).status_code == 403
    root = next(row for row in service.ask("GET", "/v1/users").json() if row["name"] == "root")
    assert service.ask("POST", f"/v1/users/{root['id']}/password-link", as_=token).status_code == 403
    assert service.ask("DELETE", f"/v1/users/{root['id']}", as_=token).status_code == 403


def test_nobody_locks_itself_out(service: Service) -> None:
    root = next(row for row in service.ask("GET", "/v1/users").json() if row["name"] == "root")
    for body in ({"role": "admin", "disabled": True}, {"role": "viewer"}):
        assert slug(service.ask("PUT", f"/v1/users/{root['id']}", body=body)) == "conflict"
    assert slug(service.ask("DELETE", f"/v1/users/{root['id']}")) == "conflict"
    assert slug(service.ask("POST", "/v1/users", body={"name": "ROOT", "role": "viewer"})) == "conflict"
    assert slug(service.ask("POST", "/v1/users", body={"name": "a b", "role": "viewer"})) == "invalid"


def test_a_session_of_a_link_has_no_account(service: Service) -> None:
    link = service.app.state.use_cases.access.create_link(actor="test").secret
    login = service.client.post("/v1/session", json={"link": link})
    headers = headers_after(login)
    assert service.ask("GET", "/v1/me", as_=headers).json()["user_id"] is None
    body = {"note": "n", "scopes": ["read:fleet"]}
    assert slug(service.ask("POST", "/v1/me/tokens", body=body, as_=headers)) == "forbidden"


def test_attempts_at_a_password_are_limited_by_name_and_address_and_not_for_good(service: Service) -> None:
    service.set_password(service.add("ann"), GOOD)
    service.set_password(service.add("bob"), GOOD)
    answers = [service.log_in("ann", f"wrong {number}") for number in range(4)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 300
    assert service.log_in("ann", GOOD).status_code == 429
    assert service.log_in("bob", GOOD).status_code == 200


def test_teams_own_services_and_their_members_see_them_as_theirs(service: Service) -> None:
    owned = make_owned(service.app.state.use_cases.database)
    mine, theirs = owned.ids["service_id"], owned.foreign["service_id"]
    member = session_of(service.app.state.use_cases.database, user=owned.member)
    told = service.ask("GET", "/v1/session", as_=member).json()
    assert [team["name"] for team in told["teams"]] == ["storage"]
    assert set(told["owner_permissions"]) == {"read:tiles", "write:advice", "write:events", "write:experiments"}
    lines = {line["id"]: line for line in service.ask("GET", "/v1/services").json()["items"]}
    assert lines[mine]["owner_team"] == told["teams"][0]
    one = service.ask("GET", f"/v1/services/{theirs}").json()["summary"]
    assert one["owner_team"]["name"] == "search"
    event = {"text": "deployed", "service_id": mine}
    made = service.ask("POST", "/v1/events", body=event, as_=member)
    assert made.status_code == 201
    assert made.json()["author"] == "member"
    assert service.ask("POST", "/v1/events", body=event | {"service_id": theirs}, as_=member).status_code == 403
    assert service.ask("POST", "/v1/events", body=event | {"host_id": "h1"}, as_=member).status_code == 403
    # Scopes narrow what owners may, too.
    scopes = {"note": "n", "scopes": ["read:tiles"]}
    token = service.ask("POST", "/v1/me/tokens", body=scopes, as_=member).json()["token"]
    bearer = {"Authorization": f"Bearer {token}"}
    assert service.ask("POST", "/v1/events", body=event, as_=bearer).status_code == 403
    assert service.ask("GET", f"/v1/services/{mine}/tiles", as_=bearer).status_code != 403
    # Another owner, at once.
    path = f"/v1/services/{mine}/owner"
    assert service.ask("PUT", path, body={"team_id": None}).json() == {"service_id": mine, "owner_team": None}
    assert service.ask("POST", "/v1/events", body=event, as_=member).status_code == 403
    assert service.ask("PUT", path, body={"team_id": "none"}).status_code == 404
    for unfit in (b"\\u0000", b"\\ud800"):
        headers = {**service.admin, "Content-Type": "application/json"}
        content = b'{"team_id": "' + unfit + b'"}'
        assert slug(service.client.put(path, headers=headers, content=content)) == "bad-request"
    teams = {team["name"]: team for team in service.ask("GET", "/v1/teams").json()}
    assert teams["search"]["services"] == [theirs]
    body = {"name": "search", "members": [owned.member.public_id], "services": [mine]}
    team = service.ask("PUT", f"/v1/teams/{teams['search']['id']}", body=body)
    assert team.json() == body | {"id": teams["search"]["id"]}
    assert service.ask("POST", "/v1/events", body=event, as_=member).status_code == 201
    assert slug(service.ask("POST", "/v1/teams", body={"name": "search"})) == "conflict"
    assert slug(service.ask("POST", "/v1/teams", body={"name": "x", "members": ["none"]})) == "invalid"
    assert service.ask("DELETE", f"/v1/teams/{team.json()['id']}").status_code == 204
    assert service.ask("POST", "/v1/events", body=event, as_=member).status_code == 403


def test_a_token_cannot_make_owners_of_more_than_it_may_itself(service: Service) -> None:
    owned = make_owned(service.app.state.use_cases.database)
    mine, member = owned.ids["service_id"], owned.member.public_id
    made = service.app.state.use_cases.access.create_api_token(
        role="admin", scopes=["write:users"], note="hr", lifetime=None, actor="test"
    )
    narrow = {"Authorization": f"Bearer {made.secret}"}
    empty = service.ask("POST", "/v1/teams", body={"name": "a", "members": [member]}, as_=narrow)
    assert empty.status_code == 201
    path = f"/v1/teams/{empty.json()['id']}"
    storage = next(team for team in service.ask("GET", "/v1/teams").json() if team["name"] == "storage")
    body = {name: storage[name] for name in ("name", "members", "services")}
    grants = [
        ("POST", "/v1/teams", {"name": "b", "members": [member], "services": [mine]}),
        ("POST", "/v1/teams", {"name": "c", "services": [mine]}),
        ("PUT", path, {"name": "a", "members": [member], "services": [mine]}),
        ("PUT", f"/v1/teams/{storage['id']}", body | {"members": [*body["members"], service.add("ann")]}),
        ("PUT", f"/v1/teams/{storage['id']}", body | {"name": "d"}),
        ("PUT", f"/v1/services/{mine}/owner", {"team_id": empty.json()["id"]}),
    ]
    for method, address, asked in grants:
        refused = service.ask(method, address, body=asked, as_=narrow)
        assert (refused.status_code, slug(refused)) == (403, "forbidden"), asked
        assert "read:tiles" in refused.json()["detail"]
    assert service.ask("PUT", f"/v1/teams/{storage['id']}", body=body, as_=narrow).status_code == 200
    assert service.ask("PUT", f"/v1/services/{mine}/owner", body={"team_id": None}, as_=narrow).status_code == 200
    assert service.ask(*grants[-1][:2], body=grants[-1][2]).status_code == 200


def test_the_audit_trail_is_found_by_who_what_and_when(service: Service) -> None:
    before = utc_now()
    user = service.add("ann", "operator")
    service.set_password(user, GOOD)
    session = headers_after(service.log_in("ann", GOOD))
    scopes = {"note": "=cmd()", "scopes": ["write:events"]}
    token = service.ask("POST", "/v1/me/tokens", body=scopes, as_=session).json()["token"]
    bearer = {"Authorization": f"Bearer {token}"}
    service.ask("POST", "/v1/events", body={"text": "by hand"}, as_=session)
    service.ask("POST", "/v1/events", body={"text": "by token"}, as_=bearer)

    def found(**query: str) -> list[str]:
        answer = service.client.get("/v1/audit", params=query, headers=service.admin)
        return [item["action"] for item in answer.json()["items"]]

    assert found(actor="ann", action="event") == ["event.create", "event.create"]
    assert found(actor="ann/=cmd()") == ["event.create"]
    assert found(subject=user) == ["user.password", "user.password-link", "user.create"]
    assert found(action="user.create", **{"from": before.isoformat()}) == ["user.create"]
    assert found(to=before.isoformat(), actor="ann") == []
    file = service.client.get("/v1/audit", params={"actor": "ann", "format": "csv"}, headers=service.admin)
    assert file.headers["content-type"].startswith("text/csv")
    lines = file.text.splitlines()
    assert lines[0] == "at,actor,action,subject,detail"
    assert len(lines) == len(found(actor="ann")) + 1


def test_the_first_link_is_made_where_nobody_has_access_and_once(database_url: str) -> None:
    settings = Settings(database_url=database_url)
    with running(settings) as (app, client):
        access: Access = app.state.use_cases.access
        first = access.create_first_link()
        assert first is not None
        assert access.create_first_link() is None  # that one still works
        with app.state.use_cases.database.write() as transaction:
            transaction.execute(text("UPDATE tokens SET expires_at = :at"), {"at": utc_now() - timedelta(minutes=1)})
        again = access.create_first_link()
        assert again is not None  # nobody used it: the next start offers another
        assert client.post("/v1/session", json={"link": again.secret}).json()["role"] == "admin"
        with app.state.use_cases.database.write() as transaction:
            transaction.execute(text("UPDATE tokens SET expires_at = :at"), {"at": utc_now() - timedelta(minutes=1)})
        assert access.create_first_link() is None  # somebody had access: nothing is offered any more
        assert app.state.use_cases.users.list() == []


def test_updating_a_user_that_is_not_there_is_said(service: Service) -> None:
    change = UserUpdate(display_name="", email=None, role="viewer", disabled=False)
    for answer in (
        service.ask("PUT", "/v1/users/none", body={"role": "viewer"}),
        service.ask("DELETE", "/v1/users/none"),
        service.ask("POST", "/v1/users/none/password-link"),
    ):
        assert slug(answer) == "not-found"
    with pytest.raises(Exception, match="no user"):
        service.app.state.use_cases.users.update("none", change, by=ADMIN)


def test_of_many_wrong_passwords_at_once_no_more_are_judged_than_may_be(service: Service) -> None:
    service.set_password(service.add("ann"), GOOD)
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda number: service.log_in("ann", f"wrong {number}").status_code, range(12)))
    assert sorted(answers) == [401] * 3 + [429] * 9


def test_a_token_of_the_installation_does_not_sign_with_a_persons_name(service: Service) -> None:
    service.add("ada", "admin")
    made = service.ask("POST", "/v1/tokens", body={"role": "admin", "note": "ada"})
    bearer = {"Authorization": f"Bearer {made.json()['token']}"}
    mark = {"at": "2026-11-21T00:00:00Z", "kind": "deploy", "text": "x"}
    marked = service.client.post("/v1/events", json=mark, headers=bearer)
    assert (marked.status_code, marked.json()["author"]) == (201, "token:ada")
    for note in ("ada\u200b", "ad\u202ea", "a\tb"):
        answer = service.ask("POST", "/v1/tokens", body={"role": "viewer", "note": note})
        assert (answer.status_code, "does not show" in answer.text) == (422, True)
