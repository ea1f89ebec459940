"""Page traces from files. Reading them needs the compiled core."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tierscope.domain.base.compiled import compiled_core
from tierscope.domain.curve import page_traces

if TYPE_CHECKING:
    from tierscope_simcore import PageTrace


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
