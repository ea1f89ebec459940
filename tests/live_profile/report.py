"""What the profile found, beside what the load is known to have done."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.processes import cpu_seconds, peak_rss_bytes
from live_profile.zipf_load import FIRST_CENTRE, SECOND_CENTRE, Done, Load

LAST_ACTIVE_CELL = 250


def cost_of(pid: int) -> dict[str, float]:
    """CPU seconds and peak memory of a process so far."""
    return {"cpu_seconds": cpu_seconds(pid), "peak_rss_bytes": peak_rss_bytes(pid)}


def resident_bytes(pid: int) -> int:
    """Resident memory of a process."""
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
    densities, offsets, largest = _largest_mapping(grid)
    half = densities.shape[1] // 2
    centres = [_hottest(densities[:, :half], offsets), _hottest(densities[:, half:], offsets)]
    total = float(offsets[-1]) or 1.0
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
            "mapping": largest,
            "rows": int(densities.shape[0]),
            "columns": int(densities.shape[1]),
            "hottest_at_share_of_mapping": [round(centre / total, 3) for centre in centres],
        },
        "agent": {
            **agent,
            "cpu_share_of_core": agent["cpu_seconds"] / (len(seconds) + 2 * interval_seconds),
        },
        "heat_backend": heat.get("backend"),
    }


def _largest_mapping(grid: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, str]:
    """Activity by (row, column) of the mapping with most bytes, the offsets of its rows, and its name."""
    sizes: dict[str, int] = {}
    for row in grid["rows"]:
        sizes[row["mapping"]] = sizes.get(row["mapping"], 0) + row["size_bytes"]
    largest = max(sizes, key=lambda name: sizes[name])
    chosen = [index for index, row in enumerate(grid["rows"]) if row["mapping"] == largest]
    cells = np.array([grid["cells"][index] for index in chosen], dtype=float)
    activity = np.where(cells <= LAST_ACTIVE_CELL, cells, 0.0)
    offsets = np.array([grid["rows"][index]["offset_bytes"] for index in chosen], dtype=float)
    return activity, offsets, largest


def _hottest(cells: np.ndarray, offsets: np.ndarray) -> float:
    """Offset of the middle of the hottest twentieth of the rows."""
    heat = cells.mean(axis=1)
    hottest = np.argsort(-heat)[: max(1, len(heat) // 20)]
    return float(np.median(offsets[hottest]))
