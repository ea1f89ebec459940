"""One row of heat, gaps, tile epochs and page samples each, in the column order of their tables."""

from collections.abc import Sequence

import numpy as np

from tierscope.domain.heat.rows import Method
from tierscope.domain.ingest.batch import GapBlock, HeatBlock, PageSample, TileEpoch
from tierscope.storage.base import copy
from tierscope.storage.tables.time import METHOD_COLUMNS, heat_live

_HEAT_COLUMNS = tuple(column.name for column in heat_live.columns)


def heat_row(host_id: int, service_id: int, end_ns: int, block: HeatBlock, places: Sequence[int]) -> bytes:
    """Returns the row of one interval of one service: the rows of `block` at `places`."""
    at = np.asarray(places)
    boottime = None if block.end_boottime_ns is None else int(block.end_boottime_ns[at[0]])
    cells = {
        "host_id": copy.int8(host_id),
        "service_id": copy.int8(service_id),
        "ts": copy.instant(end_ns),
        "boottime_ns": copy.int8(boottime),
        **dict(zip(METHOD_COLUMNS, _method(block.method), strict=True)),
        "groups": copy.text_array([block.groups[place] for place in places]),
        "kinds": copy.int2_array(block.kinds[at]),
        "page_sizes": copy.int4_array(block.page_sizes[at]),
        "tiers": copy.text_array([block.tiers[place] for place in places]),
        "period_events": copy.float8(block.period_events),
        "duty_ratio": copy.float8(block.duty_ratio),
        "bits_per_interval": copy.int2(block.bits_per_interval),
    }
    cells |= {name: copy.int8_array(values[at]) for name, values in block.columns.items()}
    return copy.row([cells.get(name, copy.NULL) for name in _HEAT_COLUMNS])


def gap_row(host_id: int, service_id: int, end_ns: int, block: GapBlock, places: Sequence[int]) -> bytes:
    """Returns the row of one service: the rows of `block` at `places`."""
    at = np.asarray(places)
    censored = None if block.censored_bytes is None else block.censored_bytes[at]
    return copy.row(
        [
            *_key(host_id, service_id, end_ns),
            *_method(block.method),
            copy.int2(block.intervals),
            copy.text_array([block.groups[place] for place in places]),
            copy.int2_array(block.kinds[at]),
            copy.int8_array(block.closed_bytes[at]),
            copy.int8_array(block.freed_bytes[at]),
            copy.int8_array(block.open_bytes[at]),
            copy.int8_array(censored),
        ]
    )


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
