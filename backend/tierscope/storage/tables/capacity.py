"""Capacity: groups of hosts that have daily points, forecasts made of those, and scheduled reports."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Identity, Index, Integer, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from tierscope.storage.tables.plain import Instant, metadata
from tierscope.storage.tables.time import capacity_days

capacity_groups = Table(
    # Host groups that have daily points, with what they are called.
    "capacity_groups",
    metadata,
    Column("subject", Text, primary_key=True),
    Column("grouping", Text, nullable=False),  # sku | rack | label:<key>
    Column("name", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("seen_at", Instant, nullable=False),
)

capacity_forecasts = Table(
    # The newest forecast of a subject's metric, so that lists need none made.
    "capacity_forecasts",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("metric", Text, primary_key=True),  # resident | hot | dram_need
    Column("last_day", Instant, nullable=False),
    Column("made_at", Instant, nullable=False),
    Column("body", JSONB, nullable=False),
)

reports = Table(
    # Reports that are sent by a schedule.
    "reports",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("public_id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("body", JSONB, nullable=False),  # schedule, format, where to, sections
    Column("enabled", Boolean, nullable=False),
    Column("author", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("due_at", Instant, nullable=False),  # when it is sent next
)

report_runs = Table(
    # What became of each sending; a row is made before anything is sent, so that one that broke off is tried again.
    "report_runs",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("report_id", BigInteger, ForeignKey("reports.id", ondelete="CASCADE"), nullable=False),
    Column("due_at", Instant, nullable=False),
    Column("started_at", Instant, nullable=False),
    Column("finished_at", Instant),
    Column("state", Text, nullable=False),  # running | sent | failed
    Column("attempts", Integer, nullable=False),
    Column("sent", JSONB, nullable=False),  # recipients that took it
    Column("error", Text),
    Index("uq_report_runs_report_due", "report_id", "due_at", unique=True),
)

CAPACITY: tuple[Table, ...] = (capacity_days, capacity_groups, capacity_forecasts, reports, report_runs)
