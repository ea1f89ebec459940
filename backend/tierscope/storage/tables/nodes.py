"""Servers that hold a fleet together, as its coordinator knows them."""

from sqlalchemy import CheckConstraint, Column, SmallInteger, Table, Text, text

from tierscope.storage.tables.plain import Instant, metadata

nodes = Table(
    # Empty where one server holds everything. Number 0 is the coordinator itself.
    "nodes",
    metadata,
    Column("number", SmallInteger, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False, unique=True),
    Column("url", Text, nullable=False),  # as the coordinator reaches it, with the password
    Column("added_at", Instant, nullable=False, server_default=text("now()")),
    Column("away_since", Instant),  # its tables are left out of the fleet's since then; null while it answers
    CheckConstraint("number >= 0", name="number"),
)

NODES: tuple[Table, ...] = (nodes,)
