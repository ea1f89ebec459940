"""Records of DAMON as damo writes them: monitored regions, snapshot by snapshot, and page traces as such records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.vocabulary import PageKind

Ints = npt.NDArray[np.int64]

NOT_RECORDED = -1
"""Age of a region whose record has none."""


@dataclass(frozen=True, slots=True)
class Regions:
    """Regions of one snapshot by address, arrays [n].

    `start` and `end` in bytes, `accesses` as checks that found one, `age` in aggregation intervals.
    """

    start: Ints
    end: Ints
    accesses: Ints
    age: Ints


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was monitored in (`start_ns`, `end_ns`] of the recorded host's monotonic clock."""

    start_ns: int
    end_ns: int
    regions: Regions


@dataclass(frozen=True, slots=True)
class Record:
    """The snapshots of one target; `intervals_us` are those of sampling and aggregation, None where not recorded."""

    kdamond: int
    context: int
    target: int
    intervals_us: tuple[int, int] | None
    snapshots: Iterator[Snapshot]


@dataclass(frozen=True, slots=True)
class PageRows:
    """Rows [r] of a page trace: the page, by its number, was accessed in the interval, counted from 0."""

    intervals: int
    page_size_bytes: int
    interval_ns: int
    interval: Ints
    kind: Ints
    page: Ints


def records_of_pages(rows: PageRows, kinds: Sequence[PageKind]) -> list[Record]:
    """A page trace as DAMON would record it with one check of every page per interval: a record for each kind.

    The target's number is the place of its kind in `kinds`: numbers of pages are of a kind. Every page that the trace
    names is monitored from the start, as DAMON monitors an address range whether it is touched or not. Neighbouring
    pages of one state are one region; its age is the mean of theirs, rounded down, as DAMON merges regions
    (mm/damon/core.c, damon_merge_two_regions).

    Raises:
        ValueError: a page has no address below 2^63.
    """
    most = (2**63 - 1) // rows.page_size_bytes - 1
    if len(rows.page) and (rows.page.min() < 0 or rows.page.max() > most):
        raise ValueError(f"a page has no address below 2^63: numbers of pages end at {most}")
    length_us = rows.interval_ns // 1000
    return [
        Record(0, 0, target, (length_us, length_us), _snapshots(rows, rows.kind == target))
        for target in range(len(kinds))
        if np.any(rows.kind == target)
    ]


def _snapshots(rows: PageRows, chosen: npt.NDArray[np.bool_]) -> Iterator[Snapshot]:
    pages, place = np.unique(rows.page[chosen], return_inverse=True)
    order = np.argsort(rows.interval[chosen], kind="stable")
    ends = np.searchsorted(rows.interval[chosen][order], np.arange(rows.intervals + 1))
    breaks = np.diff(pages) != 1
    active, age = np.zeros(len(pages), np.bool_), np.zeros(len(pages), np.int64)
    for number in range(rows.intervals):
        now = np.zeros(len(pages), np.bool_)
        now[place[order[ends[number] : ends[number + 1]]]] = True
        age = np.where(now == active, age + 1, 0) if number else age
        active = now
        first = np.flatnonzero(np.concatenate([[True], breaks | (now[1:] != now[:-1])]))
        last = np.append(first[1:], len(pages)) - 1
        regions = Regions(
            start=pages[first] * rows.page_size_bytes,
            end=(pages[last] + 1) * rows.page_size_bytes,
            accesses=now[first].astype(np.int64),
            age=np.add.reduceat(age, first) // (last - first + 1),
        )
        yield Snapshot(number * rows.interval_ns, (number + 1) * rows.interval_ns, regions)
