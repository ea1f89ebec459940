"""Hosts as senders: enrolment, credentials, revocation."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, insert, or_, select, update

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.tables import hosts


@dataclass(frozen=True, slots=True)
class HostIdentity:
    """Which host a credential speaks for."""

    id: int
    public_id: str
    name: str
    origin: str


@dataclass(frozen=True, slots=True)
class NewHost:
    """A host to enrol. `credential_digest` is the SHA-256 of its credential."""

    public_id: str
    name: str
    origin: str
    labels: dict[str, str]
    fixed_labels: dict[str, str]
    """Set by the join token: what the agent says later never changes them."""
    credential_digest: bytes


def insert_host(transaction: WriteTransaction, host: NewHost) -> int:
    """Stores a host and returns its id. A name that is in use already names another host from now on."""
    statement = insert(hosts).values(
        public_id=host.public_id,
        name=host.name,
        origin=host.origin,
        labels=host.labels | host.fixed_labels,
        agent_labels=host.labels,
        fixed_labels=host.fixed_labels,
        credential_hash=host.credential_digest,
    )
    return int(transaction.execute(statement.returning(hosts.c.id)).scalar_one())


def find_by_credential(session: ReadSession, *, digest: bytes, now: datetime) -> HostIdentity | None:
    """Returns the host whose credential, or previous credential within its grace time, has this hash."""
    c = hosts.c
    previous = and_(c.previous_credential_hash == digest, c.previous_credential_until > now)
    statement = select(c.id, c.public_id, c.name, c.origin).where(
        c.revoked_at.is_(None), or_(c.credential_hash == digest, previous)
    )
    row = session.execute(statement).one_or_none()
    return None if row is None else HostIdentity(row.id, row.public_id, row.name, row.origin)


def rotate_credential(
    transaction: WriteTransaction, *, host_id: int, used: bytes, digest: bytes, previous_until: datetime
) -> bool:
    """Gives a host a new credential; the one whose hash is `used` stays valid until `previous_until`.

    False where `used` is none of the host's any more.

    That one may be the previous credential itself: its host never got the answer to its last rotation.
    """
    changed = transaction.execute(
        update(hosts)
        .where(hosts.c.id == host_id, or_(hosts.c.credential_hash == used, hosts.c.previous_credential_hash == used))
        .values(
            previous_credential_hash=used,
            previous_credential_until=previous_until,
            credential_hash=digest,
        )
    )
    return changed.rowcount > 0


def revoke_host(transaction: WriteTransaction, *, public_id: str, now: datetime) -> bool:
    """Revokes all credentials of a host; False where there is no such host."""
    statement = update(hosts).where(hosts.c.public_id == public_id).values(revoked_at=now).returning(hosts.c.id)
    return transaction.execute(statement).one_or_none() is not None
