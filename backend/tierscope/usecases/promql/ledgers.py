"""Tier moves, memory and pressure, from the ledgers of hosts and of services' own cgroups on them.

Counters since midnight, rates and states by interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.buckets import DAY_US, HOUR_US, TEN_MINUTES_US, day_of
from tierscope.domain.base.figures import Window
from tierscope.domain.ledger import COLUMNS, Column
from tierscope.domain.ledger.columns import TRAFFIC
from tierscope.domain.promql.counters import count_up
from tierscope.domain.promql.evaluate import Demand
from tierscope.domain.promql.matching import meets, name_fits
from tierscope.domain.promql.nodes import Matcher
from tierscope.domain.promql.series import NAME, Floats, Ints, Labels, Series, TooMuch, make_labels
from tierscope.storage.base.binary import from_us
from tierscope.storage.base.retention import kept
from tierscope.storage.base.subjects import SubjectHost, SubjectService, all_hosts, all_services, hosts_of_service
from tierscope.storage.ledger.rows import read_newest, sum_flows
from tierscope.storage.promql.ledgers import bucket_ledgers
from tierscope.usecases.ledger.sources import read_ledgers
from tierscope.usecases.promql.sources import (
    MetricHelp,
    Span,
    check_series,
    host_labels,
    lookback_ms,
    may_meet,
    service_labels,
)

HOSTS, SERVICES = "tierscope_host_", "tierscope_service_"
"""How the metrics of whole hosts begin, and those of services."""
ROWS_MAX = 300_000
"""Rows of the ledger that one selector reads; more are summed up in buckets."""
BUCKETS_US = (TEN_MINUTES_US, HOUR_US, DAY_US)
BACK = timedelta(hours=1)
"""How far before the first moment rows are read: what the newest of them says may still hold."""
_PRESSURE = {"psi_some_us": "memory_pressure_some", "psi_full_us": "memory_pressure_full"}
_RATES = {"promoted_pages": "promoted_pages_per_second", "demoted_pages": "demoted_pages_per_second"}


@dataclass(frozen=True, slots=True)
class _Metric:
    """A metric of a column of the ledger, in its own unit: `scale` times the column's."""

    name: str
    key: str
    kind: str
    """`counter` adds up, `rate` is per second of the interval, `state` stands at its end."""
    scale: float
    help: MetricHelp


def _metrics(prefix: str) -> dict[str, _Metric]:
    found = []
    of = "" if prefix == HOSTS else " Of the service's own cgroups on a host."
    for column in COLUMNS:
        if prefix == SERVICES and not _is_of_cgroups(column):
            continue
        if column.gauge:
            found.append(_made(prefix + column.key, column.key, "state", 1.0, f"{column.label}.{of}", column.unit))
            continue
        pressure = _PRESSURE.get(column.key)
        name = f"{column.key}_total" if pressure is None else f"{pressure}_seconds_total"
        scale, unit = (1.0, column.unit) if pressure is None else (1e-6, "seconds")
        words = f"{column.label}, since midnight (UTC).{of}"
        found.append(_made(prefix + name, column.key, "counter", scale, words, unit))
        if pressure is not None:
            words = f"{column.label}: share of each interval.{of}"
            found.append(_made(f"{prefix}{pressure}_ratio", column.key, "rate", 1e-6, words, "ratio"))
        if column.key in _RATES:
            words = f"{column.label}, per second of each interval.{of}"
            found.append(_made(prefix + _RATES[column.key], column.key, "rate", 1.0, words, ""))
    return {metric.name: metric for metric in found}


def _is_of_cgroups(column: Column) -> bool:
    """Whether a service has a column of its own; traffic is that of its whole hosts."""
    return column.service is not None and column.service.trust != "not_supported" and column.key not in TRAFFIC


def _made(name: str, key: str, kind: str, scale: float, words: str, unit: str) -> _Metric:
    return _Metric(name, key, kind, scale, MetricHelp("counter" if kind == "counter" else "gauge", words, unit))


_OF_HOSTS, _OF_SERVICES = _metrics(HOSTS), _metrics(SERVICES)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Intervals of one host: ends [n], seconds [n], columns by key [n], NaN where absent."""

    ends_ms: Ints
    seconds: Floats
    columns: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is asked for of one service's ledgers, or of those of whole hosts: metrics by host."""

    service: SubjectService | None
    hosts: Sequence[tuple[SubjectHost, Sequence[_Metric]]]

    @property
    def service_id(self) -> int:
        """As rows of the ledger have it: 0 is the whole host."""
        return 0 if self.service is None else self.service.id

    @property
    def keys(self) -> list[str]:
        """The columns behind the metrics."""
        return sorted({metric.key for _, metrics in self.hosts for metric in metrics})


class LedgerHistory:
    """The ledgers of whole hosts, and of services' own cgroups on them."""

    @property
    def metrics(self) -> dict[str, MetricHelp]:
        """Its metrics by name."""
        return {name: metric.help for name, metric in (_OF_HOSTS | _OF_SERVICES).items()}

    def select(
        self, session: ReadSession, matchers: Sequence[Matcher], demand: Demand, *, now: datetime
    ) -> list[Series]:
        """The series that meet all conditions, with their samples.

        Raises:
            TooMuch: they are too many, or their samples lie too far apart for the range that is asked for.
        """
        wanted = _wanted(session, matchers)
        check_series(sum(len(metrics) for one in wanted for _, metrics in one.hosts))
        oldest = now - kept("tier_move_days")
        start = max(from_us(demand.first_ms * 1000) - BACK, oldest)
        end = min(from_us(demand.last_ms * 1000), now)
        if not wanted or start >= end:
            return []
        width_us = _width(sum(len(one.hosts) for one in wanted), Window(start, end), demand)
        found = []
        for one in wanted:
            rows = _read(session, one, Window(start, end), width_us)
            counted = _counted_before(session, one, start)
            for host, metrics in one.hosts:
                if host.id in rows:
                    found += [
                        _series(
                            _labels(host, one.service, metric),
                            metric,
                            rows[host.id],
                            counted.get((host.id, metric.key), 0.0),
                            width_us,
                        )
                        for metric in metrics
                    ]
        return found

    def find(self, session: ReadSession, matchers: Sequence[Matcher], span: Span) -> list[Labels]:
        """Labels of the series that meet all conditions: those that the newest row of their host has."""
        found = []
        for one in _wanted(session, matchers):
            ids = [host.id for host, _ in one.hosts]
            newest = read_newest(session, [(host, one.service_id) for host in ids], rows=1, since=span.start)
            ledgers = {stored.host_id: stored.ledger for stored in newest}
            found += [
                _labels(host, one.service, metric)
                for host, metrics in one.hosts
                if host.id in ledgers
                for metric in metrics
                if ledgers[host.id].total(metric.key) is not None
            ]
        return found


def _wanted(session: ReadSession, matchers: Sequence[Matcher]) -> list[_Wanted]:
    """Ledgers with those of their metrics that meet all conditions."""
    found = []
    asked = [metric for metric in _OF_HOSTS.values() if name_fits(metric.name, matchers)]
    if asked:
        found.append(_of_hosts(all_hosts(session), None, asked, matchers))
    asked = [metric for metric in _OF_SERVICES.values() if name_fits(metric.name, matchers)]
    services = [one for one in all_services(session) if may_meet(service_labels(one), matchers)] if asked else []
    found += [_of_hosts(hosts_of_service(session, one.id), one, asked, matchers) for one in services]
    return [one for one in found if one.hosts]


def _of_hosts(
    hosts: Sequence[SubjectHost],
    service: SubjectService | None,
    asked: Sequence[_Metric],
    matchers: Sequence[Matcher],
) -> _Wanted:
    found = []
    for host in hosts:
        metrics = [metric for metric in asked if meets(_labels(host, service, metric), matchers)]
        if metrics:
            found.append((host, metrics))
    return _Wanted(service, found)


def _labels(host: SubjectHost, service: SubjectService | None, metric: _Metric) -> Labels:
    of_service = {"origin": host.origin} if service is None else service_labels(service)
    return make_labels({NAME: metric.name} | host_labels(host) | of_service)


def _width(n_ledgers: int, window: Window, demand: Demand) -> int | None:
    """How wide buckets are in which rows are summed up; None where there are few enough rows."""
    minutes = (window.end - window.start).total_seconds() / 60
    if n_ledgers * minutes <= ROWS_MAX:
        return None
    width_us = next((one for one in BUCKETS_US if n_ledgers * minutes * 60e6 / one <= ROWS_MAX), BUCKETS_US[-1])
    if demand.range_ms is not None and demand.range_ms * 1000 < 2 * width_us:
        raise TooMuch(
            f"{n_ledgers} ledgers over this time are answered in buckets of {width_us // 60_000_000} minutes, and a"
            f" range holds two of them: take a range of at least {width_us // 30_000_000}m, fewer hosts or less time"
        )
    return width_us


def _read(session: ReadSession, wanted: _Wanted, window: Window, width_us: int | None) -> dict[int, _Rows]:
    """The rows of a window by host, or their sums in buckets."""
    keys, hosts = wanted.keys, [host for host, _ in wanted.hosts]
    if width_us is None:
        found = {}
        for part in read_ledgers(session, hosts, window, wanted.service):
            ledger = part.ledger
            if len(ledger):
                ends_ms = np.rint(ledger.times_s * 1e3).astype(np.int64)
                found[part.host.id] = _Rows(ends_ms, ledger.dt_seconds, {key: ledger.column(key) for key in keys})
        return found
    buckets = bucket_ledgers(
        session,
        keys,
        [host.id for host in hosts],
        window.start,
        window.end,
        width_us=width_us,
        service_id=wanted.service_id,
    )
    return {
        host_id: _Rows(
            part.ends_us // 1000, part.seconds, {key: part.values[:, place] for place, key in enumerate(keys)}
        )
        for host_id, part in buckets.items()
    }


def _counted_before(session: ReadSession, wanted: _Wanted, start: datetime) -> dict[tuple[int, str], float]:
    """What each host counted from midnight until rows begin, by column."""
    keys = sorted({metric.key for _, metrics in wanted.hosts for metric in metrics if metric.kind == "counter"})
    if not keys:
        return {}
    ids = [host.id for host, _ in wanted.hosts]
    flows = sum_flows(session, keys, day_of(start), start, service_id=wanted.service_id, host_ids=ids)
    return {(flow.host_id, key): float(total) for flow in flows for key, total in flow.sums.items() if total}


def _series(labels: Labels, metric: _Metric, rows: _Rows, counted_before: float, width_us: int | None) -> Series:
    values = rows.columns[metric.key]
    known = ~np.isnan(values) & (rows.seconds > 0)
    times, values, seconds = rows.ends_ms[known], values[known] * metric.scale, rows.seconds[known]
    interval_s = float(np.median(rows.seconds)) if width_us is None else width_us / 1e6
    if metric.kind == "counter":
        times, values = count_up(times, values, max(counted_before, 0.0) * metric.scale)
    elif metric.kind == "rate":
        values = values / seconds
    return Series(labels, times, values, lookback_ms(interval_s * 1e3))
