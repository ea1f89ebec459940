"""Whether whoever asks from this machine may read without a login: as set, else decided once for an instance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tierscope.core.database import Database
from tierscope.core.errors import TierscopeError
from tierscope.core.machine_accounts import other_people
from tierscope.storage.base.facts import find_fact, store_fact_once

_NAMED = 3
_KEY, _TRUSTED, _NOT_TRUSTED = "loopback_trust", "true", "false"


@dataclass(frozen=True, slots=True)
class Decision:
    """`others`: people with accounts here, where it was decided just now; empty where it was before."""

    trusted: bool
    is_new: bool
    others: tuple[str, ...] = ()

    def describe(self) -> str:
        """What was decided and how to decide otherwise, for whoever started the instance."""
        if self.trusted:
            return (
                "reading needs no login on this machine, because nobody else has an account here;"
                " TIERSCOPE_ANONYMOUS_READS=false ends it"
            )
        named = ", ".join(self.others[:_NAMED]) + (", …" if len(self.others) > _NAMED else "")
        return (
            f"reading needs a login, because others have accounts on this machine ({named});"
            " TIERSCOPE_ANONYMOUS_READS=true lets them read"
        )


class LoopbackTrust:
    """The decision of an instance. Without a setting it follows from the accounts of the machine at the first start."""

    def __init__(
        self, database: Database, *, setting: bool | None, people: Callable[[], Sequence[str]] = other_people
    ) -> None:
        self._database = database
        self._people = people
        self._known = setting

    def decide(self) -> Decision:
        """The decision, stored where there was none.

        Raises:
            TierscopeError: the database does not answer.
        """
        if self._known is not None:
            return Decision(self._known, is_new=False)
        with self._database.read() as session:
            found = find_fact(session, _KEY)
        if found is not None:
            self._known = found == _TRUSTED
            return Decision(self._known, is_new=False)
        others = tuple(self._people())
        with self._database.write() as transaction:
            stands = store_fact_once(transaction, _KEY, _NOT_TRUSTED if others else _TRUSTED)
        self._known = stands == _TRUSTED
        return Decision(self._known, is_new=True, others=others)

    def holds(self) -> bool:
        """Whether reading needs no login; while nobody can say, it does."""
        try:
            return self.decide().trusted
        except TierscopeError:
            return False
