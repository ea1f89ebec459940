"""What rebuilding works on and makes: days of minute samples on the way in, whole tables on the way out."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import text

from factories import batches
from factories.installations import Enrolled, store
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.domain.base.jobs import due_table
from tierscope.storage.base.subjects import find_host
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.operate.retention import KeepPartitions
from tierscope.usecases.rebuild.by_node import DrainNodes
from tierscope.usecases.rebuild.drain import Drained

KEYS = (
    "host|vmstat|nr_free_pages",
    "host|vmstat|pgdemote_direct",
    "host|vmstat|pgdemote_kswapd",
    "host|vmstat|pgpromote_success",
)
PROMOTED = KEYS[3]
TABLES = (
    "tier_moves",
    "metrics_10m",
    "metrics_1h",
    "metrics_1d",
    "counters_packed",
    "heat",
    "heat_1h",
    "heat_1d",
    "tiles",
)


def day_before() -> datetime:
    """Midnight of the day before yesterday: all its buckets have closed, and all its data is taken."""
    return (utc_now() - timedelta(days=2)).replace(hour=0, minute=0, second=0, microsecond=0)


def to_ns(at: datetime) -> int:
    """Nanoseconds since the epoch of a whole second."""
    return int(at.timestamp()) * batches.SECOND_NS


def sample(i: int) -> list[int | None]:
    """Sample i: promotions grow by squares, so that every difference is another."""
    return [50_000 - i, 7 * i, 1000 + 50 * i, 7_000_000 + i * i]


def send_counters(
    database: Database,
    host: Enrolled,
    start: datetime,
    minutes: Sequence[int],
    *,
    seq: int = 0,
    boots: Sequence[str] = (),
    rows: Sequence[Sequence[int | None]] | None = None,
) -> None:
    """Store one sample for each of these minutes after `start`, with an inventory."""
    ends = [to_ns(start + timedelta(minutes=minute)) for minute in minutes]
    batch = batches.make_batch(host_id=host.id, seq=seq, sealed_wall_ns=ends[-1])
    rows = [sample(minute) for minute in minutes] if rows is None else rows
    batches.add_counters(batch, rows, ends_ns=ends, keys=KEYS, boot_ids=boots)
    batches.add_inventory(batch)
    assert store(database, host, [batch])


def drain(database: Database, at: datetime | None = None) -> Drained:
    """Work off all that is due at a moment, by default now, and the open buckets that this marks.

    A run extends open buckets every two seconds of its clock, and this one stands still.
    """
    moment = at or utc_now()
    done = Drained()
    for part in (DrainNodes(Nodes(database), lambda: moment).run() for _ in range(2)):
        assert part.failures == {}
        for kind, buckets in part.buckets.items():
            done.buckets[kind] = done.buckets.get(kind, 0) + buckets
    return done


def leave(database: Database) -> dict[str, int]:
    """Let live rows leave that are packed, as retention does; chunks by table."""
    return KeepPartitions(database, utc_now).run().dropped


def dump(database: Database, tables: Sequence[str] = TABLES) -> dict[str, list[str]]:
    """All rows of tables as text, in order."""
    with database.read() as session:
        return {table: sorted(map(str, session.execute(text(f"SELECT * FROM {table}")).all())) for table in tables}


def marks(database: Database) -> list[tuple[str, int, datetime]]:
    """Kind, subject and bucket of all marks that are due, and of those of kinds that nobody works."""
    due = due_table(utc_now())
    with database.read() as session:
        rows = session.execute(text("SELECT kind, subject_id, bucket FROM marks ORDER BY 1, 2, 3"))
        return [(row.kind, row.subject_id, row.bucket) for row in rows if row.bucket < due.get(row.kind, utc_now())]


def internal_id(database: Database, host: Enrolled) -> int:
    with database.read() as session:
        found = find_host(session, host.id)
    assert found is not None
    return found.id
