"""The ledger of many hosts in buckets of one width."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.ledger import COLUMNS
from tierscope.storage.ledger.sums import sum_moves

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_GAUGES = frozenset(column.key for column in COLUMNS if column.gauge)


@dataclass(frozen=True, slots=True)
class LedgerBuckets:
    """The buckets of one host in which it has rows: ends [b] in microseconds, observed seconds [b], values [b, keys].

    Flows are summed and states averaged; NaN where no row of the bucket has the column.
    """

    ends_us: Ints
    seconds: Floats
    values: Floats


def bucket_ledgers(
    session: ReadSession,
    keys: Sequence[str],
    host_ids: Sequence[int],
    start: datetime,
    end: datetime,
    *,
    width_us: int,
    service_id: int = 0,
) -> dict[int, LedgerBuckets]:
    """Columns of the rows of (start, end] by host, in buckets (end - width, end] aligned to UTC.

    The rows are those of whole hosts, or of a service's own cgroups on them.

    Raises:
        KeyError: the ledger has no such column.
    """
    found = sum_moves(session, keys, start, end, service_id=service_id, host_ids=host_ids, width_us=width_us)
    values = np.stack([found.means(at) if key in _GAUGES else found.totals(at) for at, key in enumerate(keys)], axis=1)
    ends = found.buckets_us + width_us
    return {
        int(host): LedgerBuckets(ends[mine], found.seconds[mine], values[mine])
        for host in np.unique(found.host_ids)
        for mine in [found.host_ids == host]
    }
