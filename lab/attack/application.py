"""What the application says of itself: its description, and its table of permissions."""

from functools import cache
from typing import Any

from tierscope.api.app import build_openapi, create_app
from tierscope.api.base.permissions import Permission, declared_permissions
from tierscope.core.settings import Settings


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document; making it takes a second."""
    return build_openapi()


@cache
def permissions() -> tuple[tuple[str, str, Permission], ...]:
    """Method, path and permission of every operation, by name."""
    app = create_app(Settings(database_url="postgresql://nobody@localhost/none"))
    return tuple(
        sorted((method, path, permission) for method, path, permission in declared_permissions(app) if permission)
    )
