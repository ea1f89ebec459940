"""Page traces from files. Reading them needs the compiled core."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tierscope.domain.base.compiled import compiled_core
from tierscope.domain.curve import page_traces
from tierscope.domain.curve.sample_blocks import SampledPages
from tierscope.domain.heat.rows import BACKENDS, GRANULARITIES, Method
from tierscope.storage.curve.page_samples import SampleHead

if TYPE_CHECKING:
    from tierscope_simcore import PageTrace as PageTrace  # noqa: PLC0414 - others take the type from here


def read_page_trace(path: Path, *, max_rows: int | None = None) -> "PageTrace":
    """Read a page trace (Parquet) of at most `max_rows` rows; None: the reader's own limit.

    Raises:
        ValueError: The file is no page trace; the message names the cause.
        RuntimeError: The compiled core is not built, or is older than this program.
    """
    core = compiled_core("PageTrace", "page traces are read by")
    limits = {} if max_rows is None else {"max_rows": max_rows}
    trace: PageTrace = core.PageTrace(path, **limits)
    return trace


@dataclass(frozen=True, slots=True)
class RecordedTrace:
    """A page trace with loads and stores added up, and what its file says beside. `interval_seconds` None if unsaid."""

    trace: page_traces.PageTrace
    interval_seconds: float | None
    loads: int
    stores: int


def read_recorded(path: Path) -> RecordedTrace:
    """Read a page trace (Parquet) for analysis.

    Raises:
        ValueError: The file is no page trace; the message names the cause.
        RuntimeError: The compiled core is not built, or is older than this program.
    """
    return count_rows(read_page_trace(path))


def count_rows(recording: "PageTrace") -> RecordedTrace:
    """The pages and accesses of a trace that was read.

    Raises:
        RuntimeError: The compiled core is older than this program.
    """
    if not hasattr(recording, "rows"):
        raise RuntimeError("the compiled core is older than this program: run `make simcore`")
    interval, kind, page, loads, stores = recording.rows()
    trace = page_traces.make_trace(
        intervals=recording.intervals,
        page_size_bytes=recording.page_size_bytes,
        interval=interval,
        kind=kind,
        page=page,
        accesses=loads + stores,
    )
    return RecordedTrace(trace, recording.interval_seconds, int(loads.sum()), int(stores.sum()))


def sample_recorded(
    recording: "PageTrace", group: str, *, interval_ns: int, end_us: int
) -> list[tuple[SampleHead, SampledPages]]:
    """The blocks of sampled pages that an import of the trace stores, with the same pages.

    The last one ends at `end_us`.

    Raises:
        RuntimeError: The compiled core is older than this program.
    """
    if not hasattr(recording, "sample_pages"):
        raise RuntimeError("the compiled core is older than this program: run `make simcore`")
    method = Method(BACKENDS.index("trace"), GRANULARITIES.index("page"), interval_ns)
    begin_us = end_us - recording.intervals * interval_ns // 1000
    found = []
    for block_end_ns, ratio, columns in recording.sample_pages(interval_ns):
        before_end_ns, observed, *rest = columns
        pages = SampledPages(before_end_ns, observed.astype(np.bool_), *rest)
        pages = replace(pages, kinds=pages.kinds + 1)  # stored kinds begin with the one that is not known
        head = SampleHead(
            host_id=0,
            end_us=begin_us + block_end_ns // 1000,
            group=group,
            method=method,
            sampled_ratio=ratio,
            counts=True,
            period_events=None,
            duty_ratio=None,
            n_intervals=len(pages.before_end_ns),
            n_pages=len(pages.page_ids),
            n_rows=len(pages.row_interval),
        )
        found.append((head, pages))
    return found
