"""Samples of Prometheus: whom they are about, which series there are, and the packed samples themselves.

Samples are kept per target, the part of a series' instance before the port (and its cluster). A target whose series
hold kernel counters becomes a host; others only keep their samples. docs/decisions/0015-remote-write.md says why.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from tierscope.storage.tables.plain import Instant, metadata

sample_targets = Table(
    "sample_targets",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("cluster", Text, nullable=False),  # "" where no label says it
    Column("name", Text, nullable=False),  # "" for series without an instance
    Column("host_id", BigInteger, index=True),  # null = not a host (yet)
    Column("reason", Text),  # why its counters are not taken; null where they are, or where it sends none
    Column("first_seen_at", Instant, nullable=False, server_default=text("now()")),
    UniqueConstraint("cluster", "name"),
)

sample_series = Table(
    "sample_series",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column(
        "target_id",
        BigInteger,
        ForeignKey("sample_targets.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("hash", LargeBinary, nullable=False, unique=True),  # of the labels in order
    Column("metric", Text, nullable=False, index=True),
    Column("labels", JSONB, nullable=False),
    Column("first_seen_at", Instant, nullable=False, server_default=text("now()")),
    Column(
        "last_seen_at", Instant, nullable=False, server_default=text("now()")
    ),  # samples may be younger: SEEN_WITHIN
    Column("histograms_at", Instant),  # native histograms came; null where none, or longer ago than is told
    Index(None, "histograms_at", postgresql_where=text("histograms_at IS NOT NULL")),
)

samples_live = Table(
    # What came in one commit, of one target and hour: ts = arrival. Kept until it is packed, and two days more.
    "samples_live",
    metadata,
    Column("target_id", BigInteger, nullable=False),
    Column("ts", Instant, nullable=False),
    Column("hour", Instant, nullable=False),  # its start; samples of the hour lie after it, the last at its end
    Column("first_ms", BigInteger, nullable=False),  # milliseconds since 1970
    Column("last_ms", BigInteger, nullable=False),
    Column("n", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index(None, "target_id", "hour"),
)

samples_packed = Table(
    "samples_packed",  # an hour of a target, each (series, time) once; ts = the hour's start
    metadata,
    Column("target_id", BigInteger, nullable=False),
    Column("ts", Instant, nullable=False),
    Column("first_ms", BigInteger, nullable=False),
    Column("last_ms", BigInteger, nullable=False),
    Column("n", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index(None, "target_id", "ts"),
)

SAMPLE_TABLES = (sample_targets, sample_series, samples_live, samples_packed)
"""In the order in which they are made."""
