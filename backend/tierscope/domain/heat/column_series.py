"""Series of single hosts from the columns of a service: for what is computed host by host.

Sums are those of the columns: shares are off by at most 0.8e-5 of the group's bytes, counts by frequency are left out.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tierscope.domain.heat.beside import BESIDE_PLACES, BESIDE_WIDTHS, Beside, zeros_beside
from tierscope.domain.heat.classes import COUNTS, Folded
from tierscope.domain.heat.columns import FULL, WINDOW_EDGES, HeatColumns
from tierscope.domain.heat.rows import FULL_HISTORY, FULL_INTERVALS, HeatSeries

Ints = npt.NDArray[np.int64]


def series_of_hosts(columns: HeatColumns, host_ids: Iterable[int]) -> dict[int, HeatSeries]:
    """The series of those of the hosts that have any bucket, by host."""
    wanted = np.flatnonzero(np.isin(columns.host_ids, np.fromiter(host_ids, np.int64)))
    n = columns.n_intervals[:, wanted].astype(np.int64)
    resident = np.rint(columns.resident[..., wanted] * n[:, None].astype(np.float64)).astype(np.int64)
    folded, beside = _fold(columns, wanted, resident), _beside(columns, wanted, n)
    found = {}
    for at, host_id in enumerate(columns.host_ids[wanted].tolist()):
        there, groups = np.flatnonzero(n[:, at]), np.flatnonzero(resident[..., at].any(axis=0))
        if not len(there):
            continue
        cells = (at, there[:, None], groups[None, :])
        longest = int(n[:, at].max())
        found[host_id] = HeatSeries(
            host_id=host_id,
            method=columns.method,
            ends_us=columns.ends_us[there],
            n_intervals=n[there, at],
            kinds=tuple(columns.groups[i][0] for i in groups),
            tiers=tuple(columns.groups[i][1] for i in groups),
            sizes=tuple(columns.groups[i][2] for i in groups),
            folded=folded.take(cells),
            beside=zeros_beside((len(there), len(groups))) if beside is None else beside.take(cells),
            history=FULL_HISTORY if longest >= FULL_INTERVALS else longest,
        )
    return found


def _fold(columns: HeatColumns, wanted: Ints, resident: Ints) -> Folded:
    """Sums over the intervals of each bucket, by host first."""
    scale = resident[:, None] / FULL

    def sums(shares: npt.NDArray[np.uint16]) -> Ints:
        return np.rint(shares[..., wanted] * scale).astype(np.int64)

    below, known = sums(columns.below), sums(columns.known)
    age = np.diff(below, axis=1, prepend=0)
    never = np.maximum(known - np.concatenate((known[:, 1:], below[:, -1:]), axis=1), 0)
    low = below[:, WINDOW_EDGES]
    high = low
    if columns.high is not None:
        coarse = columns.coarse[:, wanted][:, None, None]
        high = np.where(coarse, np.maximum(sums(columns.high), low), low)
    count = np.broadcast_to(np.int64(0), (len(wanted), *resident.shape[:2], COUNTS))

    def by_host(values: Ints) -> Ints:
        return np.moveaxis(values, (-1, 1), (0, -1))

    return Folded(np.moveaxis(resident, -1, 0), by_host(age), by_host(never), count, by_host(low), by_host(high))


def _beside(columns: HeatColumns, wanted: Ints, n: Ints) -> Beside | None:
    """Sums of what stands beside heat, by host first; None where no host has any."""
    if columns.beside is None:
        return None
    sums = np.rint(columns.beside[..., wanted] * n[:, None, None]).astype(np.int64)
    by_host = np.moveaxis(sums, (-1, 1), (0, -1))
    found = {name: by_host[..., place] for name, place in BESIDE_PLACES.items()}
    return Beside({name: values[..., 0] if BESIDE_WIDTHS[name] == 1 else values for name, values in found.items()})
