"""People and their programs: API tokens, one-time login links, sessions. Secrets are kept as SHA-256 alone.

All secrets are 256 random bits, so a plain hash is enough: there is nothing to guess.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database, WriteTransaction
from tierscope.core.errors import NotFound, UnknownToken, Unprocessable
from tierscope.storage import access as stored
from tierscope.usecases.credentials import SecretCache, hash_secret, new_secret

Role = Literal["viewer", "operator", "admin"]

LINK_LIFETIME = timedelta(minutes=30)
SESSION_LIFETIME = timedelta(days=7)
JOIN_LIFETIME = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request. `role` is None for the anonymous reader."""

    kind: Literal["anonymous", "session", "token"]
    name: str
    role: Role | None


ANONYMOUS_CALLER = Caller(kind="anonymous", name="anonymous", role=None)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token just made. `secret` is shown once and stored nowhere."""

    id: str
    kind: str
    secret: str
    expires_at: datetime | None


def csrf_token(session_secret: str) -> str:
    """Returns the CSRF token of a session. It follows from the secret and does not reveal it."""
    return hashlib.sha256(b"csrf\0" + session_secret.encode()).hexdigest()


class Access:
    """Tokens and sessions of people and programs."""

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock
        self._callers: SecretCache[Caller] = SecretCache()

    def caller_of_token(self, secret: str) -> Caller | None:
        """Returns who holds an API token; None where it is not valid."""
        return self._caller("api", secret)

    def caller_of_session(self, secret: str) -> Caller | None:
        """Returns whose session it is; None where it is not valid."""
        return self._caller("session", secret)

    def redeem_link(self, secret: str) -> tuple[NewToken, Caller]:
        """Trades a one-time link for a session.

        Raises:
            UnknownToken: unknown, used or expired.
        """
        now = self._clock()
        with self._database.write() as transaction:
            link = stored.use_token(transaction, kind="link", digest=hash_secret(secret), now=now)
            if link is None or link.role is None:
                raise UnknownToken("this login link was used or has expired")
            caller = Caller(kind="session", name=link.note or "admin", role=link.role)
            token = self._insert(
                transaction,
                stored.NewTokenRow(kind="session", role=link.role, note=caller.name),
                now + SESSION_LIFETIME,
            )
            stored.append_audit(transaction, stored.AuditRow(now, caller.name, "session.create", token.id, {}))
        return token, caller

    def end_session(self, secret: str) -> None:
        """Ends a session at once."""
        digest = hash_secret(secret)
        with self._database.write() as transaction:
            stored.revoke_by_hash(transaction, digest=digest, now=self._clock())
        self._callers.forget(digest)

    def create_link(self, *, role: Role = "admin", name: str = "admin", actor: str) -> NewToken:
        """Makes a one-time login link, valid for half an hour."""
        row = stored.NewTokenRow(kind="link", role=role, note=name, uses_left=1)
        return self._create(row, self._clock() + LINK_LIFETIME, actor)

    def create_api_token(self, *, role: Role, note: str, lifetime: timedelta | None, actor: str) -> NewToken:
        """Makes an API token of a role; `lifetime` None = until revoked."""
        expires_at = None if lifetime is None else self._clock() + lifetime
        return self._create(stored.NewTokenRow(kind="api", role=role, note=note), expires_at, actor)

    def create_join_token(
        self,
        *,
        uses: int | None = 1,
        lifetime: timedelta = JOIN_LIFETIME,
        origin: str | None = None,
        labels: dict[str, str] | None = None,
        note: str = "",
        actor: str,
    ) -> NewToken:
        """Makes a token that enrols `uses` hosts (None = any number); it can fix their origin and labels."""
        if uses is not None and uses < 1:
            raise Unprocessable("a join token needs at least one use")
        row = stored.NewTokenRow(kind="join", note=note, uses_left=uses, origin=origin, labels=labels or {})
        return self._create(row, self._clock() + lifetime, actor)

    def list_tokens(self) -> list[stored.TokenRow]:
        """Returns all tokens but sessions, newest first, without anything secret."""
        with self._database.read() as session:
            return stored.list_tokens(session)

    def revoke_token(self, public_id: str, *, actor: str) -> None:
        """Revokes a token or session at once.

        Raises:
            NotFound: no such token.
        """
        now = self._clock()
        with self._database.write() as transaction:
            digest = stored.revoke_by_id(transaction, public_id=public_id, now=now)
            if digest is None:
                raise NotFound(f"there is no token {public_id}")
            stored.append_audit(transaction, stored.AuditRow(now, actor, "token.revoke", public_id, {}))
        self._callers.forget(digest)

    def list_audit(self, *, limit: int, before: int | None) -> list[stored.AuditEntry]:
        """Returns audit rows, newest first; `before` is the id that the page before ended with."""
        with self._database.read() as session:
            return stored.list_audit(session, limit=limit, before=before)

    def _caller(self, kind: Literal["api", "session"], secret: str) -> Caller | None:
        digest = hash_secret(secret)
        known = self._callers.get(digest)
        if known is not None:
            return known if (known.kind == "session") == (kind == "session") else None
        with self._database.read() as session:
            token = stored.find_token(session, kind=kind, digest=digest, now=self._clock())
        if token is None or token.role is None:
            return None
        caller = Caller(kind="session" if kind == "session" else "token", name=token.note or token.id, role=token.role)
        self._callers.put(digest, caller)
        return caller

    def _create(self, row: stored.NewTokenRow, expires_at: datetime | None, actor: str) -> NewToken:
        now = self._clock()
        with self._database.write() as transaction:
            token = self._insert(transaction, row, expires_at)
            detail = {"kind": row.kind, "role": row.role, "uses": row.uses_left, "note": row.note}
            stored.append_audit(transaction, stored.AuditRow(now, actor, "token.create", token.id, detail))
        return token

    def _insert(self, transaction: WriteTransaction, row: stored.NewTokenRow, expires_at: datetime | None) -> NewToken:
        secret = new_secret(row.kind)
        public_id = "t" + secrets.token_hex(8)
        stored.insert_token(transaction, row, public_id=public_id, digest=hash_secret(secret), expires_at=expires_at)
        return NewToken(id=public_id, kind=row.kind, secret=secret, expires_at=expires_at)
