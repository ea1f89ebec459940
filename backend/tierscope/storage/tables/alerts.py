"""Alert rules, their states and history, and the packed minutes that backtests read.

A change of an alert's state is one row of `alert_changes`, written in the transaction that writes the state. One
evaluator writes at a time, so their ids are in the order in which they commit: readers keep a position.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from tierscope.storage.tables.plain import Instant, metadata
from tierscope.storage.tables.time import rule_inputs

_NOW = text("now()")
_EMPTY_OBJECT = text("'{}'::jsonb")
_STATES = "('ok', 'pending', 'firing', 'resolved', 'no_data')"

alert_rules = Table(
    "alert_rules",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("public_id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False, unique=True),
    Column("group_name", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("enabled", Boolean, nullable=False, server_default=text("true")),
    Column("body", JSONB, nullable=False),  # the rule as in its file: domain/alerts/rules.py
    Column("version", Integer, nullable=False, server_default="1"),  # rises when what it says of history changes
    Column("created_at", Instant, nullable=False, server_default=_NOW),
    Column("updated_at", Instant, nullable=False, server_default=_NOW),
    Column("author", Text),
    CheckConstraint("origin IN ('shipped', 'own')", name="origin"),
)

alert_states = Table(
    # Where the evaluator stands: one row per rule, the states of all its subjects packed.
    "alert_states",
    metadata,
    Column("rule_id", BigInteger, ForeignKey("alert_rules.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, nullable=False),  # of the rule that made them
    Column("evaluated_to", Instant, nullable=False),  # end of the newest minute that was judged
    Column("counts", JSONB, nullable=False, server_default=_EMPTY_OBJECT),  # subjects by state
    Column("body", LargeBinary, nullable=False),
)

alerts = Table(
    # One row from when a condition begins to hold (or data is missing) until it is resolved.
    "alerts",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("public_id", Text, nullable=False, unique=True),
    Column("rule_id", BigInteger, ForeignKey("alert_rules.id", ondelete="SET NULL"), index=True),
    Column("rule_name", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),  # of rule and subject: the same for each time it comes
    Column("severity", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("subject_kind", Text, nullable=False),
    Column("subject_id", Text, nullable=False),  # public id; "fleet" for the fleet
    Column("subject_name", Text, nullable=False),
    Column("origin", Text, nullable=False),  # of the subject's data: live | import | simulated
    Column("labels", JSONB, nullable=False, server_default=_EMPTY_OBJECT),
    Column("value", Double),
    Column("unit", Text, nullable=False, server_default=""),
    Column("threshold", Double),
    Column("summary", Text, nullable=False, server_default=""),
    Column("description", Text, nullable=False, server_default=""),
    Column("runbook_url", Text),
    Column("started_at", Instant, nullable=False),
    Column("fired_at", Instant),
    Column("resolved_at", Instant),
    Column("last_seen_at", Instant, nullable=False),
    CheckConstraint(f"state IN {_STATES}", name="state"),
    CheckConstraint("severity IN ('info', 'warning', 'critical')", name="severity"),
    CheckConstraint("subject_kind IN ('host', 'service', 'fleet')", name="subject_kind"),
    Index(None, "started_at"),
    Index(None, "subject_kind", "subject_id", "started_at"),
    Index("ix_alerts_open", "fingerprint", unique=True, postgresql_where=text("resolved_at IS NULL")),
)

alert_changes = Table(
    "alert_changes",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("alert_id", BigInteger, ForeignKey("alerts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("rule_id", BigInteger),
    Column("fingerprint", Text, nullable=False),
    Column("at", Instant, nullable=False, index=True),  # end of the minute that made it
    Column("recorded_at", Instant, nullable=False, server_default=_NOW),
    Column("from_state", Text, nullable=False),
    Column("to_state", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("labels", JSONB, nullable=False, server_default=_EMPTY_OBJECT),
    Column("value", Double),
    Column("summary", Text, nullable=False, server_default=""),
    Column("reason", Text, nullable=False, server_default=""),  # e.g. "rule changed", "" for an ordinary change
    CheckConstraint(f"from_state IN {_STATES} AND to_state IN {_STATES}", name="states"),
)

ALERTS: tuple[Table, ...] = (alert_rules, alert_states, alerts, alert_changes, rule_inputs)
