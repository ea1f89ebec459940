"""A grid of heat tiles of the size asked for: columns merged over time, rows over neighbouring addresses."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tierscope.domain.tiles import (
    LEVEL_INTERVALS,
    NOT_COLLECTED,
    NOT_RESIDENT,
    TOP,
    Cells,
    Floats,
    Scale,
    choose_level,
    merge,
    rows_per_cell,
)

CHUNK_ROWS = 128
"""Rows that are merged at once, so that long windows need little memory."""


@dataclass(frozen=True, slots=True)
class Grid:
    """`cells` [columns, rows]; `column_ends_s` [columns]; `known` [columns] is the share of resident bytes observed."""

    level: int
    column_seconds: float
    column_ends_s: tuple[float, ...]
    rows_per_cell: int
    cells: Cells
    known: tuple[float, ...]


def build_grid(
    columns: Sequence[tuple[int, bytes]],
    sizes_bytes: Floats,
    *,
    interval_s: float,
    scale: Scale,
    max_columns: int,
    max_rows: int,
) -> Grid:
    """Build the grid from (end in microseconds, one byte per row), in order of time; at least one column.

    Columns whose length is not that of the rows belong to another list of rows and are left out.
    """
    ends = np.array([end for end, _ in columns], np.int64) / 1e6
    slots = np.ceil(np.round(ends / interval_s, 6)).astype(np.int64) - 1
    span = int(slots[-1] - slots[0]) + 1
    level, factor = choose_level(span * interval_s, interval_s, max_columns)
    length = LEVEL_INTERVALS[level] * factor
    while int(slots[-1] // length - slots[0] // length) + 1 > max_columns:
        # Whole columns begin at multiples of their length, which can take one more than the span needs.
        factor = factor + 1 if level == len(LEVEL_INTERVALS) - 1 else factor
        level = min(level + 1, len(LEVEL_INTERVALS) - 1)
        length = LEVEL_INTERVALS[level] * factor
    first = int(slots[0] // length)
    count = int(slots[-1] // length) - first + 1
    n_rows = len(sizes_bytes)
    dense = np.full((count * length, n_rows), NOT_COLLECTED, np.uint8)
    for slot, (_, cells) in zip(slots.tolist(), columns, strict=True):
        if len(cells) == n_rows:
            dense[slot - first * length] = np.frombuffer(cells, np.uint8)
    merged, known = _merge_columns(dense, length, scale)
    shares = _known_shares(merged, known, sizes_bytes)
    per_cell = rows_per_cell(n_rows, max_rows)
    if per_cell > 1:
        merged = merge(np.ascontiguousarray(merged.T), per_cell, scale, weights=sizes_bytes).cells.T
    seconds = length * interval_s
    return Grid(
        level=level,
        column_seconds=seconds,
        column_ends_s=tuple(float((first + i + 1) * seconds) for i in range(count)),
        rows_per_cell=per_cell,
        cells=np.ascontiguousarray(merged),
        known=shares,
    )


def _merge_columns(dense: Cells, length: int, scale: Scale) -> tuple[Cells, Floats]:
    """Merged cells and the known share 0..1 of each."""
    if length == 1:
        return dense, (dense <= TOP).astype(np.float64)
    parts = [
        merge(dense[:, at : at + CHUNK_ROWS], length, scale) for at in range(0, max(dense.shape[1], 1), CHUNK_ROWS)
    ]
    cells = np.concatenate([part.cells for part in parts], axis=1)
    known = np.concatenate([part.known for part in parts], axis=1) / 255
    return cells, known


def _known_shares(cells: Cells, known: Floats, sizes_bytes: Floats) -> tuple[float, ...]:
    """Per column the observed share of the bytes that were resident; 0 where nothing was."""
    resident = (cells != NOT_RESIDENT) * sizes_bytes[None, :]
    total = resident.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(total > 0, (resident * known).sum(axis=1) / total, 0.0)
    return tuple(float(value) for value in share)
