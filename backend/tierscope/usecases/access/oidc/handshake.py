"""What one browser's login is held together by: a cookie whose hashes are state, nonce and code verifier.

The cookie holds 256 random bits, the time and where to go afterwards. The provider sees the hash that is `state` and
the hash of the verifier; neither leads back to the cookie, and a changed cookie has another state. So nothing is stored
here, no key is needed, and several processes need not share anything.
"""

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tierscope.core.clock import was_within

LIFETIME = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Handshake:
    """A login that began and has not come back."""

    cookie: str
    next_path: str
    began_at: datetime

    @property
    def state(self) -> str:
        """What comes back with the browser."""
        return self._derived("state")

    @property
    def nonce(self) -> str:
        """What comes back inside the ID token."""
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """What proves to the token endpoint that the code is ours (PKCE, RFC 7636)."""
        return self._derived("verifier")

    @property
    def challenge(self) -> str:
        """The hash of the verifier, which the provider is shown first."""
        return _encoded(hashlib.sha256(self.verifier.encode()).digest())

    def is_state(self, state: str) -> bool:
        """Whether the browser came back with this login's state."""
        return hmac.compare_digest(state.encode(errors="replace"), self.state.encode())

    def _derived(self, purpose: str) -> str:
        return _encoded(hashlib.sha256(f"{purpose}\0{self.cookie}".encode()).digest())


def begin(next_path: str, *, now: datetime) -> Handshake:
    """Begins a login."""
    parts = (secrets.token_urlsafe(32), str(int(now.timestamp())), _encoded(next_path.encode()))
    return Handshake(".".join(parts), next_path, now)


def resume(cookie: str, *, now: datetime) -> Handshake | None:
    """Returns the login that a cookie belongs to; None where it is none of ours, or too old."""
    parts = cookie.split(".")
    try:
        _, began, encoded = parts
        began_at = datetime.fromtimestamp(int(began), UTC)
        next_path = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except (ValueError, OverflowError, OSError):
        return None
    return Handshake(cookie, next_path, began_at) if was_within(LIFETIME, began_at, now) else None


def _encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")
