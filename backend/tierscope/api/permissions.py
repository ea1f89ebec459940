"""Who may do what. A route declares its permission with `requires`; an application with one that does not is refused.

    router = APIRouter(prefix="/v1/hosts", dependencies=[Depends(requires("read:fleet"))])

Roles include each other: viewer < operator < admin. Reading without login is `ANONYMOUS` and in force only while the
service listens on loopback without a proxy (docs/operating/security.md). tests/api/test_permissions.py is the table of
endpoint by role.
"""

from collections.abc import Iterator
from typing import Literal

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts

from tierscope.api.callers import find_caller
from tierscope.core.errors import ConfigurationError, Forbidden, Unauthenticated
from tierscope.usecases.access import Caller

Permission = Literal[
    "public",  # needs nobody: health, login, the dashboard's files
    "agent",  # needs a host credential, checked by the route itself: it says which host
    "read:fleet",  # hosts, services, counters, ledger, heat in sums
    "read:tiles",  # page-level heat: it can show what a service's users do
    "write:events",
    "write:advice",  # dismiss or adopt it, add measurements of one's own
    "write:experiments",
    "write:sweeps",  # start, cancel and delete sweeps of the simulator; upload traces
    "write:scenarios",  # scenarios of cost, and the price book
    "write:reports",
    "write:rules",
    "write:silences",  # acknowledge alerts, too
    "read:routes",  # where alerts are sent; without secrets
    "write:routes",
    "read:agents",
    "operate:agents",  # pause and resume them
    "write:agents",
    "read:audit",
    "write:tokens",
    "write:own",  # one's own password and tokens
    "write:users",  # users, teams and who owns which service
    "write:labels",  # labels of hosts
    "write:samples",  # Prometheus remote write
    "purge:data",
]

ANONYMOUS: frozenset[Permission] = frozenset({"public", "read:fleet", "read:tiles"})
_VIEWER: frozenset[Permission] = frozenset({"public", "read:fleet", "write:own"})
_OPERATOR: frozenset[Permission] = _VIEWER | {
    "read:tiles",
    "write:events",
    "write:advice",
    "write:experiments",
    "write:sweeps",
    "write:scenarios",
    "write:reports",
    "write:rules",
    "write:silences",
    "read:routes",
    "read:agents",
    "operate:agents",
    "write:labels",
    "write:samples",
}
_ADMIN: frozenset[Permission] = _OPERATOR | {
    "write:routes",
    "write:agents",
    "read:audit",
    "write:tokens",
    "write:users",
    "purge:data",
}
ROLES: dict[str, frozenset[Permission]] = {"viewer": _VIEWER, "operator": _OPERATOR, "admin": _ADMIN}

SELF_CHECKED: frozenset[Permission] = frozenset({"public", "agent"})


class Requirement:
    """The dependency that `requires` makes: lets the request through or raises."""

    def __init__(self, permission: Permission) -> None:
        self.permission: Permission = permission

    async def __call__(self, request: Request) -> Caller | None:
        """Returns the caller; None where nobody needs to be known.

        Raises:
            Unauthenticated: nobody is logged in.
            Forbidden: the caller's role does not include the permission, or the CSRF token is missing.
        """
        if self.permission in SELF_CHECKED:
            return None
        caller = await run_in_threadpool(find_caller, request)
        allowed = caller is not None and self.permission in permissions_of(caller)
        if caller is None or (caller.role is None and not allowed):
            raise Unauthenticated(f"{request.method} {request.url.path} needs `{self.permission}`")
        if not allowed:
            raise Forbidden(f"`{caller.name}` ({caller.role}) does not have `{self.permission}`")
        request.state.caller = caller
        return caller


def requires(permission: Permission) -> Requirement:
    """Declares what a route, or all routes of a router, need."""
    return Requirement(permission)


def permissions_of(caller: Caller) -> frozenset[Permission]:
    """Returns what a caller may do."""
    return ANONYMOUS if caller.role is None else ROLES[caller.role]


def declared_permissions(app: FastAPI) -> Iterator[tuple[str, str, Permission | None]]:
    """Yields method, path and declared permission (the narrowest) of every route; None where it declares nothing."""
    for route in iter_route_contexts(app.routes):
        dependant = getattr(route, "dependant", None)
        found = list(_requirements(dependant)) if isinstance(dependant, Dependant) else []
        for method in sorted(route.methods or {"*"}):
            yield method, route.path or repr(route.original_route), found[-1] if found else None


def check_declared(app: FastAPI) -> None:
    """Refuses an application with a route that declares no permission.

    Raises:
        ConfigurationError: names the routes.
    """
    missing = [f"{method} {path}" for method, path, permission in declared_permissions(app) if permission is None]
    if missing:
        raise ConfigurationError(
            f"routes without a permission: {', '.join(missing)}", next_step="Declare one with requires(...)."
        )


def _requirements(dependant: Dependant) -> Iterator[Permission]:
    for dependency in dependant.dependencies:
        if isinstance(dependency.call, Requirement):
            yield dependency.call.permission
        yield from _requirements(dependency)
