"""Users: made and changed by administrators, or at their first login through an OpenID provider."""

import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, ClassVar

from pydantic import Field

from tierscope.core.clock import Clock
from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.domain.access.permissions import Role
from tierscope.domain.base.described import ASKED
from tierscope.storage.access import credentials as stored_access
from tierscope.storage.access import users as stored
from tierscope.storage.access.users import UserRow
from tierscope.usecases.access.tokens import Caller, NewToken, insert_secret, require_within
from tierscope.usecases.base.context import ClockedUseCase

__all__ = ["UserRequest", "UserRow", "UserUpdate", "Users", "end_sessions", "user_name"]

PASSWORD_LINK_LIFETIME = timedelta(hours=24)
MAX_TEXT_LENGTH = 200
# What a session of the user rests on.
_SESSIONS = ("session", "link", "password")
_TOKENS = ("api",)
_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,99}\Z")


@dataclass(frozen=True, slots=True)
class UserRequest:
    """A local user to make. It logs in once its password was set by a link."""

    __pydantic_config__: ClassVar = ASKED

    name: Annotated[str, Field(max_length=100, description="What is typed to log in; letters, digits and . _ @ + -.")]
    display_name: Annotated[str, Field(default="", max_length=200)]
    email: Annotated[str | None, Field(default=None, max_length=200)]
    role: Role


@dataclass(frozen=True, slots=True)
class UserUpdate:
    """What a user is from now on. Disabling ends all its sessions at once."""

    __pydantic_config__: ClassVar = ASKED

    display_name: Annotated[str, Field(default="", max_length=200)]
    email: Annotated[str | None, Field(default=None, max_length=200)]
    role: Role
    disabled: Annotated[bool, Field(default=False)]


def user_name(text: str) -> str:
    """Returns a name as it is stored and compared.

    Raises:
        Unprocessable: it has other characters or is too long.
    """
    name = text.strip().lower()
    if not _NAME.match(name):
        raise Unprocessable(
            "a user name has 1 to 100 letters, digits or . _ @ + -, and begins with a letter or digit",
            next_step="Choose another name; the display name may be written as people like.",
        )
    return name


def end_sessions(transaction: WriteTransaction, user_id: int, clock: Clock) -> None:
    """Ends all sessions of a user at once, and makes links void that would begin one."""
    stored.end_user_access(transaction, user_id, kinds=_SESSIONS, now=clock())


class Users(ClockedUseCase):
    """Users as administrators see them."""

    def list(self) -> list[UserRow]:
        """Returns all users by name."""
        with self._database.read() as session:
            return stored.list_users(session)

    def create(self, new: UserRequest, *, by: Caller) -> UserRow:
        """Makes a local user, who cannot log in before a password was set by a link.

        Raises:
            Unprocessable: a text is not acceptable.
            Conflict: the name is taken.
            Forbidden: the role may more than the caller.
        """
        name = user_name(new.name)
        _check(new.display_name, new.email)
        require_within(by, new.role)
        public_id = "u" + secrets.token_hex(8)
        row = stored.NewUserRow(public_id, name, new.display_name, new.email, new.role, "local")
        with self._database.write() as transaction:
            if stored.insert_user(transaction, row) is None:
                raise Conflict(f"the name {name} is taken", next_step="Choose another name.")
            self._audit(transaction, by, "user.create", public_id, {"name": name, "role": new.role})
            return _require(transaction, public_id)

    def update(self, public_id: str, change: UserUpdate, *, by: Caller) -> UserRow:
        """Changes a user. Another role counts from the next request on.

        Disabling ends the sessions at once and revokes the API tokens for good: enabling the user again does not bring
        them back.

        Raises:
            NotFound: there is no such user.
            Conflict: the caller would disable itself or take its own role away.
            Forbidden: the user's role, before or after, may more than the caller.
        """
        _check(change.display_name, change.email)
        now = self._clock()
        with self._database.write() as transaction:
            user = _require(transaction, public_id)
            for role in {user.role, change.role}:
                require_within(by, role)
            if user.id == by.user_id and (change.disabled or change.role != user.role):
                raise Conflict(
                    "nobody disables itself or changes its own role", next_step="Ask another administrator to do it."
                )
            disabled_at = (user.disabled_at or now) if change.disabled else None
            stored.update_user(
                transaction,
                user.id,
                display_name=change.display_name,
                email=change.email,
                role=change.role,
                disabled_at=disabled_at,
            )
            if change.disabled or user.disabled_at is not None:
                stored.end_user_access(transaction, user.id, kinds=_SESSIONS + _TOKENS, now=now)
            detail = {"name": user.name, "role": change.role, "disabled": change.disabled}
            self._audit(transaction, by, "user.update", public_id, detail)
            return _require(transaction, public_id)

    def delete(self, public_id: str, *, by: Caller) -> None:
        """Removes a user with sessions, tokens and memberships; what it did stays in the audit trail.

        Raises:
            NotFound: there is no such user.
            Conflict: the caller would remove itself.
            Forbidden: the user's role may more than the caller.
        """
        with self._database.write() as transaction:
            user = _require(transaction, public_id)
            require_within(by, user.role)
            if user.id == by.user_id:
                raise Conflict("nobody removes itself", next_step="Ask another administrator to do it.")
            stored.delete_user(transaction, user.id)
            self._audit(transaction, by, "user.delete", public_id, {"name": user.name, "role": user.role})

    def password_link(self, public_id: str, *, by: Caller) -> NewToken:
        """Makes a one-time link that sets the password of a local user, valid for a day. Links before it are void.

        Raises:
            NotFound: there is no such user.
            Conflict: the user logs in through the OpenID provider, or is disabled.
            Forbidden: the user's role may more than the caller.
        """
        now = self._clock()
        with self._database.write() as transaction:
            user = _require(transaction, public_id)
            require_within(by, user.role)
            if user.source != "local":
                raise Conflict(
                    f"{user.name} logs in through the OpenID provider", next_step="Set the password there, if at all."
                )
            if user.disabled_at is not None:
                raise Conflict(f"{user.name} is disabled", next_step="Enable the user first.")
            stored.end_user_access(transaction, user.id, kinds=("password",), now=now)
            row = stored_access.NewTokenRow(kind="password", user_id=user.id, note=user.name, uses_left=1)
            token = insert_secret(transaction, row, now + PASSWORD_LINK_LIFETIME)
            self._audit(transaction, by, "user.password-link", public_id, {"name": user.name})
        return token

    def _audit(
        self, transaction: WriteTransaction, by: Caller, action: str, subject: str, detail: dict[str, object]
    ) -> None:
        row = stored_access.AuditRow(self._clock(), by.name, action, subject, detail)
        stored_access.append_audit(transaction, row)


def _require(session: ReadSession, public_id: str) -> UserRow:
    user = stored.find_user(session, public_id)
    if user is None:
        raise NotFound(f"there is no user {public_id[:80]!r}", next_step="List them with GET /v1/users.")
    return user


def _check(display_name: str, email: str | None) -> None:
    for name, value in (("display name", display_name), ("address", email or "")):
        if len(value) > MAX_TEXT_LENGTH or any(ord(letter) < ord(" ") for letter in value):
            raise Unprocessable(f"the {name} is longer than {MAX_TEXT_LENGTH} characters or holds control characters")
    if email is not None and "@" not in email:
        raise Unprocessable("the e-mail address has no @")
