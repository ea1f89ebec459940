"""What is in object stores: every body, from before it is put there until after it is deleted; published days."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Integer, Table, Text, text
from sqlalchemy.dialects.postgresql import ARRAY

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

history_files = Table(
    # A closed day of 64 hosts, published for other engines: usecases/operate/history.py. No rows, no file.
    "history_files",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("ts", Instant, primary_key=True),  # the day's start
    Column("first_host", BigInteger, primary_key=True),  # of the 64 numbers
    Column("n_rows", BigInteger, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("hosts", ARRAY(BigInteger), nullable=False),  # those that rows are of
    Column("services", ARRAY(BigInteger), nullable=False),
    Column("built_at", Instant, nullable=False),
    Column("changes", Integer, nullable=False, server_default="0"),  # times that the day was rebuilt since
    Column("built_changes", Integer, nullable=False),  # those that the file has
    Index(None, "ts", "first_host"),
)
