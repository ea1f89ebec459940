"""Sampled pages of one host as a trace to replay: blocks joined, scaled by their rates, cut to what was observed.

Pages were chosen by hash, so that the trace is that of a machine smaller by the sampling rate. Pages that were there
when the trace begins come in an interval of their own before it, without accesses and in random order: in which order
they were really born is not known, and it is not that of their heat.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.page_size import MODEL_PAGE_BYTES
from tierscope.domain.curve.sample_blocks import SampledPages
from tierscope.domain.simulate.trace import TimedSample, TraceColumns, of_sampled_pages

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LEAD_INTERVALS = 1
"""Intervals before the first observed one: in it, the pages that are there already are placed."""
GROUPS = 6
"""Random groups of pages that a sample is cut into, to see how much its draw matters."""
_HASHES = float(2**64)


@dataclass(frozen=True, slots=True)
class RatedBlock:
    """A block with its process group, end, the share of pages it selected and the events that one count stands for."""

    group: str
    end_us: int
    sampled_ratio: float
    events_per_count: float
    pages: SampledPages


@dataclass(frozen=True, slots=True)
class SampledTrace:
    """A host's trace. `n_samples` are counts, `unseen_ratio` the share of traffic on pages without any (Good-Turing).

    `columns` begin with `LEAD_INTERVALS`; `n_intervals` were observed. `numbers` [n_intervals]: which ones these are,
    counted from the epoch.
    """

    columns: TraceColumns
    sampled_ratio: float
    n_pages: int
    n_samples: int
    n_intervals: int
    unseen_ratio: float
    numbers: Ints


def join_sampled(
    blocks: Sequence[RatedBlock],
    *,
    interval_ns: int,
    loads_only: bool = False,
    stay_resident: bool = False,
    resident_bytes: Sequence[float] | None = None,
) -> SampledTrace:
    """Join the blocks of one host at the lowest of their rates.

    `loads_only`: of hardware samples loads and stores are two populations, never added. `stay_resident`: the back end
    lists pages with accesses alone, so that a page counts as resident all the time. `resident_bytes` by kind (anon,
    file, tmpfs): what the service really holds; pages without accesses make up the rest.

    Raises:
        ValueError: there is no block, or none of its intervals was observed.
    """
    if not blocks:
        raise ValueError("there is no page sample to replay")
    lowest = min(block.sampled_ratio for block in blocks)
    timed = [_timed(block, lowest, interval_ns, loads_only=loads_only) for block in blocks]
    if not any(sample.pages.observed[sample.pages.row_interval].any() for sample in timed):
        raise ValueError("no interval of the page samples was observed, or none has accesses")
    columns = of_sampled_pages(timed, interval_ns=interval_ns)
    starts = [_numbers(sample, interval_ns) for sample in timed]
    origin = min(int(numbers[0]) for numbers in starts)
    observed = [numbers[sample.pages.observed] for numbers, sample in zip(starts, timed, strict=True)]
    numbers = np.unique(np.concatenate(observed))
    columns = _keep_intervals(columns, numbers - origin, stay_resident=stay_resident)
    samples = [_counts(block, lowest, loads_only=loads_only) for block in blocks]
    total, once = sum(part[0] for part in samples), sum(part[1] for part in samples)
    n_pages = len(columns.kinds)
    if resident_bytes is not None:
        columns = _add_idle(columns, resident_bytes, lowest)
    return SampledTrace(
        columns=_shuffle(_lead(columns)),
        sampled_ratio=lowest,
        n_pages=n_pages,
        n_samples=total,
        n_intervals=len(numbers),
        unseen_ratio=min(once / total, 1.0) if loads_only and total else 0.0,
        numbers=numbers,
    )


def random_groups(columns: TraceColumns, groups: int = GROUPS) -> list[TraceColumns]:
    """The trace cut into groups of pages, each that of a machine smaller by their number. Pages are in random order."""
    places = np.arange(len(columns.kinds)) % groups
    return [take_pages(columns, places == group) for group in range(groups)]


def take_pages(columns: TraceColumns, kept: Bools) -> TraceColumns:
    """The trace of some of the pages, `kept` [m]."""
    numbers = np.cumsum(kept) - 1
    rows = kept[columns.row_page]
    return TraceColumns(
        intervals=columns.intervals,
        kinds=columns.kinds[kept],
        units=columns.units[kept],
        first=columns.first[kept],
        last=columns.last[kept],
        row_interval=columns.row_interval[rows],
        row_page=numbers[columns.row_page[rows]],
        row_accesses=columns.row_accesses[rows],
        row_written=columns.row_written[rows],
    )


def _numbers(sample: TimedSample, interval_ns: int) -> Ints:
    before = (sample.pages.before_end_ns + interval_ns // 2) // interval_ns
    return np.asarray(sample.last_interval_number - before, np.int64)


def _timed(block: RatedBlock, ratio: float, interval_ns: int, *, loads_only: bool) -> TimedSample:
    """The pages that the lowest rate selects too, with counts as events, and ids that no other group has."""
    sample = block.pages
    kept = np.ones(len(sample.page_ids), np.bool_)
    if block.sampled_ratio > ratio:
        kept = sample.page_ids.view(np.uint64).astype(np.float64) < ratio * _HASHES
    rows = kept[sample.row_page] & ((sample.row_loads > 0) | (not loads_only))
    salt = int.from_bytes(hashlib.blake2b(block.group.encode(), digest_size=8).digest(), "little", signed=True)
    numbers = np.cumsum(kept) - 1
    pages = replace(
        sample,
        page_ids=sample.page_ids[kept] ^ np.int64(salt),
        kinds=np.maximum(sample.kinds[kept], 1),
        page_sizes_bytes=sample.page_sizes_bytes[kept],
        first_interval=sample.first_interval[kept],
        last_interval=sample.last_interval[kept],
        row_interval=sample.row_interval[rows],
        row_page=numbers[sample.row_page[rows]],
        row_loads=_events(sample.row_loads[rows], block.events_per_count),
        row_stores=_events(sample.row_stores[rows], 0.0 if loads_only else block.events_per_count),
    )
    return TimedSample((block.end_us * 1000 + interval_ns // 2) // interval_ns, pages)


def _events(counts: Ints, each: float) -> Ints:
    return np.asarray(np.rint(counts * each), np.int64)


def _counts(block: RatedBlock, ratio: float, *, loads_only: bool) -> tuple[int, int]:
    """Counts of a block, and pages with just one."""
    sample = block.pages
    rows = sample.observed[sample.row_interval]
    if block.sampled_ratio > ratio:
        rows = rows & (sample.page_ids.view(np.uint64).astype(np.float64) < ratio * _HASHES)[sample.row_page]
    counts = sample.row_loads if loads_only else sample.row_loads + sample.row_stores
    of_pages = np.bincount(sample.row_page[rows], weights=counts[rows], minlength=1)
    return int(of_pages.sum()), int((of_pages == 1).sum())


def _keep_intervals(columns: TraceColumns, observed: Ints, *, stay_resident: bool) -> TraceColumns:
    """The trace without intervals of which nothing is known; pages that lived in those alone are gone."""
    first = np.searchsorted(observed, columns.first, "left")
    last = np.searchsorted(observed, columns.last, "right") - 1
    if stay_resident:
        first, last = np.zeros_like(first), np.full_like(last, len(observed) - 1)
    cut = replace(
        columns,
        intervals=len(observed),
        first=first,
        last=last,
        row_interval=np.searchsorted(observed, columns.row_interval),
    )
    return take_pages(cut, first <= last)


def _add_idle(columns: TraceColumns, resident_bytes: Sequence[float], ratio: float) -> TraceColumns:
    """Pages that nobody accessed, so that each kind is as large as it really is."""
    mean = np.bincount(
        columns.kinds,
        weights=columns.units * (columns.last - columns.first + 1) / columns.intervals,
        minlength=len(resident_bytes),
    )
    missing = np.maximum(np.array(resident_bytes) * ratio / MODEL_PAGE_BYTES - mean, 0.0).astype(np.int64)
    kinds = np.repeat(np.arange(len(missing)), missing)
    idle = len(kinds)
    return replace(
        columns,
        kinds=np.concatenate([columns.kinds, kinds]),
        units=np.concatenate([columns.units, np.ones(idle, np.int64)]),
        first=np.concatenate([columns.first, np.zeros(idle, np.int64)]),
        last=np.concatenate([columns.last, np.full(idle, columns.intervals - 1)]),
    )


def _lead(columns: TraceColumns) -> TraceColumns:
    """The trace with the interval before it, in which the pages come that are there at its beginning."""
    return replace(
        columns,
        intervals=columns.intervals + LEAD_INTERVALS,
        first=np.where(columns.first == 0, 0, columns.first + LEAD_INTERVALS),
        last=columns.last + LEAD_INTERVALS,
        row_interval=columns.row_interval + LEAD_INTERVALS,
    )


def _shuffle(columns: TraceColumns) -> TraceColumns:
    """The pages in random order, the same for the same trace."""
    return order_pages(columns, random_order(columns))


def random_order(columns: TraceColumns) -> Ints:
    """A random order of the trace's pages, the same for the same trace."""
    return np.random.default_rng(0).permutation(len(columns.kinds))


def order_pages(columns: TraceColumns, order: Ints) -> TraceColumns:
    """The pages in this order; rows of an interval stay in order of page."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    pages = place[columns.row_page]
    rows = np.lexsort((pages, columns.row_interval))
    return TraceColumns(
        intervals=columns.intervals,
        kinds=columns.kinds[order],
        units=columns.units[order],
        first=columns.first[order],
        last=columns.last[order],
        row_interval=columns.row_interval[rows],
        row_page=pages[rows],
        row_accesses=columns.row_accesses[rows],
        row_written=columns.row_written[rows],
    )
