"""Which series of a host are kernel counters, and which columns they fill; kept in the process until new ones come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.samples.counters import MappedCounter, map_series
from tierscope.domain.samples.inventory import INFO_METRICS
from tierscope.storage.binary import to_us
from tierscope.storage.sample_core import load_core
from tierscope.storage.sample_series import StoredSeries, series_of_targets, series_state

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
COUNTERS_PER_HOST = 4096
_KEPT_MAX = 50_000
_INFO_SPAN = timedelta(minutes=5)
_kept: dict[tuple[str, tuple[int, ...]], tuple[tuple[int, int], "CounterSeries"]] = {}


@dataclass(frozen=True, slots=True)
class CounterSeries:
    """Series `ids` [n] fill `places` [n] of `keys`, multiplied by `scales` [n]; a series may fill several."""

    keys: tuple[str, ...]
    ids: Ints
    places: Ints
    scales: Floats
    info: tuple[StoredSeries, ...]
    """Series that an inventory is made of."""
    nodename: str | None
    """What the machine calls itself."""

    def read_info(self, bodies: Sequence[bytes], end: datetime) -> list[tuple[Mapping[str, str], float]]:
        """The newest info samples up to `end`, with their labels."""
        by_id = {series.id: series for series in self.info}
        if not by_id or not bodies:
            return []
        wanted = np.array(sorted(by_id), np.int64)
        span = to_us(end - _INFO_SPAN) // 1000, to_us(end) // 1000
        ids, _, values = load_core().read_bodies(list(bodies), wanted, *span)
        newest = {int(series): float(value) for series, value in zip(ids, values, strict=True) if np.isfinite(value)}
        return [(by_id[series].labels, value) for series, value in sorted(newest.items())]


def counter_series(session: ReadSession, target_ids: Sequence[int]) -> CounterSeries:
    """The counters of some targets together, read anew when series were added."""
    state = series_state(session, target_ids)
    key = (session.driver.info.dbname + str(session.driver.info.port), tuple(sorted(target_ids)))
    kept = _kept.get(key)
    if kept is not None and kept[0] == state:
        return kept[1]
    if len(_kept) > _KEPT_MAX:
        _kept.clear()
    found = _map([*series_of_targets(session, target_ids, "node\\_%"), *_declared(session, target_ids)])
    _kept[key] = (state, found)
    return found


def _declared(session: ReadSession, target_ids: Sequence[int]) -> list[StoredSeries]:
    return series_of_targets(session, target_ids, "tierscope\\_%")


def _map(series: Sequence[StoredSeries]) -> CounterSeries:
    best: dict[str, int] = {}
    mapped: list[tuple[int, MappedCounter]] = []
    for one in series:
        for counter in map_series(one.labels):
            mapped.append((one.id, counter))
            best[counter.key] = min(best.get(counter.key, counter.rank), counter.rank)
    keys = tuple(sorted(best))[:COUNTERS_PER_HOST]
    place = {key: i for i, key in enumerate(keys)}
    taken = [
        (ident, counter) for ident, counter in mapped if counter.key in place and counter.rank == best[counter.key]
    ]
    uname = [one.labels for one in series if one.labels["__name__"] == "node_uname_info"]
    return CounterSeries(
        keys=keys,
        ids=np.array([ident for ident, _ in taken], np.int64),
        places=np.array([place[counter.key] for _, counter in taken], np.int64),
        scales=np.array([counter.scale for _, counter in taken], np.float64),
        info=tuple(one for one in series if one.labels["__name__"] in INFO_METRICS),
        nodename=uname[-1].get("nodename") if uname else None,
    )
