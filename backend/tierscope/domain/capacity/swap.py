"""Memory of a plan that lies on swap: what it is swapped to, and how long drives last that several services share."""

from collections.abc import Sequence
from typing import Literal

SwapDevice = Literal["block", "zns", "zram"]
"""A solid-state drive, one with zones, memory compressed in DRAM."""


def shared_life_years(sizes_bytes: Sequence[float], lives_years: Sequence[float]) -> float:
    """Years that a drive lasts which holds services of these sizes, from those that a drive of each alone lasts.

    Writes add up, and so do sizes; a life is the rated writes over those of a drive size.

    Raises:
        ValueError: there are no bytes, or a life is not positive.
    """
    if sum(sizes_bytes) <= 0.0 or min(lives_years) <= 0.0:
        raise ValueError("a drive holds some bytes and lasts longer than no time")
    worn_per_year = sum(size / life for size, life in zip(sizes_bytes, lives_years, strict=True))
    return sum(sizes_bytes) / worn_per_year
