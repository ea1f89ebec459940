"""People: users, their teams and saved views. What a user holds (sessions, tokens, links) stands in `tokens`."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Identity,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from tierscope.storage.tables.plain import Instant, metadata

_NOW = text("now()")

users = Table(
    "users",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("public_id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False, unique=True),  # in lower case: what is typed to log in
    Column("display_name", Text, nullable=False, server_default=""),
    Column("email", Text),
    Column("role", Text, nullable=False),
    Column("source", Text, nullable=False, server_default="local"),
    Column("issuer", Text),  # with `subject`, who the user is at the OpenID provider; null for local users
    Column("subject", Text),
    Column("password_hash", Text),  # argon2id with its parameters; null while no password was set
    Column("password_set_at", Instant),
    Column("created_at", Instant, nullable=False, server_default=_NOW),
    Column("last_login_at", Instant),
    Column("disabled_at", Instant),
    CheckConstraint("role IN ('viewer', 'operator', 'admin')", name="role"),
    CheckConstraint("source IN ('local', 'oidc')", name="source"),
    UniqueConstraint("issuer", "subject"),
)

teams = Table(
    "teams",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("public_id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created_at", Instant, nullable=False, server_default=_NOW),
)

team_members = Table(
    "team_members",
    metadata,
    Column("team_id", BigInteger, ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", BigInteger, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True),
)

saved_views = Table(
    # Names for addresses of the dashboard.
    "saved_views",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("public_id", Text, nullable=False, unique=True),
    Column("user_id", BigInteger, ForeignKey("users.id", ondelete="CASCADE"), index=True),  # null: the installation's
    Column("name", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("shared", Boolean, nullable=False),
    Column("created_at", Instant, nullable=False, server_default=_NOW),
    Column("created_by", Text, nullable=False),
    CheckConstraint("shared OR user_id IS NOT NULL", name="shared"),
)

IDENTITY: tuple[Table, ...] = (teams, team_members)
