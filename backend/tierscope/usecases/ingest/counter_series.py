"""Which series of a host are kernel counters, and which columns they fill; kept in the process until new ones come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from tierscope.core.cache import Cache
from tierscope.core.database import ReadSession
from tierscope.domain.ingest.batch import ServiceKey
from tierscope.domain.ingest.prometheus.counters import MappedCounter, map_series
from tierscope.domain.ingest.prometheus.inventory import INFO_METRICS
from tierscope.storage.base.binary import to_us
from tierscope.storage.ingest.sample_core import load_core
from tierscope.storage.ingest.series import StoredSeries, series_of_targets, series_state

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
COUNTERS_PER_HOST = 4096
_LIKE = ("node\\_%", "tierscope\\_%", "container\\_memory\\_%")
_SERVICE = "service:"
_INFO_SPAN = timedelta(minutes=5)
_kept: Cache[tuple[str, tuple[int, ...]], tuple[tuple[int, int], "CounterSeries"]] = Cache(50_000)


@dataclass(frozen=True, slots=True)
class CounterSeries:
    """Series `ids` [n] fill `places` [n] of `keys`, multiplied by `scales` [n]; a series may fill several.

    `held_ms` [n]: how long its values stand.
    """

    keys: tuple[str, ...]
    ids: Ints
    places: Ints
    scales: Floats
    held_ms: Ints
    services: tuple[ServiceKey, ...]
    """Services that some of the counters are of."""
    info: tuple[StoredSeries, ...]
    """Series that an inventory is made of."""
    nodename: str | None
    """What the machine calls itself."""
    replicas: tuple[Bools, ...]
    """[n] each: the series that one Prometheus of several sends, by their names; of a single one all."""

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


def counter_series(session: ReadSession, target_ids: Sequence[int], *, replica_labels: Sequence[str]) -> CounterSeries:
    """The counters of some targets together, reloaded when series were added.

    `replica_labels` tell apart several Prometheus that scrape the same machines.
    """
    state = series_state(session, target_ids)
    key = (session.driver.info.dbname + str(session.driver.info.port), tuple(sorted(target_ids)))
    kept = _kept.get(key)
    if kept is not None and kept[0] == state:
        return kept[1]
    found = _map([one for like in _LIKE for one in series_of_targets(session, target_ids, like)], replica_labels)
    _kept.put(key, (state, found))
    return found


def _map(series: Sequence[StoredSeries], replica_labels: Sequence[str]) -> CounterSeries:
    best: dict[str, int] = {}
    mapped: list[tuple[StoredSeries, MappedCounter]] = []
    for one in series:
        for counter in map_series(one.labels):
            mapped.append((one, counter))
            best[counter.key] = min(best.get(counter.key, counter.rank), counter.rank)
    if all(key.startswith(_SERVICE) for key in best):
        best = {}  # containers alone say nothing of the machine: it becomes a host when node_exporter speaks of it
    kept = sorted(best, key=lambda key: (key.startswith(_SERVICE), key))[:COUNTERS_PER_HOST]
    keys = tuple(sorted(kept))
    names = sorted({key.removeprefix(_SERVICE).partition("|")[0] for key in keys if key.startswith(_SERVICE)})
    place = {key: i for i, key in enumerate(keys)}
    taken = [(one, counter) for one, counter in mapped if counter.key in place and counter.rank == best[counter.key]]
    uname = [one.labels for one in series if one.labels["__name__"] == "node_uname_info"]
    return CounterSeries(
        keys=keys,
        ids=np.array([one.id for one, _ in taken], np.int64),
        places=np.array([place[counter.key] for _, counter in taken], np.int64),
        scales=np.array([counter.scale for _, counter in taken], np.float64),
        held_ms=np.array([counter.held_ms for _, counter in taken], np.int64),
        services=tuple(ServiceKey(*name.split("/", 1)) for name in names),
        info=tuple(one for one in series if one.labels["__name__"] in INFO_METRICS),
        nodename=uname[-1].get("nodename") if uname else None,
        replicas=_by_replica([one.labels for one, _ in taken], replica_labels),
    )


def _by_replica(labels: Sequence[Mapping[str, str]], replica_labels: Sequence[str]) -> tuple[Bools, ...]:
    """Which series each replica sends, with those that name none: they come from somewhere else, and only once."""
    named = np.array([next((one[name] for name in replica_labels if one.get(name)), "") for one in labels])
    names = sorted(set(named.tolist()) - {""}) or [""]
    return tuple((named == name) | (named == "") for name in names)
