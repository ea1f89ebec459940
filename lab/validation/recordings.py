"""Recordings of real kernels as the replay needs them: the load, the machine, the counters."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

from corpus.packing import unpack
from corpus.truth import hides_armed, read_log, slow_ratios
from tierscope.domain.simulate import GroupEvent, Machine

DATA = Path(__file__).parents[2] / "tests" / "data"
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
BALANCING = "/proc/sys/kernel/numa_balancing"
DEMOTION = "/sys/kernel/mm/numa/demotion_enabled"
HUGE = "/sys/kernel/mm/transparent_hugepage/enabled"
SCANNER = "/sys/kernel/debug/sched/numa_balancing"
_SETTINGS = {
    f"{SCANNER}/hot_threshold_ms": "hot_threshold_ms",
    f"{SCANNER}/scan_period_max_ms": "scan_period_max_ms",
    "/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps": "numa_balancing_promote_rate_limit_MBps",
}
"""Settings of the policy, by the knob's path."""
MANY_PASSES = 4
WANTED = re.compile(
    r"(events\.log|workload\.log|meta\.json|\d+/proc/(vmstat|zoneinfo|\d+/sched)|\d+/sys/fs/cgroup/load/memory\.current"
    r"|\d+/sys/devices/system/node/node[01]/meminfo|\d+/sys/devices/virtual/memory_tiering/\w+/nodelist|\d+/sys/kernel/mm/lru_gen/enabled)$"
)
_GROUP = re.compile(r"^(\d+) (?:at /\S*/)?memory\.(reclaim|high)[ =](\d+)M$", re.MULTILINE)
_SET = re.compile(r"^\d+ set (/\S+)=(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Load:
    """The load generator's settings, in base pages and seconds. Kinds of memory in order of address.

    `moves_on`: the hot set does, or changes its size. `page_units`: base pages in a page, 512 where memory is in huge
    pages. `fallen_back`: those of them, in order of address, in whose place base pages came. `heat_units`: neighbours
    that are equally hot. `flooded`: files are read beside, and counted apart.
    """

    pages_by_kind: tuple[int, int, int]
    distribution: str
    hot_probability: float
    moves_on: bool
    fill_s: float
    page_units: int
    heat_units: int = 1
    flooded: bool = False
    fallen_back: tuple[int, ...] = ()

    @property
    def pages(self) -> int:
        return sum(self.pages_by_kind)


@dataclass(frozen=True, slots=True)
class Second:
    """One second of a load: Unix time, accesses and the share of them on node 1, MiB of files read beside.

    The hot pages are `hot_pages` ranks from `hot_begin` on. `on_dram`, `hot_on_dram`: pages on node 0, and the share of
    the hot ones; None before the first look at them.
    """

    at: float
    accesses: float
    slow_ratio: float
    flood_mib: float
    hot_begin: int
    hot_pages: int
    on_dram: int | None
    hot_on_dram: float | None


@dataclass(frozen=True, slots=True)
class Reclaim:
    """What a recording says of its kernel's lists and scanner.

    `lru`: as the policy's setting names it. `slow_watermarks`: low and high of node 1, pages. `is_slow_movable`: all of
    node 1 is, so that the kernel's own pages come from node 0. `armed`: `numa_pte_updates` by Unix time.
    """

    lru: str
    slow_watermarks: tuple[int, int]
    is_slow_movable: bool
    armed: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """One recording. `log` has a row for each second that the load had; `counters` count over the whole run.

    `knobs`: values that were set, by the full path of their file. `one_tier`: the kernel took both nodes for one tier.
    `group`: what was asked of the load's cgroup, in seconds after the load began to fill its memory. `reclaim`: None is
    a replay that knows last accesses and finds the scanner's passes by a rule.
    """

    name: str
    knobs: Mapping[str, str]
    one_tier: bool
    group: tuple[GroupEvent, ...]
    load: Load
    machine: Machine
    log: tuple[Second, ...]
    counters: Mapping[str, int]
    reclaim: Reclaim | None = None

    @property
    def balancing(self) -> int:
        return int(self.knobs[BALANCING])

    @property
    def demotion(self) -> bool:
        return self.knobs[DEMOTION] == "1"

    @property
    def settings(self) -> dict[str, float]:
        return {name: float(self.knobs[path]) for path, name in _SETTINGS.items() if path in self.knobs}


def read(name: str) -> Recording:
    return read_archive(DATA / ("kernel-lab" if name in NAMES else "kernel-lab-hmat") / f"{name}.tar.zst")


def read_archive(path: Path) -> Recording:
    """A recording whose load says of itself what it did, in the first line of its log."""
    files = unpack(path, WANTED)
    events, text = files["events.log"], files["workload.log"]
    knobs = knobs_of(events)
    load, hot_pages = _load(text, huge=knobs[HUGE] == "always")
    rows = read_log(text)
    log = seconds(rows, [hot_pages] * len(rows), hides_armed=hides_armed(json.loads(files["meta.json"])["kernel"]))
    group = _group(events, begin=log[0].at - load.fill_s)
    return Recording(
        name=path.name.removesuffix(".tar.zst"),
        knobs=knobs,
        one_tier=is_one_tier(files),
        group=group,
        load=load,
        machine=machine_of(files, log, load, swap_pages=SWAP_PAGES if "swapon" in events else 0),
        log=log,
        counters=counters_of(files),
        reclaim=reclaim_of(files) if group else None,
    )


def _group(events: str, begin: float) -> tuple[GroupEvent, ...]:
    """What was asked of the load's cgroup, as the events say."""
    found, high_pages = [], None
    for at, name, mib in _GROUP.findall(events):
        pages = int(mib) * PAGES_PER_MIB
        high_pages = pages if name == "high" else high_pages
        found.append(GroupEvent(max(int(float(at) - begin), 0), pages if name == "reclaim" else 0, high_pages))
    return tuple(found)


def knobs_of(events: str) -> dict[str, str]:
    """Values that were set, by the full path of their file: more than one is called `enabled`."""
    return dict(_SET.findall(events))


def seconds(
    rows: Sequence[Mapping[str, float]], hot_pages: Sequence[int], *, hides_armed: bool = False
) -> tuple[Second, ...]:
    """Rows of a load's log, of which each had so many hot pages: a move begins after as many as were hot before.

    `hides_armed`: what the load took for absent after its first look is on node 1, for in mode 2 the scanner arms pages
    there alone.
    """
    found, begin, slow = [], 0, slow_ratios(rows, hides_armed=hides_armed)
    for place, (row, hot) in enumerate(zip(rows, hot_pages, strict=True)):
        if place and row["phase"] > rows[place - 1]["phase"]:
            begin += hot_pages[place - 1] * int(row["phase"] - rows[place - 1]["phase"])
        hot_total = row["hot_n0"] + row["hot_n1"] + row["hot_absent"]
        was_looked_at = row["pages_n0"] + row["pages_n1"] > 0
        found.append(
            Second(
                at=row["ts"],
                accesses=row["ops_s"],
                slow_ratio=slow[place] or 0.0,
                flood_mib=row.get("flood_mb_s", 0.0),
                hot_begin=begin,
                hot_pages=hot,
                on_dram=int(row["pages_n0"]) if was_looked_at else None,
                hot_on_dram=row["hot_n0"] / hot_total if was_looked_at and hot_total else None,
            )
        )
    return tuple(found)


def is_one_tier(files: Mapping[str, str]) -> bool:
    """Whether node 0 and node 1 are in one memory tier, so that nothing is demoted or promoted."""
    last = _times(files)[-1]
    lists = [text for path, text in files.items() if path.startswith(f"{last}/") and path.endswith("/nodelist")]
    return bool(lists) and any(text.strip() in {"0-1", "0,1"} for text in lists)


def _times(files: Mapping[str, str]) -> list[int]:
    return sorted({int(path.partition("/")[0]) for path in files if path[0].isdigit()})


def _load(log: str, *, huge: bool) -> tuple[Load, int]:
    """The load and its hot pages, by the first line of its log: its arguments, or what it made of them."""
    head = log.partition("\n")[0]

    def number(pattern: str, default: float = 0.0) -> float:
        found = re.search(pattern, head)
        return float(found[1]) if found else default

    distribution, filled = re.search(r"dist[ =](\w+)", head), re.search(r"fill_ms=(\d+)", log)
    assert distribution is not None
    assert filled is not None
    patterns = (r"anon[ =](\d+)", r"(?:file-mb |file=)(\d+)", r"shm[ =](\d+)")
    anon, file, tmpfs = (int(number(pattern) * PAGES_PER_MIB) for pattern in patterns)
    load = Load(
        pages_by_kind=(anon, file, tmpfs),
        distribution=distribution[1],
        hot_probability=number(r"hot[-_]prob[ =]([\d.]+)", 0.95),
        moves_on=number(r"phase(?:_s)?[ =](\d+)") > 0,
        fill_s=int(filled[1]) / 1000,
        page_units=HUGE_UNITS if huge else 1,
    )
    return load, int(number(r"hot[-_]mb[ =](\d+)") * PAGES_PER_MIB)


def machine_of(files: Mapping[str, str], log: Sequence[Second], load: Load, *, swap_pages: int = 0) -> Machine:
    """DRAM: what node 0 has free or lends to the load halfway through. Slower tier: what node 1 has free at first."""
    times = _times(files)
    lent = ("MemFree", "AnonPages") if load.pages == load.pages_by_kind[0] else ("MemFree", "AnonPages", "FilePages")
    middle = next(time for time in times if time >= log[len(log) // 2].at)
    flooded = _meminfo(files, middle, 0, "FilePages") - _meminfo(files, middle, 0, "Shmem") if load.flooded else 0
    return Machine(
        dram_pages=sum(_meminfo(files, middle, 0, name) for name in lent) + flooded,
        slow_pages=_meminfo(files, times[0], 1, "MemFree"),
        swap="ssd" if swap_pages else None,
        swap_pages=swap_pages,
        zone_watermarks=_watermarks(files[f"{_settled(files)}/proc/zoneinfo"]),
        scan_pass_s=_scan_pass_s(files, log[0].at),
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


def reclaim_of(files: Mapping[str, str]) -> Reclaim:
    """The kernel's lists, the slower node's zones, and what the scanner armed."""
    settled = _settled(files)
    zones = files[f"{settled}/proc/zoneinfo"].partition("Node 1,")[2]
    low, high = (
        sum(int(pages) for pages in re.findall(rf"^ +{name} +(\d+)", zones, re.MULTILINE)) for name in ("low", "high")
    )
    managed = re.findall(r"zone +(\w+)[^N]*?managed +(\d+)", "Node 1," + zones)
    armed = (
        (time, re.search(r"^numa_pte_updates (\d+)", files[f"{time}/proc/vmstat"], re.MULTILINE))
        for time in _times(files)
    )
    generations = files.get(f"{settled}/sys/kernel/mm/lru_gen/enabled", "0")
    return Reclaim(
        lru="mglru" if int(generations, 16) else "classic",
        slow_watermarks=(low, high),
        is_slow_movable=all(zone == "Movable" for zone, pages in managed if int(pages)),
        armed=tuple((time, int(found[1])) for time, found in armed if found),
    )


def fallen_back(files: Mapping[str, str]) -> tuple[int, ...]:
    """Huge pages in whose place base pages came, numbered as they were asked for (`thp_fault_fallback`).

    Of what was asked for between two snapshots, those that were not had are spread evenly.
    """
    found: list[int] = []
    names = ("thp_fault_alloc", "thp_fault_fallback")
    counts = [[counters[name] for name in names] for counters in map(partial(_vmstat, files), _times(files))]
    for (had, missed), (had_later, missed_later) in pairwise(counts):
        asked, fell = had_later + missed_later - had - missed, missed_later - missed
        begin = had + missed - sum(counts[0])
        found += [begin + int((place + 0.5) * asked / fell) for place in range(fell)]
    return tuple(found)


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


def counters_of(files: Mapping[str, str]) -> dict[str, int]:
    times = _times(files)
    first, last = (_vmstat(files, time) for time in (times[0], times[-1]))
    return {name: value - first.get(name, 0) for name, value in last.items()}


def _vmstat(files: Mapping[str, str], time: int) -> dict[str, int]:
    return {name: int(value) for name, value in (line.split() for line in files[f"{time}/proc/vmstat"].splitlines())}
