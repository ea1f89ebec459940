"""Answers about capacity as tables: one row per day of a forecast, or per planned host and service."""

from collections.abc import Mapping, Sequence

from tierscope.core.tabular import Cell, Column, FileFormat, write_table
from tierscope.usecases.capacity.views import CapacityForecast, CapacityPlan


def export_forecast(
    view: CapacityForecast, file_format: FileFormat, metadata: Mapping[str, str] | None = None
) -> bytes:
    """One row per day: points with what is excluded, then the days ahead."""
    ahead = ("median", "lo80", "hi80", "lo95", "hi95", "hi95_one_sided")
    nothing: tuple[Cell, ...] = (None,) * len(ahead)
    subject = (view.subject.kind, view.subject.id, view.subject.name, view.metric)
    rows: list[Sequence[Cell]] = [(*subject, day.day, day.value, day.excluded, *nothing) for day in view.history]
    rows += [(*subject, day.day, None, None, *(getattr(day, name) for name in ahead)) for day in view.forecast]
    return write_table(
        (
            *_texts("kind", "id", "name", "metric"),
            Column("day", "date"),
            Column("value_bytes", "number"),
            Column("excluded", "text"),
            *(Column(f"{name}_bytes", "number") for name in ahead),
        ),
        rows,
        file_format,
        metadata,
    )


def export_plan(view: CapacityPlan, file_format: FileFormat, metadata: Mapping[str, str] | None = None) -> bytes:
    """One row per quarter; then one per kind of planned host and service on it; then what is unplaced."""
    columns = (
        *_texts("part", "quarter"),
        Column("tiering", "boolean"),
        Column("sku", "text"),
        *(Column(name, "number") for name in ("hosts", "lower_bound", "price")),
        *_texts("service", "service_id"),
        *(Column(name, "number") for name in ("dram_bytes", "cxl_bytes")),
        Column("why", "text"),
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
    return write_table(columns, rows, file_format, metadata)


def _texts(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, "text") for name in names)
