"""Whether whoever asks from this machine may read without a login: as set, else decided once for a machine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tierscope.core.database import Database
from tierscope.core.errors import TierscopeError
from tierscope.core.machine_accounts import machine_name, other_people
from tierscope.storage.base.facts import find_fact, store_fact

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
    """The decision for this machine. Without a setting it follows from the accounts there at the first start.

    It is stored with the machine that it is of: a database that comes to another one, by a backup, is judged there.
    """

    def __init__(
        self,
        database: Database,
        *,
        setting: bool | None,
        people: Callable[[], Sequence[str]] = other_people,
        machine: Callable[[], str] = machine_name,
    ) -> None:
        self._machine = machine
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
        word, _, machine = (found or "").partition(" ")
        if machine == self._machine():
            self._known = word == _TRUSTED
            return Decision(self._known, is_new=False)
        others = tuple(self._people())
        with self._database.write() as transaction:
            store_fact(transaction, _KEY, f"{_NOT_TRUSTED if others else _TRUSTED} {self._machine()}")
        self._known = not others
        return Decision(self._known, is_new=True, others=others)

    def holds(self) -> bool:
        """Whether reading needs no login; while nobody can say, it does."""
        try:
            return self.decide().trusted
        except TierscopeError:
            return False
