"""Tokens, whose they are, and the audit trail."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Row, Select, and_, case, insert, or_, select, update

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.copying import copied
from tierscope.storage.tables import audit, tokens, users

Role = Literal["viewer", "operator", "admin"]
TokenKind = Literal["join", "api", "link", "session", "password"]


@dataclass(frozen=True, slots=True)
class NewTokenRow:
    """A token to store. `uses_left` None = any number."""

    kind: TokenKind
    role: Role | None = None
    note: str = ""
    uses_left: int | None = None
    origin: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    user_id: int | None = None
    scopes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A stored token, without its hash. `role` is its user's present one where it has a user."""

    id: str
    kind: TokenKind
    role: Role | None
    user_id: int | None
    user_name: str | None
    user_disabled: bool
    scopes: tuple[str, ...] | None
    note: str
    uses_left: int | None
    origin: str | None
    labels: dict[str, str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One change, and who made it."""

    at: datetime
    actor: str
    action: str
    subject: str
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A stored audit row with its place in the trail."""

    id: int
    row: AuditRow


def insert_token(
    transaction: WriteTransaction, row: NewTokenRow, *, public_id: str, digest: bytes, expires_at: datetime | None
) -> None:
    """Stores a token by its hash."""
    values = {
        "public_id": public_id,
        "kind": row.kind,
        "hash": digest,
        "role": row.role,
        "origin": row.origin,
        "labels": row.labels,
        "uses_left": row.uses_left,
        "expires_at": expires_at,
        "note": row.note,
        "user_id": row.user_id,
        "scopes": None if row.scopes is None else list(row.scopes),
    }
    transaction.execute(insert(tokens).values(values))


def find_token(session: ReadSession, *, kind: TokenKind, digest: bytes, now: datetime) -> TokenRow | None:
    """Returns the valid token with this hash; one of a disabled user is not valid."""
    row = session.execute(_columns().where(_valid(kind, digest, now), users.c.disabled_at.is_(None))).one_or_none()
    return None if row is None else _token(row)


def use_token(transaction: WriteTransaction, *, kind: TokenKind, digest: bytes, now: datetime) -> TokenRow | None:
    """Takes one use of a valid token; None where it has none left. Two callers never share the last use."""
    statement = (
        update(tokens)
        .where(_valid(kind, digest, now))
        .values(uses_left=tokens.c.uses_left - 1, last_used_at=now)
        .returning(tokens.c.id)
    )
    used = transaction.execute(statement).scalar_one_or_none()
    if used is None:
        return None
    row = transaction.execute(_columns().where(tokens.c.id == used, users.c.disabled_at.is_(None))).one_or_none()
    return None if row is None else _token(row)


def note_use(transaction: WriteTransaction, *, digest: bytes, before: datetime, now: datetime) -> None:
    """Notes when a token was last used, unless that was done after `before`."""
    c = tokens.c
    stale = or_(c.last_used_at.is_(None), c.last_used_at <= before)
    transaction.execute(update(tokens).where(c.hash == digest, stale).values(last_used_at=now))


def list_tokens(session: ReadSession) -> list[TokenRow]:
    """Returns all tokens but sessions and links that set passwords, newest first."""
    statement = _columns().where(tokens.c.kind.in_(("join", "api", "link"))).order_by(tokens.c.id.desc())
    return [_token(row) for row in session.execute(statement)]


def list_tokens_of_user(session: ReadSession, user_id: int) -> list[TokenRow]:
    """Returns a user's API tokens that were not revoked, newest first."""
    statement = _columns().where(tokens.c.user_id == user_id, tokens.c.kind == "api", tokens.c.revoked_at.is_(None))
    return [_token(row) for row in session.execute(statement.order_by(tokens.c.id.desc()))]


def revoke_by_hash(transaction: WriteTransaction, *, digest: bytes, now: datetime) -> None:
    """Revokes the token with this hash, if there is one."""
    transaction.execute(update(tokens).where(tokens.c.hash == digest).values(revoked_at=now))


def revoke_by_id(transaction: WriteTransaction, *, public_id: str, now: datetime, user_id: int | None = None) -> bool:
    """Revokes a token, of that user alone where one is given; False where there is no such token."""
    statement = update(tokens).where(tokens.c.public_id == public_id)
    if user_id is not None:
        statement = statement.where(tokens.c.user_id == user_id, tokens.c.kind == "api")
    revoked = statement.values(revoked_at=now).returning(tokens.c.id)
    return transaction.execute(revoked).one_or_none() is not None


def append_audit(transaction: WriteTransaction, row: AuditRow) -> None:
    """Appends to the audit trail, in the transaction of the change itself."""
    values = {"at": row.at, "actor": row.actor, "action": row.action, "subject": row.subject, "detail": row.detail}
    transaction.execute(insert(audit).values(values))


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which rows of the trail are asked for; None = any. `actor` finds what the actor's tokens did, too."""

    actor: str | None = None
    action: str | None = None
    subject: str | None = None
    start: datetime | None = None
    end: datetime | None = None


def list_audit(session: ReadSession, wanted: AuditFilter, *, limit: int, before: int | None) -> list[AuditEntry]:
    """Returns audit rows, newest first, older than the id `before`."""
    c = audit.c
    statement = select(audit).order_by(c.id.desc()).limit(limit)
    if before is not None:
        statement = statement.where(c.id < before)
    if wanted.actor is not None:
        statement = statement.where(
            or_(c.actor == wanted.actor, c.actor.startswith(f"{wanted.actor}/", autoescape=True))
        )
    if wanted.action is not None:
        # `token` finds token.create and token.revoke.
        statement = statement.where(
            or_(c.action == wanted.action, c.action.startswith(f"{wanted.action}.", autoescape=True))
        )
    if wanted.subject is not None:
        statement = statement.where(c.subject == wanted.subject)
    if wanted.start is not None:
        statement = statement.where(c.at >= wanted.start)
    if wanted.end is not None:
        statement = statement.where(c.at < wanted.end)
    rows = session.execute(statement)
    return [AuditEntry(row.id, AuditRow(row.at, row.actor, row.action, row.subject, row.detail)) for row in rows]


def _columns() -> Select[Any]:
    c = tokens.c
    role = case((c.user_id.is_(None), c.role), else_=users.c.role).label("role")
    return select(
        c.public_id,
        c.kind,
        role,
        c.user_id,
        users.c.name.label("user_name"),
        users.c.disabled_at.is_not(None).label("user_disabled"),
        c.scopes,
        c.note,
        c.uses_left,
        c.origin,
        c.labels,
        c.created_at,
        c.expires_at,
        c.last_used_at,
        c.revoked_at,
    ).select_from(tokens.outerjoin(users, users.c.id == c.user_id))


def _valid(kind: TokenKind, digest: bytes, now: datetime) -> ColumnElement[bool]:
    c = tokens.c
    return and_(
        c.hash == digest,
        c.kind == kind,
        c.revoked_at.is_(None),
        or_(c.expires_at.is_(None), c.expires_at > now),
        or_(c.uses_left.is_(None), c.uses_left > 0),
    )


def _token(row: Row[Any]) -> TokenRow:
    return copied(TokenRow, row, id=row.public_id, scopes=None if row.scopes is None else tuple(row.scopes))
