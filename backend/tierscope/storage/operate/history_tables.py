"""The files that closed days are published in: read by kind for a day and some hosts, as columns."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.core.tabular import Cells, Column, write_groups
from tierscope.domain.counters.names import describe_counter
from tierscope.domain.counters.rollups import STATISTICS, Rollup
from tierscope.domain.heat.classes import USUAL_RULE, classify
from tierscope.domain.heat.rows import BACKENDS, HeatSeries
from tierscope.domain.operate.history import HISTORY, HistoryKind
from tierscope.storage.base.retention import kept
from tierscope.storage.base.subjects import SubjectHost, SubjectService, all_services
from tierscope.storage.counters.rollups import read_metrics
from tierscope.storage.heat.rows import read_host_rollups
from tierscope.storage.ledger.days import Moves, read_moves
from tierscope.storage.tables import TIME_TABLES

Ints = npt.NDArray[np.int64]
T = TypeVar("T")
_DAY = timedelta(days=1)
_HOSTS_A_GROUP = 8
_KEYS_A_GROUP = 16
_STORED: Mapping[HistoryKind, tuple[str, ...]] = {
    "tier_moves": ("tier_move_days", "tier_moves"),
    "service_heat": ("heat_1h",),
    "counters": ("metrics_1h_days", "metrics_1h"),
}
"""The tables with the rows of a kind, the one that keeps them longest first."""
KEPT: Mapping[HistoryKind, timedelta] = {kind: kept(tables[0]) for kind, tables in _STORED.items()}
"""How long the database has the rows of a kind."""


@dataclass(slots=True)
class HistoryTable:
    """A file, with whose rows are in it."""

    body: bytes
    n_rows: int
    hosts: set[int] = field(default_factory=set)
    services: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Read:
    """What the rows of a day are read with."""

    session: ReadSession
    hosts: Sequence[SubjectHost]
    services: Mapping[int, SubjectService]
    day: datetime
    made: HistoryTable

    def of_hosts(self, numbers: Ints) -> list[Cells]:
        """Who the rows are of, for each."""
        self.made.hosts.update(np.unique(numbers).tolist())
        known = {host.id: (host.public_id, host.name, host.origin) for host in self.hosts}
        return _texts(numbers, known, 3)

    def of_services(self, numbers: Ints) -> list[Cells]:
        """Which service each row is of; absent for the whole host."""
        self.made.services.update(np.unique(numbers[numbers > 0]).tolist())
        known = {one.id: (one.public_id, one.namespace, one.name) for one in self.services.values()}
        return _texts(numbers, known, 3)


def hosts_since(session: ReadSession) -> list[tuple[SubjectHost, datetime]]:
    """All hosts by number, with when each enrolled."""
    found = session.execute(text("SELECT id, public_id, name, origin, layout_id, enrolled_at FROM hosts ORDER BY id"))
    return [(SubjectHost(*row[:-1]), row[-1]) for row in found]


def oldest_row(session: ReadSession, kind: HistoryKind) -> datetime | None:
    """When the oldest row of a kind is of."""
    sources = [entry.source for entry in TIME_TABLES if entry.name in _STORED[kind]]
    found = [session.execute(text(f"SELECT min(ts) FROM {source} true")).scalar_one() for source in sources]  # noqa: S608
    return min((at for at in found if at is not None), default=None)


def make_file(session: ReadSession, kind: HistoryKind, hosts: Sequence[SubjectHost], day: datetime) -> HistoryTable:
    """The rows of hosts, in order of their numbers, that lie in a day.

    Raises:
        Unprocessable: the installation cannot write Parquet.
    """
    made = HistoryTable(b"", 0)
    services = {service.id: service for service in all_services(session)}
    read = _Read(session, hosts, services, day, made)
    columns = HISTORY[kind]
    origins = {host.origin for host in hosts}
    metadata = {
        "units": json.dumps({one.name: one.unit for one in columns if one.unit}),
        "definitions": json.dumps({one.name: one.says for one in columns}),
        "origin": ",".join(sorted(origins)),
    }
    groups = _GROUPS[kind](read)
    made.body, made.n_rows = write_groups([Column(one.name, one.kind) for one in columns], groups, metadata)
    return made


def _moves(read: _Read) -> Iterator[list[Cells]]:
    for some in _parts(read.hosts, _HOSTS_A_GROUP):
        wanted = [0, *read.services]
        parts = read_moves(read.session, [host.id for host in some], wanted, read.day, read.day + _DAY)
        if parts:
            yield [*_subjects(read, parts), *_columns(parts)]


def _subjects(read: _Read, parts: Sequence[Moves]) -> list[Cells]:
    lengths = [len(part.times_us) for part in parts]
    hosts, services = (
        np.repeat([getattr(part, name) for part in parts], lengths) for name in ("host_id", "service_id")
    )
    return [*read.of_hosts(hosts), *read.of_services(services)]


def _columns(parts: Sequence[Moves]) -> list[Cells]:
    ends, seconds, values, present = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("times_us", "seconds", "values", "present")
    )
    flows = [Cells(values[:, place], present[:, place]) for place in range(values.shape[1])]
    return [Cells(ends), Cells(seconds, seconds > 0), *flows]


def _heat(read: _Read) -> Iterator[list[Cells]]:
    for some in _parts(read.hosts, _HOSTS_A_GROUP):
        found = read_host_rollups(read.session, "heat_1h", [host.id for host in some], read.day, read.day + _DAY)
        found = [(service, series) for service, series in found if service in read.services]
        if found:
            yield _heat_columns(read, found)


def _heat_columns(read: _Read, found: Sequence[tuple[int, HeatSeries]]) -> list[Cells]:
    lengths = [len(series.groups) for _, series in found]

    def each(values: Sequence[float]) -> npt.NDArray[np.float64]:
        return np.repeat(np.array(values, np.float64), lengths)

    methods = each([series.method.backend for _, series in found]).astype(np.int64)
    n = each([int(series.n_intervals[0]) for _, series in found])
    groups = [group for _, series in found for group in series.groups]
    sizes = np.array([size for _, _, size in groups], np.int64)
    resident = np.concatenate([series.folded.resident[0] for _, series in found]) / n
    classes = np.concatenate([classify(series.folded.take(0), USUAL_RULE).value for _, series in found]) / n[:, None]
    hours_us = np.repeat(np.array([int(series.ends_us[0]) for _, series in found], np.int64), lengths) - 3_600_000_000
    return [
        *read.of_hosts(np.repeat([series.host_id for _, series in found], lengths)),
        *read.of_services(np.repeat([service for service, _ in found], lengths)),
        Cells(hours_us),
        Cells(np.where(methods > 0, methods, -1), texts=BACKENDS),
        Cells(each([series.method.interval_ns / 1e9 for _, series in found])),
        _named([kind for kind, _, _ in groups]),
        _named([tier for _, tier, _ in groups]),
        Cells(sizes, sizes > 0),
        Cells(n.astype(np.int64)),
        Cells(resident),
        *(Cells(classes[:, place]) for place in range(classes.shape[1])),
    ]


def _counters(read: _Read) -> Iterator[list[Cells]]:
    found = [
        (host.id, read_metrics(read.session, "metrics_1h", host.id, (read.day, read.day + _DAY), None))
        for host in read.hosts
    ]
    keys = sorted({key for _, rollup in found for key in rollup.keys})
    for some in _parts(keys, _KEYS_A_GROUP):
        parts = [part for key in some for host, rollup in found if (part := _counter(host, rollup, key)) is not None]
        numbers, places, starts, *columns = (
            np.concatenate(values) for values in zip(*(part.arrays(some) for part in parts), strict=True)
        )
        known = [describe_counter(key) for key in some]
        yield [
            *read.of_hosts(numbers),
            Cells(places, texts=some),
            _named([one.kind for one in known], places),
            _named([one.unit for one in known], places),
            Cells(starts),
            *map(Cells, columns),
        ]


@dataclass(frozen=True, slots=True)
class _Counter:
    """One counter of one host over the hours that have it."""

    host_id: int
    key: str
    starts_us: Ints
    columns: Sequence[npt.NDArray[np.float64] | Ints]

    def arrays(self, keys: Sequence[str]) -> list[npt.NDArray[np.float64] | Ints]:
        """Host, place of the counter and the rest, for each row."""
        n = len(self.starts_us)
        return [np.full(n, self.host_id), np.full(n, keys.index(self.key)), self.starts_us, *self.columns]


def _counter(host_id: int, rollup: Rollup, key: str) -> _Counter | None:
    if key not in rollup.keys:
        return None
    place = rollup.keys.index(key)
    there = np.isfinite(rollup.last[:, place]) | (rollup.n[:, place] > 0)
    columns = [getattr(rollup, name)[there, place] for name in (*STATISTICS, "n")]
    return _Counter(host_id, key, rollup.starts_us[there], columns) if there.any() else None


_GROUPS: Mapping[HistoryKind, Callable[[_Read], Iterator[list[Cells]]]] = {
    "tier_moves": _moves,
    "service_heat": _heat,
    "counters": _counters,
}


def _parts(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    return (items[at : at + most] for at in range(0, len(items), most))


def _texts(numbers: Ints, known: Mapping[int, Sequence[str]], width: int) -> list[Cells]:
    """A column for each text of what is known by number; absent where nothing is."""
    place = {number: at for at, number in enumerate(known)}
    distinct, where = np.unique(numbers, return_inverse=True)
    at = np.array([place.get(number, -1) for number in distinct.tolist()], np.int64)[where]
    return [Cells(at, texts=[texts[column] for texts in known.values()]) for column in range(width)]


def _named(texts: Sequence[str], places: Ints | None = None) -> Cells:
    """A column of texts, one for each row or by place; absent where one is empty."""
    distinct = sorted(set(texts) - {""})
    at = np.array([distinct.index(one) if one else -1 for one in texts], np.int64)
    return Cells(at if places is None else at[places], texts=distinct)
