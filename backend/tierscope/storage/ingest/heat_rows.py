"""Rows of heat and gaps, and one row of tile epochs and page samples each, in the column order of their tables."""

from collections.abc import Mapping

from tierscope.domain.heat.rows import Method
from tierscope.domain.ingest.batch import GapBlock, HeatBlock, PageSample, TileEpoch
from tierscope.storage.base import copy
from tierscope.storage.base.copy import Field
from tierscope.storage.tables.time import METHOD_COLUMNS, heat_live

_HEAT_COLUMNS = tuple(column.name for column in heat_live.columns)
_NULL: Field = ("same", copy.NULL)


def heat_rows(host_id: int, block: HeatBlock, groups: Mapping[tuple[int, int], list[int]]) -> bytes:
    """Returns a row for each (service, end in ns) of `groups`, made of the rows of `block` at its places."""
    keys, places = list(groups), list(groups.values())
    boottimes = block.end_boottime_ns
    cells: dict[str, Field] = {
        "host_id": ("same", copy.int8(host_id)),
        "service_id": ("each", [copy.int8(service) for service, _ in keys]),
        "ts": ("each", [copy.instant(end_ns) for _, end_ns in keys]),
        "boottime_ns": _NULL if boottimes is None else ("each", [copy.int8(int(boottimes[at[0]])) for at in places]),
        "groups": ("text", list(block.groups)),
        "kinds": ("int2", block.kinds),
        "page_sizes": ("int4", block.page_sizes),
        "tiers": ("text", list(block.tiers)),
        "period_events": ("same", copy.float8(block.period_events)),
        "duty_ratio": ("same", copy.float8(block.duty_ratio)),
        "bits_per_interval": ("same", copy.int2(block.bits_per_interval)),
    }
    for name, encoded in zip(METHOD_COLUMNS, _method(block.method), strict=True):
        cells[name] = ("same", encoded)
    for name, values in block.columns.items():
        cells[name] = ("int8", values)
    return copy.grouped_rows(places, [cells.get(name, _NULL) for name in _HEAT_COLUMNS])


def gap_rows(host_id: int, end_ns: int, block: GapBlock, groups: Mapping[int, list[int]]) -> bytes:
    """Returns a row for each service of `groups`, made of the rows of `block` at its places."""
    fixed = (*_method(block.method), copy.int2(block.intervals))
    censored: Field = _NULL if block.censored_bytes is None else ("int8", block.censored_bytes)
    fields: list[Field] = [
        ("same", copy.int8(host_id)),
        ("each", [copy.int8(service) for service in groups]),
        ("same", copy.instant(end_ns)),
        *(("same", encoded) for encoded in fixed),
        ("text", list(block.groups)),
        ("int2", block.kinds),
        ("int8", block.closed_bytes),
        ("int8", block.freed_bytes),
        ("int8", block.open_bytes),
        censored,
    ]
    return copy.grouped_rows(list(groups.values()), fields)


def tile_epoch_row(host_id: int, service_id: int, start_ns: int, epoch: TileEpoch) -> bytes:
    """Returns the row of an epoch."""
    return copy.row(
        [
            *_key(host_id, service_id, start_ns),
            copy.int8(epoch.epoch_id),
            copy.text(epoch.group),
            *_method(epoch.method),
            copy.int8(epoch.region_bytes),
            copy.float8(epoch.cell_log2_base),
            copy.float8(epoch.cell_unit),
            copy.text(epoch.cell_measure),
            copy.int2_array(epoch.kinds),
            copy.text_array(epoch.mappings),
            copy.int8_array(epoch.offsets_bytes),
            copy.int8_array(epoch.sizes_bytes),
        ]
    )


def trace_row(host_id: int, service_id: int, end_ns: int, sample: PageSample) -> bytes:
    """Returns the row of one block of sampled pages."""
    return copy.row(
        [
            *_key(host_id, service_id, end_ns),
            copy.text(sample.group),
            *_method(sample.method),
            copy.float8(sample.sampled_ratio),
            copy.boolean(sample.counts),
            copy.float8(sample.period_events),
            copy.float8(sample.duty_ratio),
            copy.int4(sample.n_intervals),
            copy.int4(sample.n_pages),
            copy.int4(sample.n_rows),
            copy.blob(sample.body),
            copy.NULL,  # in no object yet
            copy.NULL,
        ]
    )


def _key(host_id: int, service_id: int, end_ns: int) -> tuple[bytes, ...]:
    return copy.int8(host_id), copy.int8(service_id), copy.instant(end_ns)


def _method(method: Method) -> tuple[bytes, ...]:
    return copy.int2(method.backend), copy.int2(method.granularity), copy.int8(method.interval_ns)
