"""Hashing and checking passwords with argon2id: memory-hard work, so that few run at a time and few wait."""

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from tierscope.core.errors import Busy
from tierscope.domain.access.passwords import normal_form

if TYPE_CHECKING:
    from argon2 import PasswordHasher

T = TypeVar("T")

THREADS = 2
WAITING = 16
# RFC 9106, section 4, second recommended option: three passes over 64 MiB with four lanes. Two threads take 128 MiB.
TIME_COST = 3
MEMORY_KIB = 64 << 10
LANES = 4


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a password was right. `better` is its hash with the parameters of this release, where they changed."""

    ok: bool
    better: str | None = None


class PasswordWork:
    """Runs argon2id in threads of its own, so that neither the event loop nor other requests wait for it."""

    def __init__(self, *, threads: int = THREADS, waiting: int = WAITING, memory_kib: int = MEMORY_KIB) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="password")
        self._places = threads + waiting
        self._memory_kib = memory_kib

    async def hash(self, password: str) -> str:
        """Returns the hash to store, with its parameters and salt.

        Raises:
            Busy: as many passwords are being checked as may be.
        """
        return await self._run(lambda: self._hash(password))

    async def verify(self, stored: str | None, password: str) -> Verdict:
        """Compares a password with its stored hash. Without a hash it works as long, and the answer is no.

        Raises:
            Busy: as many passwords are being checked as may be.
        """
        return await self._run(lambda: self._verify(stored, password))

    def close(self) -> None:
        """Lets the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], T]) -> T:
        if self._places == 0:
            raise Busy("as many passwords are being checked as may be at a time", retry_after_seconds=1)
        self._places -= 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._places += 1

    def _hash(self, password: str) -> str:
        return self._hasher.hash(normal_form(password))

    def _verify(self, stored: str | None, password: str) -> Verdict:
        from argon2.exceptions import InvalidHashError, VerificationError  # noqa: PLC0415 - loaded with the first login

        decoy = self._decoy  # made with the first check, whoever is asked for, so that none takes longer for it
        known = stored or decoy
        try:
            self._hasher.verify(known, normal_form(password))
        except (VerificationError, InvalidHashError):
            return Verdict(ok=False)
        if stored is None:
            return Verdict(ok=False)
        return Verdict(ok=True, better=self._hash(password) if self._hasher.check_needs_rehash(stored) else None)

    @cached_property
    def _hasher(self) -> "PasswordHasher":
        from argon2 import PasswordHasher  # noqa: PLC0415 - loaded with the first login

        return PasswordHasher(time_cost=TIME_COST, memory_cost=self._memory_kib, parallelism=LANES)

    @cached_property
    def _decoy(self) -> str:
        """A hash that nobody knows the password of: what an unknown name is compared with."""
        return self._hasher.hash(secrets.token_urlsafe(32))
