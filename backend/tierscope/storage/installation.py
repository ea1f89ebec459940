"""What is true of the installation as a whole: storage mode, origins of its hosts, work that waits."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.jobs import due_table
from tierscope.storage.marks import backlog


@dataclass(frozen=True, slots=True)
class Installation:
    """One look at the installation. `oldest_mark_at` is since when the longest waiting work has been due."""

    storage: str
    live_hosts: int
    simulated_hosts: int
    imported_hosts: int
    last_live_seen_at: datetime | None
    marks_pending: int
    oldest_mark_at: datetime | None


def read_installation(session: ReadSession, now: datetime) -> Installation:
    """Read all of it."""
    waiting = backlog(session, now=now, due=due_table(now))
    row = session.execute(
        text(
            "SELECT (SELECT value FROM installation WHERE key = 'storage') AS storage, h.*"
            " FROM (SELECT count(*) FILTER (WHERE origin = 'live') AS live,"
            "  count(*) FILTER (WHERE origin = 'simulated') AS simulated,"
            "  count(*) FILTER (WHERE origin = 'import') AS imported,"
            "  max(last_seen_at) FILTER (WHERE origin = 'live') AS seen FROM hosts WHERE revoked_at IS NULL) AS h"
        )
    ).one()
    return Installation(
        storage=str(row.storage or "native"),
        live_hosts=int(row.live),
        simulated_hosts=int(row.simulated),
        imported_hosts=int(row.imported),
        last_live_seen_at=row.seen,
        marks_pending=waiting.pending,
        oldest_mark_at=waiting.oldest_at,
    )
