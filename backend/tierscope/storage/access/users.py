"""Users as stored. Password hashes are read by the one function that checks them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Row, Select, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by
from sqlalchemy.types import Text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.tables import team_members, teams, tokens, users

Role = Literal["viewer", "operator", "admin"]
Source = Literal["local", "oidc"]


@dataclass(frozen=True, slots=True)
class UserRow:
    """A user; `team_ids` are public ids, by name of the team."""

    id: int
    public_id: str
    name: str
    display_name: str
    email: str | None
    role: Role
    source: Source
    team_ids: tuple[str, ...]
    created_at: datetime
    last_login_at: datetime | None
    disabled_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewUserRow:
    """A user to store; issuer and subject are those of the OpenID provider."""

    public_id: str
    name: str
    display_name: str
    email: str | None
    role: Role
    source: Source
    issuer: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class PasswordRow:
    """What a login with a password is checked against."""

    user_id: int
    password_hash: str | None
    disabled: bool


def list_users(session: ReadSession) -> list[UserRow]:
    """All users by name."""
    return [_user(row) for row in session.execute(_columns().order_by(users.c.name))]


def find_user(session: ReadSession, public_id: str) -> UserRow | None:
    """One user by public id."""
    row = session.execute(_columns().where(users.c.public_id == public_id)).one_or_none()
    return None if row is None else _user(row)


def find_user_by_name(session: ReadSession, name: str) -> UserRow | None:
    """One user by name, as it is stored: in lower case."""
    row = session.execute(_columns().where(users.c.name == name)).one_or_none()
    return None if row is None else _user(row)


def find_user_by_subject(session: ReadSession, *, issuer: str, subject: str) -> UserRow | None:
    """One user by who it is at the OpenID provider."""
    statement = _columns().where(users.c.issuer == issuer, users.c.subject == subject)
    row = session.execute(statement).one_or_none()
    return None if row is None else _user(row)


def find_user_by_id(session: ReadSession, user_id: int) -> UserRow | None:
    """One user by the internal id."""
    row = session.execute(_columns().where(users.c.id == user_id)).one_or_none()
    return None if row is None else _user(row)


def find_password(session: ReadSession, name: str) -> PasswordRow | None:
    """The password's hash of a local user of this name."""
    statement = select(users.c.id, users.c.password_hash, users.c.disabled_at).where(
        users.c.name == name, users.c.source == "local"
    )
    row = session.execute(statement).one_or_none()
    return None if row is None else PasswordRow(row.id, row.password_hash, row.disabled_at is not None)


def lock_user(transaction: WriteTransaction, user_id: int) -> None:
    """Waits for other changes of a user, and keeps them out until this one ends."""
    transaction.execute(text("SELECT FROM users WHERE id = :id FOR UPDATE"), {"id": user_id})


def insert_user(transaction: WriteTransaction, row: NewUserRow) -> int | None:
    """Stores a user and returns its internal id; None where name or subject is taken."""
    statement = text(
        "INSERT INTO users (public_id, name, display_name, email, role, source, issuer, subject)"
        " VALUES (:public_id, :name, :display_name, :email, :role, :source, :issuer, :subject)"
        " ON CONFLICT DO NOTHING RETURNING id"
    )
    values = {name: getattr(row, name) for name in NewUserRow.__dataclass_fields__}
    found: int | None = transaction.execute(statement, values).scalar_one_or_none()
    return found


def update_user(
    transaction: WriteTransaction,
    user_id: int,
    *,
    display_name: str,
    email: str | None,
    role: Role,
    disabled_at: datetime | None,
) -> None:
    """Changes what people and claims may change."""
    values = {"display_name": display_name, "email": email, "role": role, "disabled_at": disabled_at}
    transaction.execute(update(users).where(users.c.id == user_id).values(values))


def delete_user(transaction: WriteTransaction, user_id: int) -> None:
    """Removes a user with sessions, tokens and memberships."""
    transaction.execute(delete(users).where(users.c.id == user_id))


def set_password_hash(transaction: WriteTransaction, user_id: int, password_hash: str, *, now: datetime) -> None:
    """Sets the hash of a new password."""
    values = {"password_hash": password_hash, "password_set_at": now}
    transaction.execute(update(users).where(users.c.id == user_id).values(values))


def replace_password_hash(transaction: WriteTransaction, user_id: int, *, old: str, new: str) -> None:
    """Puts the same password's hash with newer parameters in place of the old one, unless it was changed meanwhile."""
    statement = update(users).where(users.c.id == user_id, users.c.password_hash == old)
    transaction.execute(statement.values(password_hash=new))


def note_login(transaction: WriteTransaction, user_id: int, *, now: datetime) -> None:
    """Notes when a user last logged in."""
    transaction.execute(update(users).where(users.c.id == user_id).values(last_login_at=now))


def end_user_access(transaction: WriteTransaction, user_id: int, *, kinds: Sequence[str], now: datetime) -> None:
    """Revokes the user's tokens of these kinds."""
    statement = update(tokens).where(
        tokens.c.user_id == user_id, tokens.c.kind.in_(kinds), tokens.c.revoked_at.is_(None)
    )
    transaction.execute(statement.values(revoked_at=now))


def lock_accounts(transaction: WriteTransaction) -> None:
    """Waits for other transactions that ask whether anybody has access, and keeps them out until this one ends."""
    transaction.execute(text("SELECT pg_advisory_xact_lock(7310314873)"))


def anybody_has_access(session: ReadSession, *, now: datetime) -> bool:
    """Whether there is a user, a session or API token that ever was, or a login link that still works."""
    statement = text(
        "SELECT EXISTS (SELECT FROM users) OR EXISTS (SELECT FROM tokens WHERE kind IN ('api', 'session')"
        " OR (kind = 'link' AND revoked_at IS NULL AND expires_at > :now AND uses_left > 0))"
    )
    return bool(session.execute(statement, {"now": now}).scalar_one())


def _columns() -> Select[Any]:
    of_user = (
        select(func.array_agg(aggregate_order_by(teams.c.public_id, teams.c.name), type_=ARRAY(Text)))
        .select_from(team_members.join(teams, teams.c.id == team_members.c.team_id))
        .where(team_members.c.user_id == users.c.id)
        .scalar_subquery()
        .label("team_ids")
    )
    c = users.c
    return select(
        c.id,
        c.public_id,
        c.name,
        c.display_name,
        c.email,
        c.role,
        c.source,
        of_user,
        c.created_at,
        c.last_login_at,
        c.disabled_at,
    )


def _user(row: Row[Any]) -> UserRow:
    values = row._asdict()
    return UserRow(**(values | {"team_ids": tuple(values["team_ids"] or ())}))
