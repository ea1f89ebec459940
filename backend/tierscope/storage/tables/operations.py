"""Jobs that remove the data of a host or a service, with what each removed."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Identity, Index, Integer, Table, Text, text
from sqlalchemy.dialects.postgresql import JSONB

from tierscope.storage.tables.plain import Instant, metadata

purges = Table(
    # A job is done step by step, each in a transaction that also moves `step` and `report`: it goes on where it stood.
    "purges",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("public_id", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("subject_number", BigInteger, nullable=False),
    Column("subject_id", Text, nullable=False),  # public id
    Column("subject_name", Text, nullable=False),
    Column("requested_by", Text, nullable=False),
    Column("requested_at", Instant, nullable=False, server_default=text("now()")),
    Column("status", Text, nullable=False, server_default="waiting"),
    Column("step", Integer, nullable=False, server_default="0"),  # of all steps, those done
    Column("steps", Integer),  # null until it starts
    Column("position", Instant),  # within a time table: what lies before is gone
    Column("report", JSONB, nullable=False, server_default=text("'{}'::jsonb")),  # rows by table
    Column("error", Text),
    Column("started_at", Instant),
    Column("finished_at", Instant),
    CheckConstraint("kind IN ('host', 'service')", name="kind"),
    CheckConstraint("status IN ('waiting', 'running', 'done')", name="status"),
    Index("uq_purges_open", "kind", "subject_number", unique=True, postgresql_where=text("finished_at IS NULL")),
)

OPERATIONS: tuple[Table, ...] = (purges,)
