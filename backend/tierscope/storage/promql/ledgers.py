"""The ledger of many hosts in buckets of one width."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.ledger import COLUMNS
from tierscope.storage.base.binary import copy_columns

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_GAUGES = frozenset(column.key for column in COLUMNS if column.gauge)
_KNOWN = frozenset(column.key for column in COLUMNS)


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
    if unknown := set(keys) - _KNOWN:
        raise KeyError(f"the ledger has no columns {sorted(unknown)}")
    ids = ", ".join(str(int(host)) for host in host_ids) or "NULL"
    cells = ", ".join(f"coalesce({'avg' if key in _GAUGES else 'sum'}({key})::float8, 'NaN'::float8)" for key in keys)
    query = (
        f"SELECT host_id, ((extract(epoch FROM ts) * 1000000)::bigint - 1) / {int(width_us)} * {int(width_us)}"  # noqa: S608 - columns and numbers of our own
        f" + {int(width_us)}, coalesce(sum(dt_seconds), 0)::float8, {cells} FROM tier_moves"
        f" WHERE host_id IN ({ids}) AND service_id = {int(service_id)}"
        f" AND ts > '{start.isoformat()}' AND ts <= '{end.isoformat()}'"
        " GROUP BY 1, 2 ORDER BY 1, 2"
    )
    found = copy_columns(session, query)
    if found is None:
        return {}
    hosts = found.ints(0)
    values = np.stack([found.floats(3 + place) for place in range(len(keys))], axis=1)
    ends, seconds = found.ints(1), found.floats(2)
    return {
        int(host): LedgerBuckets(ends[hosts == host], seconds[hosts == host], values[hosts == host])
        for host in np.unique(hosts)
    }
