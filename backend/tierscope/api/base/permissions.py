"""Who may do what. A route declares its permission with `requires`; an application with one that does not is refused.

    router = APIRouter(prefix="/v1/hosts", dependencies=[Depends(requires("read:fleet"))])

Roles and what they may do stand in domain/access/permissions.py. Reading without login is `ANONYMOUS` and in force only
while the service listens on loopback without a proxy (docs/operating/security.md). tests/api/test_permissions.py is the
table of endpoint by role.
"""

from collections.abc import Iterator, Mapping

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts

from tierscope.api.base.callers import find_caller
from tierscope.api.base.limited import enter, limit_caller
from tierscope.api.base.ownership import FindOwned
from tierscope.api.base.use_cases import use_cases
from tierscope.core.errors import ConfigurationError, Forbidden, TierscopeError, Unauthenticated
from tierscope.domain.access.permissions import ANONYMOUS, ROLES, Permission, granted_as_owner
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.fleet.looks import SubjectKind

__all__ = [
    "ANONYMOUS",
    "ROLES",
    "Permission",
    "check_declared",
    "declared",
    "declared_permissions",
    "permissions_of",
    "requires",
]

_LOOKED_AT: Mapping[SubjectKind, str] = {"host": "host_id", "service": "service_id"}
"""What a path is about, by the name of its part."""
SELF_CHECKED: frozenset[Permission] = frozenset({"public", "agent"})


class Requirement:
    """The dependency that `requires` makes: lets the request through or raises."""

    def __init__(self, permission: Permission, owned: FindOwned | None = None) -> None:
        self.permission: Permission = permission
        self.owned = owned

    async def __call__(self, request: Request) -> Caller | None:
        """Returns the caller; None where nobody needs to be known.

        Raises:
            Unauthenticated: nobody is logged in.
            Forbidden: neither the caller's role nor owning the service includes the permission, or the CSRF token is
                missing.
            TooMany: the caller asked more often than the settings allow.
            BusyReading: too many readers wait.
        """
        if self.permission in SELF_CHECKED:
            return None
        if self.permission.startswith("read:"):
            await enter(request)
        caller = await run_in_threadpool(find_caller, request)
        if caller is not None and caller.role is not None:
            await limit_caller(request, caller, self.permission)
        allowed = caller is not None and self.permission in permissions_of(caller)
        if caller is None or (caller.role is None and not allowed):
            raise Unauthenticated(f"{request.method} {request.url.path} needs `{self.permission}`")
        if not allowed and not await self._owns(request, caller):
            raise Forbidden(_refusal(caller, self.permission))
        request.state.caller = caller
        await _note_look(request, caller)
        return caller

    async def _owns(self, request: Request, caller: Caller) -> bool:
        """Whether the request is about a service that a team of the caller owns, and that is enough."""
        if self.owned is None or caller.user_id is None or self.permission not in granted_as_owner(caller.scopes):
            return False
        owned = await self.owned(request)
        return owned is not None and await run_in_threadpool(use_cases(request).teams.owns, caller.user_id, *owned)


def requires(permission: Permission, *, owned: FindOwned | None = None) -> Requirement:
    """Declares what a route, or all routes of a router, need; with `owned`, owners of that service may, too."""
    return Requirement(permission, owned)


async def _note_look(request: Request, caller: Caller) -> None:
    """Note the host and the service that the path names, so that they send each minute while a person looks.

    Programs with a token ask all the time: they do not look.
    """
    if caller.kind == "token":
        return
    looks = use_cases(request).looks
    for kind, name in _LOOKED_AT.items():
        public_id = request.path_params.get(name)
        if public_id and not looks.is_noted(kind, public_id):
            try:
                await run_in_threadpool(looks.note, kind, public_id)
            except TierscopeError:
                return  # the answer itself says what is wrong with the database


def _refusal(caller: Caller, permission: Permission) -> str:
    scoped = "" if caller.scopes is None else ", narrowed by the token's scopes"
    return f"`{caller.name}` ({caller.role}{scoped}) does not have `{permission}`"


def permissions_of(caller: Caller) -> frozenset[Permission]:
    """Returns what a caller may do."""
    return caller.permissions


def declared_permissions(app: FastAPI) -> Iterator[tuple[str, str, Permission | None]]:
    """Yields method, path and declared permission (the narrowest) of every route; None where it declares nothing."""
    for method, path, requirement in declared(app):
        yield method, path, None if requirement is None else requirement.permission


def declared(app: FastAPI) -> Iterator[tuple[str, str, Requirement | None]]:
    """Yields method, path and what every route requires, the narrowest; None where it declares nothing."""
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


def _requirements(dependant: Dependant) -> Iterator[Requirement]:
    for dependency in dependant.dependencies:
        if isinstance(dependency.call, Requirement):
            yield dependency.call
        yield from _requirements(dependency)
