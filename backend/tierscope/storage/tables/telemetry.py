"""What workers did, summed over all of them: they have no port that could be scraped, and come and go."""

from sqlalchemy import BigInteger, Column, Double, Table, Text
from sqlalchemy.dialects.postgresql import ARRAY

from tierscope.storage.tables.plain import Instant, metadata

task_runs = Table(
    "task_runs",
    metadata,
    Column("task", Text, primary_key=True),
    Column("runs", BigInteger, nullable=False),
    Column("failures", BigInteger, nullable=False),
    Column("seconds", Double, nullable=False),  # of all runs together
    Column("buckets", ARRAY(BigInteger), nullable=False),  # by domain/operate/telemetry.py's bounds, the last above all
    Column("last_at", Instant, nullable=False),
    Column("failed_at", Instant),  # of the newest failure; null where none failed
)

rebuilt_buckets = Table(
    "rebuilt_buckets",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("buckets", BigInteger, nullable=False),
    Column("failures", BigInteger, nullable=False),  # subjects whose rebuild failed; their marks stayed
)

TELEMETRY = (task_runs, rebuilt_buckets)
