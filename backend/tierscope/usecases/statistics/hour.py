"""One hour of the fleet: the mean of every metric on every host, by group of peer hosts, as quantiles and outliers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.fleet.peer_hosts import LikeKey
from tierscope.domain.heat.rows import HeatSeries, Method
from tierscope.domain.statistics import Outlier, Quantiles, flag_hosts, score_hosts
from tierscope.domain.statistics.host_metrics import HOST_METRICS, HostMetric, ledger_value, service_value
from tierscope.storage.heat.rows import read_rollups
from tierscope.storage.statistics.fleet_means import SLOTS, read_ledger_hour, read_service_hour
from tierscope.storage.statistics.rows import SketchRow
from tierscope.usecases.heat.reads import choose_method
from tierscope.usecases.statistics.host_series import heat_parts

Floats = npt.NDArray[np.float64]
HOUR = timedelta(hours=1)
LEFT_OUT = frozenset({"load", "latency_p50_ns", "swap_in_pages_per_s", "refaults_per_s"})
FLEET_METRICS = tuple(metric for metric in HOST_METRICS if metric.key not in LEFT_OUT)
LEDGER_TERMS = tuple(
    dict.fromkeys(term for metric in FLEET_METRICS if metric.source == "ledger" for term in metric.terms)
)
Group = tuple[int, LikeKey | None]


@dataclass(frozen=True, slots=True)
class Members:
    """Hosts of each service with their peer-group keys, and the services by all their names."""

    hosts: Mapping[int, Sequence[int]]
    keys: Mapping[int, LikeKey]
    names: Mapping[str, int]


@dataclass(slots=True)
class Hour:
    """All that was measured in an hour: ledger columns by (host, service), service metrics, heat by service."""

    ledger: dict[tuple[int, int], Floats] = field(default_factory=dict)
    told: dict[tuple[int, int, str], Floats] = field(default_factory=dict)
    heat: dict[int, list[HeatSeries]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was measured at all."""
        return not (self.ledger or self.told or self.heat)


def read_hour(session: ReadSession, start: datetime, members: Members) -> Hour:
    """Read an hour, by ten minutes [6]; heat as its hourly sums."""
    heat = {
        service: read_rollups(session, "heat_1h", service, start, start + HOUR, hosts)
        for service, hosts in members.hosts.items()
    }
    hour = Hour(heat={service: series for service, series in heat.items() if series})
    pairs = [(host, 0) for host in members.keys]
    pairs += [(host, service) for service, hosts in members.hosts.items() for host in hosts]
    ledger = read_ledger_hour(session, pairs, LEDGER_TERMS, start, start + HOUR)
    for (host_id, service_id), values in zip(ledger.pairs.tolist(), ledger.values, strict=True):
        hour.ledger[int(host_id), int(service_id)] = values
    for cell in read_service_hour(session, list(members.keys), start, start + HOUR):
        service_id = members.names.get(cell.service)
        if service_id is not None and 0 <= cell.slot < SLOTS:
            row = hour.told.setdefault((cell.host_id, service_id, cell.term), np.full(SLOTS, np.nan))
            row[cell.slot] = cell.value
    return hour


def sketch_hour(hour: Hour, members: Members, start: datetime) -> dict[Group, SketchRow]:
    """The rows of all groups that had any value; ids of groups are filled in when they are stored."""
    found: dict[Group, SketchRow] = {}
    for service_id, hosts in members.hosts.items():
        values = {metric.key: _values(metric, service_id, hosts, hour) for metric in FLEET_METRICS}
        known = {key: table for key, table in values.items() if np.isfinite(table).any()}
        if not known:
            continue
        keys = [members.keys[host] for host in hosts]
        found[service_id, None] = _row(start, hosts, known, np.ones(len(hosts), bool), flag=False)
        for key in dict.fromkeys(keys):
            inside = np.array([other == key for other in keys], bool)
            if any(np.isfinite(table[inside]).any() for table in known.values()):
                found[service_id, key] = _row(start, hosts, known, inside, flag=True)
    return found


def _row(
    start: datetime, hosts: Sequence[int], known: Mapping[str, Floats], inside: npt.NDArray[np.bool_], *, flag: bool
) -> SketchRow:
    bodies, medians, outliers, metrics = [], [], {}, []
    furthest: dict[str, tuple[str, Outlier, int]] = {}
    reporting = np.zeros(int(inside.sum()), bool)
    ids = [host for host, taken in zip(hosts, inside.tolist(), strict=True) if taken]
    for key, table in known.items():
        some = table[inside]
        has = np.isfinite(some).any(axis=1)
        if not has.any():
            continue
        reporting |= has
        means = _row_means(some)
        metrics.append(key)
        bodies.append(Quantiles.of(means[has]).to_bytes())
        medians += _column_medians(some).tolist()
        if flag:
            window = {str(host): float(mean) for host, mean in zip(ids, means, strict=True) if np.isfinite(mean)}
            scored = score_hosts(window)
            flagged = [(int(item.host), item.value, item.median, item.score) for item in flag_hosts(scored)]
            if flagged:
                outliers[key] = flagged
            for item in scored:
                if item.host not in furthest or abs(item.score) > abs(furthest[item.host][1].score):
                    furthest[item.host] = (key, item, len(scored))
    drifts = [
        (int(host), metric, item.value, item.median, item.score, n) for host, (metric, item, n) in furthest.items()
    ]
    n_hosts = int(reporting.sum())
    return SketchRow(0, start, 1, n_hosts, tuple(metrics), tuple(bodies), tuple(medians), outliers, drifts)


def _values(metric: HostMetric, service_id: int, hosts: Sequence[int], hour: Hour) -> Floats:
    """The metric by host and ten minutes [hosts, 6]; heat has one value an hour, in the last slot."""
    if metric.source == "heat":
        return _heat_values(metric, service_id, hosts, hour)
    if metric.source == "service":
        means = {
            term: np.stack([hour.told.get((host, service_id, term), np.full(SLOTS, np.nan)) for host in hosts])
            for term in metric.terms
        }
        return service_value(metric, means)
    own, whole = (_ledger_values(metric, wanted, hosts, hour) for wanted in (service_id, 0))
    counted = np.isfinite(own).any(axis=1)
    return own if counted.any() and bool((counted | ~np.isfinite(whole).any(axis=1)).all()) else whole


def _ledger_values(metric: HostMetric, service_id: int, hosts: Sequence[int], hour: Hour) -> Floats:
    empty = np.full((SLOTS, len(LEDGER_TERMS)), np.nan)
    table = np.stack([hour.ledger.get((host, service_id), empty) for host in hosts])
    return ledger_value(metric, {term: table[:, :, LEDGER_TERMS.index(term)] for term in metric.terms})


def _heat_values(metric: HostMetric, service_id: int, hosts: Sequence[int], hour: Hour) -> Floats:
    values = np.full((len(hosts), SLOTS), np.nan)
    by_method: dict[Method, dict[int, HeatSeries]] = {}
    for series in hour.heat.get(service_id, ()):
        by_method.setdefault(series.method, {})[series.host_id] = series
    method = choose_method(by_method, None)
    place = {host: i for i, host in enumerate(hosts)}
    for host, series in ({} if method is None else by_method[method]).items():
        parts = heat_parts(metric, series)
        if parts is not None and host in place and parts[1].sum() > 0:
            values[place[host], -1] = parts[0].sum() / parts[1].sum()
    return values


def _row_means(table: Floats) -> Floats:
    known = np.isfinite(table)
    counts = known.sum(axis=1)
    sums = np.where(known, table, 0.0).sum(axis=1)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan), np.float64)


def _column_medians(table: Floats) -> Floats:
    out = np.full(table.shape[1], np.nan)
    for column in range(table.shape[1]):
        values = table[:, column]
        values = values[np.isfinite(values)]
        if len(values):
            out[column] = np.median(values)
    return out
