"""A login through the provider from begin to end: the person is found or made, its role and teams follow the claims."""

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode, urlsplit

from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database, WriteTransaction
from tierscope.core.errors import BadRequest, ConfigurationError
from tierscope.core.outgoing import OutgoingCalls
from tierscope.core.settings import Oidc, Settings
from tierscope.domain.access.permissions import Role
from tierscope.storage.access import credentials as stored_access
from tierscope.storage.access import teams as stored_teams
from tierscope.storage.access import users as stored
from tierscope.storage.access.users import UserRow
from tierscope.usecases.access.oidc import handshake
from tierscope.usecases.access.oidc.claims import check_id_token, role_of, teams_of, values_of
from tierscope.usecases.access.oidc.provider import Provider
from tierscope.usecases.access.oidc.refusal import LoginRefused
from tierscope.usecases.access.tokens import NewToken, start_session

__all__ = ["Begun", "Finished", "LoginRefused", "OidcLogin", "check_next", "make_oidc_login"]

ANSWER_BYTES = 1 << 20
MAX_NEXT_LENGTH = 512
_FOREIGN = re.compile(r"[^a-z0-9._@+-]+")


@dataclass(frozen=True, slots=True)
class Begun:
    """Where the browser goes, and the cookie that it takes along."""

    url: str
    cookie: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A session, and where the browser goes."""

    session: NewToken
    next_path: str


def check_next(path: str) -> None:
    """Refuses to lead anywhere but to a path of this service.

    Raises:
        BadRequest: it names another place, or could be read as one.
    """
    parts = urlsplit(path)
    plain = path.isascii() and path.isprintable() and "\\" not in path and len(path) <= MAX_NEXT_LENGTH
    if not plain or not path.startswith("/") or path.startswith("//") or parts.scheme or parts.netloc:
        raise BadRequest("`next` is no path of this service", next_step="Send a path such as /services.")


def make_oidc_login(database: Database, settings: Settings, *, clock: Clock = utc_now) -> "OidcLogin | None":
    """Returns the logins through the configured provider; None where none is configured.

    Raises:
        ConfigurationError: the settings contradict each other, or the secret cannot be read.
    """
    oidc = settings.oidc
    if oidc.issuer is None:
        return None
    if not oidc.client_id:
        raise ConfigurationError(
            "TIERSCOPE_OIDC__CLIENT_ID is missing", next_step="docs/howto/login.md has an example."
        )
    if oidc.role_claim is None and oidc.default_role is None:
        raise ConfigurationError(
            "nobody could log in through the provider: neither a claim of roles nor a default role is set",
            next_step="Set TIERSCOPE_OIDC__ROLE_CLAIM with TIERSCOPE_OIDC__ROLES, or TIERSCOPE_OIDC__DEFAULT_ROLE.",
        )
    outgoing = settings.outgoing.model_copy(update={"allow": oidc.allow, "answer_bytes": ANSWER_BYTES})
    return OidcLogin(database, Provider(oidc, _read_secret(oidc), OutgoingCalls(outgoing)), clock=clock)


class OidcLogin:
    """Logins through one provider."""

    def __init__(self, database: Database, provider: Provider, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._provider = provider
        self._clock = clock

    def begin(self, *, redirect_uri: str, next_path: str) -> Begun:
        """Begins a login.

        Raises:
            LoginRefused: the provider cannot be reached.
        """
        settings = self._provider.settings
        begun = handshake.begin(next_path, now=self._clock())
        query = {
            "response_type": "code",
            "client_id": settings.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(settings.scopes),
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": begun.challenge,
            "code_challenge_method": "S256",
        }
        with self._provider.visit():
            place = self._provider.endpoints().authorization
        return Begun(_with_query(place, query), begun.cookie)

    def finish(
        self, *, cookie: str, state: str, code: str | None, error: str | None, issuer: str | None, redirect_uri: str
    ) -> Finished:
        """Ends a login that the browser came back with.

        Raises:
            LoginRefused: nobody is logged in.
        """
        now = self._clock()
        begun = handshake.resume(cookie, now=now)
        if begun is None or not begun.is_state(state):
            raise LoginRefused("expired", "the browser came back without the login that it began, or too late")
        try:
            check_next(begun.next_path)
        except BadRequest as refused:
            raise LoginRefused("failed", refused.detail) from refused
        if issuer is not None and issuer != self._provider.issuer:
            raise LoginRefused("failed", "the answer is another provider's (iss)")  # RFC 9207
        if error is not None or not code:
            raise LoginRefused("refused", f"the provider said {(error or 'nothing')[:100]!r}")
        with self._provider.visit():
            claims = self._claims(begun, code, redirect_uri, now)
        with self._database.write() as transaction:
            session, _ = start_session(transaction, self._person(transaction, claims), now=now)
        return Finished(session, begun.next_path)

    def leave(self, *, return_uri: str) -> str | None:
        """Where a browser goes that has logged out here, to do so at the provider; None where it offers nothing.

        Without a hint of whose session it is: no ID token is kept, so the provider may ask the person. (OpenID Connect
        RP-Initiated Logout 1.0, 2)

        Raises:
            LoginRefused: the provider cannot be reached.
        """
        with self._provider.visit():
            place = self._provider.endpoints().end_session
        query = {"client_id": self._provider.settings.client_id, "post_logout_redirect_uri": return_uri}
        return None if place is None else _with_query(place, query)

    def _claims(self, begun: handshake.Handshake, code: str, redirect_uri: str, now: datetime) -> Mapping[str, Any]:
        settings = self._provider.settings
        tokens = self._provider.trade(code, verifier=begun.verifier, redirect_uri=redirect_uri)
        header, claims = self._provider.read_signed(tokens.id_token)
        check_id_token(
            header,
            claims,
            settings=settings,
            nonce=begun.nonce,
            access_token=tokens.access_token,
            now_s=now.timestamp(),
        )
        wanted = (settings.name_claim, settings.role_claim, settings.team_claim)
        if tokens.access_token is None or all(values_of(claims, path) for path in wanted if path is not None):
            return claims
        more = self._provider.read_userinfo(tokens.access_token)
        if more and more.get("sub") != claims["sub"]:
            raise LoginRefused("failed", "the provider's user information is about another person")
        return {**more, **claims}

    def _person(self, transaction: WriteTransaction, claims: Mapping[str, Any]) -> UserRow:
        settings, issuer, subject = self._provider.settings, self._provider.issuer, str(claims["sub"])
        role = role_of(claims, settings)
        user = stored.find_user_by_subject(transaction, issuer=issuer, subject=subject)
        if user is not None:
            # What an administrator does to the user meanwhile comes before or after, not in between.
            stored.lock_user(transaction, user.id)
            user = stored.find_user_by_id(transaction, user.id)
        if user is not None and user.disabled_at is not None:
            raise LoginRefused("disabled", f"{user.name} is disabled")
        if settings.role_claim is None and user is not None:
            role = user.role  # roles are given here, not by the provider
        if role is None:
            raise LoginRefused("not-allowed", f"no claim gives a role to subject {subject[:100]!r}")
        display_name, email = _text(claims, "name"), _text(claims, "email") or None
        if user is None:
            user = self._make(transaction, claims, role, display_name, email)
        # What the provider does not say this time stays.
        display_name, email = display_name or user.display_name, email or user.email
        if (user.role, user.display_name, user.email) != (role, display_name, email):
            stored.update_user(
                transaction, user.id, display_name=display_name, email=email, role=role, disabled_at=None
            )
            self._audit(transaction, "user.update", user.public_id, {"name": user.name, "role": role})
        if settings.team_claim is not None:
            stored_teams.set_teams_of_user(transaction, user.id, teams_of(claims, settings))
        found = stored.find_user_by_id(transaction, user.id)
        assert found is not None
        return found

    def _make(
        self, transaction: WriteTransaction, claims: Mapping[str, Any], role: Role, display_name: str, email: str | None
    ) -> UserRow:
        """A user for the first login. A name that somebody has gets a suffix: subjects tell people apart."""
        issuer, subject = self._provider.issuer, str(claims["sub"])
        wanted = next(iter(values_of(claims, self._provider.settings.name_claim)), "") or email or subject
        name = _FOREIGN.sub("-", wanted.lower()).strip("-._@+")[:80] or "user"
        suffix = hashlib.sha256(f"{issuer}\0{subject}".encode()).hexdigest()[:8]
        for candidate in (name, f"{name}-{suffix}"):
            public_id = "u" + secrets.token_hex(8)
            row = stored.NewUserRow(public_id, candidate, display_name, email, role, "oidc", issuer, subject)
            if stored.insert_user(transaction, row) is not None:
                self._audit(transaction, "user.create", public_id, {"name": candidate, "role": role})
                break
        user = stored.find_user_by_subject(transaction, issuer=issuer, subject=subject)
        if user is None:
            raise LoginRefused("failed", f"the name {name!r} is taken twice")
        return user

    def _audit(self, transaction: WriteTransaction, action: str, subject: str, detail: dict[str, object]) -> None:
        row = stored_access.AuditRow(self._clock(), "oidc", action, subject, detail)
        stored_access.append_audit(transaction, row)


def _with_query(place: str, query: Mapping[str, str]) -> str:
    return f"{place}{'&' if '?' in place else '?'}{urlencode(query)}"


def _text(claims: Mapping[str, Any], name: str) -> str:
    """A text of people, without what no page shows, and not longer than one."""
    value = claims.get(name)
    return "".join(letter for letter in value if letter.isprintable())[:200] if isinstance(value, str) else ""


def _read_secret(oidc: Oidc) -> str | None:
    if oidc.client_secret is not None:
        return oidc.client_secret.get_secret_value()
    if oidc.client_secret_file is None:
        return None
    try:
        return oidc.client_secret_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(f"{oidc.client_secret_file} cannot be read") from error
