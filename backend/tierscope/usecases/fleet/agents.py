"""Agents: a join token buys a host credential; the credential is rotated and revoked."""

import secrets
from dataclasses import dataclass
from datetime import timedelta

from tierscope.core.cache import StoredCache
from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database
from tierscope.core.errors import NotFound, UnknownCredential, UnknownToken, Unprocessable
from tierscope.domain.base.names import problem_of_name
from tierscope.storage.access import credentials as stored_access
from tierscope.storage.fleet import agents as stored
from tierscope.storage.fleet.agents import HostIdentity
from tierscope.usecases.access.credentials import has_prefix, hash_secret, new_secret
from tierscope.usecases.nodes.fleet import Nodes, perhaps_there

__all__ = ["Agents", "EnrolAnswer", "HostIdentity"]

ROTATION_GRACE = timedelta(hours=24)
CHECKED_SECONDS = 300.0
CHECKED_HOSTS = 20_000
"""How long a host's credential counts as checked: hosts send once a minute, and their batches are refused by the row of
the host itself once it is revoked."""
ORIGINS = ("live", "import", "simulated")
MAX_LABELS = 64
MAX_LABEL_LENGTH = 256
MAX_HOSTNAME_LENGTH = 255
_UNKNOWN = "the host credential is unknown, expired or revoked"


@dataclass(frozen=True, slots=True)
class EnrolAnswer:
    """A new host and its credential, which is shown once."""

    host_id: str
    credential: str


class Agents:
    """Enrolment and credentials of hosts."""

    def __init__(self, database: Database, nodes: Nodes | None = None, *, clock: Clock = utc_now) -> None:
        """`nodes`: the servers that new hosts are spread over, where there are several."""
        self._database = database
        self._nodes = nodes or Nodes(database)
        self._clock = clock
        self._hosts: StoredCache[bytes, HostIdentity] = StoredCache(CHECKED_HOSTS, lifetime_seconds=CHECKED_SECONDS)

    def enrol(self, *, join_token: str, hostname: str, labels: dict[str, str], origin: str) -> EnrolAnswer:
        """Makes a new host. What the token fixes (origin, labels) wins over what the host says.

        Raises:
            UnknownToken: the join token is unknown, used up, expired or revoked.
            Unprocessable: the name, a label or the origin is not acceptable.
        """
        _check(hostname, labels, origin)
        now = self._clock()
        credential = new_secret("host")
        public_id = "h" + secrets.token_hex(8)
        node = self._nodes.own(self._nodes.emptiest())
        with self._database.write() as transaction:
            token = stored_access.use_token(transaction, kind="join", digest=hash_secret(join_token), now=now)
            if token is None:
                raise UnknownToken("this join token is unknown, used up, expired or revoked")
            host = stored.NewHost(
                public_id=public_id,
                name=hostname,
                origin=token.origin or origin,
                labels=labels,
                fixed_labels=token.labels,
                credential_digest=hash_secret(credential),
            )
            # Committed before the token counts as used: a host whose credential nobody got does no harm.
            with node.write() as own:
                stored.insert_host(own, host)
            detail = {"name": hostname, "origin": host.origin}
            stored_access.append_audit(
                transaction, stored_access.AuditRow(now, f"join:{token.id}", "host.enrol", public_id, detail)
            )
        return EnrolAnswer(host_id=public_id, credential=credential)

    def known(self, credential: str) -> HostIdentity | None:
        """Returns the host of a credential checked moments ago, without asking the database."""
        return self._hosts.get(hash_secret(credential))

    def authenticate(self, credential: str | None) -> HostIdentity:
        """Returns which host a credential speaks for.

        Raises:
            UnknownCredential: missing, unknown, expired or revoked.
            Unavailable: the database cannot be reached, or a node is away that may have the host.
        """
        if not credential:
            raise UnknownCredential("the request carries no host credential")
        digest = hash_secret(credential)
        known = self._hosts.get(digest)
        if known is not None:
            return known
        found = self._find(digest)
        if found is None and has_prefix("host", credential):
            self._all_answer()
            found = self._find(digest)  # on a node that came back meanwhile
        if found is None:
            raise UnknownCredential(_UNKNOWN)
        return found

    def _find(self, digest: bytes) -> HostIdentity | None:
        with self._database.read() as session:
            found = stored.find_by_credential(session, digest=digest, now=self._clock())
        if found is not None:
            self._hosts.put(digest, found, generation=session.generation)
        return found

    def _all_answer(self) -> None:
        """Who is told that a credential is unknown enrols a second host: only where no node is away.

        Raises:
            Unavailable: one is.
        """
        if away := self._nodes.away():
            raise perhaps_there(_UNKNOWN, away)

    def rotate(self, used: str | None) -> EnrolAnswer:
        """Gives a host a new credential; the one it used stays valid for 24 h.

        Raises:
            UnknownCredential: missing, unknown, expired or revoked.
            Unavailable: the database cannot be reached, or a node is away that may have the host.
        """
        host = self.authenticate(used)
        now = self._clock()
        credential = new_secret("host")
        with self._database.write() as transaction:
            rotated = stored.rotate_credential(
                transaction,
                host_id=host.id,
                used=hash_secret(used or ""),
                digest=hash_secret(credential),
                previous_until=now + ROTATION_GRACE,
            )
            if not rotated:
                self._all_answer()
                raise UnknownCredential(_UNKNOWN)
            stored_access.append_audit(
                transaction,
                stored_access.AuditRow(now, f"host:{host.public_id}", "host.rotate", host.public_id, {}),
            )
        self._hosts.clear()
        return EnrolAnswer(host_id=host.public_id, credential=credential)

    def revoke(self, public_id: str, *, actor: str) -> None:
        """Ends a host's access at once. Its data stays.

        Raises:
            NotFound: no such host.
        """
        now = self._clock()
        with self._database.write() as transaction:
            if not stored.revoke_host(transaction, public_id=public_id, now=now):
                raise NotFound(f"there is no host {public_id}")
            stored_access.append_audit(transaction, stored_access.AuditRow(now, actor, "host.revoke", public_id, {}))
            transaction.renew_generation()
        self._hosts.clear()


def _check(hostname: str, labels: dict[str, str], origin: str) -> None:
    if not 0 < len(hostname) <= MAX_HOSTNAME_LENGTH or "\0" in hostname:
        raise Unprocessable(f"a host name has 1 to {MAX_HOSTNAME_LENGTH} characters, this one has {len(hostname)}")
    problem = problem_of_name(hostname)
    if problem is not None:
        raise Unprocessable(f"the host name {problem}", next_step="Give the machine a plain name and enrol it again.")
    if origin not in ORIGINS:
        raise Unprocessable(f"origin is one of {', '.join(ORIGINS)}, not {origin[:40]!r}")
    if len(labels) > MAX_LABELS:
        raise Unprocessable(f"a host has at most {MAX_LABELS} labels, not {len(labels)}")
    for key, value in labels.items():
        if not key or len(key) > MAX_LABEL_LENGTH or len(value) > MAX_LABEL_LENGTH or "\0" in key + value:
            raise Unprocessable(f"label {key[:40]!r} is empty or longer than {MAX_LABEL_LENGTH} characters")
        problem = problem_of_name(key) or problem_of_name(value)
        if problem is not None:
            raise Unprocessable(f"label {key[:40]!r} {problem}")
