"""The rows of an incident's chart: lines of the ledger, free memory and throughput, on one axis."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import Grid
from tierscope.domain.base.figures import Series, gaps_to_none
from tierscope.storage.base.subjects import SubjectHost
from tierscope.usecases.alerts.incident_answers import IncidentRow, RowKey
from tierscope.usecases.counters.service_metrics import ServiceMetrics
from tierscope.usecases.ledger.answers import Ledger
from tierscope.usecases.ledger.free_memory import read_free_memory
from tierscope.usecases.ledger.ping_pong_beside import BesideReads

LEDGER_ROWS: tuple[tuple[RowKey, str, tuple[str, ...]], ...] = (
    ("tier_moves", "Tier moves", ("promoted_pages", "demoted_pages")),
    ("pressure", "Memory pressure", ("psi_some_us",)),
    ("refaults", "Refaults", ("refault_anon_pages", "refault_file_pages")),
)
LABELS: dict[RowKey, str] = {
    "free_memory": "Free memory, top tier",
    "throughput": "Throughput",
    "latency": "Latency, p99",
    "hot_outside": "Hot outside DRAM",
}
ORDER: tuple[RowKey, ...] = ("tier_moves", "free_memory", "pressure", "refaults", "throughput")
OF_A_HOST: tuple[RowKey, ...] = (
    "throughput",
    "latency",
    "hot_outside",
    "free_memory",
    "pressure",
    "tier_moves",
    "refaults",
)
"""What it did to services before what the kernel did."""
_OF_FLEET = "This alert is about the whole fleet: open a host for its lines."
_NO_HOST_THROUGHPUT = (
    "No single service of this host sends its throughput. Map it under `[[service_metrics]]` in the agent's"
    " configuration; of several services the units differ, and none is shown."
)
_MICRO = 1e-6


def rows_of_ledger(ledger: Ledger) -> list[IncidentRow]:
    """Tier moves, pressure and refaults as the ledger of the same window has them."""
    return [_row_of_ledger(ledger, key, label, columns) for key, label, columns in LEDGER_ROWS]


def _row_of_ledger(ledger: Ledger, key: RowKey, label: str, columns: Sequence[str]) -> IncidentRow:
    by_key = {series.key: series for series in ledger.series}
    found = [by_key[column] for column in columns if column in by_key]
    known = tuple(_shown(series) for series in found if any(value is not None for value in series.values))
    if known:
        return IncidentRow(key, label, "ok", None, known)
    totals = [column.total for column in ledger.columns if column.key in columns]
    absent = next((total for total in totals if total.status != "ok"), None)
    if absent is None:
        return IncidentRow(key, label, "not_enough_data", "No two samples in this time to compare.", ())
    return IncidentRow(key, label, absent.status, absent.reason, ())


def _shown(series: Series) -> Series:
    """Microseconds of pressure per second are a share of time."""
    if series.unit != "us_per_s":
        return series
    values = tuple(None if value is None else value * _MICRO for value in series.values)
    return replace(series, key="psi_some_ratio", unit="ratio", values=values)


def row_of_free_memory(session: ReadSession, hosts: Sequence[SubjectHost], grid: Grid, *, now: datetime) -> IncidentRow:
    """Free memory of the top tier and its watermarks."""
    found = read_free_memory(session, hosts, grid, now=now)
    return IncidentRow("free_memory", LABELS["free_memory"], found.status, found.reason, found.series)


def row_of_service_metrics(found: ServiceMetrics, grid: Grid) -> IncidentRow:
    """A service's throughput over its hosts."""
    lines = [on_grid(line, found.axis.times, grid) for line in found.series if line.key == "throughput"]
    reason = found.reason or "The hosts of this service send load or latency, and no throughput."
    return measured_row("throughput", lines[:1], reason)


def row_of_host_throughput(session: ReadSession, host: SubjectHost, grid: Grid, *, now: datetime) -> IncidentRow:
    """The throughput of the one service on a host that tells it."""
    beside = BesideReads.read(session, [host], None, grid.window, now=now)
    values = beside.throughput.get(host.id)
    if values is None or not np.isfinite(values).any():
        return measured_row("throughput", (), _NO_HOST_THROUGHPUT)
    line = Series("throughput", "Throughput", "count_per_s", gaps_to_none(values))
    return measured_row("throughput", [on_grid(line, tuple(map(float, beside.grid.ends_s)), grid)], _NO_HOST_THROUGHPUT)


def measured_row(key: RowKey, series: Sequence[Series], why_absent: str) -> IncidentRow:
    """A row of what somebody measures, or why nobody does."""
    if not series:
        return IncidentRow(key, LABELS[key], "not_collected", why_absent, ())
    return IncidentRow(key, LABELS[key], "ok", None, tuple(series))


def rows_of_fleet() -> list[IncidentRow]:
    """Why an alert on the whole fleet has no lines."""
    labels = LABELS | {key: label for key, label, _ in LEDGER_ROWS}
    return [IncidentRow(key, labels[key], "not_supported", _OF_FLEET, ()) for key in ORDER]


def in_order(rows: Sequence[IncidentRow], order: Sequence[RowKey] = ORDER) -> tuple[IncidentRow, ...]:
    """Rows in the order of the chart."""
    return tuple(sorted(rows, key=lambda row: order.index(row.key)))


def on_grid(series: Series, times: tuple[float, ...], grid: Grid) -> Series:
    """The same line on the incident's axis: as it is where the axes agree, else means of what falls into a bucket."""
    if times == tuple(map(float, grid.ends_s)):
        return series
    values = np.array([np.nan if value is None else value for value in series.values])
    return replace(series, values=gaps_to_none(grid.means(np.array(times), values)))
