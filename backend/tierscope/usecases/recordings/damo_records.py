"""Records of damo without a database: the working set that damo reports of them, and export to its format."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tierscope.core.errors import ConfigurationError, Unprocessable
from tierscope.domain.base.copying import copied
from tierscope.domain.curve.page_traces import KINDS
from tierscope.domain.simulate.replay import INTERVAL_SECONDS
from tierscope.domain.tiles.damo_records import PageRows, Record, records_of_pages
from tierscope.storage.curve.page_traces import read_page_trace
from tierscope.storage.tiles.damo_records import ReadRecord, Recognised, is_damo_record, read_damo_records, recognise
from tierscope.usecases.tiles.damo_records import write_records

PERCENTS = tuple(range(0, 101, 5))
EXCLUDED_SNAPSHOTS = 20
"""Snapshots that `damo report wss` leaves out at the beginning unless told otherwise (`--exclude_samples`)."""


@dataclass(frozen=True, slots=True)
class WorkingSet:
    """`damo report wss` of one target: bytes of regions with an access, over snapshots without the first ones.

    Percentiles at `PERCENTS` of the snapshots, in order of size and of time.
    """

    snapshots: int
    average_bytes: int
    by_size_bytes: tuple[int, ...]
    by_time_bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TargetAnalysis:
    """What a record says of one target; `working_set` None with the `reason`."""

    kdamond: int
    context: int
    target: int
    sample_us: float | None
    aggregation_us: float | None
    snapshots: int
    regions: int
    span_seconds: float
    monitored_bytes: int
    overlapping_snapshots: int
    overlapping_regions: int
    overlapping_bytes: int
    working_set: WorkingSet | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: targets with their names, where they have one, and regions; notes on what was assumed."""

    targets: tuple[tuple[int, str | None], ...]
    regions: int
    notes: tuple[str, ...]


def tells_damo(path: Path) -> bool:
    """Whether a file is a record of damo.

    Raises:
        ConfigurationError: the compiled core is missing or old.
        Unprocessable: the file cannot be read.
    """
    try:
        return is_damo_record(path)
    except (OSError, RuntimeError) as error:
        _refuse(path, error)


def tell_file(path: Path) -> Recognised | None:
    """What a file is, by its content; None where nothing tells.

    Raises:
        ConfigurationError: the compiled core is missing or old.
        Unprocessable: the file cannot be read.
    """
    try:
        return recognise(path)
    except (OSError, RuntimeError) as error:
        _refuse(path, error)


def analyze_damo_record(path: Path, *, excluded: int = EXCLUDED_SNAPSHOTS) -> tuple[TargetAnalysis, ...]:
    """The working set of each target as damo has it, without the first `excluded` snapshots.

    Raises:
        Unprocessable: the file is no record of damo.
        ConfigurationError: the compiled core is missing or old.
    """
    return tuple(_analyze(record, excluded) for record in _read(path))


def _read(path: Path) -> list[ReadRecord]:
    try:
        return read_damo_records(path)
    except (OSError, ValueError, RuntimeError) as error:
        _refuse(path, error)


def _refuse(path: Path, error: Exception) -> NoReturn:
    if isinstance(error, RuntimeError):
        raise ConfigurationError(str(error), next_step="Run `make simcore`, then this command again.") from error
    if isinstance(error, OSError):
        raise Unprocessable(f"{path} cannot be read: {error.strerror}", next_step="Check its permissions.") from error
    raise Unprocessable(f"{path} {error}", next_step="Record it again with `damo record`.") from error


def _analyze(record: ReadRecord, excluded: int) -> TargetAnalysis:
    snapshots, regions = record.counts
    intervals = record.intervals_ns
    found = record.working_set(1, excluded, list(PERCENTS))
    working_set = None if found is None else WorkingSet(found[0], found[1], tuple(found[2]), tuple(found[3]))
    return copied(
        TargetAnalysis,
        record,
        sample_us=None if intervals is None else intervals[0] / 1000,
        aggregation_us=None if intervals is None else intervals[1] / 1000,
        snapshots=snapshots,
        regions=regions,
        span_seconds=record.span_ns / 1e9,
        monitored_bytes=record.monitored_bytes(),
        working_set=working_set,
        reason=None
        if working_set is not None
        else f"the record has {snapshots} snapshots, and the first {excluded} are left out",
    )


def export_damo(path: Path, target: Path, *, compressed: bool) -> Exported:
    """Write a page trace, or a record of damo in any form, as damo's JSON. `target` is written whole or not at all.

    Raises:
        Unprocessable: the file is neither, or has too many regions.
        ConfigurationError: the compiled core is missing or old.
        BadRequest: `target` cannot be written.
    """
    notes: list[str] = []
    names: dict[int, str] = {}
    if tells_damo(path):
        read = _read(path)
        records: Iterable[Record] = (record.record() for record in read)
        targets = [record.target for record in read]
        clipped = sum(record.overlapping_regions for record in read)
        if clipped:
            notes.append(f"{clipped:,} regions overlapped others of their snapshot and were clipped.")
    else:
        rows = _page_rows(path, notes)
        try:
            pages = records_of_pages(rows, KINDS)
        except ValueError as error:
            raise _no_recording(error) from error
        records, targets = pages, [record.target for record in pages]
        names = dict(enumerate(KINDS))
    regions = write_records(records, target, compressed=compressed)
    return Exported(tuple((number, names.get(number)) for number in targets), regions, tuple(notes))


def _page_rows(path: Path, notes: list[str]) -> PageRows:
    try:
        trace = read_page_trace(path)
    except ValueError as error:
        raise _no_recording(error) from error
    seconds = trace.interval_seconds
    if seconds is None:
        seconds = INTERVAL_SECONDS
        notes.append(f"The trace does not say how long its intervals are: {seconds:g} s assumed.")
    interval, kind, page, _, _ = trace.rows()
    return PageRows(trace.intervals, trace.page_size_bytes, round(seconds * 1e9), interval, kind, page)


def _no_recording(error: ValueError) -> Unprocessable:
    return Unprocessable(str(error), next_step="Name a page trace (Parquet), or a record that `damo record` wrote.")
