"""What is said at the first start about reading without a login."""

from tierscope.core.database import Database


def say_loopback_trust(database_url: str, setting: bool | None) -> list[str]:
    """Return what was decided just now; nothing where it is set, or was decided at an earlier start."""
    from tierscope.usecases.access.loopback_trust import LoopbackTrust

    database = Database(database_url, pool_size=1)
    try:
        decision = LoopbackTrust(database, setting=setting).decide()
    finally:
        database.close()
    return [decision.describe()] if decision.is_new else []
