"""Page samples over hours: blocks reduced to what a page did, joined by page id, and groups of a host put together.

The same pages are selected in every block while the rate stays. Where the rate changed, the pages that the lowest rate
selects are those that all blocks have (SHARDS): a page is selected when its hash is below the rate's share of 2^64.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.curve.sample_blocks import SampledPages
from tierscope.domain.heat.rows import KINDS

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_HASHES = float(2**64)


@dataclass(frozen=True, slots=True)
class PageCounts:
    """What m pages did in the observed intervals of a block, or of several.

    `halves` [m, 2]: accesses in even and in odd intervals, counted from the epoch. `resident_intervals` [m]: observed
    intervals in which the page was resident. `interval_numbers`: the observed intervals themselves.
    """

    page_ids: Ints
    kinds: npt.NDArray[np.int8]
    sizes_bytes: npt.NDArray[np.int32]
    halves: Floats
    resident_intervals: npt.NDArray[np.int32]
    interval_numbers: Ints

    @property
    def nbytes(self) -> int:
        """Memory that the arrays take."""
        arrays = (self.page_ids, self.kinds, self.sizes_bytes, self.halves, self.resident_intervals)
        return sum(array.nbytes for array in arrays) + self.interval_numbers.nbytes

    def take(self, kept: Bools) -> "PageCounts":
        """Some of the pages, `kept` [m]."""
        return PageCounts(
            self.page_ids[kept],
            self.kinds[kept],
            self.sizes_bytes[kept],
            self.halves[kept],
            self.resident_intervals[kept],
            self.interval_numbers,
        )


def count_block(block: SampledPages, *, end_us: int, interval_ns: int, loads_only: bool) -> PageCounts:
    """Reduce a block that ended at `end_us`. Rows of intervals that were not observed say nothing.

    `loads_only`: of hardware samples loads and stores are two populations, never added; the curve is that of loads.
    """
    ends_ns = end_us * 1000 - block.before_end_ns
    numbers = (ends_ns + interval_ns // 2) // interval_ns
    counted = block.observed[block.row_interval]
    pages, accesses = block.row_page[counted], block.row_loads[counted]
    if not loads_only:
        accesses = accesses + block.row_stores[counted]
    odd = numbers[block.row_interval[counted]] & 1
    halves = np.bincount(pages * 2 + odd, weights=accesses, minlength=2 * len(block.page_ids))
    observed = np.concatenate([[0], np.cumsum(block.observed)])
    return PageCounts(
        page_ids=block.page_ids,
        kinds=block.kinds.astype(np.int8),
        sizes_bytes=block.page_sizes_bytes.astype(np.int32),
        halves=np.asarray(halves.reshape(-1, 2), np.float64),
        resident_intervals=(observed[block.last_interval + 1] - observed[block.first_interval]).astype(np.int32),
        interval_numbers=numbers[block.observed],
    )


@dataclass(frozen=True, slots=True)
class SampledBlock:
    """A block with its rates: the share of pages that it selected, and the events that one count stands for."""

    counts: PageCounts
    sampled_ratio: float
    events_per_count: float


@dataclass(frozen=True, slots=True)
class GroupSample:
    """The pages of one process group over a window, all selected at `sampled_ratio`.

    `counts.halves` are events; `samples` [m] the counts behind them.
    """

    counts: PageCounts
    samples: Floats
    sampled_ratio: float


def join_blocks(blocks: Sequence[SampledBlock]) -> GroupSample:
    """Join blocks of one process group at the lowest of their rates.

    Raises:
        ValueError: there is no block.
    """
    if not blocks:
        raise ValueError("no block to join")
    lowest = min(block.sampled_ratio for block in blocks)
    parts = [(_thin(block, lowest), block.events_per_count) for block in blocks]
    ids = np.concatenate([part.page_ids for part, _ in parts])
    found, first, place = np.unique(ids, return_index=True, return_inverse=True)

    def add(values: npt.NDArray[np.float64] | npt.NDArray[np.int32]) -> Floats:
        return np.asarray(np.bincount(place, weights=values, minlength=len(found)), np.float64)

    halves = np.concatenate([part.halves * events for part, events in parts])
    counts = PageCounts(
        page_ids=found,
        kinds=np.concatenate([part.kinds for part, _ in parts])[first],
        sizes_bytes=np.concatenate([part.sizes_bytes for part, _ in parts])[first],
        halves=np.stack([add(halves[:, 0]), add(halves[:, 1])], axis=1),
        resident_intervals=add(np.concatenate([part.resident_intervals for part, _ in parts])).astype(np.int32),
        interval_numbers=np.unique(np.concatenate([part.interval_numbers for part, _ in parts])),
    )
    return GroupSample(counts, add(np.concatenate([part.halves.sum(axis=1) for part, _ in parts])), lowest)


def _thin(block: SampledBlock, ratio: float) -> PageCounts:
    """The pages that the lower rate selects too."""
    if block.sampled_ratio <= ratio:
        return block.counts
    return block.counts.take(block.counts.page_ids.view(np.uint64).astype(np.float64) < ratio * _HASHES)


@dataclass(frozen=True, slots=True)
class HostSample:
    """All sampled pages of a service on one host.

    `halves` [m, 2] are the events of the page itself in even and odd intervals, `samples` [m] the counts behind them,
    `weights` [m] the pages that one of the sample stands for, `bytes` [m] the mean bytes that the page itself occupied
    over the window. `n_intervals` were observed.
    """

    kinds: npt.NDArray[np.int8]
    bytes: Floats
    halves: Floats
    samples: Floats
    weights: Floats
    n_intervals: int

    @property
    def n_pages(self) -> int:
        """Pages in the sample."""
        return len(self.kinds)

    @property
    def nbytes(self) -> int:
        """Memory that the arrays take."""
        return sum(array.nbytes for array in (self.kinds, self.bytes, self.halves, self.samples, self.weights))

    @property
    def n_samples(self) -> int:
        """Counts: accesses, hardware samples, or active intervals of pages."""
        return int(self.samples.sum())

    def pick_kind(self, kind: str) -> "HostSample":
        """The pages of one kind."""
        kept = self.kinds == KINDS.index(kind)
        arrays = (self.kinds, self.bytes, self.halves, self.samples, self.weights)
        kinds, bytes_, halves, samples, weights = (array[kept] for array in arrays)
        return HostSample(kinds, bytes_, halves, samples, weights, self.n_intervals)

    def bytes_by_kind(self) -> Floats:
        """Mean bytes of all the host's pages by number of the kind, scaled up from the sample."""
        found = np.bincount(self.kinds, weights=self.bytes * self.weights, minlength=len(KINDS))
        return np.asarray(found, np.float64)

    def unseen_ratio(self) -> float:
        """Share of the traffic on pages without a sample (Good-Turing): samples of pages with just one."""
        total = float(self.samples.sum())
        return float((self.samples == 1).sum()) / total if total else 1.0


def join_groups(groups: Sequence[GroupSample], *, stay_resident: bool) -> HostSample:
    """Put the process groups of a host together.

    A page occupies its size for the share of the host's observed intervals in which it was resident. `stay_resident`:
    the back end lists pages with accesses alone, so that a page counts as resident all the time.

    Raises:
        ValueError: there is no group.
    """
    if not groups:
        raise ValueError("no process group to join")
    n_intervals = len(np.unique(np.concatenate([group.counts.interval_numbers for group in groups])))
    kinds, bytes_, halves, samples, weights = [], [], [], [], []
    for group in groups:
        counts = group.counts
        share = 1.0 if stay_resident else counts.resident_intervals / max(n_intervals, 1)
        occupied = counts.sizes_bytes * share
        kept = occupied > 0
        kinds.append(counts.kinds[kept])
        bytes_.append(occupied[kept])
        halves.append(counts.halves[kept])
        samples.append(group.samples[kept])
        weights.append(np.full(int(kept.sum()), 1.0 / group.sampled_ratio))
    return HostSample(
        np.concatenate(kinds),
        np.concatenate(bytes_),
        np.concatenate(halves),
        np.concatenate(samples),
        np.concatenate(weights),
        n_intervals,
    )
