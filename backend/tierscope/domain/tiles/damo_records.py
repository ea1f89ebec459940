"""Records of DAMON as damo writes them: regions, snapshot by snapshot; page traces and stored tiles as such records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.vocabulary import PageKind
from tierscope.domain.tiles.levels import TOP, Cells, Scale, to_activity
from tierscope.domain.tiles.rows import Row

Ints = npt.NDArray[np.int64]

CHECKS = 100
"""Checks in an interval of stored tiles: activity is written in hundredths."""
ALIGNMENT_BYTES = 2 << 20
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


def place_rows(rows: Sequence[Row]) -> Ints:
    """Addresses [n] of rows that are known by mapping and offset: mappings stand one after another, with gaps.

    Where a mapping lay on its host is not stored. Offsets within one are kept, and each begins at a multiple of 2 MiB
    behind a gap of at least that, so that regions of two never touch.
    """
    ends: dict[tuple[int, str], tuple[int, int]] = {}
    for kind, mapping, offset, size in rows:
        low, high = ends.get((kind, mapping), (offset, offset))
        ends[kind, mapping] = min(low, offset), max(high, offset + size)
    bases, free = {}, ALIGNMENT_BYTES
    for key, (low, high) in ends.items():
        bases[key] = free - low
        free = (free + high - low + 2 * ALIGNMENT_BYTES - 1) // ALIGNMENT_BYTES * ALIGNMENT_BYTES
    return np.array([bases[kind, mapping] + offset for kind, mapping, offset, _ in rows], np.int64)


def record_of_tiles(
    rows: Sequence[Row], columns: Sequence[tuple[int, bytes]], interval_ns: int, scale: Scale, full: float, target: int
) -> Record:
    """Tiles as DAMON would record them with 100 checks in each of their intervals.

    Of a row that was measured `nr_accesses` is its activity in hundredths of `full`, rounded, and at least 1 where
    there was any. Rows that were not sampled, not resident or not collected are not monitored in that snapshot.
    Neighbouring rows of one activity are one region; its age is the mean of theirs, rounded down, and starts anew after
    a gap.

    Args:
        rows: what a cell of a column is of, in order.
        columns: (end in microseconds of Unix time, one byte per row), in order of time.
        interval_ns: time in a column.
        scale: what cells stand for.
        full: the activity per byte that counts as 100.
        target: number of the target.
    """
    length_us = interval_ns // 1000
    return Record(
        0, 0, target, (length_us // CHECKS, length_us), _tile_snapshots(rows, columns, interval_ns, scale, full)
    )


def most_active(columns: Sequence[tuple[int, bytes]], scale: Scale) -> float:
    """The greatest activity per byte of any cell; 0 where none was active."""
    known = [cells[cells <= TOP].max(initial=0) for cells in (np.frombuffer(body, np.uint8) for _, body in columns)]
    return float(to_activity(np.array([max(known, default=0)], np.uint8), scale)[0])


def _tile_snapshots(
    rows: Sequence[Row], columns: Sequence[tuple[int, bytes]], interval_ns: int, scale: Scale, full: float
) -> Iterator[Snapshot]:
    start, size = place_rows(rows), np.array([row[3] for row in rows], np.int64)
    order = np.argsort(start, kind="stable")
    start, size = start[order], size[order]
    checks = _checks(np.arange(256, dtype=np.uint8), scale, full)
    before, age, last_us = np.full(len(rows), -1, np.int64), np.zeros(len(rows), np.int64), None
    for end_us, body in columns:
        now = checks[np.frombuffer(body, np.uint8)[order]]
        follows = last_us is not None and end_us - last_us <= 1.5 * interval_ns / 1000
        age = np.where((now == before) & follows, age + 1, 0)
        before, last_us = now, end_us
        seen = np.flatnonzero(now >= 0)
        touches = (start[seen][1:] == start[seen][:-1] + size[seen][:-1]) & (now[seen][1:] == now[seen][:-1])
        first = np.flatnonzero(np.concatenate([[True], ~touches])) if len(seen) else np.empty(0, np.int64)
        last = np.append(first[1:], len(seen)) - 1 if len(seen) else first
        regions = Regions(
            start=start[seen][first],
            end=start[seen][last] + size[seen][last],
            accesses=now[seen][first],
            age=np.add.reduceat(age[seen], first) // (last - first + 1) if len(seen) else first,
        )
        yield Snapshot(end_us * 1000 - interval_ns, end_us * 1000, regions)


def _checks(cells: Cells, scale: Scale, full: float) -> Ints:
    """Checks that found an access, of 100; -1 where a cell says nothing."""
    activity = to_activity(cells, scale)
    found = np.nan_to_num(np.rint(np.clip(activity / full, 0.0, 1.0) * CHECKS) if full > 0 else activity)
    found = np.where(activity > 0, np.maximum(found, 1), found)
    return np.where(np.isfinite(activity), found, -1).astype(np.int64)
