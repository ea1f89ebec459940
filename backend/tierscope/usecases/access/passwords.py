"""Logging in with a password, and setting one: by the user, or with a one-time link."""

from asyncio import to_thread

from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database
from tierscope.core.errors import Conflict, UnknownToken, WeakPassword, WrongLogin
from tierscope.domain.access.passwords import refused_because
from tierscope.storage.access import credentials as stored_access
from tierscope.storage.access import users as stored
from tierscope.storage.access.users import PasswordRow, UserRow
from tierscope.usecases.access.credentials import hash_secret
from tierscope.usecases.access.own_tokens import require_person
from tierscope.usecases.access.password_work import PasswordWork
from tierscope.usecases.access.tokens import Caller, NewToken, start_session
from tierscope.usecases.access.users import end_sessions

_WRONG = "the name or the password is wrong, or the user is disabled"


class Passwords:
    """Passwords of local users."""

    def __init__(self, database: Database, work: PasswordWork, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._work = work
        self._clock = clock

    async def log_in(self, name: str, password: str) -> tuple[NewToken, Caller]:
        """Trades a name and its password for a session. An unknown name takes as long as a known one.

        Raises:
            WrongLogin: whatever of it is wrong.
            Busy: as many passwords are being checked as may be.
        """
        row = await to_thread(self._find, name.strip().lower())
        verdict = await self._work.verify(None if row is None else row.password_hash, password)
        if row is None or not verdict.ok or row.disabled:
            raise WrongLogin(_WRONG)
        return await to_thread(self._begin, row, verdict.better)

    async def change(self, caller: Caller, *, current: str, new: str) -> tuple[NewToken, Caller]:
        """Gives the user another password, ends all its sessions at once, and begins a new one.

        Raises:
            Forbidden: not a person who is logged in.
            Conflict: the user logs in through the OpenID provider.
            WrongLogin: the present password is another one.
            WeakPassword: the new one is not accepted.
        """
        user_id = require_person(caller)
        user, row = await to_thread(self._find_own, user_id)
        verdict = await self._work.verify(row.password_hash, current)
        if not verdict.ok:
            raise WrongLogin("the present password is another one")
        _check(new, user)
        hashed = await self._work.hash(new)
        return await to_thread(self._set, user.id, hashed, "user.password")

    async def set_by_link(self, secret: str, new: str) -> tuple[NewToken, Caller]:
        """Sets the password that a one-time link is for, ends all sessions of its user, and begins a new one.

        Raises:
            UnknownToken: unknown, used or expired.
            WeakPassword: the new one is not accepted; the link stays good.
        """
        user = await to_thread(self.user_of_link, secret)
        _check(new, user)
        hashed = await self._work.hash(new)
        return await to_thread(self._set, user.id, hashed, "user.password", secret)

    def user_of_link(self, secret: str) -> UserRow:
        """Returns whose password a link sets; the link is not used up.

        Raises:
            UnknownToken: unknown, used or expired.
        """
        now = self._clock()
        with self._database.read() as session:
            link = stored_access.find_token(session, kind="password", digest=hash_secret(secret), now=now)
            user = None if link is None or link.user_id is None else stored.find_user_by_id(session, link.user_id)
        if user is None:
            raise _void()
        return user

    def _find(self, name: str) -> PasswordRow | None:
        with self._database.read() as session:
            return stored.find_password(session, name)

    def _find_own(self, user_id: int) -> tuple[UserRow, PasswordRow]:
        with self._database.read() as session:
            user = stored.find_user_by_id(session, user_id)
            row = None if user is None else stored.find_password(session, user.name)
        if user is None or row is None:
            raise Conflict("you log in through the OpenID provider", next_step="Change the password there.")
        return user, row

    def _begin(self, row: PasswordRow, better: str | None) -> tuple[NewToken, Caller]:
        now = self._clock()
        with self._database.write() as transaction:
            # Read again where sessions are made: the user may have been disabled or got another password in between.
            stored.lock_user(transaction, row.user_id)
            user = stored.find_user_by_id(transaction, row.user_id)
            if user is None or user.disabled_at is not None or stored.find_password(transaction, user.name) != row:
                raise WrongLogin(_WRONG)
            if better is not None and row.password_hash is not None:
                stored.replace_password_hash(transaction, user.id, old=row.password_hash, new=better)
            return start_session(transaction, user, now=now)

    def _set(self, user_id: int, hashed: str, action: str, link: str | None = None) -> tuple[NewToken, Caller]:
        now = self._clock()
        with self._database.write() as transaction:
            if link is not None:
                used = stored_access.use_token(transaction, kind="password", digest=hash_secret(link), now=now)
                if used is None or used.user_id != user_id:
                    raise _void()
            stored.lock_user(transaction, user_id)
            user = stored.find_user_by_id(transaction, user_id)
            if user is None or user.disabled_at is not None:
                raise WrongLogin(_WRONG)
            stored.set_password_hash(transaction, user.id, hashed, now=now)
            end_sessions(transaction, user.id, self._clock)
            detail = {"name": user.name, "by_link": link is not None}
            stored_access.append_audit(
                transaction, stored_access.AuditRow(now, user.name, action, user.public_id, detail)
            )
            return start_session(transaction, user, now=now)


def _void() -> UnknownToken:
    return UnknownToken(
        "this link was used or has expired",
        next_step="Ask an administrator for a new one: `tierscope user password-link NAME` prints it.",
    )


def _check(password: str, user: UserRow) -> None:
    reason = refused_because(password, user_name=user.name)
    if reason is not None:
        raise WeakPassword(f"the password is not accepted: {reason}")
