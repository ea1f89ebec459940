"""What is true of the installation as a whole: storage mode, origins of its hosts, work that waits."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.base.jobs import due_table
from tierscope.storage.base.dirty_buckets import backlog
from tierscope.storage.base.partitions import Mode
from tierscope.storage.base.strangers import Holder, read_holders
from tierscope.storage.fleet.sending import longest_held_seconds

HELD_BY_OTHERS = timedelta(minutes=1)
"""A transaction of somebody else's that is longer may hold up what changes tables."""


@dataclass(frozen=True, slots=True)
class Installation:
    """One look at the installation. `oldest_mark_at` is since when the longest waiting work has been due.

    `first_bucket` is the oldest that work waits for, `marks_made` how many pieces of work there ever were.

    `has_objects`: rows refer to bodies in an object store. `moved_at` and `move_failed_at` are of the task that moves
    bodies there; None where it never ran, or never failed.
    """

    storage: Mode
    live_hosts: int
    simulated_hosts: int
    imported_hosts: int
    last_live_seen_at: datetime | None
    marks_pending: int
    oldest_mark_at: datetime | None
    first_bucket: datetime | None
    marks_made: int
    first_host_at: datetime | None
    has_objects: bool
    moved_at: datetime | None
    move_failed_at: datetime | None
    judged_to: datetime | None
    """The newest minute that any enabled rule was judged for, of hosts that hold samples back the longest."""
    holders: tuple[Holder, ...]
    sample_series: int
    """Series of Prometheus, as PostgreSQL estimates them; 0 where it has not looked yet."""


def read_installation(session: ReadSession, now: datetime) -> Installation:
    """Read all of it."""
    held = timedelta(seconds=longest_held_seconds(session))
    waiting = backlog(session, now=now, due=due_table(now, held))
    row = session.execute(
        text(
            "SELECT (SELECT value FROM installation WHERE key = 'storage') AS storage, h.*, m.last_at, m.failed_at,"
            " pg_sequence_last_value(to_regclass('marks_id_seq')) AS marks_made,"
            " (SELECT max(s.evaluated_to) FROM alert_states s JOIN alert_rules r ON r.id = s.rule_id WHERE r.enabled)"
            "  AS judged_to, (SELECT reltuples FROM pg_class WHERE oid = to_regclass('sample_series')) AS series,"
            " EXISTS (SELECT FROM objects WHERE stored_at IS NOT NULL AND forgotten_at IS NULL) AS has_objects"
            " FROM (SELECT count(*) FILTER (WHERE origin = 'live') AS live,"
            "  count(*) FILTER (WHERE origin = 'simulated') AS simulated,"
            "  count(*) FILTER (WHERE origin = 'import') AS imported,"
            "  max(last_seen_at) FILTER (WHERE origin = 'live') AS seen, min(enrolled_at) AS first_host_at"
            "  FROM hosts WHERE revoked_at IS NULL) AS h"
            " LEFT JOIN task_runs m ON m.task = 'objects.move'"
        )
    ).one()
    return Installation(
        storage=row.storage or "native",
        live_hosts=int(row.live),
        simulated_hosts=int(row.simulated),
        imported_hosts=int(row.imported),
        last_live_seen_at=row.seen,
        marks_pending=waiting.pending,
        oldest_mark_at=waiting.oldest_at,
        first_bucket=waiting.first_bucket,
        marks_made=int(row.marks_made or 0),
        first_host_at=row.first_host_at,
        has_objects=bool(row.has_objects),
        moved_at=row.last_at,
        move_failed_at=row.failed_at,
        judged_to=None if row.judged_to is None else row.judged_to + held,
        sample_series=max(int(row.series or 0), 0),
        holders=tuple(read_holders(session, now - HELD_BY_OTHERS)),
    )
