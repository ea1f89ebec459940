"""Servers that hold a fleet together, as its coordinator knows them."""

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, ForeignKey, SmallInteger, Table, Text, text

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
    Column("draining", Boolean, nullable=False, server_default=text("false")),  # it takes no new hosts
    # Whether it is shown by ranges of numbers, since a host first moved to it or from it; else as a whole.
    Column("cut", Boolean, nullable=False, server_default=text("false")),
    CheckConstraint("number >= 0", name="number"),
)

node_ranges = Table(
    # Which node holds the hosts whose numbers begin here; the next row is where they end.
    "node_ranges",
    metadata,
    Column("first", BigInteger, primary_key=True, autoincrement=False),
    Column("node", SmallInteger, ForeignKey("nodes.number"), nullable=False),
)

NODES: tuple[Table, ...] = (nodes, node_ranges)
