"""Which hosts have files that had a problem, looked up again after some seconds."""

from collections.abc import Sequence

from tierscope.core.cache import StoredCache
from tierscope.core.database import ReadSession
from tierscope.domain.base.doubts import Doubts, HostDoubt, hosts_among
from tierscope.domain.ledger.doubt import CONTRADICTIONS, NOT_UNDERSTOOD
from tierscope.storage.base.subjects import find_host
from tierscope.storage.fleet.doubts import read_doubts, read_doubts_of
from tierscope.usecases.base.context import ContextUseCase, ReadContext

LOOKED_UP_SECONDS = 10.0
_MOST_KEPT = 256
_FEW = 8
"""Hosts that are looked up one by one, each on its own server."""
_FINDINGS = (NOT_UNDERSTOOD, *CONTRADICTIONS)


class HostDoubts(ContextUseCase):
    """Shared by all answers of an application."""

    def __init__(self, context: ReadContext) -> None:
        super().__init__(context)
        self._kept: StoredCache[tuple[str, ...], Doubts] = StoredCache(_MOST_KEPT, lifetime_seconds=LOOKED_UP_SECONDS)

    def read(self, asked: Sequence[str]) -> Doubts:
        """Those of the few hosts whose ids are among the words of a question; else of all hosts."""
        hosts = hosts_among(asked)
        hosts = hosts if len(hosts) <= _FEW else ()
        known = self._kept.get(hosts)
        if known is None:
            with self._context.database.read() as session:
                known = Doubts(_read_of(session, hosts) if hosts else read_doubts(session, _FINDINGS))
                self._kept.put(hosts, known, generation=session.generation)
        return known


def _read_of(session: ReadSession, hosts: Sequence[str]) -> list[HostDoubt]:
    found = [host for host in (find_host(session, public_id) for public_id in hosts) if host is not None]
    return [doubt for host in found for doubt in read_doubts_of(session, host, _FINDINGS)]
