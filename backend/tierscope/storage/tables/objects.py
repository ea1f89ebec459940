"""What is in the object store: every object, from before it is put there until after it is deleted."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Table, Text, text

from tierscope.storage.tables.plain import Instant, metadata

objects = Table(
    # stored_at is null until the rows refer to it; forgotten_at is set once none does, until it is deleted.
    "objects",
    metadata,
    Column("key", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("host_id", BigInteger, nullable=False, index=True),
    Column("service_id", BigInteger, nullable=False, index=True),
    Column("ts", Instant, nullable=False),  # the hour
    Column("size_bytes", BigInteger, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("stored_at", Instant),
    Column("forgotten_at", Instant),
    CheckConstraint("kind IN ('traces', 'tiles')", name="kind"),
    Index(None, "kind", "ts"),
    Index("ix_objects_due", "created_at", postgresql_where=text("stored_at IS NULL OR forgotten_at IS NOT NULL")),
)
