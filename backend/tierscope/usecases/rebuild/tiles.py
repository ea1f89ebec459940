"""From tile columns: an hour of each epoch at three levels."""

from datetime import datetime, timedelta

import numpy as np

from tierscope.core.database import WriteTransaction
from tierscope.domain.tiles.levels import LEVEL_INTERVALS, NOT_COLLECTED, Cells, Scale, merge
from tierscope.storage.base.dirty_buckets import Claim
from tierscope.storage.tiles.rows import EpochColumns, StoredTile, read_epoch_columns, replace_tiles

_HOUR = timedelta(hours=1)
_HOUR_NS = 3600 * 10**9
_MOST_INTERVALS = 3600


def rebuild_tiles(transaction: WriteTransaction, claimed: Claim) -> None:
    """Rebuild the hours of one service on one host."""
    tiles: list[StoredTile] = []
    for hour in claimed.buckets:
        for epoch in read_epoch_columns(transaction, claimed.subject_id, claimed.service_id, hour, hour + _HOUR):
            tiles += merge_hour(epoch, hour)
    replace_tiles(transaction, claimed.subject_id, claimed.service_id, claimed.buckets, tiles)


def merge_hour(epoch: EpochColumns, hour: datetime) -> list[StoredTile]:
    """The tiles of one epoch in one hour: level 0 as it came, coarser ones merged. Empty without usable columns."""
    grid = _lay_out(epoch, int(hour.timestamp()) * 1_000_000)
    if grid is None:
        return []
    scale = Scale(epoch.cell_log2_base, epoch.cell_unit)
    tiles = []
    for level, intervals in enumerate(LEVEL_INTERVALS):
        merged = merge(grid, intervals, scale)
        tiles.append(StoredTile(epoch.epoch_id, level, hour, merged.cells.tobytes(), merged.known.tobytes()))
    return tiles


def _lay_out(epoch: EpochColumns, hour_us: int) -> Cells | None:
    """Cells [interval of the hour, row]; what has no column is not collected."""
    rows = len(epoch.columns[-1][1])
    intervals = _HOUR_NS // epoch.interval_ns if epoch.interval_ns > 0 else 0
    if not 1 <= intervals <= _MOST_INTERVALS or rows == 0:
        return None
    grid = np.full((intervals, rows), NOT_COLLECTED, np.uint8)
    for end_us, cells in epoch.columns:
        # An interval ends on its last instant, so the one that ends on the hour is the last of the hour before.
        place = (end_us - hour_us - 1) * 1000 // epoch.interval_ns
        if len(cells) == rows and 0 <= place < intervals:
            grid[place] = np.frombuffer(cells, np.uint8)
    return grid
