"""Tier moves, memory and pressure of hosts, from the ledger: counters since midnight, rates and states by interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.buckets import DAY_US, HOUR_US, TEN_MINUTES_US, day_of
from tierscope.domain.base.figures import Window
from tierscope.domain.ledger import COLUMNS
from tierscope.domain.promql.counters import count_up
from tierscope.domain.promql.evaluate import Demand
from tierscope.domain.promql.matching import meets, name_fits
from tierscope.domain.promql.nodes import Matcher
from tierscope.domain.promql.series import NAME, Floats, Ints, Labels, Series, TooMuch, make_labels
from tierscope.storage.base.binary import from_us
from tierscope.storage.base.retention import kept
from tierscope.storage.base.subjects import SubjectHost, all_hosts
from tierscope.storage.ledger.rows import read_newest, sum_flows
from tierscope.storage.promql.hosts import bucket_ledgers
from tierscope.usecases.ledger.sources import read_ledgers
from tierscope.usecases.promql.sources import MetricHelp, Span, check_series, lookback_ms

PREFIX = "tierscope_host_"
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


def _metrics() -> dict[str, _Metric]:
    found = []
    for column in COLUMNS:
        if column.gauge:
            found.append(_made(column.key, column.key, "state", 1.0, f"{column.label}.", column.unit))
            continue
        pressure = _PRESSURE.get(column.key)
        name = f"{column.key}_total" if pressure is None else f"{pressure}_seconds_total"
        scale, unit = (1.0, column.unit) if pressure is None else (1e-6, "seconds")
        found.append(_made(name, column.key, "counter", scale, f"{column.label}, since midnight (UTC).", unit))
        if pressure is not None:
            words = f"{column.label}: share of each interval."
            found.append(_made(f"{pressure}_ratio", column.key, "rate", 1e-6, words, "ratio"))
        if column.key in _RATES:
            words = f"{column.label}, per second of each interval."
            found.append(_made(_RATES[column.key], column.key, "rate", 1.0, words, ""))
    return {metric.name: metric for metric in found}


def _made(name: str, key: str, kind: str, scale: float, words: str, unit: str) -> _Metric:
    return _Metric(
        PREFIX + name, key, kind, scale, MetricHelp("counter" if kind == "counter" else "gauge", words, unit)
    )


_METRICS = _metrics()


@dataclass(frozen=True, slots=True)
class _Rows:
    """Intervals of one host: ends [n], seconds [n], columns by key [n], NaN where absent."""

    ends_ms: Ints
    seconds: Floats
    columns: Mapping[str, Floats]


class HostHistory:
    """The ledger of whole hosts."""

    @property
    def metrics(self) -> dict[str, MetricHelp]:
        """Its metrics by name."""
        return {name: metric.help for name, metric in _METRICS.items()}

    def select(
        self, session: ReadSession, matchers: Sequence[Matcher], demand: Demand, *, now: datetime
    ) -> list[Series]:
        """The series that meet all conditions, with their samples.

        Raises:
            TooMuch: they are too many, or their samples lie too far apart for the range that is asked for.
        """
        asked = [metric for metric in _METRICS.values() if name_fits(metric.name, matchers)]
        wanted = _wanted(session, asked, matchers)
        check_series(sum(len(metrics) for _, metrics in wanted))
        if not wanted:
            return []
        oldest = now - kept("tier_moves")
        start = max(from_us(demand.first_ms * 1000) - BACK, oldest)
        end = min(from_us(demand.last_ms * 1000), now)
        if start >= end:
            return []
        keys = sorted({metric.key for metric in asked})
        hosts = [host for host, _ in wanted]
        rows, width_us = _read(session, hosts, keys, Window(start, end), demand)
        counters = sorted({metric.key for metric in asked if metric.kind == "counter"})
        counted = _counted_before(session, hosts, counters, start)
        return [
            _series(host, metric, rows[host.id], counted.get((host.id, metric.key), 0.0), width_us)
            for host, metrics in wanted
            if host.id in rows
            for metric in metrics
        ]

    def find(self, session: ReadSession, matchers: Sequence[Matcher], span: Span) -> list[Labels]:
        """Labels of the series that meet all conditions: those that the newest row of their host has."""
        asked = [metric for metric in _METRICS.values() if name_fits(metric.name, matchers)]
        wanted = _wanted(session, asked, matchers)
        newest = read_newest(session, [host.id for host, _ in wanted], rows=1, since=span.start)
        ledgers = {stored.host_id: stored.ledger for stored in newest}
        return [
            _labels(host, metric)
            for host, metrics in wanted
            if host.id in ledgers
            for metric in metrics
            if ledgers[host.id].total(metric.key) is not None
        ]


def _wanted(
    session: ReadSession, asked: Sequence[_Metric], matchers: Sequence[Matcher]
) -> list[tuple[SubjectHost, list[_Metric]]]:
    """Hosts with those of these metrics that meet all conditions."""
    if not asked:
        return []
    found = []
    for host in all_hosts(session):
        metrics = [metric for metric in asked if meets(_labels(host, metric), matchers)]
        if metrics:
            found.append((host, metrics))
    return found


def _labels(host: SubjectHost, metric: _Metric) -> Labels:
    return make_labels({NAME: metric.name, "host_id": host.public_id, "host": host.name, "origin": host.origin})


def _read(
    session: ReadSession, hosts: Sequence[SubjectHost], keys: Sequence[str], window: Window, demand: Demand
) -> tuple[dict[int, _Rows], int | None]:
    """The rows of a window by host, and the width of buckets where they are sums of many."""
    minutes = (window.end - window.start).total_seconds() / 60
    if len(hosts) * minutes <= ROWS_MAX:
        found = {}
        for part in read_ledgers(session, hosts, window):
            ledger = part.ledger
            if len(ledger):
                ends_ms = np.rint(ledger.times_s * 1e3).astype(np.int64)
                found[part.host.id] = _Rows(ends_ms, ledger.dt_seconds, {key: ledger.column(key) for key in keys})
        return found, None
    width_us = next((one for one in BUCKETS_US if len(hosts) * minutes * 60e6 / one <= ROWS_MAX), BUCKETS_US[-1])
    if demand.range_ms is not None and demand.range_ms * 1000 < 2 * width_us:
        raise TooMuch(
            f"{len(hosts)} hosts over this time are answered in buckets of {width_us // 60_000_000} minutes, and a"
            f" range holds two of them: take a range of at least {width_us // 30_000_000}m, fewer hosts or less time"
        )
    buckets = bucket_ledgers(session, keys, [host.id for host in hosts], window.start, window.end, width_us=width_us)
    return {
        host_id: _Rows(
            part.ends_us // 1000, part.seconds, {key: part.values[:, place] for place, key in enumerate(keys)}
        )
        for host_id, part in buckets.items()
    }, width_us


def _counted_before(
    session: ReadSession, hosts: Sequence[SubjectHost], keys: Sequence[str], start: datetime
) -> dict[tuple[int, str], float]:
    """What each host counted from midnight until rows begin, by column."""
    flows = sum_flows(session, keys, day_of(start), start, host_ids=[host.id for host in hosts]) if keys else []
    return {(flow.host_id, key): float(total) for flow in flows for key, total in flow.sums.items() if total}


def _series(host: SubjectHost, metric: _Metric, rows: _Rows, counted_before: float, width_us: int | None) -> Series:
    values = rows.columns[metric.key]
    known = ~np.isnan(values) & (rows.seconds > 0)
    times, values, seconds = rows.ends_ms[known], values[known] * metric.scale, rows.seconds[known]
    interval_s = float(np.median(rows.seconds)) if width_us is None else width_us / 1e6
    if metric.kind == "counter":
        times, values = count_up(times, values, max(counted_before, 0.0) * metric.scale)
    elif metric.kind == "rate":
        values = values / seconds
    return Series(_labels(host, metric), times, values, lookback_ms(interval_s * 1e3))
