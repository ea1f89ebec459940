"""Every operation by every kind of caller: nobody gets an answer beyond what the application's own table says."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from attack import application
from attack.arena import Arena
from attack.assault import Assault
from factories.people import ADMIN, make_user, session_of
from tierscope.api.base.permissions import ANONYMOUS, ROLES, Permission
from tierscope.domain.access.permissions import NEVER_A_SCOPE, Role
from tierscope.usecases.access.own_tokens import OwnTokens
from tierscope.usecases.access.users import Users, UserUpdate

ODD: Mapping[str, str] = {
    "a forged token": "Bearer tsa_x",
    "an empty Authorization": "",
    "Bearer alone": "Bearer",
    "Bearer and a hard space": "Bearer \xa0",
    "Bearer, a tab and a token": "Bearer\ttsa_x",
    "Basic": "Basic YWRtaW46YWRtaW4=",
    "Negotiate": "Negotiate AAAA",
    "a long token": "Bearer tsa_" + "x" * 30_000,
    "two schemes": "Bearer, Bearer tsa_x",
    "no letters": "\x80\xff",
    "SQL": "Bearer ' OR 1=1 --",
}
_REFUSED = (401, 403)


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks, what it sends, and what it may."""

    name: str
    headers: Mapping[str, str]
    may: frozenset[Permission]


def attack(assault: Assault) -> None:
    """All of them, in an order that is drawn: what one changes, another meets."""
    callers = [*_odd(), *_known(assault.arena)]
    asked = [(caller, *operation) for caller in callers for operation in application.permissions()]
    assault.dice.shuffle(asked)
    for caller, method, path, permission in assault.some(asked, 400):
        if permission == "public" and method != "GET" and caller.name not in ODD:
            continue  # logging out would end what others ask with
        _ask(assault, caller, f"{method} {path}", permission)


def _ask(assault: Assault, caller: Asking, operation: str, permission: Permission) -> None:
    method, pattern = operation.split(" ", 1)
    path = re.sub(r"{[^}]*}", "none", pattern)
    said = f"{operation} by {caller.name}"
    headers = [(name.encode(), value.encode("latin-1")) for name, value in caller.headers.items()]
    answer = assault.ask(method, path, headers=headers, what=said)
    if answer is None or permission == "public":
        return
    refused = answer.status_code in _REFUSED
    if not refused and permission not in caller.may:
        assault.found(f"{said}: answered {answer.status_code}, which the table does not say")
    if refused and permission in caller.may:
        assault.found(f"{said}: refused with {answer.status_code}, which the table does not say")


def _odd() -> Iterator[Asking]:
    nothing: frozenset[Permission] = frozenset()
    for name, value in ODD.items():
        yield Asking(name, {"Authorization": value}, nothing)


def _known(arena: Arena) -> Iterator[Asking]:
    """Who has something, and who had."""
    nothing: frozenset[Permission] = frozenset()
    yield Asking("anonymous", {}, ANONYMOUS)
    yield Asking("anonymous through a proxy", {"X-Forwarded-For": "10.0.0.1"}, nothing)
    for role, headers in arena.sessions.items():
        yield Asking(role, headers, ROLES[role])  # type: ignore[index]
    yield Asking("a host", _bearer(arena.host.credential), frozenset({"agent"}))
    yield Asking("a join token", _bearer(arena.access.create_join_token(actor="attack").secret), nothing)
    for permission in sorted(ROLES["admin"] - NEVER_A_SCOPE):
        yield Asking(f"a token for {permission} alone", _bearer(_token(arena, permission)), frozenset({permission}))
    revoked = arena.access.create_api_token(role="admin", note="revoked", lifetime=None, actor="attack")
    arena.access.revoke_token(revoked.id, actor="attack")
    yield Asking("a revoked token", _bearer(revoked.secret), nothing)
    expired = arena.access.create_api_token(role="admin", note="old", lifetime=timedelta(seconds=-1), actor="attack")
    yield Asking("an expired token", _bearer(expired.secret), nothing)
    link = arena.access.create_link(actor="attack")
    yield Asking("a login link as a token", _bearer(link.secret), nothing)
    yield from _gone(arena)


def _token(arena: Arena, permission: Permission) -> str:
    made = arena.access.create_api_token(
        role="admin", scopes=[permission], note=permission, lifetime=None, actor="attack"
    )
    return made.secret


def _gone(arena: Arena) -> Iterator[Asking]:
    """A user who was disabled, and a session that has ended: what is left of it is nobody."""
    number = len(Users(arena.database).list())
    user = make_user(arena.database, f"gone-{number}", "admin")
    session = session_of(arena.database, user=user)
    secret = session["Cookie"].partition("=")[2]
    caller = arena.access.caller_of_session(secret)
    assert caller is not None
    token = OwnTokens(arena.database).create(caller, note="own", scopes=["read:audit"], lifetime=timedelta(days=1))
    Users(arena.database).update(user.public_id, _change("admin", disabled=True), by=ADMIN)
    yield Asking("a token of a disabled user", _bearer(token.secret), frozenset())
    yield Asking("a session of a disabled user", session, ANONYMOUS)
    over = session_of(arena.database, name=f"over-{number}", role="admin")
    arena.access.end_session(over["Cookie"].partition("=")[2])
    yield Asking("a session that was logged out", over, ANONYMOUS)


def _change(role: Role, *, disabled: bool) -> UserUpdate:
    return UserUpdate(display_name="", email=None, role=role, disabled=disabled)


def _bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}
