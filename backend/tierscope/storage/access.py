"""Tokens and the audit trail."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Row, Select, and_, insert, or_, select, update

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.tables import audit, tokens

Role = Literal["viewer", "operator", "admin"]
TokenKind = Literal["join", "api", "link", "session"]


@dataclass(frozen=True, slots=True)
class NewTokenRow:
    """A token to store. `uses_left` None = any number."""

    kind: TokenKind
    role: Role | None = None
    note: str = ""
    uses_left: int | None = None
    origin: str | None = None
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A stored token, without its hash."""

    id: str
    kind: TokenKind
    role: Role | None
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
    """Who did what to which thing."""

    at: datetime
    actor: str
    action: str
    subject: str
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A stored audit row with its place in the trail."""

    id: int
    at: datetime
    actor: str
    action: str
    subject: str
    detail: dict[str, Any]


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
    }
    transaction.execute(insert(tokens).values(values))


def find_token(session: ReadSession, *, kind: TokenKind, digest: bytes, now: datetime) -> TokenRow | None:
    """Returns the valid token with this hash."""
    row = session.execute(_columns().where(_valid(kind, digest, now))).one_or_none()
    return None if row is None else _token(row)


def use_token(transaction: WriteTransaction, *, kind: TokenKind, digest: bytes, now: datetime) -> TokenRow | None:
    """Takes one use of a valid token; None where it has none left. Two callers never share the last use."""
    statement = (
        update(tokens)
        .where(_valid(kind, digest, now))
        .values(uses_left=tokens.c.uses_left - 1, last_used_at=now)
        .returning(*_columns().selected_columns)
    )
    row = transaction.execute(statement).one_or_none()
    return None if row is None else _token(row)


def list_tokens(session: ReadSession) -> list[TokenRow]:
    """Returns all tokens but sessions, newest first."""
    statement = _columns().where(tokens.c.kind != "session").order_by(tokens.c.id.desc())
    return [_token(row) for row in session.execute(statement)]


def revoke_by_hash(transaction: WriteTransaction, *, digest: bytes, now: datetime) -> None:
    """Revokes the token with this hash, if there is one."""
    transaction.execute(update(tokens).where(tokens.c.hash == digest).values(revoked_at=now))


def revoke_by_id(transaction: WriteTransaction, *, public_id: str, now: datetime) -> bytes | None:
    """Revokes a token; returns its hash, None where there is no such token."""
    statement = update(tokens).where(tokens.c.public_id == public_id).values(revoked_at=now).returning(tokens.c.hash)
    digest: bytes | None = transaction.execute(statement).scalar_one_or_none()
    return digest


def append_audit(transaction: WriteTransaction, row: AuditRow) -> None:
    """Appends to the audit trail, in the transaction of the change itself."""
    values = {"at": row.at, "actor": row.actor, "action": row.action, "subject": row.subject, "detail": row.detail}
    transaction.execute(insert(audit).values(values))


def list_audit(session: ReadSession, *, limit: int, before: int | None) -> list[AuditEntry]:
    """Returns audit rows, newest first, older than the id `before`."""
    statement = select(audit).order_by(audit.c.id.desc()).limit(limit)
    if before is not None:
        statement = statement.where(audit.c.id < before)
    rows = session.execute(statement)
    return [AuditEntry(row.id, row.at, row.actor, row.action, row.subject, row.detail) for row in rows]


def _columns() -> Select[Any]:
    c = tokens.c
    return select(
        c.public_id,
        c.kind,
        c.role,
        c.note,
        c.uses_left,
        c.origin,
        c.labels,
        c.created_at,
        c.expires_at,
        c.last_used_at,
        c.revoked_at,
    )


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
    return TokenRow(
        id=row.public_id,
        kind=row.kind,
        role=row.role,
        note=row.note,
        uses_left=row.uses_left,
        origin=row.origin,
        labels=row.labels,
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
    )
