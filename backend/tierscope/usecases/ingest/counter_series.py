"""Which series of a host are kernel counters, and which columns they fill; kept in the process until new ones come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from tierscope.core.cache import StoredCache
from tierscope.core.database import ReadSession
from tierscope.domain.ingest.batch import ServiceKey
from tierscope.domain.ingest.prometheus.containers import container_counter, repeated_containers
from tierscope.domain.ingest.prometheus.counters import (
    BOOT_TIME_KEY,
    MEMORY_KEY,
    MappedCounter,
    as_printed,
    map_series,
    sender_of,
)
from tierscope.domain.ingest.prometheus.inventory import INFO_METRICS
from tierscope.domain.ingest.prometheus.other_senders import METRICS_LIKE
from tierscope.domain.ingest.prometheus.tellers import Machines, Mark, Teller, tell_machines, teller_of, views
from tierscope.storage.base.binary import to_us
from tierscope.storage.ingest.sample_core import load_core
from tierscope.storage.ingest.series import StoredSeries, series_of_targets, series_state

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Span = tuple[datetime, datetime]
UNAME = "node_uname_info"
LINUX = "Linux"
COUNTERS_PER_HOST = 4096
_LIKE = ("node\\_%", "tierscope\\_%", "container\\_memory\\_%", *METRICS_LIKE)
_SERVICE = "service:"
_INFO_SPAN = timedelta(minutes=5)
_kept: StoredCache[tuple[str, tuple[int, ...]], tuple[tuple[int, int], "CounterSeries"]] = StoredCache(50_000)


@dataclass(frozen=True, slots=True)
class CounterSeries:
    """Series `ids` [n] fill `places` [n] of `keys`, multiplied by `scales` [n]; a series may fill several.

    `held_ms` [n]: how long its values stand. `tellers` [n]: who sends it, in order of preference.
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
    tellers: Ints
    marks: Mapping[int, Mark]
    """Series that tell machines apart."""
    info_tellers: Mapping[int, int]
    senders: Mapping[str, frozenset[str]]
    """The keys that each program sends."""
    machines: frozenset[str] = frozenset()
    """What series of containers call the machine that they run on, where none here is of that machine itself."""
    system: str = ""
    """What the machine runs where that is not Linux, so that nothing here is a counter that is read."""

    def read_told(self, bodies: Sequence[bytes], span: Span) -> "Told":
        """What was told of the machine in a span, or shortly before its end."""
        span = min(span[0], span[1] - _INFO_SPAN), span[1]
        wanted = np.array(sorted({*self.info_tellers, *self.marks}), np.int64)
        if not len(wanted) or not bodies:
            return Told({}, Machines())
        ids, times_ms, values = load_core().read_bodies(list(bodies), wanted, *_in_ms(span))
        machines = tell_machines(self.marks, ids, times_ms, values)
        newest: dict[int, float] = {}
        until_ms = min(to_us(span[1]) // 1000, int(times_ms.max(initial=0)))  # recordings have ten minutes between two
        for series, at_ms, value in zip(ids.tolist(), times_ms.tolist(), values.tolist(), strict=True):
            recent = at_ms > until_ms - _INFO_SPAN // timedelta(milliseconds=1)
            if recent and np.isfinite(value) and self.info_tellers.get(series, -1) not in machines.apart:
                newest[series] = value
        return Told(newest, machines)

    def read_info(self, told: "Told") -> list[tuple[Mapping[str, str], float]]:
        """The newest info samples, with their labels."""
        return [(one.labels, told.newest[one.id]) for one in self.info if one.id in told.newest]

    def views(self, bodies: Sequence[bytes], machines: Machines, span: Span) -> list[Bools]:
        """Which entries [n] make rows of a span together, the preferred ones first."""
        if machines.mixed:
            return []
        live: Bools = ~np.isin(self.tellers, sorted(machines.apart))
        if len(set(zip(self.places.tolist(), self.tellers.tolist(), strict=True))) > len(self.keys):
            there, _, _ = load_core().read_bodies(list(bodies), np.unique(self.ids), *_in_ms(span))
            live &= np.isin(self.ids, there)
        return views(self.places, self.tellers, live)


@dataclass(frozen=True, slots=True)
class Told:
    """What series say of a machine beside its counters: newest values by series, and whether it is one machine."""

    newest: Mapping[int, float]
    machines: Machines


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
    _kept.put(key, (state, found), generation=session.generation)
    return found


def _map(stored: Sequence[StoredSeries], replica_labels: Sequence[str]) -> CounterSeries:
    series = [replace(one, labels=as_printed(one.labels)) for one in stored]
    best: dict[str, int] = {}
    mapped: list[tuple[StoredSeries, MappedCounter]] = []
    repeated = _repeated(series, replica_labels)
    for one in series:
        for counter in () if one.id in repeated else map_series(one.labels):
            mapped.append((one, counter))
            best[counter.key] = min(best.get(counter.key, counter.rank), counter.rank)
    uname = [one.labels for one in series if one.labels["__name__"] == UNAME]
    systems = {labels.get("sysname", LINUX) for labels in uname}
    system = min(systems, default="") if LINUX not in systems else ""
    machines: frozenset[str] = frozenset()
    if all(key.startswith(_SERVICE) for key in best):
        # Containers alone say nothing of the machine: it becomes a host when node_exporter speaks of it.
        machines = frozenset(one.labels.get("node", "") for one, _ in mapped)
    if machines or system:
        best = {}
    kept = sorted(best, key=lambda key: (key.startswith(_SERVICE), key))[:COUNTERS_PER_HOST]
    keys = tuple(sorted(kept))
    names = sorted({key.removeprefix(_SERVICE).partition("|")[0] for key in keys if key.startswith(_SERVICE)})
    place = {key: i for i, key in enumerate(keys)}
    taken = [(one, counter) for one, counter in mapped if counter.key in place and counter.rank == best[counter.key]]
    info = tuple(one for one in series if one.labels["__name__"] in INFO_METRICS)
    told = {one.id: teller_of(one.labels, replica_labels) for one, _ in taken}
    told |= {one.id: teller_of(one.labels, replica_labels) for one in info}
    rank = {teller: i for i, teller in enumerate(sorted(set(told.values())))}
    return CounterSeries(
        keys=keys,
        ids=np.array([one.id for one, _ in taken], np.int64),
        places=np.array([place[counter.key] for _, counter in taken], np.int64),
        scales=np.array([counter.scale for _, counter in taken], np.float64),
        held_ms=np.array([counter.held_ms for _, counter in taken], np.int64),
        services=tuple(ServiceKey(*name.split("/", 1)) for name in names),
        info=info,
        nodename=uname[-1].get("nodename") if uname else None,
        tellers=np.array([rank[told[one.id]] for one, _ in taken], np.int64),
        marks=_marks(taken, info, {series_id: rank[teller] for series_id, teller in told.items()}),
        info_tellers={one.id: rank[told[one.id]] for one in info},
        senders=_senders(taken),
        machines=machines,
        system=system,
    )


def _repeated(series: Sequence[StoredSeries], replica_labels: Sequence[str]) -> frozenset[int]:
    """Series of containers that repeat others of the same teller."""
    containers: dict[Teller, dict[int, Mapping[str, str]]] = {}
    for one in series:
        if container_counter(one.labels) is not None:
            containers.setdefault(teller_of(one.labels, replica_labels), {})[one.id] = one.labels
    return frozenset(number for group in containers.values() for number in repeated_containers(group))


def _senders(taken: Sequence[tuple[StoredSeries, MappedCounter]]) -> dict[str, frozenset[str]]:
    keys: dict[str, set[str]] = {}
    for one, counter in taken:
        keys.setdefault(sender_of(one.labels) or "", set()).add(counter.key)
    return {name: frozenset(several) for name, several in keys.items()}


def _marks(
    taken: Sequence[tuple[StoredSeries, MappedCounter]], info: Sequence[StoredSeries], tellers: Mapping[int, int]
) -> dict[int, Mark]:
    marks = {
        one.id: Mark(tellers[one.id], "name", one.labels.get("nodename", ""))
        for one in info
        if one.labels["__name__"] == UNAME
    }
    kinds = {BOOT_TIME_KEY: "boot", MEMORY_KEY: "memory"}
    return marks | {one.id: Mark(tellers[one.id], kinds[counter.key]) for one, counter in taken if counter.key in kinds}


def _in_ms(span: Span) -> tuple[int, int]:
    return to_us(span[0]) // 1000, to_us(span[1]) // 1000
