"""Synthetic page traces of request-driven workloads: YCSB's core workloads, embedding tables, pmbench, MEMO's patterns.

Written from the papers and from the definitions that YCSB ships; no code of theirs. All are simulated, and one seed
gives one trace. A generator gives the expected accesses of each page and interval; the accesses are Poisson about them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy

from tierscope.domain.simulate.trace import TraceColumns
from tierscope.domain.simulate.workloads import Part, join_parts, zipfian

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

RECORDS_PER_PAGE = 4
"""YCSB's records are of 10 fields of 100 bytes: four of them in a page of 4 KiB, without the store's own overhead."""
ACCESSES_PER_PAGE = 20.0
"""Mean accesses of a page in an interval [A]: enough to tell pages apart, few enough to count."""
MAX_SCAN = 100
"""Longest scan of workload E; lengths are uniform from 1 (`workloads/workloade`: `maxscanlength`)."""

Mix = Literal["ycsb_a", "ycsb_b", "ycsb_c", "ycsb_d", "ycsb_e", "ycsb_f"]


@dataclass(frozen=True, slots=True)
class Operations:
    """Shares of operations of a YCSB workload (`workloads/workloada` to `workloadf`), and whom they ask for."""

    read: float = 0.0
    update: float = 0.0
    insert: float = 0.0
    scan: float = 0.0
    read_modify_write: float = 0.0
    distribution: Literal["zipfian", "latest"] = "zipfian"

    @property
    def written_ratio(self) -> float:
        """Share of accesses to records that write; a read-modify-write reads a record and then writes it."""
        writes = self.update + self.insert + self.read_modify_write
        accesses = self.read + self.update + self.insert + 2 * self.read_modify_write + self.scan * (MAX_SCAN + 1) / 2
        return writes / accesses


YCSB: Mapping[Mix, Operations] = {
    "ycsb_a": Operations(read=0.5, update=0.5),
    "ycsb_b": Operations(read=0.95, update=0.05),
    "ycsb_c": Operations(read=1.0),
    "ycsb_d": Operations(read=0.95, insert=0.05, distribution="latest"),
    "ycsb_e": Operations(scan=0.95, insert=0.05),
    "ycsb_f": Operations(read=0.5, read_modify_write=0.5),
}


@dataclass(frozen=True, slots=True)
class Made:
    """Expected accesses [intervals, pages], the interval in which each page appears, and the share of writes."""

    rates: Floats
    first: Ints
    written_ratio: float


Pattern = Literal[
    "ycsb_a",
    "ycsb_b",
    "ycsb_c",
    "ycsb_d",
    "ycsb_e",
    "ycsb_f",
    "dlrm_embeddings",
    "pmbench",
    "memo_sequential",
    "memo_random_block",
    "memo_pointer_chase",
]
REQUEST_PATTERNS: tuple[Pattern, ...] = get_args(Pattern)


def make_requests(name: Pattern, *, pages: int, intervals: int, seed: int) -> TraceColumns:
    """A request-driven workload of so many pages at the end. Raises ValueError for sizes that cannot be."""
    if pages < 1 or intervals < 1:
        raise ValueError("a workload has at least one page and one interval")
    random = np.random.default_rng(np.random.SeedSequence(seed))
    made = _MAKERS[name](pages, intervals, random)
    counts = random.poisson(made.rates)
    # A page is written when it appears.
    counts[made.first, np.arange(pages)] = np.maximum(counts[made.first, np.arange(pages)], 1)
    interval, page = np.nonzero(counts)
    accesses = counts[interval, page].astype(np.int64)
    # Any of the accesses may have been the one that writes.
    written = random.random(len(page)) < 1.0 - (1.0 - made.written_ratio) ** accesses
    last = np.full(pages, intervals - 1, np.int64)
    part = Part(
        0, made.first, last, interval.astype(np.int64), page.astype(np.int64), accesses, written | (interval == 0)
    )
    return join_parts([part], intervals)


def _ycsb(name: Mix) -> Callable[[int, int, np.random.Generator], Made]:
    mix = YCSB[name]

    def make(pages: int, intervals: int, random: np.random.Generator) -> Made:
        if mix.distribution == "latest":
            return _latest(pages, intervals, mix)
        records = pages * RECORDS_PER_PAGE
        # Scrambled: the hash of a key has nothing to do with its popularity, and where a store puts a record neither.
        popular = random.permutation(zipfian(records))
        if mix.scan:
            popular = random.permutation(_scanned(popular))
        return Made(_steady(_by_page(popular), intervals), np.zeros(pages, np.int64), mix.written_ratio)

    return make


def _scanned(start: Floats) -> Floats:
    """Shares of the records that scans read, by key: a scan begins at `start` and reads 1 to `MAX_SCAN` keys on."""
    reaches = 1.0 - np.arange(MAX_SCAN) / MAX_SCAN
    read: Floats = np.maximum(scipy.signal.fftconvolve(start, reaches)[: len(start)], 0.0)
    read /= read.sum()
    return read


def _latest(pages: int, intervals: int, mix: Operations) -> Made:
    """Records are asked for by age: the newest is rank 1 (`SkewedLatestGenerator`). Inserts make memory grow.

    They fill the last fifth of the pages over the trace: in YCSB their share of operations, here in proportion to it.
    """
    kept = pages - pages // 5
    ends = kept + (np.arange(1, intervals + 1) * (pages - kept)) // intervals
    first = np.maximum(np.searchsorted(ends, np.arange(pages), side="right"), 0)
    rates = np.zeros((intervals, pages))
    for at, end in enumerate(ends):
        rates[at, :end] = _by_page(zipfian(int(end) * RECORDS_PER_PAGE))[::-1]
    return Made(rates * ACCESSES_PER_PAGE * pages, np.minimum(first, intervals - 1).astype(np.int64), mix.written_ratio)


def _by_page(records: Floats) -> Floats:
    pages: Floats = records.reshape(-1, RECORDS_PER_PAGE).sum(axis=1)
    return pages


def _steady(shares: Floats, intervals: int) -> Floats:
    rates = shares / shares.sum() * (ACCESSES_PER_PAGE * len(shares))
    return np.broadcast_to(rates, (intervals, len(shares)))


_TABLES = 8
_TABLE_EXPONENTS = (0.6, 1.05)


def _dlrm_embeddings(pages: int, intervals: int, random: np.random.Generator) -> Made:
    """Tables of one size, each asked for as often, rows by rank; exponents spread evenly over the tables [A]."""
    edges = np.linspace(0, pages, _TABLES + 1).astype(np.int64)
    shares = [
        random.permutation(zipfian(int(count), exponent))
        for count, exponent in zip(np.diff(edges), np.linspace(*_TABLE_EXPONENTS, _TABLES), strict=True)
        if count
    ]
    return Made(_steady(np.concatenate(shares), intervals), np.zeros(pages, np.int64), 0.0)


SIGMA = 0.15
"""Standard deviation of pmbench's normal distribution, as a share of memory [A]."""


def normal_rates(pages: int) -> Floats:
    """Relative accesses by address, normally distributed about the middle, [pages]."""
    distance = (np.arange(pages) - pages / 2) / pages
    rates: Floats = np.exp(-(distance**2) / (2 * SIGMA**2))
    return rates


def _pmbench(pages: int, intervals: int, random: np.random.Generator) -> Made:
    return Made(_steady(random.permutation(normal_rates(pages)), intervals), np.zeros(pages, np.int64), 0.2)


def _memo_sequential(pages: int, intervals: int, random: np.random.Generator) -> Made:
    """All pages in turn, again and again, many times in an interval: every page alike."""
    del random
    return Made(_steady(np.ones(pages), intervals), np.zeros(pages, np.int64), 0.0)


_BLOCK_PAGES = 4
_BLOCKS_RATIO = 0.25


def _memo_random_block(pages: int, intervals: int, random: np.random.Generator) -> Made:
    """Blocks of 16 KiB at random places, all of a block read at once; a quarter of them in an interval [A]."""
    blocks = -(-pages // _BLOCK_PAGES)
    drawn = random.random((intervals, blocks)) < _BLOCKS_RATIO
    rates = np.repeat(drawn, _BLOCK_PAGES, axis=1)[:, :pages] * (ACCESSES_PER_PAGE / _BLOCKS_RATIO)
    return Made(rates.astype(np.float64), np.zeros(pages, np.int64), 0.0)


def _memo_pointer_chase(pages: int, intervals: int, random: np.random.Generator) -> Made:
    """A ring through all pages in random order: every page once a round, few rounds in an interval [A]."""
    del random
    return Made(_steady(np.ones(pages), intervals) / ACCESSES_PER_PAGE * 2, np.zeros(pages, np.int64), 0.0)


_MAKERS: Mapping[Pattern, Callable[[int, int, np.random.Generator], Made]] = {
    **{name: _ycsb(name) for name in YCSB},
    "dlrm_embeddings": _dlrm_embeddings,
    "pmbench": _pmbench,
    "memo_sequential": _memo_sequential,
    "memo_random_block": _memo_random_block,
    "memo_pointer_chase": _memo_pointer_chase,
}
