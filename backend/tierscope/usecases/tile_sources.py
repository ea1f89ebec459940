"""The columns of a grid: of the newest list of rows, and of earlier ones as far as their rows are the same."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.core.errors import NotFound
from tierscope.domain.figures import Window
from tierscope.domain.heat.rows import KINDS
from tierscope.domain.tile_rows import Row, carry_over, match_rows
from tierscope.storage.tile_grids import EpochInWindow, EpochRows, read_columns, read_epoch_rows

MAX_EPOCHS = 50
"""Lists of rows that one grid goes back over."""


@dataclass(frozen=True, slots=True)
class Collected:
    """`columns` are (end in microseconds, one byte per row of `rows`), in order of time."""

    epochs: tuple[EpochInWindow, ...]
    rows: tuple[Row, ...]
    columns: tuple[tuple[int, bytes], ...]
    notes: tuple[str, ...]


def collect_columns(
    session: ReadSession, service_id: int, epochs: Sequence[EpochInWindow], kind: str | None, window: Window
) -> Collected:
    """Collect the columns of one process group; `epochs` are its own, newest first.

    Raises:
        NotFound: the columns are gone though the epoch is known.
    """
    newest = epochs[0]
    all_rows = _rows(read_epoch_rows(session, service_id, newest))
    rows = [row for row in all_rows if kind is None or KINDS[row[0]] == kind]
    columns: list[tuple[int, bytes]] = []
    used: list[EpochInWindow] = []
    for epoch in epochs[:MAX_EPOCHS]:
        if not _alike(epoch, newest):
            continue
        older = all_rows if epoch is newest else _rows(read_epoch_rows(session, service_id, epoch))
        places = _places(rows, all_rows) if epoch is newest else match_rows(rows, older)
        found = read_columns(session, service_id, epoch, window.start, window.end)
        columns = [(end, carry_over(cells, places)) for end, cells in found if len(cells) == len(older)] + columns
        used.append(epoch)
    if not columns:
        raise NotFound("the columns of these tiles are no longer kept", next_step="Ask for a newer window.")
    columns.sort(key=lambda column: column[0])
    return Collected(tuple(used), tuple(rows), tuple(columns), _notes(used, len(epochs)))


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
