"""Blocks of page samples as one Parquet file, for us and for DuckDB, Spark and their like.

A row is one page active in one interval; a page that was resident and idle throughout its block has one row without
interval, loads and stores. Each block is a row group of its own; what is not of pages stands in the file's metadata.
"""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tierscope.core.errors import ConfigurationError
from tierscope.domain.curve.sample_blocks import SampledPages
from tierscope.domain.heat.rows import KINDS

_META = b"tierscope.blocks"
_PER_PAGE = ("page_ids", "kinds", "page_sizes_bytes", "first_interval", "last_interval")


@dataclass(frozen=True, slots=True)
class TraceBlock:
    """A block with its end (microseconds since the epoch) and process group."""

    end_us: int
    group: str
    sample: SampledPages


def write_blocks(blocks: Sequence[TraceBlock]) -> bytes:
    """The file of these blocks, in their order.

    Raises:
        ConfigurationError: pyarrow is not installed.
    """
    pa, parquet = _arrow()
    described = [
        {
            "before_end_ns": block.sample.before_end_ns.tolist(),
            "observed": block.sample.observed.astype(int).tolist(),
            "pages": len(block.sample.page_ids),
        }
        for block in blocks
    ]
    tables = [_table(pa, number, block) for number, block in enumerate(blocks)]
    schema = tables[0].schema.with_metadata({_META: json.dumps(described).encode()})
    out = io.BytesIO()
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table.cast(schema), row_group_size=max(len(table), 1))
    return out.getvalue()


def read_block(body: bytes, number: int) -> SampledPages:
    """A block of a file, as it was written."""
    _, parquet = _arrow()
    file = parquet.ParquetFile(io.BytesIO(body))
    described = json.loads(file.schema_arrow.metadata[_META])
    return _sample(file.read_row_group(number), described[number])


def _table(pa: Any, number: int, block: TraceBlock) -> Any:  # noqa: ANN401 - pyarrow has no types
    sample = block.sample
    idle = np.setdiff1d(np.arange(len(sample.page_ids)), sample.row_page)
    page = np.concatenate((sample.row_page, idle))
    n = len(page)
    missing = np.arange(n) >= len(sample.row_page)

    def padded(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.concatenate((values, np.zeros(len(idle), np.int64)))

    ends_us = block.end_us - sample.before_end_ns // 1000
    at = ends_us[padded(sample.row_interval)] if len(ends_us) else padded(sample.row_interval)
    return pa.table(
        {
            "block": pa.array(np.full(n, number, np.int32)),
            "group": pa.array([block.group] * n, pa.string()),
            "interval": pa.array(padded(sample.row_interval).astype(np.int32), mask=missing),
            "at": pa.array(at, pa.timestamp("us", "UTC"), mask=missing),
            "page_index": pa.array(page.astype(np.int32)),
            "page": pa.array(sample.page_ids[page]),
            "kind": pa.array([KINDS[kind] for kind in sample.kinds[page].tolist()], pa.string()),
            "page_size_bytes": pa.array(sample.page_sizes_bytes[page]),
            "first_interval": pa.array(sample.first_interval[page].astype(np.int32)),
            "last_interval": pa.array(sample.last_interval[page].astype(np.int32)),
            "loads": pa.array(padded(sample.row_loads), mask=missing),
            "stores": pa.array(padded(sample.row_stores), mask=missing),
        }
    )


def _sample(table: Any, meta: dict[str, Any]) -> SampledPages:  # noqa: ANN401 - likewise
    def column(name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.asarray(table[name].fill_null(0).to_numpy(), np.int64)

    page = column("page_index")
    active = np.asarray(table["interval"].is_valid().to_numpy(), bool)
    kinds = {name: number for number, name in enumerate(KINDS)}
    columns = {
        "page_ids": column("page"),
        "kinds": np.array([kinds[name] for name in table["kind"].to_pylist()], np.int64),
        "page_sizes_bytes": column("page_size_bytes"),
        "first_interval": column("first_interval"),
        "last_interval": column("last_interval"),
    }
    pages = {name: np.zeros(int(meta["pages"]), np.int64) for name in _PER_PAGE}
    for name in _PER_PAGE:
        pages[name][page] = columns[name]
    return SampledPages(
        before_end_ns=np.array(meta["before_end_ns"], np.int64),
        observed=np.array(meta["observed"], bool),
        row_interval=column("interval")[active],
        row_page=page[active],
        row_loads=column("loads")[active],
        row_stores=column("stores")[active],
        **pages,
    )


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra that an installation may lack
        from pyarrow import parquet  # noqa: PLC0415 - likewise
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "page samples in objects need pyarrow, which is not installed", next_step="Install tierscope[objects]."
        ) from error
    return pa, parquet
