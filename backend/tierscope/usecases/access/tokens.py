"""People and their programs: API tokens, one-time login links, sessions. Secrets are kept as SHA-256 alone.

All secrets are 256 random bits, so a plain hash is enough: there is nothing to guess. Whose a secret is, is read from
the database with every request, so that what was revoked, disabled or narrowed is so at once in every process.
"""

import hashlib
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from tierscope.core import generations
from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database, WriteTransaction
from tierscope.core.errors import Forbidden, NotFound, Unavailable, UnknownToken, Unprocessable
from tierscope.domain.access.permissions import Permission, Role, granted, unknown_scopes
from tierscope.domain.fleet.labels import problem_of_labels
from tierscope.storage.access import credentials as stored
from tierscope.storage.access import users as stored_users
from tierscope.storage.access.users import UserRow
from tierscope.storage.base.facts import find_fact, store_fact_once
from tierscope.usecases.access.credentials import hash_secret, new_secret
from tierscope.usecases.access.loopback_trust import LoopbackTrust

LINK_LIFETIME = timedelta(minutes=30)
SESSION_LIFETIME = timedelta(days=7)
JOIN_LIFETIME = timedelta(hours=24)
_INSTANCE = "instance"
USE_NOTED_EVERY = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request. `role` is None for the anonymous reader.

    `scopes` None = all that the role may. `user_id` is the internal id, None for sessions of links and tokens of the
    installation, which belong to nobody. `key` is the id of the session or token.
    """

    kind: Literal["anonymous", "session", "token"]
    name: str
    role: Role | None
    scopes: frozenset[str] | None = None
    user_id: int | None = None
    key: str = ""

    @property
    def permissions(self) -> frozenset[Permission]:
        """What the caller may do now: what the role may, narrowed by the scopes."""
        return granted(self.role, self.scopes)


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


def require_within(caller: Caller, role: Role, scopes: Sequence[str] | None = None) -> None:
    """Refuses to hand out more than the caller has.

    Raises:
        Forbidden: names what the caller does not have.
    """
    require_held(caller, granted(role, scopes))


def require_held(caller: Caller, handed_out: frozenset[Permission]) -> None:
    """Refuses to hand out permissions that the caller does not have.

    Raises:
        Forbidden: names what the caller does not have.
    """
    missing = sorted(handed_out - caller.permissions)
    if missing:
        raise Forbidden(f"`{caller.name}` cannot give what it does not have: {', '.join(missing)}")


def insert_secret(transaction: WriteTransaction, row: stored.NewTokenRow, expires_at: datetime | None) -> NewToken:
    """Makes a secret and stores its hash."""
    secret = new_secret(row.kind)
    public_id = "t" + secrets.token_hex(8)
    stored.insert_token(transaction, row, public_id=public_id, digest=hash_secret(secret), expires_at=expires_at)
    return NewToken(id=public_id, kind=row.kind, secret=secret, expires_at=expires_at)


def start_session(transaction: WriteTransaction, user: UserRow, *, now: datetime) -> tuple[NewToken, Caller]:
    """Logs a user in: a session, the time of the login, a row of the audit trail."""
    row = stored.NewTokenRow(kind="session", note=user.name, user_id=user.id)
    token = insert_secret(transaction, row, now + SESSION_LIFETIME)
    stored_users.note_login(transaction, user.id, now=now)
    stored.append_audit(transaction, stored.AuditRow(now, user.name, "session.create", token.id, {}))
    return token, Caller(kind="session", name=user.name, role=user.role, user_id=user.id, key=token.id)


class Access:
    """Tokens and sessions of people and programs."""

    def __init__(self, database: Database, *, clock: Clock = utc_now, anonymous_reads: bool | None = None) -> None:
        self._database = database
        self._clock = clock
        self.loopback_trust = LoopbackTrust(database, setting=anonymous_reads)
        self._instance_name: tuple[str, int] | None = None

    def instance_name(self) -> str:
        """What tells this instance from others, the same in all its processes and for good; made at its first use.

        Raises:
            TierscopeError: the database does not answer, before this process has read the name.
        """
        if self._instance_name is None or self._instance_name[1] != generations.current():
            with self._database.read() as session:
                found, generation = find_fact(session, _INSTANCE), session.generation
            if found is None:
                with self._database.write() as transaction:
                    found = store_fact_once(transaction, _INSTANCE, secrets.token_hex(4))
            self._instance_name = found, generation
        return self._instance_name[0]

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
                raise UnknownToken(
                    "this login link was used or has expired", next_step="`tierscope token link` prints a new one."
                )
            row = stored.NewTokenRow(kind="session", role=link.role, note=link.note or "admin")
            token = insert_secret(transaction, row, now + SESSION_LIFETIME)
            stored.append_audit(transaction, stored.AuditRow(now, row.note, "session.create", token.id, {}))
        return token, Caller(kind="session", name=row.note, role=link.role, key=token.id)

    def end_session(self, secret: str) -> None:
        """Ends a session at once."""
        now = self._clock()
        with self._database.write() as transaction:
            digest = hash_secret(secret)
            session = stored.find_token(transaction, kind="session", digest=digest, now=now)
            if session is None:
                return
            stored.revoke_by_hash(transaction, digest=digest, now=now)
            actor = session.user_name or session.note or session.id
            stored.append_audit(transaction, stored.AuditRow(now, actor, "session.end", session.id, {}))

    def create_link(self, *, role: Role = "admin", name: str = "admin", actor: str) -> NewToken:
        """Makes a one-time login link, valid for half an hour."""
        row = stored.NewTokenRow(kind="link", role=role, note=name, uses_left=1)
        return self._create(row, self._clock() + LINK_LIFETIME, actor)

    def anybody_has_access(self) -> bool:
        """Whether somebody has had access, or can get it by a link that still works."""
        with self._database.write() as transaction:
            return stored_users.anybody_has_access(transaction, now=self._clock())

    def create_first_link(self) -> NewToken | None:
        """Makes a one-time admin link where nobody has ever had access; None where somebody has, or can get it."""
        now = self._clock()
        with self._database.write() as transaction:
            stored_users.lock_accounts(transaction)
            if stored_users.anybody_has_access(transaction, now=now):
                return None
            row = stored.NewTokenRow(kind="link", role="admin", note="admin", uses_left=1)
            token = insert_secret(transaction, row, now + LINK_LIFETIME)
            detail = {"kind": "link", "role": "admin", "uses": 1, "note": "admin"}
            stored.append_audit(transaction, stored.AuditRow(now, "first start", "token.create", token.id, detail))
        return token

    def create_api_token(
        self,
        *,
        role: Role,
        note: str,
        lifetime: timedelta | None,
        actor: str,
        scopes: Sequence[str] | None = None,
    ) -> NewToken:
        """Makes an API token of the installation, of a role; `lifetime` None = until revoked, `scopes` None = all.

        Raises:
            Unprocessable: a scope is no permission, or the role does not have it.
        """
        check_note(note)
        if scopes is not None:
            check_scopes(scopes, granted(role, None))
        expires_at = None if lifetime is None else self._clock() + lifetime
        row = stored.NewTokenRow(
            kind="api", role=role, note=note, scopes=None if scopes is None else tuple(sorted(set(scopes)))
        )
        return self._create(row, expires_at, actor)

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
        """Makes a token that enrols `uses` hosts (None = any number); it can fix their origin and labels.

        Raises:
            Unprocessable: it has no use, or a label is not acceptable.
        """
        if uses is not None and uses < 1:
            raise Unprocessable("a join token needs at least one use")
        problem = problem_of_labels(labels or {})
        if problem is not None:
            raise Unprocessable(problem)
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
            if not stored.revoke_by_id(transaction, public_id=public_id, now=now):
                raise NotFound(f"there is no token {public_id}")
            stored.append_audit(transaction, stored.AuditRow(now, actor, "token.revoke", public_id, {}))

    def _caller(self, kind: Literal["api", "session"], secret: str) -> Caller | None:
        digest = hash_secret(secret)
        now = self._clock()
        with self._database.read() as session:
            token = stored.find_token(session, kind=kind, digest=digest, now=now)
        if token is None or token.role is None:
            return None
        if token.last_used_at is None or now - token.last_used_at >= USE_NOTED_EVERY:
            # What it is good for is a date on a page: a request never fails for it.
            with suppress(Unavailable), self._database.write() as transaction:
                stored.note_use(transaction, digest=digest, before=now - USE_NOTED_EVERY, now=now)
        note = token.note or token.id
        # Notes are written by hand: without what stands before them one could be another's name.
        of_token = f"{token.user_name}/{note}" if token.user_name else f"token:{note}"
        return Caller(
            kind="session" if kind == "session" else "token",
            name=(token.user_name or token.note or token.id) if kind == "session" else of_token,
            role=token.role,
            scopes=None if token.scopes is None else frozenset(token.scopes),
            user_id=token.user_id,
            key=token.id,
        )

    def _create(self, row: stored.NewTokenRow, expires_at: datetime | None, actor: str) -> NewToken:
        now = self._clock()
        with self._database.write() as transaction:
            token = insert_secret(transaction, row, expires_at)
            detail: dict[str, object] = {
                "kind": row.kind,
                "role": row.role,
                "uses": row.uses_left,
                "note": row.note,
            }
            if row.scopes is not None:
                detail["scopes"] = list(row.scopes)
            stored.append_audit(transaction, stored.AuditRow(now, actor, "token.create", token.id, detail))
        return token


def check_note(note: str) -> None:
    """Checks what a token is called, which the audit trail names as the author.

    Raises:
        Unprocessable: it holds characters that do not show.
    """
    if not note.isprintable():
        raise Unprocessable("a token's note holds a character that does not show")


def check_scopes(scopes: Sequence[str], available: frozenset[Permission]) -> None:
    """Checks the scopes of a new token.

    Raises:
        Unprocessable: there is none, one is no permission that a token can have, or its owner does not have it.
    """
    if not scopes:
        raise Unprocessable("a token without any scope could do nothing", next_step="Name at least one permission.")
    unknown = unknown_scopes(scopes)
    if unknown:
        raise Unprocessable(f"no token can be made for {', '.join(name[:40] for name in unknown)}")
    beyond = sorted(set(scopes) - available)
    if beyond:
        raise Unprocessable(
            f"its owner does not have {', '.join(beyond)}", next_step="Choose among the owner's own permissions."
        )
