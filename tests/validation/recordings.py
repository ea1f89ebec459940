"""Recordings of real kernels as the replay needs them: the load, the machine, the counters."""

import io
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import zstandard

from tierscope.domain.simulate import Machine

DATA = Path(__file__).parents[1] / "data"
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
HELD_OUT = (
    "21-phases-slow-scan",
    "22-phases-7.2",
    "23-huge-pages-exchange",
    "24-balancing-mode-1",
    "25-demotion-off",
    "26-reclaim-7.2",
)
"""Of a smaller machine with other kernels: read once, when all else was done."""
PAGES_PER_MIB = 256
KIB_PER_PAGE = 4
HUGE_UNITS = 512
SWAP_PAGES = 1 << 18
"""The compressed swap of 08-swap, 1 GiB."""
_SETTINGS = ("hot_threshold_ms", "scan_period_max_ms", "numa_balancing_promote_rate_limit_MBps")
MANY_PASSES = 4
_WANTED = re.compile(
    r"(events\.log|workload\.log|\d+/proc/(vmstat|zoneinfo|\d+/sched)|\d+/sys/devices/system/node/node[01]/meminfo)$"
)


@dataclass(frozen=True, slots=True)
class Load:
    """The load generator's settings, in base pages and seconds. Kinds of memory in order of address.

    `moves_on`: the hot set does. `page_units`: base pages in a page, 512 where memory is in huge pages.
    """

    pages_by_kind: tuple[int, int, int]
    hot_pages: int
    distribution: str
    hot_probability: float
    moves_on: bool
    fill_s: float
    page_units: int

    @property
    def pages(self) -> int:
        """All pages."""
        return sum(self.pages_by_kind)


@dataclass(frozen=True, slots=True)
class Recording:
    """One recording. `log` has a row for each second that the load had; `counters` count over the whole run.

    `balancing` and `demotion`: `numa_balancing` and `demotion_enabled`. `reclaims_group`: the load's cgroup was, too.
    """

    name: str
    balancing: int
    demotion: bool
    reclaims_group: bool
    settings: Mapping[str, float]
    load: Load
    machine: Machine
    log: tuple[Mapping[str, float], ...]
    counters: Mapping[str, int]


def read(name: str) -> Recording:
    """A recording from its archive."""
    folder = "kernel-lab" if name in NAMES else "kernel-lab-hmat"
    files = _files(DATA / folder / f"{name}.tar.zst")
    events, text = files["events.log"], files["workload.log"]
    knobs = dict(re.findall(r" set /\S*/(\w+)=(\S+)", events))
    log = tuple(
        {key: float(value) for key, value in (pair.split("=") for pair in line.split())}
        for line in text.splitlines()
        if line.startswith("ts=")
    )
    load = _load(text, huge=knobs["enabled"] == "always")
    return Recording(
        name=name,
        balancing=int(knobs["numa_balancing"]),
        demotion=knobs["demotion_enabled"] == "1",
        reclaims_group="memory.reclaim" in events,
        settings={key: float(knobs[key]) for key in _SETTINGS if key in knobs},
        load=load,
        machine=_machine(files, log, load, swap_pages=SWAP_PAGES if "swapon" in events else 0),
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


def _load(log: str, *, huge: bool) -> Load:
    """The load by the first line of its log, which has either its arguments or what it made of them."""
    head = log.partition("\n")[0]

    def number(pattern: str, default: float = 0.0) -> float:
        found = re.search(pattern, head)
        return float(found[1]) if found else default

    distribution, filled = re.search(r"dist[ =](\w+)", head), re.search(r"fill_ms=(\d+)", log)
    assert distribution is not None
    assert filled is not None
    patterns = (r"anon[ =](\d+)", r"(?:file-mb |file=)(\d+)", r"shm[ =](\d+)")
    anon, file, tmpfs = (int(number(pattern) * PAGES_PER_MIB) for pattern in patterns)
    return Load(
        pages_by_kind=(anon, file, tmpfs),
        hot_pages=int(number(r"hot[-_]mb[ =](\d+)") * PAGES_PER_MIB),
        distribution=distribution[1],
        hot_probability=number(r"hot[-_]prob[ =]([\d.]+)", 0.95),
        moves_on=number(r"phase(?:_s)?[ =](\d+)") > 0,
        fill_s=int(filled[1]) / 1000,
        page_units=HUGE_UNITS if huge else 1,
    )


def _machine(files: Mapping[str, str], log: tuple[Mapping[str, float], ...], load: Load, *, swap_pages: int) -> Machine:
    """DRAM: what node 0 has free or lends to the load halfway through. Slower tier: what node 1 has free at first."""
    times = _times(files)
    lent = ("MemFree", "AnonPages") if load.pages == load.pages_by_kind[0] else ("MemFree", "AnonPages", "FilePages")
    middle = next(time for time in times if time >= log[len(log) // 2]["ts"])
    return Machine(
        dram_pages=sum(_meminfo(files, middle, 0, name) for name in lent),
        slow_pages=_meminfo(files, times[0], 1, "MemFree"),
        swap="ssd" if swap_pages else None,
        swap_pages=swap_pages,
        zone_watermarks=_watermarks(files[f"{_settled(files)}/proc/zoneinfo"]),
        scan_pass_s=_scan_pass_s(files, log[0]["ts"]),
    )


def _settled(files: Mapping[str, str]) -> int:
    """The second snapshot: knobs may have been set during the first one."""
    return _times(files)[1]


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
