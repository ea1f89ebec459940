"""Silences, routes, acknowledgements and notifications of alerts.

What is to be sent stands in `notifications` before it is sent, written in the transaction that moves the notifier's
position past the changes that it was made from. docs/method/notifications.md
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
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
_EMPTY_OBJECT = text("'{}'::jsonb")

silences = Table(
    "silences",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("public_id", Text, nullable=False, unique=True),
    Column("matchers", JSONB, nullable=False),  # list of {name, op, value}
    Column("starts_at", Instant, nullable=False),
    Column("ends_at", Instant, nullable=False, index=True),
    Column("comment", Text, nullable=False, server_default=""),
    Column("created_by", Text, nullable=False),
    Column("created_at", Instant, nullable=False, server_default=_NOW),
    CheckConstraint("starts_at <= ends_at", name="order"),
)

alert_acknowledgements = Table(
    # Someone looks after an alert: it is not repeated until it comes again. An alert that comes again is another row.
    "alert_acknowledgements",
    metadata,
    Column("alert_id", BigInteger, ForeignKey("alerts.id", ondelete="CASCADE"), primary_key=True),
    Column("at", Instant, nullable=False),
    Column("by", Text, nullable=False),
    Column("note", Text, nullable=False, server_default=""),
)

alert_routing = Table(
    # One row: receivers, routes and inhibitions as configured. Secrets are named there, never held.
    "alert_routing",
    metadata,
    Column("id", Integer, primary_key=True, server_default="1"),
    Column("version", BigInteger, nullable=False),
    Column("body", JSONB, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("updated_by", Text, nullable=False),
    CheckConstraint("id = 1", name="one"),
)

notifier = Table(
    # One row: how far the notifier has read alert_changes, and with which routes.
    "notifier",
    metadata,
    Column("id", Integer, primary_key=True, server_default="1"),
    Column("position", BigInteger, nullable=False),
    Column("routing_version", BigInteger, nullable=False),
    Column("ran_at", Instant, nullable=False),
    CheckConstraint("id = 1", name="one"),
)

notification_groups = Table(
    # Alerts that are said together, for as long as one of them fires or its end is still to be said.
    "notification_groups",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("key", Text, nullable=False, unique=True),  # route, receiver and group labels
    Column("receiver", Text, nullable=False),
    Column("timing", JSONB, nullable=False),
    Column("keeps_alive", Boolean, nullable=False),
    Column("labels", JSONB, nullable=False, server_default=_EMPTY_OBJECT),
    Column("notified_at", Instant),
)

notification_members = Table(
    "notification_members",
    metadata,
    Column("group_id", BigInteger, ForeignKey("notification_groups.id", ondelete="CASCADE"), primary_key=True),
    Column("fingerprint", Text, primary_key=True),
    Column("alert_id", Text, nullable=False),  # public id
    Column("state", Text, nullable=False),
    Column("changed_at", Instant, nullable=False),
    Column("told_alert_id", Text),  # of which the receiver was last told that it fires
    Column("body", JSONB, nullable=False),  # the alert as it is sent
    CheckConstraint("state IN ('firing', 'resolved')", name="state"),
)

notifications = Table(
    # The outbox, and afterwards the log. `key` follows from what was said before and what is said now.
    "notifications",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("public_id", Text, nullable=False, unique=True),
    Column("key", Text, nullable=False, unique=True),
    Column("group_key", Text, nullable=False),
    Column("group_labels", JSONB, nullable=False, server_default=_EMPTY_OBJECT),
    Column("receiver", Text, nullable=False),
    Column("kind", Text, nullable=False),  # of the receiver, when it was made
    Column("reason", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("firing", Integer, nullable=False),
    Column("resolved", Integer, nullable=False),
    Column("alerts", JSONB, nullable=False),
    Column("more_alerts", Integer, nullable=False, server_default="0"),
    Column("created_at", Instant, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("next_attempt_at", Instant, nullable=False),
    Column("ended_at", Instant),  # delivered, or given up
    Column("last_status_code", Integer),
    Column("last_error", Text),
    CheckConstraint("reason IN ('firing', 'resolved', 'repeat', 'test')", name="reason"),
    CheckConstraint("status IN ('waiting', 'delivered', 'dead')", name="status"),
    Index("ix_notifications_waiting", "receiver", "id", postgresql_where=text("status = 'waiting'")),
    Index(None, "ended_at"),
)

NOTIFICATIONS: tuple[Table, ...] = (
    silences,
    alert_acknowledgements,
    alert_routing,
    notifier,
    notification_groups,
    notification_members,
    notifications,
)
