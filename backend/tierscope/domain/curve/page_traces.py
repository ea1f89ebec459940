"""Page traces: heat, reuse gaps and access totals of a recording in which every access is counted.

A page is resident from its first access to the end of the trace. It is known by kind and number: the same number in
another kind is other memory. Everything here is exact; what a sample would say of a trace is `trace_samples`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.vocabulary import PageKind
from tierscope.domain.curve.reaccess import LENGTHS, Gaps
from tierscope.domain.heat.classes import WARM_END, WINDOWS

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

KINDS: tuple[PageKind, ...] = ("anon", "file", "tmpfs")
"""Kinds by the numbers that rows have; heap and stack are anon, shmem is tmpfs."""


@dataclass(frozen=True, slots=True)
class PageTrace:
    """A trace of m pages over so many `intervals`.

    `page_kinds` [m] are places in `KINDS`. Rows [r] say that page `row_page` was accessed `row_accesses` times in
    interval `row_interval`, counted from 0; they are ordered by page, then interval, and name each pair once.
    """

    intervals: int
    page_size_bytes: int
    page_kinds: Ints
    row_page: Ints
    row_interval: Ints
    row_accesses: Ints

    @property
    def pages(self) -> int:
        """Pages ever accessed."""
        return len(self.page_kinds)

    def take(self, kept: Bools) -> "PageTrace":
        """The trace of some of the pages, `kept` [m]."""
        numbers = np.cumsum(kept) - 1
        rows = kept[self.row_page]
        return PageTrace(
            self.intervals,
            self.page_size_bytes,
            self.page_kinds[kept],
            numbers[self.row_page[rows]],
            self.row_interval[rows],
            self.row_accesses[rows],
        )


def make_trace(
    *, intervals: int, page_size_bytes: int, interval: Ints, kind: Ints, page: Ints, accesses: Ints
) -> PageTrace:
    """Order rows of a recording and number its pages. Rows of one page and interval are added up."""
    by_page = np.lexsort((interval, page, kind))
    interval, kind, page, accesses = interval[by_page], kind[by_page], page[by_page], accesses[by_page]
    new_page = _changes(kind) | _changes(page)
    first = np.flatnonzero(new_page | _changes(interval))
    numbers = np.cumsum(new_page) - 1
    return PageTrace(
        intervals,
        page_size_bytes,
        kind[new_page],
        numbers[first],
        interval[first],
        np.add.reduceat(accesses, first) if len(first) else accesses,
    )


def _changes(values: Ints) -> Bools:
    """Where a value differs from the one before; the first does."""
    return np.concatenate([np.ones(min(len(values), 1), np.bool_), values[1:] != values[:-1]])


@dataclass(frozen=True, slots=True)
class ActivePages:
    """Pages at the end of each interval: `resident` [t, kinds], `active` [t, windows of 1, 2, 5 and 10, kinds]."""

    resident: Ints
    active: Ints

    def classes(self, window: int) -> Ints:
        """Hot, warm and cold pages [t, 3, kinds]: accessed within the window, within 10 intervals, and not since."""
        hot, recent = self.active[:, WINDOWS.index(window)], self.active[:, WINDOWS.index(WARM_END)]
        return np.stack([hot, recent - hot, self.resident - recent], axis=1)


def count_active(trace: PageTrace) -> ActivePages:
    """Count pages by what they did: each access keeps its page active until the window or the next access."""
    follows = _follows(trace)
    until = np.full(len(trace.row_page), trace.intervals)
    until[:-1][follows] = trace.row_interval[1:][follows]
    first = np.concatenate([np.ones(min(len(trace.row_page), 1), np.bool_), ~follows])
    kinds = trace.page_kinds[trace.row_page]
    shape = (trace.intervals + 1, len(KINDS))

    def count(intervals: Ints, kinds: Ints) -> Ints:
        found = np.zeros(shape, np.int64)
        np.add.at(found, (intervals, kinds), 1)
        return found

    active = []
    for window in WINDOWS:
        ends = np.minimum(trace.row_interval + window, until)
        active.append(np.cumsum(count(trace.row_interval, kinds) - count(ends, kinds), axis=0)[:-1])
    resident = np.cumsum(count(trace.row_interval[first], kinds[first]), axis=0)[:-1]
    return ActivePages(resident, np.stack(active, axis=1))


def _follows(trace: PageTrace) -> Bools:
    """Whether rows 1 and on belong to the page of the row before."""
    return np.asarray(trace.row_page[1:] == trace.row_page[:-1], np.bool_)


@dataclass(frozen=True, slots=True)
class PageGaps:
    """Gaps between accesses, and from the last access to the end: [g] each, `closed` where an access ended it."""

    page: Ints
    length: Ints
    closed: Bools


def list_gaps(trace: PageTrace) -> PageGaps:
    """List the gaps of all pages over the whole trace; a page accessed in the last interval has no open one."""
    follows = _follows(trace)
    last = np.concatenate([~follows, np.ones(min(len(trace.row_page), 1), np.bool_)])
    open_ = trace.intervals - 1 - trace.row_interval[last]
    left = open_ > 0
    return PageGaps(
        np.concatenate([trace.row_page[1:][follows], trace.row_page[last][left]]),
        np.concatenate([np.diff(trace.row_interval)[follows], open_[left]]),
        np.concatenate([np.ones(int(follows.sum()), np.bool_), np.zeros(int(left.sum()), np.bool_)]),
    )


def group_gaps(gaps: PageGaps, groups: Ints, count: int, page_size_bytes: int) -> list[Gaps]:
    """Bytes of gaps by length for each of `count` groups; `groups` [m] says which one a page is in, -1 for none.

    Gaps beyond the longest length are at risk all along: their end lies beyond what the curve shows.
    """
    group = groups[gaps.page]
    shown = gaps.closed & (gaps.length <= LENGTHS)
    places = np.minimum(gaps.length, LENGTHS) - 1

    def weigh(chosen: Bools) -> Floats:
        chosen = chosen & (group >= 0)
        flat = np.bincount(group[chosen] * LENGTHS + places[chosen], minlength=count * LENGTHS)
        return flat.reshape(count, LENGTHS).astype(np.float64) * page_size_bytes

    closed, alive = weigh(shown), weigh(~shown)
    return [Gaps(closed[i], np.zeros(LENGTHS), alive[i]) for i in range(count)]


def count_halves(trace: PageTrace, accesses: Ints) -> Floats:
    """Accesses of each page in even and in odd intervals [m, 2], from those of each row."""
    halves = np.zeros((trace.pages, 2))
    np.add.at(halves, (trace.row_page, trace.row_interval % 2), accesses)
    return halves
