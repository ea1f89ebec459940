"""The columns of a grid: of the newest list of rows, and of earlier ones as far as their rows are the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.core.errors import NotFound
from tierscope.domain.base.buckets import HOUR_US
from tierscope.domain.base.figures import Window
from tierscope.domain.base.jobs import TILES
from tierscope.domain.heat.rows import KINDS
from tierscope.domain.tiles.grid import MergedColumn, TimeShape, choose_shape
from tierscope.domain.tiles.levels import LEVEL_INTERVALS, NOT_COLLECTED, Cells
from tierscope.domain.tiles.rows import Row, carry_over, carry_over_block, match_rows
from tierscope.storage.base.binary import to_us
from tierscope.storage.base.dirty_buckets import pending_buckets
from tierscope.storage.tiles.grids import EpochInWindow, EpochRows, find_edges, read_columns, read_epoch_rows
from tierscope.storage.tiles.rows import StoredTile, read_tiles
from tierscope.usecases.base.spans import join_spans

_HOUR = timedelta(hours=1)
_HOUR_NS = 3600 * 10**9
MAX_EPOCHS = 50
"""Lists of rows that one grid goes back over."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What a grid of `shape` is made of.

    `columns` are (end in microseconds, one byte per row of `rows`), in order of time. `merged` stands for the stretches
    between, from stored tiles of the shape's level.
    """

    epochs: tuple[EpochInWindow, ...]
    rows: tuple[Row, ...]
    shape: TimeShape
    columns: tuple[tuple[int, bytes], ...]
    merged: tuple[MergedColumn, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Source:
    """An epoch, how many rows it has, and where the grid's rows are among them (-1 = nowhere)."""

    epoch: EpochInWindow
    width: int
    places: np.ndarray[tuple[int], np.dtype[np.int64]]


def collect_columns(
    session: ReadSession,
    service_id: int,
    epochs: Sequence[EpochInWindow],
    kind: str | None,
    window: Window,
    *,
    max_columns: int,
) -> Collected:
    """Collect the columns of one process group; `epochs` are its own, newest first.

    Wide windows take whole hours from stored tiles that were merged to the columns wanted, and only the rest minute by
    minute: the first and last hour, those that wait to be rebuilt, and those that two epochs share.

    Raises:
        NotFound: the columns are gone though the epoch is known.
    """
    newest = epochs[0]
    rows, sources = _read_sources(session, service_id, epochs, kind)
    used = [source.epoch for source in sources]
    edges = find_edges(session, service_id, used, window.start, window.end)
    if edges is None:
        raise _gone()
    between = (edges[0] + _HOUR, edges[1])
    head = _read_fine(session, service_id, sources, (window.start, min(between[0], window.end)))
    tail = _read_fine(session, service_id, sources, (between[1], window.end)) if between[1] >= between[0] else []
    merged: list[MergedColumn] = []
    if head and tail:
        shape = choose_shape(head[0][0], tail[-1][0], interval_s=newest.interval_ns / 1e9, max_columns=max_columns)
        ready = _read_merged(session, service_id, sources, shape, between)
        merged = [column for hour in ready.values() for column in hour]
        rest = [_read_fine(session, service_id, sources, span) for span in _rest(between, set(ready))]
        columns = [*head, *(column for part in rest for column in part), *tail]
    else:
        columns = _read_fine(session, service_id, sources, (window.start, window.end))
        if not columns:
            raise _gone()
        ends = (columns[0][0], columns[-1][0])
        shape = choose_shape(*ends, interval_s=newest.interval_ns / 1e9, max_columns=max_columns)
    return Collected(tuple(used), tuple(rows), shape, tuple(columns), tuple(merged), _notes(used, len(epochs)))


def collect_intervals(
    session: ReadSession, service_id: int, epochs: Sequence[EpochInWindow], kind: str | None, window: Window
) -> tuple[tuple[Row, ...], tuple[tuple[int, bytes], ...], tuple[str, ...]]:
    """All single intervals of one process group, as they were measured: rows, columns in order of time, and notes.

    Raises:
        NotFound: the columns are gone though the epoch is known.
    """
    rows, sources = _read_sources(session, service_id, epochs, kind)
    columns = _read_fine(session, service_id, sources, (window.start, window.end))
    if not columns:
        raise _gone()
    used = [source.epoch for source in sources]
    return tuple(rows), tuple(columns), _notes(used, len(epochs))


def _read_sources(
    session: ReadSession, service_id: int, epochs: Sequence[EpochInWindow], kind: str | None
) -> tuple[list[Row], list[_Source]]:
    """The rows of the newest epoch, and where they are in it and in earlier ones that mean the same."""
    newest = epochs[0]
    all_rows = _rows(read_epoch_rows(session, service_id, newest))
    rows = [row for row in all_rows if kind is None or KINDS[row[0]] == kind]
    sources = [_Source(newest, len(all_rows), _places(rows, all_rows))]
    for epoch in epochs[1:MAX_EPOCHS]:
        if _alike(epoch, newest):
            older = _rows(read_epoch_rows(session, service_id, epoch))
            sources.append(_Source(epoch, len(older), match_rows(rows, older)))
    return rows, sources


def _gone() -> NotFound:
    return NotFound("the columns of these tiles are no longer kept", next_step="Ask for a newer window.")


def _read_fine(
    session: ReadSession, service_id: int, sources: Sequence[_Source], span: tuple[datetime, datetime]
) -> list[tuple[int, bytes]]:
    """The columns of (start, end] over the grid's rows, in order of time."""
    found = []
    for source in sources:
        for end, cells in read_columns(session, service_id, source.epoch, *span):
            if len(cells) == source.width:
                found.append((end, carry_over(cells, source.places)))
    return sorted(found, key=lambda column: column[0])


def _read_merged(
    session: ReadSession,
    service_id: int,
    sources: Sequence[_Source],
    shape: TimeShape,
    span: tuple[datetime, datetime],
) -> dict[datetime, list[MergedColumn]]:
    """Whole hours whose stored tiles say all that is known, as columns of the shape."""
    per_hour, rest = divmod(_HOUR_NS, sources[0].epoch.interval_ns * shape.length)
    if shape.level == 0 or rest or shape.length != LEVEL_INTERVALS[shape.level]:
        return {}
    host_id = sources[0].epoch.host_id
    # Marks first: an hour that a worker rebuilds in between then only costs a needless merge.
    waiting = {hour for _, hour in pending_buckets(session, [TILES.kind], [host_id], service_id)}
    found: dict[datetime, list[list[MergedColumn]]] = {}
    for source in sources:
        if source.epoch.start_at >= span[1]:
            continue
        epoch_id = source.epoch.epoch_id
        for tile in read_tiles(session, host_id, service_id, epoch_id, shape.level, *span):
            if tile.start not in waiting and len(tile.cells) == per_hour * source.width:
                found.setdefault(tile.start, []).append(_columns_of(tile, source, per_hour))
    return {hour: parts[0] for hour, parts in found.items() if len(parts) == 1}


def _columns_of(tile: StoredTile, source: _Source, per_hour: int) -> list[MergedColumn]:
    def spread(body: bytes, missing: int) -> Cells:
        block = np.frombuffer(body, np.uint8).reshape(per_hour, source.width)
        return carry_over_block(block, source.places, missing)

    cells, known = spread(tile.cells, NOT_COLLECTED), spread(tile.known, 0)
    ends = [to_us(tile.start + _HOUR * (i + 1) / per_hour) for i in range(per_hour)]
    return [MergedColumn(end, cells[i], known[i]) for i, end in enumerate(ends)]


def _rest(span: tuple[datetime, datetime], taken: set[datetime]) -> list[tuple[datetime, datetime]]:
    """The stretches of whole hours in the span that are not taken."""
    count = round((span[1] - span[0]) / _HOUR)
    hours = [span[0] + i * _HOUR for i in range(count)]
    return join_spans([hour for hour in hours if hour not in taken], HOUR_US)


def _rows(stored: EpochRows) -> list[Row]:
    return list(zip(stored.kinds, stored.mappings, stored.offsets_bytes, stored.sizes_bytes, strict=True))


def _places(rows: Sequence[Row], all_rows: Sequence[Row]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    kinds = {row[0] for row in rows}
    return np.array([place for place, row in enumerate(all_rows) if row[0] in kinds], np.int64)


def _alike(epoch: EpochInWindow, newest: EpochInWindow) -> bool:
    """Whether cells of both mean the same: one collector, one size of regions, one scale."""
    same = (
        epoch.backend == newest.backend
        and epoch.granularity == newest.granularity
        and epoch.interval_ns == newest.interval_ns
        and epoch.region_bytes == newest.region_bytes
        and epoch.cell_measure == newest.cell_measure
    )
    return same and (epoch.cell_log2_base, epoch.cell_unit) == (newest.cell_log2_base, newest.cell_unit)


def _notes(used: Sequence[EpochInWindow], count: int) -> tuple[str, ...]:
    notes = []
    if len(used) > 1:
        notes.append(
            f"Columns up to {used[1].last_at:%H:%M} UTC come from earlier lists of rows ({len(used) - 1}). Named "
            "mappings are matched by name and offset, unnamed ones by a size that only one has; the rest is not "
            "collected."
        )
    if count > len(used):
        notes.append(
            f"{count - len(used)} earlier lists of rows in the window are not shown: their regions or scale differ. "
            "Choose a window that ends before to see them."
        )
    return tuple(notes)
