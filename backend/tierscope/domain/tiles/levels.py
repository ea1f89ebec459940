"""Heat tiles: merging columns over time and rows over addresses, and choosing a level by the size asked for.

A cell is one byte: 0 idle, 1..250 a logarithmic scale of activity per byte, 253 resident but unsampled, 254 not
resident, 255 not collected. Coarser cells keep the mean activity of the known cells and the share that was known.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Cells = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]

UNSAMPLED, NOT_RESIDENT, NOT_COLLECTED = 253, 254, 255
TOP = 250
LEVEL_INTERVALS = (1, 10, 60)
"""Intervals in one column of level 0, 1, 2."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What a cell's value stands for: v in 1..250 is `base ** (v - 1) * unit` of activity per byte."""

    base: float
    unit: float


@dataclass(frozen=True, slots=True)
class Merged:
    """Merged cells with the share of known inputs, 0..255 for 0..1, of the same shape."""

    cells: Cells
    known: Cells


def to_activity(cells: Cells, scale: Scale) -> Floats:
    """Activity per byte, NaN where a cell holds none (unsampled, not resident, not collected)."""
    table = np.full(256, np.nan)
    table[0] = 0.0
    table[1 : TOP + 1] = scale.base ** np.arange(TOP) * scale.unit
    return table[cells]


def to_cells(activity: Floats, scale: Scale) -> Cells:
    """The nearest value of the scale; NaN becomes not collected, any activity at all at least 1."""
    out = np.full(activity.shape, NOT_COLLECTED, np.uint8)
    idle = activity == 0
    active = activity > 0
    out[idle] = 0
    steps = np.log(activity[active] / scale.unit) / np.log(scale.base)
    out[active] = np.clip(np.rint(steps) + 1, 1, TOP).astype(np.uint8)
    return out


def merge(cells: Cells, axis_length: int, scale: Scale, *, weights: Floats | None = None) -> Merged:
    """Merge runs of `axis_length` along axis 0 of cells [n, ...]; a last short run is merged as it is.

    The result is the (weighted) mean activity of known cells. A run without any takes its commonest reason.
    `weights` [n] are bytes of rows; columns of time weigh the same.
    """
    n = len(cells)
    groups = -(-n // axis_length) if n else 0
    pad = groups * axis_length - n
    if pad:
        cells = np.concatenate([cells, np.full((pad, *cells.shape[1:]), NOT_COLLECTED, np.uint8)])
    weight = np.ones(n) if weights is None else weights.astype(np.float64)
    weight = np.concatenate([weight, np.zeros(pad)]).reshape(groups, axis_length, *[1] * (cells.ndim - 1))
    blocks = cells.reshape(groups, axis_length, *cells.shape[1:])
    activity = to_activity(blocks, scale)
    known = np.isfinite(activity)
    held = (weight * known).sum(axis=1)
    total = np.where(known, activity, 0.0) * weight
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total.sum(axis=1) / held
        share = held / weight.sum(axis=1)
    merged = to_cells(mean, scale)
    merged = np.where(held > 0, merged, _reason(blocks, weight))
    return Merged(merged.astype(np.uint8), np.rint(np.nan_to_num(share) * 255).astype(np.uint8))


def _reason(blocks: Cells, weight: Floats) -> Cells:
    """Why a run without known cells is empty: unsampled before not resident before not collected."""
    counted = np.broadcast_to(weight > 0, blocks.shape)
    unsampled = ((blocks == UNSAMPLED) & counted).any(axis=1)
    absent = ((blocks == NOT_RESIDENT) & counted).any(axis=1)
    out: Cells = np.where(unsampled, UNSAMPLED, np.where(absent, NOT_RESIDENT, NOT_COLLECTED)).astype(np.uint8)
    return out


def choose_level(window_seconds: float, interval_seconds: float, max_columns: int) -> tuple[int, int]:
    """Return (level, columns to merge on top): the finest that fits in `max_columns`."""
    for level, intervals in enumerate(LEVEL_INTERVALS):
        columns = window_seconds / (interval_seconds * intervals)
        if columns <= max_columns + 1e-9:
            return level, 1
    last = len(LEVEL_INTERVALS) - 1
    columns = window_seconds / (interval_seconds * LEVEL_INTERVALS[last])
    return last, -(-int(np.ceil(columns)) // max_columns)


def rows_per_cell(rows: int, max_rows: int) -> int:
    """How many neighbouring rows make one cell: the smallest power of two that fits."""
    factor = 1
    while -(-rows // factor) > max_rows:
        factor *= 2
    return factor
