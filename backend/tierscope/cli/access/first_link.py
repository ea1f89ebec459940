"""The one-time admin link of the first start, and the address that links begin with."""

from tierscope.cli.base.instance import listening_address
from tierscope.core.errors import TierscopeError
from tierscope.core.settings import Settings

HOW_TO_GET_A_LINK = "nobody has access yet; `tierscope token link` prints a link that logs an administrator in, once"


def dashboard_address(settings: Settings, *, demo: bool = False) -> str:
    """Return where the dashboard is reached: as configured, else the running instance's, else where it would listen."""
    if settings.public_url is not None and not demo:
        return settings.public_url.rstrip("/")
    return listening_address(settings, demo=demo)


def first_link(database_url: str, address: str, *, private: bool) -> list[str]:
    """Return what to say where nobody has ever had access; nothing else.

    Where only the caller reads it (`private`), that is a one-time admin link; whatever starts at the same time, one of
    them gets it. In a log it is how to get one. A database that cannot be reached yet, or has no schema, is left to
    those who wait for it.
    """
    from tierscope.core.database import Database
    from tierscope.usecases.access.tokens import Access
    from tierscope.usecases.operate.readiness import Readiness

    database = Database(database_url, pool_size=1)
    try:
        if Readiness(database).obstacle() is not None:
            return []
        access = Access(database)
        if not private:
            return [] if access.anybody_has_access() else [HOW_TO_GET_A_LINK]
        made = access.create_first_link()
    except TierscopeError:
        return []
    finally:
        database.close()
    if made is None:
        return []
    return [
        "nobody has access yet; this link logs an administrator in, once, within 30 minutes:",
        f"{address}/login?link={made.secret}",
    ]
