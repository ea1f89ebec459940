"""What days that are not closed yet will take once they are packed: they are packed on trial, and that is undone."""

from collections.abc import Sequence
from datetime import datetime
from typing import NoReturn

from tierscope.core.database import Database, WriteTransaction
from tierscope.domain.base.jobs import GAP_DAYS, METRICS_1D_PACK, METRICS_PACK, TIER_MOVE_DAYS, Job
from tierscope.storage.base.blocks import stored_bytes
from tierscope.storage.base.dirty_buckets import waiting_buckets
from tierscope.storage.tables import BLOCK_KINDS
from tierscope.usecases.rebuild.packing import PACKS

_PACKING: Sequence[Job] = (GAP_DAYS, METRICS_PACK, METRICS_1D_PACK, TIER_MOVE_DAYS)


class _UndoneError(Exception):
    """Ends the transaction of a trial, and takes what was found out of it."""

    def __init__(self, means: dict[str, float]) -> None:
        super().__init__()
        self.means = means


class TrialPacking:
    """Packs what waits to be packed of some hosts, as if it had closed, and gives it back."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def bytes_by_table(self, *, most_hosts: int) -> dict[str, float]:
        """Bytes of a host's blocks by table, as means over at most so many hosts; empty where nothing waits.

        Each block counts with its row, its directory and its place in the index. Blocks that are stored already are in
        it; a stretch of thirty days counts as it is, with the days that it has.
        """
        try:
            with self._database.write() as transaction:
                self._measure(transaction, most_hosts)
        except _UndoneError as undone:
            return undone.means

    def _measure(self, transaction: WriteTransaction, most_hosts: int) -> NoReturn:
        waiting = waiting_buckets(transaction, [job.kind for job in _PACKING])
        hosts = sorted({host for _, host, _ in waiting})[:most_hosts]
        if not hosts:
            raise _UndoneError({})
        self._pack(transaction, [one for one in waiting if one[1] in hosts])
        sizes = {kind.name: stored_bytes(transaction, kind, hosts) / len(hosts) for kind in BLOCK_KINDS if kind.rows}
        raise _UndoneError(sizes)

    def _pack(self, transaction: WriteTransaction, waiting: Sequence[tuple[str, int, datetime]]) -> None:
        for job in _PACKING:
            for host in sorted({host for kind, host, _ in waiting if kind == job.kind}):
                buckets = sorted(bucket for kind, found, bucket in waiting if (kind, found) == (job.kind, host))
                for pack in PACKS[job]:
                    pack(transaction, host, buckets)
