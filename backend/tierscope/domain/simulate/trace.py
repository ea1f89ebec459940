"""Traces for the simulator: columns of pages and rows, from recordings, page samples and generators."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.compiled import compiled_core
from tierscope.domain.base.page_size import MODEL_PAGE_BYTES
from tierscope.domain.curve.page_traces import PageTrace
from tierscope.domain.curve.sample_blocks import SampledPages

if TYPE_CHECKING:
    from tierscope_simcore import PageTrace as RecordedPages
    from tierscope_simcore import SimulationTrace as SimulationTrace  # noqa: PLC0414 - others take the type from here

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MAX_ACCESSES = 2**32 - 1
_REPLAYED = "traces are replayed by"


@dataclass(frozen=True, slots=True)
class TraceColumns:
    """A trace of m pages and r rows, rows in order of interval.

    `kinds` [m]: 0 anon, 1 file, 2 tmpfs. `units` [m]: base pages in a page. Resident from `first` to `last` [m].
    `row_accesses` [r] are loads and stores together, `row_written` [r] whether any was a store.
    """

    intervals: int
    kinds: Ints
    units: Ints
    first: Ints
    last: Ints
    row_interval: Ints
    row_page: Ints
    row_accesses: Ints
    row_written: Bools


def compile_trace(columns: TraceColumns, tenants: Ints | None = None) -> "SimulationTrace":
    """The trace as the compiled loop replays it. `tenants` [m]: whose each page is, from 0; None: all of one service.

    Raises:
        ValueError: names the row or the page that cannot be.
        RuntimeError: the compiled core is not built.
    """
    core = compiled_core("SimulationTrace", _REPLAYED)
    counts = columns.row_accesses
    bad = np.flatnonzero((counts < 0) | (counts > MAX_ACCESSES))
    if len(bad):
        raise ValueError(f"row {bad[0] + 1}: {counts[bad[0]]} accesses; 1 to {MAX_ACCESSES} can be simulated")
    for name in ("first", "last", "row_interval", "row_page", "units"):
        values = getattr(columns, name)
        wrong = np.flatnonzero((values < 0) | (values > MAX_ACCESSES))
        if len(wrong):
            raise ValueError(f"{name}[{wrong[0]}] is {values[wrong[0]]}, which cannot be")
    compiled: SimulationTrace = core.SimulationTrace(
        columns.intervals,
        kinds=columns.kinds.astype(np.uint8),
        units=columns.units.astype(np.uint32),
        first=columns.first.astype(np.uint32),
        last=columns.last.astype(np.uint32),
        row_interval=columns.row_interval.astype(np.uint32),
        row_page=columns.row_page.astype(np.uint32),
        row_accesses=counts.astype(np.uint32),
        row_written=np.ascontiguousarray(columns.row_written),
        tenants=None if tenants is None else tenants.astype(np.uint8),
    )
    return compiled


def of_recording(recording: "RecordedPages") -> "SimulationTrace":
    """A page trace from a file: each page is resident from its first access to the end."""
    compiled: SimulationTrace = compiled_core("SimulationTrace", _REPLAYED).SimulationTrace.of_recording(recording)
    return compiled


def of_page_trace(trace: PageTrace, *, written: Bools | None = None) -> TraceColumns:
    """A trace whose accesses are all counted: each page is resident from its first access to the end."""
    first = np.full(trace.pages, trace.intervals, np.int64)
    np.minimum.at(first, trace.row_page, trace.row_interval)
    order = np.lexsort((trace.row_page, trace.row_interval))
    return TraceColumns(
        intervals=trace.intervals,
        kinds=trace.page_kinds,
        units=np.ones(trace.pages, np.int64),
        first=first,
        last=np.full(trace.pages, trace.intervals - 1, np.int64),
        row_interval=trace.row_interval[order],
        row_page=trace.row_page[order],
        row_accesses=trace.row_accesses[order],
        row_written=np.zeros(len(order), np.bool_) if written is None else written[order],
    )


@dataclass(frozen=True, slots=True)
class TimedSample:
    """A block of sampled pages with the number of the interval in which it ended, counted from the epoch."""

    last_interval_number: int
    pages: SampledPages


def of_sampled_pages(blocks: Sequence[TimedSample], *, interval_ns: int) -> TraceColumns:
    """Stored blocks of one host's sampled pages as one trace, with the accesses that they count.

    A page of the sample is resident from the first block that has it to the last. Intervals that were not observed
    have no rows: nothing is known of them, and nothing is accessed in them. Pages were chosen by hash, so that the
    trace is that of a machine smaller by the sampling rate.

    Raises:
        ValueError: there are no blocks.
    """
    if not blocks:
        raise ValueError("there is no page sample to replay")
    ids = np.concatenate([block.pages.page_ids for block in blocks])
    found, place_of = np.unique(ids, return_inverse=True)
    splits = np.split(place_of, np.cumsum([len(block.pages.page_ids) for block in blocks])[:-1])
    origin = min(int(_numbers(block, interval_ns)[0]) for block in blocks)
    first = np.full(len(found), np.iinfo(np.int64).max)
    last = np.full(len(found), -1, np.int64)
    kinds, units = np.zeros(len(found), np.int64), np.ones(len(found), np.int64)
    rows = []
    for block, pages in zip(blocks, splits, strict=True):
        sample, numbers = block.pages, _numbers(block, interval_ns) - origin
        np.minimum.at(first, pages, numbers[sample.first_interval])
        np.maximum.at(last, pages, numbers[sample.last_interval])
        kinds[pages] = sample.kinds - 1
        units[pages] = np.maximum(sample.page_sizes_bytes // MODEL_PAGE_BYTES, 1)
        seen = sample.observed[sample.row_interval]
        rows.append(
            np.stack(
                [
                    numbers[sample.row_interval[seen]],
                    pages[sample.row_page[seen]],
                    (sample.row_loads + sample.row_stores)[seen],
                    (sample.row_stores > 0)[seen],
                ]
            )
        )
    table = np.concatenate(rows, axis=1)
    table = table[:, np.lexsort((table[1], table[0]))]
    new = np.concatenate([[True], (np.diff(table[:2], axis=1) != 0).any(axis=0)])
    at = np.flatnonzero(new)
    return TraceColumns(
        intervals=int(last.max()) + 1,
        kinds=kinds,
        units=units,
        first=first,
        last=last,
        row_interval=table[0, at],
        row_page=table[1, at],
        row_accesses=np.maximum(np.add.reduceat(table[2], at), 1),
        row_written=np.add.reduceat(table[3], at) > 0,
    )


def _numbers(block: TimedSample, interval_ns: int) -> Ints:
    """Numbers of a block's intervals from the epoch."""
    before = (block.pages.before_end_ns + interval_ns // 2) // interval_ns
    return np.asarray(block.last_interval_number - before, np.int64)
