"""Tierscope's compiled core: page fold, readers of recordings, simulator. Kinds are anon, file and tmpfs."""

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint32]

__version__: str

def pack_bytes(raw: bytes) -> bytes:
    """A part of a block: bytes, as a frame of zstd where that is smaller."""

def unpack_bytes(part: bytes) -> bytes:
    """The bytes that `pack_bytes` was given. Raises ValueError with the cause."""

def pack_floats(columns: Floats) -> bytes:
    """A part of a block: columns [c, n] of float64, NaN where missing."""

def pack_ints(columns: Ints, present: Bools | None = None, *, dictionaries: bool = True) -> bytes:
    """A part of a block: columns [c, n] of int64; `present` [c, n], None = all; `dictionaries`: whether to try them."""

def unpack_floats(part: bytes, n: int) -> Floats:
    """The columns [c, n] of a part of n rows as float64, NaN where missing. Raises ValueError with the cause."""

def unpack_ints(part: bytes, n: int, places: Sequence[int] | None = None) -> tuple[Ints, Bools]:
    """The columns [c, n] of a part of n integer rows, 0 where missing, and which are present [c, n].

    `places`: of these columns alone, ascending. Raises ValueError with the cause.
    """

class DamoRecord:
    """What one target of a record of damo did, snapshot by snapshot; regions that overlapped are clipped."""

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Of the kdamond, of its context, of the context's target."""
    @property
    def intervals_ns(self) -> tuple[int, int] | None:
        """Sampling and aggregation interval, where the record says."""
    @property
    def overlaps(self) -> tuple[int, int, int]:
        """Snapshots with regions that overlap, such regions, and bytes that were recorded twice."""
    def snapshots(self) -> tuple[Ints, Ints, Ints]:
        """Start and end in nanoseconds, and number of regions of each."""
    def regions(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Start, end, accesses and age (-1 where not recorded) of the regions of all snapshots in turn."""
    def working_set(
        self, threshold: int, excluded: int, percents: list[int]
    ) -> tuple[int, int, list[int], list[int]] | None:
        """As `damo report wss`: snapshots, average, percentiles by size and by time, in bytes; None without any."""

class HeatFold:
    """Folds packs of heat rows by page kind, tier and page size, as `tierscope.domain.heat.folding` folds rows."""

    def __init__(
        self,
        columns: Sequence[tuple[str, int, str, int | None]],
        *,
        edges: Sequence[int],
        hot_window: int,
        most_kind: int,
        small_page_bytes: int,
    ) -> None:
        """`columns`: name, values per stratum, rule and what stands for it, in the order in which rows are packed."""
    def fold(self, bodies: Sequence[bytes]) -> tuple[Ints, list[tuple[int, str, int]], list[Ints], int] | None:
        """Ends of t intervals, g groups in order, each sum as t * g * width numbers, longest run of valid intervals.

        None where rows are not in ascending order or not packed as this reads them.
        """

def recognise_file(path: str | os.PathLike[str]) -> tuple[str, str, str | None] | None:
    """What a file is, what to do with it, and how `analyze` calls it where it takes it. None where nothing tells.

    Raises:
        OSError: it cannot be read.
    """

def looks_like_damo(head: bytes) -> bool:
    """Whether a file that begins so is a record of damo."""

def read_damo(path: str | os.PathLike[str]) -> list[DamoRecord]:
    """Read a record in any of its forms. Raises OSError, and ValueError with the cause."""

class PageTrace:
    """A page trace in memory: its accesses by interval, and what is true of them. Raises ValueError with the cause."""

    def __init__(self, path: str | os.PathLike[str], merged: int = 1, max_rows: int | None = None) -> None: ...
    @property
    def page_size_bytes(self) -> int: ...
    @property
    def interval_seconds(self) -> float | None: ...
    @property
    def intervals(self) -> int: ...
    def rows(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Interval from 0, kind, page number as signed 64 bits, loads and stores of each row."""
    def sample_pages(self, interval_ns: int) -> list[tuple[int, float, list[Ints]]]:
        """The blocks of sampled pages that the agent sends of the trace: end from its beginning, ratio, columns.

        Columns: before the end and observed [intervals]; id, kind, size, first and last interval [pages]; interval,
        page, loads and stores [rows].
        """
    @property
    def resident_pages(self) -> Ints: ...
    @property
    def loaded_pages(self) -> Ints: ...
    @property
    def loads(self) -> Ints: ...

class SampledFold:
    """What the fold says of a sampled trace: [intervals, kinds], or [intervals, windows of 1, 2, 5, 10, kinds]."""

    @property
    def load_samples(self) -> Ints: ...
    @property
    def store_samples(self) -> Ints: ...
    @property
    def distinct_pages(self) -> Ints: ...
    @property
    def f1_pages(self) -> Ints: ...
    @property
    def f2_pages(self) -> Ints: ...
    @property
    def resident_bytes(self) -> Ints: ...

def fold_sampled_trace(
    trace: PageTrace, *, period_events: float, core_groups: int, enabled_groups: int, seed: int
) -> SampledFold:
    """Sample a trace as hardware samples and fold it. Raises ValueError for settings that cannot be."""

class SimulationTrace:
    """A trace that is ready to be replayed. Raises ValueError that names the row or the page."""

    def __init__(
        self,
        intervals: int,
        *,
        kinds: Bytes,
        units: Words,
        first: Words,
        last: Words,
        row_interval: Words,
        row_page: Words,
        row_accesses: Words,
        row_written: Bools,
        tenants: Bytes | None = None,
    ) -> None: ...
    @staticmethod
    def of_recording(recording: PageTrace) -> SimulationTrace:
        """A recording as a trace: each page is resident from its first access to the end."""
    @property
    def intervals(self) -> int: ...
    @property
    def pages(self) -> int: ...
    @property
    def accesses(self) -> int: ...
    @property
    def touched(self) -> int: ...
    @property
    def peak_units(self) -> int: ...
    @property
    def largest_units(self) -> int: ...
    def read_once_units(self) -> int:
        """Base pages of files that were accessed in one interval at most."""
    def oracle(self, dram_units: int) -> Floats:
        """Accesses that the densest pages of each interval take, [intervals]."""
    def simulate(
        self,
        policy: str,
        settings: Mapping[str, float],
        *,
        seed: int | None = None,
        group: Sequence[tuple[int, int, int | None]] = (),
        with_swap: bool = False,
        tenants: Sequence[tuple[int, int | None]] = (),
        armed_units: Sequence[int] = (),
    ) -> SimulationOutcome:
        """Replay the trace. Raises ValueError for settings that cannot be.

        `group`: what is asked of the service's control group: interval, units to reclaim, limit of its units.
        `with_swap`: remember what pages do on swap.
        `tenants`: of each its `memory.low` and its limit of DRAM, in units; with none, the trace is one service's.
        `armed_units`: units of the slower tier that a recorded scanner armed in each interval.
        """

class SimulationOutcome:
    """What a simulation says of each interval, in base pages."""

    @property
    def accesses(self) -> Ints:
        """By kind and place (DRAM, slower tier, away), [intervals, 3, 3]."""
    @property
    def promoted(self) -> Ints:
        """By kind, [intervals, 3]."""
    @property
    def demoted(self) -> Ints:
        """By kind, [intervals, 3]."""
    @property
    def used(self) -> Ints:
        """Resident by tier (DRAM, slower) and kind, [intervals, 2, 3]."""
    def swap_traffic(self) -> list[Words] | None:
        """Interval, page from 0, and 0 out, 1 in or 2 stale, of base pages in order; None unless asked for."""
    @property
    def tenants(self) -> Ints:
        """By tenant: accesses by place, resident by tier, demoted, [intervals, tenants, 6]."""
    def figures(self) -> list[tuple[str, Floats]]:
        """The other figures by name, [intervals] each."""

Labels: TypeAlias = list[tuple[str, str]]
"""Of a series, by name; `__name__` is the metric's."""

class SeriesIndex:
    """Which series of Prometheus have which ids, remembered for all threads."""

    def __init__(self, seed: int, most: int) -> None:
        """Forgets everything once it holds more than `most` series; `seed` is random."""
    def __len__(self) -> int: ...
    def clear(self) -> None: ...
    def read(
        self, body: bytes, *, version: int = 1, inflated_bytes: int, samples: int, oldest_ms: int, newest_ms: int
    ) -> WriteRequest:
        """Read a compressed request of remote write 1.0 or 2.0.

        Raises OverflowError over a limit, ValueError for a body that is not readable.
        """

class WriteRequest:
    """A request that was read."""

    def __len__(self) -> int: ...
    def unknown(self) -> list[Labels]:
        """Label sets that the index does not know."""
    def resolve(self, index: SeriesIndex, found: list[tuple[int, int] | None]) -> None:
        """Say where the unknown series are stored, as (series, target); None leaves one out."""
    def histogram_series(self) -> list[int]:
        """The stored series that brought native histograms, which are not kept."""
    def refusals(self) -> tuple[int, str | None, int, int]:
        """Samples left out: labels that do not fit, the first such reason, too old, too far ahead."""

def pack_requests(
    requests: list[WriteRequest], hour_ms: int, level: int
) -> list[tuple[int, int, int, int, int, bytes]]:
    """By target and hour: target, start of the hour, oldest and newest time in milliseconds, samples, bytes."""

def join_bodies(bodies: list[bytes], level: int) -> tuple[int, int, int, bytes] | None:
    """Samples, oldest and newest time, bytes; None without samples. Raises ValueError for bytes that are no body."""

def read_bodies(bodies: list[bytes], series: Ints, start_ms: int, end_ms: int) -> tuple[Ints, Ints, Floats]:
    """Samples of some series in (start, end], by series and time: ids, milliseconds, values."""

def fold_counters(
    bodies: list[bytes],
    series: Ints,
    places: Ints,
    scales: Floats,
    held_ms: Ints,
    columns: int,
    start_ms: int,
    end_ms: int,
) -> tuple[Ints, Ints, Bools]:
    """Rows of counters of (start, end]: times in milliseconds, values and presence row by row over the columns.

    `held_ms`: how long values of a series stand; 0 where they belong to the row of their scrape.
    """

def write_request(series: list[tuple[Labels, Ints, Floats]]) -> bytes:
    """A compressed request of series with times in milliseconds and values, as Prometheus sends it."""

def read_selectors(body: bytes, most: int) -> list[tuple[int, int, list[tuple[str, str, str]]]]:
    """Selectors of a compressed request of remote read, at most so many, with as many conditions.

    Start and end in milliseconds, both included, and conditions as (label, operator, value). Raises OverflowError over
    a limit, ValueError for a body that is none.
    """

def read_answer(results: list[list[tuple[Labels, Ints, Floats]]]) -> bytes:
    """The compressed answer of remote read: the series of each selector with times in milliseconds and values."""

class SwapDeviceFull(ValueError):
    """The swap area, or the flash below it, has no room left."""

def run_swap_device(
    backend: str, settings: Mapping[str, float], tenants: list[dict[str, float]], *, seed: int
) -> tuple[dict[str, float | None], list[dict[str, float | None]]]:
    """Figures of a swap device, then of each tenant; None where there is none. Settings as in `domain/simulate`.

    Raises ValueError that names the setting, and SwapDeviceFull.
    """

def play_swap_traffic(
    backend: str,
    settings: Mapping[str, float],
    *,
    at_ns: npt.NDArray[np.uint64],
    page: Words,
    step: Words,
    pass_ns: int,
    seed: int,
) -> tuple[dict[str, float | None], list[dict[str, float | None]]]:
    """Figures of a swap device under the swap traffic of a replay, then of that traffic.

    Also `asked_ns`, what the measured passes take on a device that keeps up, and `is_settled`. Raises as
    `run_swap_device` does.
    """

def grouped_rows(groups: list[list[int]], fields: list[tuple[str, object]]) -> bytes:
    """Rows for COPY that each take some entries of columns. Raises ValueError where a column has too few entries."""

def int8_matrix_rows(leading: list[Ints | npt.NDArray[np.int16] | None], values: Ints, present: Bools | None) -> bytes:
    """Rows for COPY: fixed fields, then one bigint[] each. Raises ValueError where lengths differ."""
