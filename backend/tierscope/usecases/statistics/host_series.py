"""Series of one metric over many hosts of a service, from the ledger, rolled-up counters or heat."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.core.clock import Clock
from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Window
from tierscope.domain.counters.service_metrics import SOURCE
from tierscope.domain.experiments import HostSeries
from tierscope.domain.heat import classify, make_rule
from tierscope.domain.heat.placement import FAST_TIERS
from tierscope.domain.heat.rows import HeatSeries
from tierscope.domain.statistics.host_metrics import HostMetric, ledger_value, service_value
from tierscope.storage.base.subjects import SubjectService
from tierscope.storage.fleet.services import read_aliases
from tierscope.storage.statistics.host_means import Cell, MeansTable, read_counter_means, read_ledger_means
from tierscope.usecases.heat.reads import choose_method
from tierscope.usecases.heat.sources import read_heat

Floats = npt.NDArray[np.float64]
RULE = make_rule("recency")
FINE_S, COARSE_S = 600, 3600
FINE_UP_TO_S = 3 * 86_400
WHOLE_HOSTS = "Counted for whole hosts: not all hosts count it for the service's own cgroups."
_HOT, _COLD = 0, 2


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric of hosts, in the order asked for, and what measured it."""

    series: HostSeries
    method: str
    notes: tuple[str, ...] = ()


def bucket_seconds(window: Window) -> int:
    """Ten minutes up to three days, else an hour."""
    return FINE_S if window.seconds <= FINE_UP_TO_S else COARSE_S


def heat_parts(metric: HostMetric, series: HeatSeries) -> tuple[Floats, Floats] | None:
    """Sums over groups whose quotient is a heat metric, by row of a series; None where placement is not known."""
    classes = classify(series.folded, RULE).value
    tiers = np.array(series.tiers)
    fast, unknown = np.isin(tiers, list(FAST_TIERS)), tiers == ""
    if metric.key == "hot_ratio":
        return classes[:, :, _HOT].sum(axis=1), series.folded.resident.sum(axis=1).astype(np.float64)
    if unknown.all():
        return None
    is_hot = metric.key == "hot_outside_dram_bytes"
    place = ~fast & ~unknown if is_hot else fast
    return classes[:, place, _HOT if is_hot else _COLD].sum(axis=1), series.n_intervals.astype(np.float64)


class HostSeriesReads:
    """Reads of host series of one service in one window."""

    def __init__(self, session: ReadSession, service: SubjectService, window: Window, clock: Clock) -> None:
        self._session = session
        self._service = service
        self._window = window
        self._clock = clock
        self._width_s = bucket_seconds(window)
        first = int(window.start.timestamp() // self._width_s) + 1
        last = int(-(-window.end.timestamp() // self._width_s))
        self._times = np.arange(first, max(last, first) + 1, dtype=np.int64) * self._width_s

    def read(self, metric: HostMetric, host_ids: Sequence[int]) -> Measured:
        """The metric of these hosts; a row of NaN where a host has none."""
        if metric.source == "heat":
            return self._heat(metric, host_ids)
        if metric.source == "ledger":
            return self._ledger(metric, host_ids)
        return self._counters(metric, host_ids)

    def _ledger(self, metric: HostMetric, host_ids: Sequence[int]) -> Measured:
        """The service's own cgroups where every host with data counts them, else whole hosts."""
        span = (self._window.start, self._window.end)
        tables = []
        for service_id in (self._service.id, 0):
            cells = read_ledger_means(self._session, host_ids, service_id, metric.terms, span, self._width_s)
            tables.append(ledger_value(metric, {term: self._table(cells, host_ids, {term}) for term in metric.terms}))
        own, whole = tables
        counted, any_whole = np.isfinite(own).any(axis=1), np.isfinite(whole).any(axis=1)
        if counted.any() and bool((counted | ~any_whole).all()):
            return Measured(self._series(own), "counters")
        return Measured(self._series(whole), "counters", (WHOLE_HOSTS,) if any_whole.any() else ())

    def _counters(self, metric: HostMetric, host_ids: Sequence[int]) -> Measured:
        names = (f"{self._service.namespace}/{self._service.name}", *read_aliases(self._session, self._service.id))
        keys: dict[str, str] = {}
        for name in names:
            for term in metric.terms:
                if metric.source == "service":
                    keys[f"service:{name}|{SOURCE}|{term}"] = term
                else:
                    keys[f"service:{name}|{term.partition('|')[2]}" if term.startswith("service|") else term] = term
        table: MeansTable = "metrics_10m" if self._width_s == FINE_S else "metrics_1h"
        span = (self._window.start, self._window.end)
        cells = read_counter_means(self._session, host_ids, list(keys), span, table)
        means = {
            term: self._table(cells, host_ids, {key for key, found in keys.items() if found == term})
            for term in metric.terms
        }
        if metric.source == "service":
            return Measured(self._series(service_value(metric, means)), "counters")
        return Measured(self._series(means[metric.terms[0]]), "counters")

    def _heat(self, metric: HostMetric, host_ids: Sequence[int]) -> Measured:
        by_method = read_heat(self._session, self._service.id, host_ids, self._window, now=self._clock())
        method = choose_method(by_method, None)
        values = np.full((len(host_ids), len(self._times)), np.nan)
        for row, host_id in enumerate(host_ids):
            series = None if method is None else by_method[method].get(host_id)
            if series is not None:
                self._fill_heat(values[row], metric, series)
        return Measured(self._series(values), "none" if method is None else method.family)

    def _fill_heat(self, row: Floats, metric: HostMetric, series: HeatSeries) -> None:
        """Means over the intervals that end in each bucket."""
        parts = heat_parts(metric, series)
        if parts is None:
            return
        top, under = parts
        at = np.ceil(series.ends_us / 1e6 / self._width_s).astype(np.int64) - int(self._times[0]) // self._width_s
        inside = (at >= 0) & (at < len(row))
        sums = np.bincount(at[inside], weights=top[inside], minlength=len(row))
        weights = np.bincount(at[inside], weights=under[inside], minlength=len(row))
        known = weights > 0
        row[known] = sums[known] / weights[known]

    def _table(self, cells: Iterable[Cell], host_ids: Sequence[int], names: set[str]) -> Floats:
        """Values [hosts, buckets] of these columns; of several the last one read holds."""
        place = {host_id: row for row, host_id in enumerate(host_ids)}
        values = np.full((len(host_ids), len(self._times)), np.nan)
        first = int(self._times[0]) // self._width_s
        for cell in cells:
            at = cell.end_s // self._width_s - first
            if cell.name in names and 0 <= at < values.shape[1]:
                values[place[cell.host_id], at] = cell.value
        return values

    def _series(self, values: Floats) -> HostSeries:
        return HostSeries(self._times.astype(np.float64), values)
