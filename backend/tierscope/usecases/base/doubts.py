"""Which hosts have files that had a problem, looked up again after some seconds."""

from tierscope.core.cache import StoredCache
from tierscope.domain.base.doubts import Doubts
from tierscope.domain.ledger.doubt import CONTRADICTION, NOT_UNDERSTOOD
from tierscope.storage.fleet.doubts import read_doubts
from tierscope.usecases.base.context import ContextUseCase, ReadContext

LOOKED_UP_SECONDS = 10.0


class HostDoubts(ContextUseCase):
    """Shared by all answers of an application."""

    def __init__(self, context: ReadContext) -> None:
        super().__init__(context)
        self._kept: StoredCache[None, Doubts] = StoredCache(1, lifetime_seconds=LOOKED_UP_SECONDS)

    def read(self) -> Doubts:
        """Those that are known."""
        known = self._kept.get(None)
        if known is None:
            with self._context.database.read() as session:
                known = Doubts(read_doubts(session, (NOT_UNDERSTOOD, CONTRADICTION)))
                self._kept.put(None, known, generation=session.generation)
        return known
