"""A grid of heat tiles of the size asked for: columns merged over time, rows over neighbouring addresses."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.tiles.levels import (
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


@dataclass(frozen=True, slots=True)
class TimeShape:
    """`count` columns of `length` intervals each; the first is number `first` since the Unix epoch."""

    level: int
    length: int
    first: int
    count: int
    interval_s: float


@dataclass(frozen=True, slots=True)
class MergedColumn:
    """A column of a shape's own length that was merged before: cells and known shares 0..255, one per row."""

    end_us: int
    cells: Cells
    known: Cells


def _slots(ends_us: Sequence[int], interval_s: float) -> npt.NDArray[np.int64]:
    """The number since the Unix epoch of the interval that ends at each instant."""
    ends = np.array(ends_us, np.int64) / 1e6
    return np.ceil(np.round(ends / interval_s, 6)).astype(np.int64) - 1


def choose_shape(first_end_us: int, last_end_us: int, *, interval_s: float, max_columns: int) -> TimeShape:
    """The finest columns that take intervals from one end to another in at most `max_columns`."""
    slots = _slots([first_end_us, last_end_us], interval_s)
    span = int(slots[-1] - slots[0]) + 1
    level, factor = choose_level(span * interval_s, interval_s, max_columns)
    length = LEVEL_INTERVALS[level] * factor
    while int(slots[-1] // length - slots[0] // length) + 1 > max_columns:
        # Whole columns begin at multiples of their length, which can take one more than the span needs.
        factor = factor + 1 if level == len(LEVEL_INTERVALS) - 1 else factor
        level = min(level + 1, len(LEVEL_INTERVALS) - 1)
        length = LEVEL_INTERVALS[level] * factor
    first = int(slots[0] // length)
    return TimeShape(level, length, first, int(slots[-1] // length) - first + 1, interval_s)


def build_grid(
    columns: Sequence[tuple[int, bytes]],
    sizes_bytes: Floats,
    shape: TimeShape,
    *,
    scale: Scale,
    max_rows: int,
    before: Sequence[MergedColumn] = (),
) -> Grid:
    """Build the grid from (end in microseconds, one byte per row) and columns that were merged before.

    Columns whose length is not that of the rows belong to another list of rows and are left out.
    """
    n_rows, length = len(sizes_bytes), shape.length
    cells = np.full((shape.count, n_rows), NOT_COLLECTED, np.uint8)
    known = np.zeros((shape.count, n_rows))
    slots = _slots([end for end, _ in columns], shape.interval_s)
    wanted, place = np.unique(slots // length, return_inverse=True)
    dense = np.full((len(wanted) * length, n_rows), NOT_COLLECTED, np.uint8)
    for at, (_, column) in zip((place * length + slots % length).tolist(), columns, strict=True):
        if len(column) == n_rows:
            dense[at] = np.frombuffer(column, np.uint8)
    if len(wanted):
        cells[wanted - shape.first], known[wanted - shape.first] = _merge_columns(dense, length, scale)
    for at, ready in zip(_slots([part.end_us for part in before], shape.interval_s) // length, before, strict=True):
        cells[at - shape.first], known[at - shape.first] = ready.cells, ready.known / 255
    shares = _known_shares(cells, known, sizes_bytes)
    per_cell = rows_per_cell(n_rows, max_rows)
    merged = cells
    if per_cell > 1:
        merged = merge(np.ascontiguousarray(cells.T), per_cell, scale, weights=sizes_bytes).cells.T
    seconds = length * shape.interval_s
    return Grid(
        level=shape.level,
        column_seconds=seconds,
        column_ends_s=tuple(float((shape.first + i + 1) * seconds) for i in range(shape.count)),
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
