"""Recordings as they are kept: the files that the product reads, as few snapshots as fit, in one archive."""

import io
import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import zstandard

from factories.ustar import files_of

Snapshots = Mapping[int, Mapping[str, bytes]]
"""Files by path without the first slash, by the Unix time of the snapshot in seconds."""

GLOBS = (
    "/proc/vmstat",
    "/proc/meminfo",
    "/proc/zoneinfo",
    "/proc/stat",
    "/proc/swaps",
    "/proc/pressure/memory",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/numa_balancing*",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/watermark_scale_factor",
    "/proc/sys/vm/min_free_kbytes",
    "/proc/sys/vm/zone_reclaim_mode",
    "/sys/devices/system/node/online",
    "/sys/devices/system/node/has_cpu",
    "/sys/devices/system/node/has_memory",
    "/sys/devices/system/node/node*/vmstat",
    "/sys/devices/system/node/node*/meminfo",
    "/sys/devices/system/node/node*/numastat",
    "/sys/devices/system/node/node*/distance",
    "/sys/devices/system/node/node*/cpulist",
    "/sys/devices/system/node/node*/access0/initiators/*_latency",
    "/sys/devices/system/node/node*/access0/initiators/*_bandwidth",
    "/sys/devices/virtual/memory_tiering/memory_tier*/nodelist",
    "/sys/kernel/mm/numa/demotion_enabled",
    "/sys/kernel/mm/lru_gen/enabled",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/debug/sched/numa_balancing/*",
    "/sys/fs/cgroup/load/memory.current",
    "/sys/fs/cgroup/load/memory.stat",
    "/sys/fs/cgroup/load/memory.numa_stat",
    "/sys/fs/cgroup/load/memory.pressure",
)
"""What a guest records: what the agent reads of these kernels."""
_HEAD = re.compile(rb"F (\d+) (\d+) /([^\n]+)\n")
_LEVEL = 19


def read_stream(stream: bytes) -> dict[int, dict[str, bytes]]:
    """Return the snapshots of what the guest's `record` wrote; one that was cut short is left out.

    Raises:
        ValueError: it is no such stream.
    """
    snapshots: dict[int, dict[str, bytes]] = {}
    at = 0
    while at < len(stream):
        head = _HEAD.match(stream, at)
        if head is None:
            raise ValueError(f"no file begins at byte {at} of the snapshots")
        second, size, path = int(head[1]), int(head[2]), head[3].decode()
        at = head.end() + size
        if at > len(stream):
            snapshots.pop(second, None)
            break
        snapshots.setdefault(second, {})[path] = stream[head.end() : at]
    return snapshots


def _members(name: str, snapshots: Snapshots, texts: Mapping[str, str]) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    files: dict[str, bytes] = {path: text.encode() for path, text in sorted(texts.items())}
    # One file after the other through all snapshots: what is alike lies side by side.
    paths = sorted({path for snapshot in snapshots.values() for path in snapshot})
    for path in paths:
        files |= {
            f"{second}/{path}": snapshot[path] for second, snapshot in sorted(snapshots.items()) if path in snapshot
        }
    for path, body in files.items():
        member = tarfile.TarInfo(f"{name}/{path}")
        member.size = len(body)
        yield member, body


def _archive(name: str, snapshots: Snapshots, texts: Mapping[str, str]) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tree:
        for member, body in _members(name, snapshots, texts):
            tree.addfile(member, io.BytesIO(body))
    return zstandard.ZstdCompressor(level=_LEVEL).compress(plain.getvalue())


def pack(
    name: str, snapshots: Snapshots, texts: Mapping[str, str], facts: Mapping[str, Any], *, most_bytes: int
) -> bytes:
    """Return a recording as `.tar.zst` of at most `most_bytes`: every snapshot, else each second one, each third ...

    `texts` are files beside the snapshots, by name; `facts` go to `meta.json`, with `every`: one snapshot in so many.

    Raises:
        ValueError: fewer than two snapshots, or two alone are too large.
    """
    seconds = sorted(snapshots)
    for every in range(1, len(seconds)):
        kept = {second: snapshots[second] for second in seconds[::every]}
        meta = json.dumps({**facts, "every": every}, indent=1, sort_keys=True) + "\n"
        packed = _archive(name, kept, {**texts, "meta.json": meta})
        if len(packed) <= most_bytes:
            return packed
    raise ValueError(f"{name}: {len(seconds)} snapshots do not fit into {most_bytes} bytes")


def unpack(path: Path, wanted: re.Pattern[str] | None = None) -> dict[str, str]:
    """Return the files of a packed recording by their path below its folder; those `wanted`, where it is given."""
    with zstandard.ZstdDecompressor().stream_reader(path.read_bytes()) as plain:
        files = ((full.partition("/")[2], body) for full, body in files_of(plain.read()))
        return {name: body.decode(errors="replace") for name, body in files if wanted is None or wanted.match(name)}
