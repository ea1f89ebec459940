"""Where a database server keeps its data, as far as this machine sees it."""

from pathlib import Path

from sqlalchemy import text

from tierscope.core.database import ReadSession


def data_place(session: ReadSession) -> Path | None:
    """The data directory of a server on this machine; None where it is on another, or our role may not know it.

    A role without `pg_read_all_settings` sees no row of it. A server on another machine may name a directory that is
    here too.
    """
    statement = text(
        "SELECT setting FROM pg_settings WHERE name = 'data_directory' AND (inet_server_addr() IS NULL"
        " OR inet_server_addr() = inet_client_addr())"
    )
    found = session.execute(statement).scalar_one_or_none()
    return Path(found) if found is not None and Path(found).exists() else None
