"""What people do for themselves: their account, and API tokens of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from tierscope.core.errors import Forbidden, NotFound
from tierscope.domain.access.permissions import NEVER_A_SCOPE, OWNER, Permission
from tierscope.storage.access import credentials as stored
from tierscope.storage.access import users as stored_users
from tierscope.storage.access.credentials import TokenRow
from tierscope.storage.access.teams import TeamRef, teams_of_user
from tierscope.storage.access.users import UserRow
from tierscope.usecases.access.tokens import Caller, NewToken, check_note, check_scopes, insert_secret
from tierscope.usecases.base.context import ClockedUseCase

__all__ = ["Account", "OwnTokens", "TeamRef", "TokenRow", "UserRow", "require_person"]


@dataclass(frozen=True, slots=True)
class Account:
    """A user, its teams, and what tokens of its own may be made for."""

    user: UserRow
    teams: tuple[TeamRef, ...]
    scopes: frozenset[Permission]


def require_person(caller: Caller) -> int:
    """Returns the internal id of the user who is logged in.

    Raises:
        Forbidden: a token is used, or the session came of a login link and belongs to no account.
    """
    if caller.kind != "session":
        raise Forbidden(
            "a token does not change the account that it belongs to", next_step="Log in and do it in the dashboard."
        )
    if caller.user_id is None:
        raise Forbidden(
            "this session came of a login link and has no account",
            next_step="Make a user with `tierscope user add`, set its password and log in with it.",
        )
    return caller.user_id


class OwnTokens(ClockedUseCase):
    """A user's account and API tokens."""

    def account(self, caller: Caller) -> Account | None:
        """Returns the account that a session or token belongs to; None where it belongs to none."""
        if caller.user_id is None:
            return None
        with self._database.read() as session:
            user = stored_users.find_user_by_id(session, caller.user_id)
            if user is None:
                return None
            teams = tuple(teams_of_user(session, user.id))
        available = (caller.permissions | (OWNER if teams else frozenset())) - NEVER_A_SCOPE
        return Account(user, teams, available)

    def list(self, caller: Caller) -> list[TokenRow]:
        """Returns the user's tokens that were not revoked, newest first.

        Raises:
            Forbidden: not a person who is logged in.
        """
        user_id = require_person(caller)
        with self._database.read() as session:
            return stored.list_tokens_of_user(session, user_id)

    def create(self, caller: Caller, *, note: str, scopes: Sequence[str], lifetime: timedelta) -> NewToken:
        """Makes a token. What it may do is, at each use, what its owner may then, narrowed to `scopes`.

        Raises:
            Forbidden: not a person who is logged in.
            Unprocessable: a scope is none that the owner has.
        """
        user_id = require_person(caller)
        check_note(note)
        account = self.account(caller)
        check_scopes(scopes, frozenset() if account is None else account.scopes)
        now = self._clock()
        row = stored.NewTokenRow(kind="api", note=note, user_id=user_id, scopes=tuple(sorted(set(scopes))))
        with self._database.write() as transaction:
            token = insert_secret(transaction, row, now + lifetime)
            detail = {"kind": "api", "note": note, "scopes": list(row.scopes or ())}
            stored.append_audit(transaction, stored.AuditRow(now, caller.name, "token.create", token.id, detail))
        return token

    def revoke(self, caller: Caller, public_id: str) -> None:
        """Revokes a token of the user at once.

        Raises:
            Forbidden: not a person who is logged in.
            NotFound: the user has no such token.
        """
        user_id = require_person(caller)
        now = self._clock()
        with self._database.write() as transaction:
            if not stored.revoke_by_id(transaction, public_id=public_id, now=now, user_id=user_id):
                raise NotFound(f"there is no token {public_id[:80]!r} of yours")
            stored.append_audit(transaction, stored.AuditRow(now, caller.name, "token.revoke", public_id, {}))
