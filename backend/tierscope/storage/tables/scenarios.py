"""Scenarios of cost and the price book."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Date,
    Double,
    Identity,
    Index,
    Integer,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from tierscope.storage.tables.plain import Instant, metadata

_NOW = text("now()")

prices = Table(
    # The price book. A published preset has a row once somebody confirmed it.
    "prices",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("public_id", Text, nullable=False, unique=True),
    Column("item", Text, nullable=False),
    Column("value", Double, nullable=False),
    Column("low", Double, nullable=False),
    Column("high", Double, nullable=False),
    Column("currency", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("date", Date, nullable=False),  # the day that the price held on
    Column("created_at", Instant, nullable=False, server_default=_NOW),
    Column("author", Text, nullable=False),
    Column("confirmed_by", Text),
    Column("confirmed_at", Instant),
    CheckConstraint("low <= value AND value <= high AND low >= 0", name="range"),
    CheckConstraint("(confirmed_by IS NULL) = (confirmed_at IS NULL)", name="confirmed"),
    Index("ix_prices_in_force", "item", "currency", "confirmed_at"),
)

scenarios = Table(
    "scenarios",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("public_id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("version", Integer, nullable=False, server_default="1"),
    Column("spec", JSONB, nullable=False),
    Column("yaml", Text),  # as written, with its comments; null where it was made in the dashboard
    Column("created_at", Instant, nullable=False, server_default=_NOW),
    Column("created_by", Text, nullable=False),
    Column("changed_at", Instant, nullable=False, server_default=_NOW),
    Column("changed_by", Text, nullable=False),
)

SCENARIOS: tuple[Table, ...] = (prices, scenarios)
