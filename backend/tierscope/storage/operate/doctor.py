"""What the database says of itself, for `tierscope doctor`."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.storage.base.server_disk import data_place


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server: version, encoding, time, sizes, and its TimescaleDB.

    `data_place` is its data directory; None where it is not seen from this machine. `timescaledb` None = not installed
    in this database; `timescaledb_available` is the version that could be. `licence` is apache | timescale.
    """

    version_number: int
    version: str
    encoding: str
    collation: str
    time_zone: str
    """As a session has it that asks for none."""
    now: datetime
    database_bytes: int
    data_place: Path | None
    connections: int
    max_connections: int
    timescaledb: str | None
    timescaledb_available: str | None
    licence: str | None


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """How often a task of the workers ended, and when last."""

    task: str
    runs: int
    last_at: datetime
    failures: int


def read_server(session: ReadSession) -> ServerFacts:
    """Ask the server."""
    statement = text(
        "SELECT current_setting('server_version_num')::int AS version_number,"
        " current_setting('server_version') AS version, current_setting('server_encoding') AS encoding,"
        # The name of ICU's locale has a column since release 15, and another one since 17.
        " (SELECT coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale', datcollate)"
        " FROM pg_database d WHERE datname = current_database()) AS collation,"
        " (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone') AS time_zone,"
        " clock_timestamp() AS now, pg_database_size(current_database()) AS database_bytes,"
        " (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,"
        " current_setting('max_connections')::int AS max_connections,"
        " (SELECT extversion FROM pg_extension WHERE extname = 'timescaledb') AS timescaledb,"
        " (SELECT default_version FROM pg_available_extensions WHERE name = 'timescaledb') AS timescaledb_available,"
        " current_setting('timescaledb.license', true) AS licence"
    )
    return ServerFacts(**session.execute(statement).mappings().one(), data_place=data_place(session))


def read_tasks(session: ReadSession) -> list[TaskFacts]:
    """Tasks that workers have ended at least once."""
    rows = session.execute(text("SELECT task, runs, last_at, failures FROM task_runs ORDER BY task"))
    return [TaskFacts(row.task, int(row.runs), row.last_at, int(row.failures)) for row in rows]
