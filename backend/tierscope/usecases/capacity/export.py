"""Answers about capacity as tables: one row per subject, per day of a forecast, or per planned host and service."""

from collections.abc import Sequence

from tierscope.core.tabular import Cell, FileFormat, write_table
from tierscope.usecases.capacity.views import Capacity, CapacityForecast, CapacityPlan

_FIGURES = (
    "capacity_bytes",
    "resident_bytes",
    "hot_bytes",
    "dram_need_bytes",
    "cold_bytes",
    "untouched_bytes",
    "stranded_bytes",
    "growth_bytes_per_day",
)


def export_capacity(view: Capacity, file_format: FileFormat) -> bytes:
    """One row per subject; figures that are absent are empty, and `missing` says why."""
    columns = ("kind", "id", "name", "origin", "hosts", "whole_days", *_FIGURES)
    ends = ("days_to_exhaustion", "early_warning_days", "none_within_horizon", "horizon_days", "method", "missing")
    rows: list[Sequence[Cell]] = []
    for one in view.subjects:
        figures = [getattr(one, name) for name in _FIGURES]
        end = one.days_to_exhaustion
        missing = "; ".join(
            f"{name}: {figure.reason}" for name, figure in zip(_FIGURES, figures, strict=True) if figure.reason
        )
        rows.append(
            (
                *(one.kind, one.id, one.name, one.origin, one.hosts, one.days),
                *(figure.value for figure in figures),
                *(end.median.value, end.early.value, end.none_within_horizon, end.horizon_days, one.method, missing),
            )
        )
    return write_table((*columns, *ends), rows, file_format)


def export_forecast(view: CapacityForecast, file_format: FileFormat) -> bytes:
    """One row per day: points with what is excluded, then the days ahead."""
    ahead = ("median", "lo80", "hi80", "lo95", "hi95", "hi95_one_sided")
    nothing: tuple[Cell, ...] = (None,) * len(ahead)
    subject = (view.subject.kind, view.subject.id, view.subject.name, view.metric)
    rows: list[Sequence[Cell]] = [(*subject, day.day, day.value, day.excluded, *nothing) for day in view.history]
    rows += [(*subject, day.day, None, None, *(getattr(day, name) for name in ahead)) for day in view.forecast]
    columns = ("kind", "id", "name", "metric", "day", "value_bytes", "excluded", *(f"{name}_bytes" for name in ahead))
    return write_table(columns, rows, file_format)


def export_plan(view: CapacityPlan, file_format: FileFormat) -> bytes:
    """One row per quarter; then one per kind of planned host and service on it; then what is unplaced."""
    columns = (
        *("part", "quarter", "tiering", "sku", "hosts", "lower_bound", "price", "service", "service_id"),
        *("dram_bytes", "cxl_bytes", "why"),
    )
    rows: list[Sequence[Cell]] = []
    for quarter in view.quarters:
        counts = (
            (False, quarter.hosts_without_tiering, quarter.lower_bound_without, quarter.price_without),
            (True, quarter.hosts_with_tiering, quarter.lower_bound_with, quarter.price_with),
        )
        for tiering, *numbers in counts:
            rows.append(("quarter", quarter.quarter, tiering, None, *numbers, *(None,) * 5))
            rows += [
                ("sku", quarter.quarter, tiering, sku.sku, sku.with_tiering if tiering else sku.without_tiering)
                + (None,) * 7
                for sku in quarter.by_sku
            ]
    for tiering, hosts in ((False, view.packing.without), (True, view.packing.with_)):
        rows += [
            (
                *("placed", "now", tiering, host.sku, host.count, None, None),
                *(part.service, part.service_id, part.dram_bytes, part.cxl_bytes, None),
            )
            for host in hosts
            for part in host.placed
        ]
    rows += [
        (
            *("unplaced", one.quarter, one.tiering, None, None, None, None),
            *(one.service, one.service_id, one.dram_bytes, one.cxl_bytes, one.why),
        )
        for one in view.unplaced
    ]
    return write_table(columns, rows, file_format)
