"""Who is looked at: hosts on a page that a person has open send each minute (domain/fleet/sending.py)."""

from datetime import datetime

from tierscope.core.cache import StoredCache
from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database
from tierscope.domain.fleet.sending import CLOSELY, NOTED_EVERY
from tierscope.storage.fleet.sending import SubjectKind, note_looked_at

__all__ = ["Looks", "SubjectKind"]

_NOTED_SUBJECTS = 20_000


class Looks:
    """Notes which hosts and services are looked at: in the database once in some minutes each, else in memory."""

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock
        seconds = NOTED_EVERY.total_seconds()
        self._noted: StoredCache[tuple[SubjectKind, str], datetime] = StoredCache(
            _NOTED_SUBJECTS, lifetime_seconds=seconds
        )

    def is_noted(self, kind: SubjectKind, public_id: str) -> bool:
        """Whether a look at this host or service need not be written down now."""
        return self._noted.get((kind, public_id)) is not None

    def note(self, kind: SubjectKind, public_id: str) -> None:
        """Write down that somebody looks at a host or service; an id that is of none changes nothing."""
        until = self._clock() + CLOSELY + NOTED_EVERY
        with self._database.write() as transaction:
            note_looked_at(transaction, kind, public_id, until=until)
        self._noted.put((kind, public_id), until, generation=transaction.generation)
