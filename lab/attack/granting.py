"""Handing out more than one has, and having again what was taken."""

from datetime import timedelta
from typing import Any

import httpx

from attack.assault import Assault
from factories.people import ADMIN, make_user, session_of
from tierscope.usecases.access.own_tokens import OwnTokens
from tierscope.usecases.access.users import Users, UserUpdate

_REFUSED = (401, 403, 404, 422)


def attack(assault: Assault) -> None:
    """By narrowed tokens, by operators, by users who were disabled."""
    _narrowed_to_users(assault)
    _narrowed_to_tokens(assault)
    _operator(assault)
    _disabled(assault)


def _narrowed(assault: Assault, *scopes: str) -> dict[str, str]:
    made = assault.arena.access.create_api_token(
        role="admin", scopes=scopes, note="narrow", lifetime=None, actor="attack"
    )
    return {"Authorization": f"Bearer {made.secret}"}


def _try(assault: Assault, method: str, path: str, headers: dict[str, str], body: object) -> httpx.Response | None:
    said = f"{method} {path} with {body!r}"
    return assault.ask(method, path, headers=headers, json=body, expect=_REFUSED, what=said[:200])


def _narrowed_to_users(assault: Assault) -> None:
    """It makes nobody an owner, and nobody mightier than itself."""
    arena = assault.arena
    headers = _narrowed(assault, "write:users")
    service = arena.made.ids["service_id"][0]
    member = make_user(arena.database, f"granted-{assault.dice.getrandbits(40):x}")
    for services in ([service], [service, "none"]):
        team = {"name": f"t{assault.dice.getrandbits(40):x}", "members": [member.public_id], "services": services}
        _try(assault, "POST", "/v1/teams", headers, team)
    empty = {"name": f"t{assault.dice.getrandbits(40):x}", "members": [], "services": []}
    made = assault.ask("POST", "/v1/teams", headers=headers, json=empty, expect=(201,))
    if made is not None and made.status_code == 201:
        team_id = made.json()["id"]
        owner = {"team_id": team_id}
        _try(assault, "PUT", f"/v1/services/{service}/owner", headers, owner)
        _try(assault, "PUT", f"/v1/teams/{team_id}", headers, {**empty, "services": [service]})
        assault.ask("PUT", f"/v1/services/{service}/owner", headers=arena.admin, json=owner, expect=(200,))
        _try(
            assault,
            "PUT",
            f"/v1/teams/{team_id}",
            headers,
            {**empty, "members": [member.public_id], "services": [service]},
        )
        assault.ask("DELETE", f"/v1/teams/{team_id}", headers=arena.admin, expect=(204,))
    for role in ("operator", "admin"):
        _try(assault, "POST", "/v1/users", headers, {"name": f"u{assault.dice.getrandbits(40):x}", "role": role})
        _try(assault, "PUT", f"/v1/users/{member.public_id}", headers, {"role": role})
    mighty = make_user(arena.database, f"mighty-{assault.dice.getrandbits(40):x}", "admin")
    _try(assault, "POST", f"/v1/users/{mighty.public_id}/password-link", headers, None)


def _narrowed_to_tokens(assault: Assault) -> None:
    headers = _narrowed(assault, "write:tokens")
    wanted: tuple[dict[str, Any], ...] = (
        {"role": "admin"},
        {"role": "viewer"},
        {"role": "admin", "scopes": ["write:users"]},
        {"role": "admin", "scopes": ["write:tokens", "purge:data"]},
        {"role": "admin", "scopes": ["write:own"]},
        {"role": "admin", "scopes": ["agent"]},
        {"role": "admin", "scopes": ["*"]},
        {"role": "operator", "scopes": ["read:audit"]},
    )
    for body in wanted:
        _try(assault, "POST", "/v1/tokens", headers, {**body, "note": "more"})
    _try(assault, "POST", "/v1/me/tokens", headers, {"note": "more", "scopes": ["read:fleet"]})
    same = {"role": "admin", "scopes": ["write:tokens"], "note": "the same"}
    assault.ask("POST", "/v1/tokens", headers=headers, json=same, expect=(201,), what="a token like its maker")


def _operator(assault: Assault) -> None:
    """People of a lower role, by session."""
    for role in ("viewer", "operator"):
        headers = assault.arena.sessions[role]
        _try(assault, "POST", "/v1/me/tokens", headers, {"note": "x", "scopes": ["write:users"]})
        _try(assault, "POST", "/v1/me/tokens", headers, {"note": "x", "scopes": ["purge:data", "read:fleet"]})
        _try(assault, "POST", "/v1/tokens", headers, {"role": "viewer", "note": "x"})
        _try(assault, "PUT", "/v1/alert-routes", headers, {})
        _try(assault, "POST", "/v1/agents/join-tokens", headers, {})
    viewer, ids = assault.arena.sessions["viewer"], assault.arena.made.ids
    _try(assault, "POST", "/v1/events", viewer, {"text": "x", "service_id": ids["service_id"][0]})
    _try(
        assault,
        "POST",
        "/v1/silences",
        viewer,
        {"matchers": [{"name": "a", "value": "b"}], "ends_at": "2099-01-01T00:00:00Z"},
    )
    _try(assault, "POST", f"/v1/silences/{ids['silence_id'][0]}/expire", viewer, None)
    _try(assault, "DELETE", f"/v1/scenarios/{ids['scenario_id'][0]}", viewer, None)
    _try(
        assault,
        "POST",
        f"/v1/services/{ids['service_id'][0]}/purge",
        assault.arena.sessions["operator"],
        {"dry_run": True},
    )
    _try(assault, "GET", f"/v1/services/{ids['service_id'][0]}/tiles", viewer, None)


def _disabled(assault: Assault) -> None:
    """A user is disabled and let in again: tokens and sessions of before stay dead."""
    arena = assault.arena
    user = make_user(arena.database, f"back-{assault.dice.getrandbits(40):x}", "operator")
    session = session_of(arena.database, user=user)
    caller = arena.access.caller_of_session(session["Cookie"].partition("=")[2])
    assert caller is not None
    made = OwnTokens(arena.database).create(caller, note="own", scopes=["read:routes"], lifetime=timedelta(days=1))
    token = {"Authorization": f"Bearer {made.secret}"}
    assault.ask("GET", "/v1/alert-routes", headers=token, expect=(200,))
    for disabled in (True, False):
        change = UserUpdate(display_name="", email=None, role="operator", disabled=disabled)
        Users(arena.database).update(user.public_id, change, by=ADMIN)
        said = "while disabled" if disabled else "after it was let in again"
        for headers in (token, session):
            assault.ask("GET", "/v1/alert-routes", headers=headers, expect=(401,), what=f"a credential {said}")
