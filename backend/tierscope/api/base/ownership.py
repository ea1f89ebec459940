"""What a request is about, for routes that members of an owning team may use: named in its path or in its body."""

import json
from collections.abc import Awaitable, Callable

from fastapi import Request

from tierscope.usecases.access.teams import OwnedKind

Owned = tuple[OwnedKind, str]
FindOwned = Callable[[Request], Awaitable[Owned | None]]


def in_path(kind: OwnedKind, name: str) -> FindOwned:
    """Returns a finder of the id that a part of the path holds."""

    async def find(request: Request) -> Owned | None:
        found = request.path_params.get(name)
        return (kind, found) if isinstance(found, str) else None

    return find


async def service_in_body(request: Request) -> Owned | None:
    """Finds `service_id` in a JSON body. A body that names a host as well is about more than the service."""
    try:
        body = await request.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        return None
    if not isinstance(body, dict) or body.get("host_id") is not None:
        return None
    found = body.get("service_id")
    return ("service", found) if isinstance(found, str) else None
