"""Recordings of real kernels as the replay needs them: the load, the machine, the counters."""

import io
import json
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import zstandard

from tierscope.domain.simulate import Machine

RECORDINGS = Path(__file__).parents[1] / "data" / "kernel-lab"
NAMES = (
    "01-baseline-fits",
    "02-default-spill",
    "03-tiering-steady",
    "04-pingpong",
    "05-ratelimited",
    "07b-phase-fastscan",
    "08-swap",
    "10-cxl-real",
    "12-kernel-6.1",
    "15-mixed-reclaim",
)
PAGES_PER_MIB = 256
KIB_PER_PAGE = 4
MANY_PASSES = 4
_WANTED = re.compile(
    r"(meta\.json|workload\.log|\d+/proc/(vmstat|zoneinfo|\d+/sched)|\d+/sys/devices/system/node/node[01]/meminfo)$"
)


@dataclass(frozen=True, slots=True)
class Load:
    """The load generator's settings, in pages and seconds. Kinds of memory in order of address."""

    pages_by_kind: tuple[int, int, int]
    hot_pages: int
    distribution: str
    hot_probability: float
    phase_s: int
    fill_s: float

    @property
    def pages(self) -> int:
        """All pages."""
        return sum(self.pages_by_kind)


@dataclass(frozen=True, slots=True)
class Recording:
    """One recording. `log` has a row for each second; `counters` are what the kernel counted over the whole run."""

    name: str
    tiering: bool
    settings: Mapping[str, float]
    load: Load
    machine: Machine
    log: tuple[Mapping[str, float], ...]
    counters: Mapping[str, int]


def read(name: str) -> Recording:
    """A recording from its archive."""
    files = _files(RECORDINGS / f"{name}.tar.zst")
    meta = json.loads(files["meta.json"])
    text = files["workload.log"]
    log = tuple(
        {key: float(value) for key, value in (pair.split("=") for pair in line.split())}
        for line in text.splitlines()
        if line.startswith("ts=")
    )
    load = _load(meta["workload_args"], text)
    return Recording(
        name=name,
        tiering=meta["numa_balancing"] == 2,
        settings=_settings(meta),
        load=load,
        machine=_machine(meta, files, log, load),
        log=log,
        counters=_counters(files),
    )


def _files(archive: Path) -> dict[str, str]:
    """The files that are needed, by their path below the recording's folder."""
    found: dict[str, str] = {}
    with (
        archive.open("rb") as raw,
        zstandard.ZstdDecompressor().stream_reader(raw) as plain,
        tarfile.open(fileobj=io.BufferedReader(plain, 1 << 20), mode="r|") as members,
    ):
        for member in members:
            path = member.name.partition("/")[2]
            if member.isfile() and _WANTED.match(path):
                content = members.extractfile(member)
                assert content is not None
                found[path] = content.read().decode()
    return found


def _times(files: Mapping[str, str]) -> list[int]:
    return sorted({int(path.partition("/")[0]) for path in files if path[0].isdigit()})


def _argument(arguments: str, name: str, default: float = 0.0) -> float:
    found = re.search(rf"--{name} ([\d.]+)", arguments)
    return float(found[1]) if found else default


def _load(arguments: str, log: str) -> Load:
    distribution, filled = re.search(r"--dist (\w+)", arguments), re.search(r"fill_ms=(\d+)", log)
    assert distribution is not None
    assert filled is not None
    anon, file, tmpfs = (int(_argument(arguments, name) * PAGES_PER_MIB) for name in ("anon", "file-mb", "shm"))
    return Load(
        pages_by_kind=(anon, file, tmpfs),
        hot_pages=int(_argument(arguments, "hot-mb") * PAGES_PER_MIB),
        distribution=distribution[1],
        hot_probability=_argument(arguments, "hot-prob", 0.95),
        phase_s=int(_argument(arguments, "phase")),
        fill_s=int(filled[1]) / 1000,
    )


def _settings(meta: Mapping[str, str]) -> dict[str, float]:
    """The knobs that were set; defaults of the kernel are those of the policy."""
    names = {
        "hot_threshold_ms": "hot_threshold_ms",
        "scan_period_max_ms": "scan_period_max_ms",
        "promote_rate_limit_mbps": "numa_balancing_promote_rate_limit_MBps",
    }
    return {name: float(meta[key]) for key, name in names.items() if meta[key] != "default"}


def _machine(
    meta: Mapping[str, str], files: Mapping[str, str], log: tuple[Mapping[str, float], ...], load: Load
) -> Machine:
    """DRAM: what node 0 has free or lends to the load halfway through. Slower tier: what node 1 has free at first."""
    times = _times(files)
    lent = ("MemFree", "AnonPages") if load.pages == load.pages_by_kind[0] else ("MemFree", "AnonPages", "FilePages")
    middle = next(time for time in times if time >= log[len(log) // 2]["ts"])
    zram = 1 << 18 if meta["zram"] else 0
    return Machine(
        dram_pages=sum(_meminfo(files, middle, 0, name) for name in lent),
        slow_pages=_meminfo(files, times[0], 1, "MemFree"),
        swap="ssd" if zram else None,
        swap_pages=zram,
        zone_watermarks=_watermarks(files[f"{times[0]}/proc/zoneinfo"]),
        scan_pass_s=_scan_pass_s(files, log[0]["ts"]),
    )


def _meminfo(files: Mapping[str, str], time: int, node: int, name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+)", files[f"{time}/sys/devices/system/node/node{node}/meminfo"])
    assert found is not None
    return int(found[1]) // KIB_PER_PAGE


def _watermarks(zoneinfo: str) -> tuple[int, int, int]:
    """Low, high and promo of node 0. A kernel that prints no promo has it one step above high."""
    sums = {"low": 0, "high": 0, "promo": 0}
    node = ""
    for line in zoneinfo.splitlines():
        if line.startswith("Node"):
            node = line
        words = line.split()
        if node.startswith("Node 0") and "Movable" not in node and len(words) == 2 and words[0] in sums:
            sums[words[0]] += int(words[1])
    low, high = sums["low"], sums["high"]
    return low, high, sums["promo"] or 2 * high - low


def _scan_pass_s(files: Mapping[str, str], begin: float) -> float | None:
    """Seconds of a pass of the scanner over the load, by the kernel's own count; None where it does not scan."""
    seen: list[tuple[int, int]] = []
    for path, text in files.items():
        found = re.search(r"numa_scan_seq\s*:\s*(\d+)", text) if path.endswith("/sched") else None
        if found and int(path.partition("/")[0]) >= begin:
            seen.append((int(path.partition("/")[0]), int(found[1])))
    seen.sort()
    ends = [after[0] for before, after in pairwise(seen) if before[1] != after[1]]
    if not ends:
        return None
    if len(ends) < MANY_PASSES:
        return (seen[-1][0] - begin) / len(ends)
    return (ends[-1] - ends[0]) / (len(ends) - 1)


def _counters(files: Mapping[str, str]) -> dict[str, int]:
    times = _times(files)
    first, last = (
        {name: int(value) for name, value in (line.split() for line in files[f"{time}/proc/vmstat"].splitlines())}
        for time in (times[0], times[-1])
    )
    return {name: value - first.get(name, 0) for name, value in last.items()}
