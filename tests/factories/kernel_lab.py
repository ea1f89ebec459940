"""Recorded snapshot trees as counter keys and values.

A small reader of its own, so that tests of the ledger do not depend on the agent's readers.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import zstandard

from factories.ustar import files_of

RECORDINGS = Path(__file__).resolve().parents[1] / "data" / "kernel-lab"
HMAT_RECORDINGS = RECORDINGS.with_name("kernel-lab-hmat")
CORPUS = RECORDINGS.with_name("kernel-corpus")
_NODE = re.compile(r"^sys/devices/system/node/node(\d+)/(vmstat|numastat|meminfo)$")
_CGROUP = re.compile(r"^sys/fs/cgroup(/.*)?/(memory\.(?:stat|numa_stat|pressure|current|high|max|events))$")


def _pairs(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[1].lstrip("-").isdigit():
            yield words[0], int(words[1])


def _pressure(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        for word in rest.split():
            name, _, value = word.partition("=")
            if name == "total":
                yield f"{kind}_total_us", int(value)


def _meminfo(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        found = re.match(r"^(?:Node \d+ )?([^:]+):\s+(\d+)( kB)?$", line)
        if found:
            yield found[1].strip(), int(found[2]) * (1024 if found[3] else 1)


def _numa_stat(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        name, *cells = line.split()
        for cell in cells:
            node, _, value = cell.partition("=")
            yield f"{name}[{node}]", int(value)


def _read(path: str, text: str) -> Iterator[tuple[str, int]]:
    if path == "proc/vmstat":
        yield from ((f"host|vmstat|{n}", v) for n, v in _pairs(text))
    elif path == "proc/meminfo":
        yield from ((f"host|meminfo|{n}", v) for n, v in _meminfo(text))
    elif path.startswith("proc/pressure/"):
        what = path.rsplit("/", 1)[1]
        yield from ((f"host|pressure.{what}|{n}", v) for n, v in _pressure(text))
    elif node := _NODE.match(path):
        parse = _meminfo if node[2] == "meminfo" else _pairs
        yield from ((f"node:{node[1]}|{node[2]}|{n}", v) for n, v in parse(text))
    elif (group := _CGROUP.match(path)) and group[1]:
        scope, source = f"cgroup:{group[1]}", group[2]
        if source == "memory.pressure":
            yield from ((f"{scope}|{source}|{n}", v) for n, v in _pressure(text))
        elif source == "memory.numa_stat":
            yield from ((f"{scope}|{source}|{n}", v) for n, v in _numa_stat(text))
        elif source in ("memory.stat", "memory.events"):
            yield from ((f"{scope}|{source}|{n}", v) for n, v in _pairs(text))
        elif text.strip().isdigit():
            yield f"{scope}|{source}|{source.removeprefix('memory.')}", int(text)


def archive(name: str) -> Path:
    """Where the recording `name` is, of either lab."""
    paths = [directory / f"{name}.tar.zst" for directory in (RECORDINGS, HMAT_RECORDINGS)]
    return next(path for path in paths if path.exists())


@cache
def load(name: str) -> tuple[np.ndarray, tuple[str, ...], np.ndarray, np.ndarray]:
    """What a recording counts, as `counters_of` gives it."""
    raw = zstandard.ZstdDecompressor().stream_reader(archive(name).read_bytes())
    files = {path.partition("/")[2]: body.decode(errors="replace") for path, body in files_of(raw.read())}
    return counters_of(files)


def counters_of(files: Mapping[str, str]) -> tuple[np.ndarray, tuple[str, ...], np.ndarray, np.ndarray]:
    """Return (times in seconds, keys, values [n, k] int64, present [n, k] bool) of a snapshot tree's files by path."""
    snapshots: dict[float, dict[str, int]] = {}
    for place, text in files.items():
        stamp, _, path = place.partition("/")
        if stamp.replace(".", "").isdigit() and path.startswith(
            ("proc/vmstat", "proc/meminfo", "proc/pressure/", "sys/")
        ):
            snapshots.setdefault(float(stamp), {}).update(_read(path, text))
    times = sorted(snapshots)
    keys = sorted({key for snapshot in snapshots.values() for key in snapshot})
    index = {key: i for i, key in enumerate(keys)}
    values = np.zeros((len(times), len(keys)), np.int64)
    present = np.zeros((len(times), len(keys)), bool)
    for row, taken in enumerate(times):
        for key, value in snapshots[taken].items():
            values[row, index[key]] = value
            present[row, index[key]] = True
    return np.array(times), tuple(keys), values, present
