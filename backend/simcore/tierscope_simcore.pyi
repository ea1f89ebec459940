"""Tierscope's compiled core: the agent's page fold and readers of recordings. Kinds are anon, file and tmpfs."""

import os
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]

__version__: str

class PageTrace:
    """A page trace in memory: its accesses by interval, and what is true of them. Raises ValueError with the cause."""

    def __init__(self, path: str | os.PathLike[str], merged: int = 1) -> None: ...
    @property
    def page_size_bytes(self) -> int: ...
    @property
    def interval_seconds(self) -> float | None: ...
    @property
    def intervals(self) -> int: ...
    def rows(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Interval from 0, kind, page number as signed 64 bits, loads and stores of each row."""
    @property
    def resident_pages(self) -> Ints: ...
    @property
    def loaded_pages(self) -> Ints: ...
    @property
    def loads(self) -> Ints: ...

class SampledFold:
    """What the fold says of a sampled trace: [intervals, kinds], or [intervals, windows of 1, 2, 5, 10, kinds]."""

    @property
    def load_samples(self) -> Ints: ...
    @property
    def store_samples(self) -> Ints: ...
    @property
    def distinct_pages(self) -> Ints: ...
    @property
    def f1_pages(self) -> Ints: ...
    @property
    def f2_pages(self) -> Ints: ...
    @property
    def resident_bytes(self) -> Ints: ...

def fold_sampled_trace(
    trace: PageTrace, *, period_events: float, core_groups: int, enabled_groups: int, seed: int
) -> SampledFold:
    """Sample a trace as hardware samples and fold it. Raises ValueError for settings that cannot be."""
