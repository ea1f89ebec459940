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
        *(Column(name, "boolean") for name in ("tiering", "swap")),
        Column("sku", "text"),
        *(Column(name, "number") for name in ("hosts", "lower_bound", "price")),
        *_texts("service", "service_id"),
        *(Column(name, "number") for name in ("dram_bytes", "cxl_bytes", "swap_bytes")),
        Column("why", "text"),
    )
    rows: list[Sequence[Cell]] = []
    ways = [(False, False), (True, False), *([] if view.packing.with_swap is None else [(True, True)])]
    for quarter in view.quarters:
        counts = (
            (quarter.hosts_without_tiering, quarter.lower_bound_without, quarter.price_without),
            (quarter.hosts_with_tiering, quarter.lower_bound_with, quarter.price_with),
            (quarter.hosts_with_swap, quarter.lower_bound_with_swap, quarter.price_with_swap),
        )
        for place, way in enumerate(ways):
            rows.append(("quarter", quarter.quarter, *way, None, *counts[place], *(None,) * 6))
            for sku in quarter.by_sku:
                hosts = (sku.without_tiering, sku.with_tiering, sku.with_swap)[place]
                rows.append(("sku", quarter.quarter, *way, sku.sku, hosts, *(None,) * 8))
    packings = (view.packing.without, view.packing.with_, view.packing.with_swap or ())
    for way, packed in zip(ways, packings, strict=False):
        rows += [
            (
                *("placed", "now", *way, host.sku, host.count, None, None),
                *(part.service, part.service_id, part.dram_bytes, part.cxl_bytes, part.swap_bytes, None),
            )
            for host in packed
            for part in host.placed
        ]
    rows += [
        (
            *("unplaced", one.quarter, one.tiering, False, None, None, None, None),
            *(one.service, one.service_id, one.dram_bytes, one.cxl_bytes, None, one.why),
        )
        for one in view.unplaced
    ]
    return write_table(columns, rows, file_format, metadata)


def _texts(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, "text") for name in names)
