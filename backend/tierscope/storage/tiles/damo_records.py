"""Records of damo as files. Reading them needs the compiled core."""

import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from tierscope.domain.base.compiled import compiled_core
from tierscope.domain.tiles.damo_records import NOT_RECORDED, Record, Regions, Snapshot

if TYPE_CHECKING:
    from tierscope_simcore import DamoRecord

HEAD_BYTES = 4096
MAX_REGIONS = 4_000_000
"""As many as the reader takes."""
ZLIB_LEVEL = 1
"""A sixth larger than at the usual level, in a third of the time."""


def _core() -> ModuleType:
    return compiled_core("read_damo", "records of damo are read by")


def is_damo_record(path: Path) -> bool:
    """Whether a file is a record of damo, by its content.

    Raises:
        OSError: it cannot be read.
        RuntimeError: the compiled core is not built, or is older than this program.
    """
    with path.open("rb") as file:
        return bool(_core().looks_like_damo(file.read(HEAD_BYTES)))


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a file is, by its content. `analyzed_as` is how `analyze` calls what it takes."""

    what: str
    next_step: str
    analyzed_as: str | None


def recognise(path: Path) -> Recognised | None:
    """What a file is; None where nothing tells.

    Raises:
        OSError: it cannot be read.
        RuntimeError: the compiled core is not built, or is older than this program.
    """
    core = compiled_core("recognise_file", "files are told by")
    told = core.recognise_file(path)
    return None if told is None else Recognised(*told)


class ReadRecord:
    """One target of a record that was read. Regions that overlapped are clipped: each byte has one."""

    def __init__(self, core: "DamoRecord") -> None:
        self._core = core
        self.kdamond, self.context, self.target = core.numbers
        self.intervals_ns = core.intervals_ns
        """Sampling and aggregation interval; None where the record does not say."""
        self.overlapping_snapshots, self.overlapping_regions, self.overlapping_bytes = core.overlaps
        self._start_ns, self._end_ns, counts = core.snapshots()
        self._edges = np.concatenate([[0], np.cumsum(counts)])

    @property
    def span_ns(self) -> int:
        """From the start of the first snapshot to the end of the last one."""
        return int(self._end_ns[-1] - self._start_ns[0])

    @property
    def counts(self) -> tuple[int, int]:
        """Snapshots, and regions of all of them."""
        return len(self._start_ns), int(self._edges[-1])

    def monitored_bytes(self) -> int:
        """Bytes of the regions of the last snapshot."""
        start, end, _, _ = self._core.regions()
        last = slice(self._edges[-2], self._edges[-1])
        return int((end[last] - start[last]).sum())

    def working_set(
        self, threshold: int, excluded: int, percents: list[int]
    ) -> tuple[int, int, list[int], list[int]] | None:
        """As `damo report wss`: snapshots, average, percentiles by size and by time, in bytes; None without any."""
        return self._core.working_set(threshold, excluded, percents)

    def record(self) -> Record:
        """What was read, for writing."""
        known = self.intervals_ns
        intervals_us = None if known is None else (known[0] // 1000, known[1] // 1000)
        return Record(self.kdamond, self.context, self.target, intervals_us, self._snapshots())

    def _snapshots(self) -> Iterator[Snapshot]:
        columns = self._core.regions()
        for number in range(len(self._start_ns)):
            part = slice(self._edges[number], self._edges[number + 1])
            regions = Regions(*(column[part] for column in columns))
            yield Snapshot(int(self._start_ns[number]), int(self._end_ns[number]), regions)


def read_damo_records(path: Path) -> list[ReadRecord]:
    """The records of a file, one for each target.

    Raises:
        ValueError: it is no record of damo, or is damaged; the message names the cause.
        OSError: it cannot be read.
        RuntimeError: the compiled core is not built, or is older than this program.
    """
    return [ReadRecord(record) for record in _core().read_damo(path)]


def write_damo_records(records: Iterable[Record], file: IO[bytes], *, compressed: bool) -> int:
    """Write records in damo's JSON, zlib around it if `compressed`, and return the number of regions written.

    Raises:
        ValueError: they have more than `MAX_REGIONS` regions.
    """
    packer = zlib.compressobj(ZLIB_LEVEL) if compressed else None
    regions = 0

    def write(text: str) -> None:
        data = text.encode("ascii")
        file.write(data if packer is None else packer.compress(data))

    write("[")
    for place, record in enumerate(records):
        head = json.dumps(_head(record))
        write(("," if place else "") + head[:-1] + ', "snapshots": [')
        for number, snapshot in enumerate(record.snapshots):
            regions += len(snapshot.regions.start)
            if regions > MAX_REGIONS:
                raise ValueError(f"the record would have more than {MAX_REGIONS:,} regions")
            write(("," if number else "") + _snapshot(snapshot))
        write("]}")
    write("]\n")
    if packer is not None:
        file.write(packer.flush())
    return regions


def _head(record: Record) -> dict[str, Any]:
    intervals = None
    if record.intervals_us is not None:
        sample, aggregation = record.intervals_us
        intervals = {"sample_us": str(sample), "aggr_us": str(aggregation), "ops_update_us": str(aggregation)}
    return {
        "kdamond_idx": record.kdamond,
        "context_idx": record.context,
        "intervals": intervals,
        "scheme_idx": None,
        "target_id": record.target,
        "scheme_filters": [],
    }


def _snapshot(snapshot: Snapshot) -> str:
    """A snapshot as `json.dumps` would write it. Regions are many: to make objects of them first takes four times."""
    found = snapshot.regions
    ages = ["null" if age == NOT_RECORDED else f'"{age}"' for age in found.age.tolist()]
    columns = (found.start.tolist(), found.end.tolist(), found.accesses.tolist(), ages)
    regions = ", ".join(
        f'{{"start": "{start}", "end": "{end}", "nr_accesses": {{"samples": {accesses}, "percent": null}},'
        f' "age": {{"usec": null, "aggr_intervals": {age}}}}}'
        for start, end, accesses, age in zip(*columns, strict=True)
    )
    return (
        f'{{"start_time": "{snapshot.start_ns}", "end_time": "{snapshot.end_ns}", "regions": [{regions}],'
        f' "total_bytes": "{int((found.end - found.start).sum())}"}}'
    )
