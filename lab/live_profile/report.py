"""What the profile found, beside what the load is known to have done."""

import json
import os
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.processes import cpu_seconds, peak_rss_bytes
from live_profile.zipf_load import FIRST_CENTRE, SECOND_CENTRE, Done, Load

LAST_ACTIVE_CELL = 250
HOT_SHARE = 0.05
"""Share of the bytes that counts as the hot set."""


def cost_of(pid: int) -> dict[str, float]:
    """CPU seconds and peak memory of a process so far."""
    return {"cpu_seconds": cpu_seconds(pid), "peak_rss_bytes": peak_rss_bytes(pid)}


def answer_of(address: str) -> Any:  # noqa: ANN401 - answers differ
    with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310
        return json.loads(answer.read())


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def numbers(
    load: Load,
    seconds: Sequence[Done],
    grid: dict[str, Any],
    heat: dict[str, Any],
    agent: dict[str, float],
    resident: int,
    *,
    interval_seconds: int,
) -> dict[str, Any]:
    """The figures that go into the document."""
    activity, sizes = _activity(grid)
    half = activity.shape[1] // 2
    before, after = activity[:, 1:half].mean(axis=1), activity[:, half + 1 : -1].mean(axis=1)
    hot = [_hottest(before, sizes), _hottest(after, sizes)]
    return {
        "load": {
            "keys": load.keys,
            "value_bytes": load.value_bytes,
            "operations": sum(second.operations for second in seconds),
            "seconds": len(seconds),
            "hot_centres_of_keys": [FIRST_CENTRE, SECOND_CENTRE],
        },
        "redis_resident_bytes": resident,
        "interval_seconds": interval_seconds,
        "tiles": {
            "rows": int(activity.shape[0]),
            "columns": int(activity.shape[1]),
            "hot_share_of_bytes": HOT_SHARE,
            "rows_hot_before_and_after": int((hot[0] & hot[1]).sum()),
            "rows_hot_before": int(hot[0].sum()),
            "rows_hot_after": int(hot[1].sum()),
            "active_share_of_rows_hot_before": _pair(before, after, sizes, hot[0]),
            "active_share_of_rows_hot_after": _pair(before, after, sizes, hot[1]),
            "active_share_of_all_rows": _pair(before, after, sizes, np.ones(len(sizes), bool)),
        },
        "agent": {
            **agent,
            "cpu_share_of_core": agent["cpu_seconds"] / (len(seconds) + 2 * interval_seconds),
        },
        "heat_backend": heat.get("backend"),
    }


def _activity(grid: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Active share of each row and column of the grid, and the sizes of its rows. Rows that are never resident go."""
    cells = np.array(grid["cells"], dtype=float)
    resident = (cells <= LAST_ACTIVE_CELL).any(axis=1)
    active = (cells >= 1) & (cells <= LAST_ACTIVE_CELL)
    shares = np.where(active, grid["cell_unit"] * grid["cell_log2_base"] ** (cells - 1), 0.0)
    sizes = np.array([row["size_bytes"] for row in grid["rows"]], dtype=float)
    return shares[resident], sizes[resident]


def _hottest(heat: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Which rows make up the hottest share of the bytes."""
    order = np.argsort(-heat)
    taken = np.cumsum(sizes[order]) <= HOT_SHARE * sizes.sum()
    chosen = np.zeros(len(heat), bool)
    chosen[order[taken]] = True
    return chosen


def _pair(before: np.ndarray, after: np.ndarray, sizes: np.ndarray, rows: np.ndarray) -> list[float]:
    """Mean active share of some rows before and after the move, by bytes."""
    return [round(float(np.average(heat[rows], weights=sizes[rows])), 4) for heat in (before, after)]
