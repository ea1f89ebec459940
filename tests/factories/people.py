"""Users, their sessions, and a service that a team owns."""

from dataclasses import dataclass

import httpx
from sqlalchemy import text

from tierscope.api.base.callers import KEY_HEADER, SESSION_COOKIE
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.domain.access.permissions import Role
from tierscope.storage.access.users import find_user
from tierscope.usecases.access.teams import TeamRequest, Teams
from tierscope.usecases.access.tokens import Access, Caller, csrf_token, start_session
from tierscope.usecases.access.users import UserRequest, UserRow, Users

ADMIN = Caller(kind="session", name="test", role="admin")


@dataclass(frozen=True, slots=True)
class Owned:
    """A service of a team with what belongs to it, and one of nobody; `ids` and `foreign` by name in a path."""

    member: UserRow
    ids: dict[str, str]
    foreign: dict[str, str]


def make_user(database: Database, name: str, role: Role = "viewer") -> UserRow:
    return Users(database).create(UserRequest(name=name, display_name="", email=None, role=role), by=ADMIN)


def session_of(
    database: Database, *, user: UserRow | None = None, name: str = "somebody", role: Role = "viewer"
) -> dict[str, str]:
    """The headers of a session of this user, or of a new one; they do for writes too."""
    found = user or make_user(database, name, role)
    with database.write() as transaction:
        row = find_user(transaction, found.public_id)
        assert row is not None
        token, _ = start_session(transaction, row, now=utc_now())
    name = SESSION_COOKIE + Access(database).instance_name()
    return {"Cookie": f"{name}={token.secret}", "X-CSRF-Token": csrf_token(token.secret)}


def headers_after(login: httpx.Response) -> dict[str, str]:
    """What the dashboard sends after a login without TLS; it does for writes too."""
    assert login.status_code == 200, login.text
    told = login.json()
    cookie = login.headers["set-cookie"].partition(";")[0]
    return {"Cookie": cookie, "X-CSRF-Token": told["csrf_token"], "X-Session-Key": told["session_key"]}


def keep_session_key(client: httpx.Client) -> None:
    """Has a client keep the key of the session that begins, as the dashboard does, and redirects come without it."""

    def keep(answer: httpx.Response) -> None:
        place, _, key = answer.headers.get("location", "").partition("#session-key=")
        if key:
            answer.headers["location"] = place
        elif answer.request.url.path == "/v1/session" and answer.request.method == "POST":
            answer.read()
            key = answer.json().get("session_key")
        if key:
            client.headers[KEY_HEADER] = key

    client.event_hooks = {"response": [keep]}


def make_owned(database: Database) -> Owned:
    """Makes a viewer, its team, and the team's service."""
    ids, foreign = (_make_service(database, name) for name in ("owned", "foreign"))
    member = make_user(database, "member")
    teams = Teams(database)
    by = Caller(kind="token", name="test", role="admin")
    teams.create(TeamRequest("storage", [member.public_id], [ids["service_id"]]), by=by)
    teams.create(TeamRequest("search", [], [foreign["service_id"]]), by=by)
    return Owned(member, ids, foreign)


def _make_service(database: Database, name: str) -> dict[str, str]:
    with database.write() as transaction:
        service = transaction.execute(
            text(
                "INSERT INTO services (public_id, namespace, name, origin) VALUES (:id, 'ns', :name, 'live')"
                " RETURNING id"
            ),
            {"id": f"s-{name}", "name": name},
        ).scalar_one()
        values = {"service": service, "id": f"x-{name}"}
        transaction.execute(
            text(
                "INSERT INTO slowdown_points"
                " (public_id, service_id, source, share_on_cxl, loss, loss_standard_error, author)"
                " VALUES (:id, :service, 'ab_test', 0.5, 0.1, 0.01, 'test')"
            ),
            values,
        )
        transaction.execute(
            text(
                "INSERT INTO advice (public_id, kind, key, service_id, title, body, status, expires_at)"
                " VALUES (:id, 'ratio', 'ratio', :service, 't', '{}', 'open', now() + interval '1 day')"
            ),
            values,
        )
        transaction.execute(
            text(
                "INSERT INTO experiments (public_id, name, service_id, metrics, before_from, change_at,"
                " settling_seconds, planned_end, author) VALUES (:id, 'e', :service,"
                """ '[{"metric": "throughput_per_s", "direction": "higher_is_better", "margin_ratio": 0.05}]',"""
                " now() - interval '2 days', now() - interval '1 day', 0, now() + interval '1 day', 'test')"
            ),
            values,
        )
        event = transaction.execute(
            text("INSERT INTO events (at, kind, text, service_id) VALUES (now(), 'note', 't', :service) RETURNING id"),
            {"service": service},
        ).scalar_one()
    names = ("point_id", "advice_id", "experiment_id")
    return {"service_id": f"s-{name}", "event_id": str(event), **dict.fromkeys(names, f"x-{name}")}
