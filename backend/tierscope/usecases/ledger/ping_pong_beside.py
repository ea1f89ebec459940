"""What tells beside flows whether tier moves pay: throughput, and the share of hot bytes that lies in DRAM."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import Grid
from tierscope.domain.base.figures import Window
from tierscope.domain.counters.service_metrics import RATE, SOURCE, TOTAL
from tierscope.domain.heat.placement import hot_by_group
from tierscope.domain.heat.rows import HeatSeries
from tierscope.domain.ledger import Ledger
from tierscope.domain.ledger.states import Beside, no_more
from tierscope.storage.base.subjects import SubjectHost, SubjectService
from tierscope.usecases.counters.service_lines import (
    HostLines,
    line_grid,
    read_lines_by_service,
    read_service_lines,
    service_scopes,
)
from tierscope.usecases.heat.reads import choose_method
from tierscope.usecases.heat.sources import read_heat

Floats = npt.NDArray[np.float64]
MAX_POINTS = 2000
_INTERVALS_OLD = 1.5
_MILLI = 1e-3


@dataclass(frozen=True, slots=True)
class BesideReads:
    """Throughput and hot bytes of hosts, on axes of their own."""

    grid: Grid
    throughput: Mapping[int, Floats]
    heat: Mapping[int, HeatSeries]

    @classmethod
    def read(
        cls,
        session: ReadSession,
        hosts: Sequence[SubjectHost],
        service: SubjectService | None,
        window: Window,
        *,
        now: datetime,
    ) -> "BesideReads":
        """What is known of these hosts in the window, of a service or of the only one that tells its throughput."""
        grid = line_grid(window, now=now, max_points=MAX_POINTS)
        if service is None:
            lines = [part for host in hosts for part in _only_service(session, host, window, now=now)]
            return cls(grid, _rates(lines), {})
        scopes = service_scopes(session, service)
        lines = read_service_lines(session, hosts, scopes, _is_throughput, window, now=now, max_points=MAX_POINTS)
        found = read_heat(session, service.id, [host.id for host in hosts], window, now=now)
        method = choose_method(found, None)
        return cls(grid, _rates(lines), {} if method is None else found[method])

    def at_rows(self, host_id: int, rows: Ledger) -> Beside:
        """What is known at the rows of a ledger."""
        known = no_more(len(rows.times_s))
        if host_id in self.throughput:
            known.throughput[:] = self.throughput[host_id][self.grid.place(rows.times_s)]
        if host_id in self.heat:
            known.hot_top_ratio[:] = _hot_top_ratio(self.heat[host_id], rows.times_s)
        return known


def _only_service(session: ReadSession, host: SubjectHost, window: Window, *, now: datetime) -> list[HostLines]:
    """Throughput of the one service on a host that tells it; of several the units differ, and none is taken."""
    found = read_lines_by_service(session, host, _is_throughput, window, now=now, max_points=MAX_POINTS)
    return [part for _, part in found] if len(found) == 1 else []


def _is_throughput(source: str, name: str) -> bool:
    return source == SOURCE and name in (TOTAL, RATE)


def _rates(lines: Sequence[HostLines]) -> dict[int, Floats]:
    found = {}
    for part in lines:
        rate = part.per_s.get((SOURCE, TOTAL), part.values.get((SOURCE, RATE)))
        if rate is not None:
            found[part.host.id] = rate * _MILLI
    return found


def _hot_top_ratio(series: HeatSeries, times_s: Floats) -> Floats:
    """Share of hot bytes that lie in DRAM at each time: of the newest interval before it, where tiers are known."""
    single, placed = series.n_intervals == 1, hot_by_group(series)
    if placed is None or not single.any():
        return np.full(len(times_s), np.nan)
    hot, fast = placed[0][single], placed[1]
    whole = hot.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(whole > 0, hot[:, fast].sum(axis=1) / whole, np.nan)
    ends_s = series.ends_us[single] / 1e6
    at = np.searchsorted(ends_s, times_s + 1e-6) - 1
    age = times_s - ends_s[np.maximum(at, 0)]
    fresh = (at >= 0) & (age <= _INTERVALS_OLD * series.method.interval_ns / 1e9)
    out: Floats = np.where(fresh, shares[np.maximum(at, 0)], np.nan)
    return out
