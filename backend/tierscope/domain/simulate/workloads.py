"""Synthetic page traces: mixes of page populations, and patterns that stand for one behaviour. All are simulated.

A workload is a mix of page populations. A population has a page kind, a share of the memory, a time over which its
pages are born, and a rate: the chance that one of its pages is touched in an interval, and how often it then is. One
seed gives one trace.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.vocabulary import PageKind
from tierscope.domain.simulate.trace import TraceColumns

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

KINDS: tuple[PageKind, ...] = get_args(PageKind)
ZIPFIAN = 0.99
"""Exponent of YCSB's zipfian (Cooper et al., SoCC 2010, section 5.1; `ZipfianGenerator.ZIPFIAN_CONSTANT`)."""


@dataclass(frozen=True, slots=True)
class Population:
    """Pages that behave alike.

    `share` of the workload's pages. Born evenly over the intervals `born` (first, last), in order of address; gone
    after `lives` intervals if that is set, and then replaced by new ones. Touched in an interval with the chance
    `touched`; the accesses of a touch are lognormal about `accesses` with `spread` (standard deviation of the log).
    """

    kind: PageKind
    share: float
    touched: float
    accesses: float
    spread: float = 0.5
    born: tuple[int, int] = (0, 0)
    lives: int | None = None
    written: float = 0.3


def generate(populations: Sequence[Population], *, pages: int, intervals: int, seed: int) -> TraceColumns:
    """A trace of so many pages at any time. Raises ValueError for shares or sizes that cannot be."""
    if pages < 1 or intervals < 1:
        raise ValueError("a workload has at least one page and one interval")
    total = sum(population.share for population in populations)
    if total <= 0 or any(population.share < 0 for population in populations):
        raise ValueError("a population has a share below 0, or all have none")
    streams = np.random.SeedSequence(seed).spawn(len(populations))
    parts = [
        _populate(population, round(pages * population.share / total), intervals, np.random.default_rng(stream))
        for population, stream in zip(populations, streams, strict=True)
    ]
    return join_parts([part for part in parts if part is not None], intervals)


@dataclass(frozen=True, slots=True)
class Part:
    """Pages of one population with their rows; `row_page` counts within it."""

    kind: int
    first: Ints
    last: Ints
    row_interval: Ints
    row_page: Ints
    row_accesses: Ints
    row_written: npt.NDArray[np.bool_]


def join_parts(parts: Sequence[Part], intervals: int) -> TraceColumns:
    """One trace of several parts: pages in the order of the parts, rows in order of interval, then page."""
    if not parts:
        raise ValueError("the workload has no pages")
    starts = np.cumsum([0, *(len(part.first) for part in parts)])
    interval = np.concatenate([part.row_interval for part in parts])
    page = np.concatenate([part.row_page + start for part, start in zip(parts, starts, strict=False)])
    order = np.lexsort((page, interval))
    return TraceColumns(
        intervals=intervals,
        kinds=np.concatenate([np.full(len(part.first), part.kind, np.int64) for part in parts]),
        units=np.ones(int(starts[-1]), np.int64),
        first=np.concatenate([part.first for part in parts]),
        last=np.concatenate([part.last for part in parts]),
        row_interval=interval[order],
        row_page=page[order],
        row_accesses=np.concatenate([part.row_accesses for part in parts])[order],
        row_written=np.concatenate([part.row_written for part in parts])[order],
    )


def _populate(population: Population, pages: int, intervals: int, random: np.random.Generator) -> Part | None:
    if pages == 0:
        return None
    begin, end = population.born
    first = np.minimum(begin + np.arange(pages) * (end - begin + 1) // pages, intervals - 1).astype(np.int64)
    last = np.full(pages, intervals - 1, np.int64)
    if population.lives is not None:
        first, last = _replaced(first, population.lives, intervals, random)
    interval, page = _touches(first, last, population.touched, random)
    accesses = np.exp(random.normal(np.log(population.accesses), population.spread, len(page)))
    return Part(
        KINDS.index(population.kind),
        first,
        last,
        interval,
        page,
        np.maximum(np.rint(accesses), 1).astype(np.int64),
        random.random(len(page)) < population.written,
    )


def _replaced(first: Ints, lives: int, intervals: int, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Pages that live so long, and those that take their place, until the end. The first ones are of any age."""
    starts, ends = [], []
    start, left = first, random.integers(1, lives + 1, len(first))
    while len(start):
        end = np.minimum(start + left - 1, intervals - 1)
        starts.append(start)
        ends.append(end)
        going = end < intervals - 1
        start, left = end[going] + 1, np.full(int(going.sum()), lives)
    return np.concatenate(starts), np.concatenate(ends)


def _touches(first: Ints, last: Ints, chance: float, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Intervals and pages of all touches; a page is touched when it is born."""
    lengths = last - first + 1
    page = np.repeat(np.arange(len(first)), lengths)
    begins = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    within = np.arange(len(page)) - np.repeat(begins, lengths)
    touched = (within == 0) | (random.random(len(page)) < chance)
    return (first[page] + within)[touched], page[touched]


Pattern = Literal["zipf", "scan", "phase_change", "growth", "ping_pong"]
PATTERNS: tuple[Pattern, ...] = get_args(Pattern)


def make_pattern(name: Pattern, *, pages: int, intervals: int, seed: int) -> TraceColumns:
    """A pattern that stands for one behaviour alone, all anonymous memory.

    `zipf`: rates by rank with exponent 0.99, ranks scattered over the pages. `scan`: one pass over all pages after the
    other, a tenth of them in each interval. `phase_change`: a hot fifth that jumps to other pages every ten intervals.
    `growth`: memory grows from a fifth to all of it, the newest tenth hot. `ping_pong`: two halves of a set larger than
    DRAM of half the memory, hot in turn.
    """
    if pages < 1 or intervals < 1:
        raise ValueError("a pattern has at least one page and one interval")
    random = np.random.default_rng(np.random.SeedSequence(seed))
    rates = _PATTERNS[name](pages, intervals, random)
    counts = random.poisson(rates)
    first = np.zeros(pages, np.int64)
    if name == "growth":
        begin = pages // 5
        grown = np.arange(pages) - begin
        first = np.clip(-(-grown * intervals // max(pages - begin, 1)), 0, intervals - 1)
    counts[np.arange(intervals)[:, None] < first[None, :]] = 0
    counts[first, np.arange(pages)] = np.maximum(counts[first, np.arange(pages)], 1)
    interval, page = np.nonzero(counts)
    accesses = counts[interval, page].astype(np.int64)
    written = random.random(len(page)) < 0.3  # noqa: PLR2004 - share of writes
    last = np.full(pages, intervals - 1, np.int64)
    part = Part(0, first, last, interval.astype(np.int64), page.astype(np.int64), accesses, written)
    return join_parts([part], intervals)


def _zipf(pages: int, intervals: int, random: np.random.Generator) -> Floats:
    return np.broadcast_to(random.permutation(zipfian(pages) * 20 * pages), (intervals, pages))


def zipfian(items: int, exponent: float = ZIPFIAN) -> Floats:
    """Shares of requests by rank: rank i is asked for in proportion to 1 / i^exponent [items]."""
    weights = np.arange(1, items + 1, dtype=np.float64) ** -exponent
    shares: Floats = weights / weights.sum()
    return shares


def _scan(pages: int, intervals: int, random: np.random.Generator) -> Floats:
    del random
    step = np.arange(pages) * 10 // pages
    return np.where(step[None, :] == np.arange(intervals)[:, None] % 10, 5.0, 0.0)


def _phase_change(pages: int, intervals: int, random: np.random.Generator) -> Floats:
    place = random.permutation(pages) * 5 // pages
    hot = (np.arange(intervals) // 10 % 5)[:, None] == place[None, :]
    return np.where(hot, 60.0, 0.05)


def _growth(pages: int, intervals: int, random: np.random.Generator) -> Floats:
    del random
    grown = pages // 5 + np.arange(intervals) * (pages - pages // 5) // max(intervals, 1)
    at = np.arange(pages)[None, :]
    return np.where((at < grown[:, None]) & (at >= (grown - pages // 10)[:, None]), 60.0, 0.1)


def _ping_pong(pages: int, intervals: int, random: np.random.Generator) -> Floats:
    place = random.permutation(pages) * 10 // pages
    turn = np.arange(intervals)[:, None] // 2 % 2
    hot = np.where(turn == 0, place[None, :] < 4, (place[None, :] >= 4) & (place[None, :] < 8))  # noqa: PLR2004 - fifths
    return np.where(hot, 60.0, 0.1)


_PATTERNS: Mapping[Pattern, Callable[[int, int, np.random.Generator], Floats]] = {
    "zipf": _zipf,
    "scan": _scan,
    "phase_change": _phase_change,
    "growth": _growth,
    "ping_pong": _ping_pong,
}
