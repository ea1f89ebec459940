"""The load of each recording of a real kernel, replayed under the policy that the kernel ran."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tierscope.domain.simulate import Machine, Outcome, TraceColumns, compile_trace, make_policy, parse_settings, replay
from tierscope.domain.simulate.claims import Regime, find_regime
from validation.recordings import PAGES_PER_MIB, SCANNER, Load, Reclaim, Recording
from validation.tables import Row, verdict

if TYPE_CHECKING:
    from tierscope.domain.simulate.trace import SimulationTrace

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SEED = 1
WRITTEN = 0.3
ZIPF = 0.99
LAST_ROWS = 15
FACTOR, POINTS = 2.0, 0.10
FEW_PAGES = 64
"""Moves that differ by fewer pages than this are the same."""
ANON, FILE, TMPFS = 0, 1, 2
SLOW = 1
SCAN_PERIOD_MAX_MS = 60_000
"""The kernel's longest pass over all memory of a process, where it was not set otherwise."""

DEMOTION_UNIT_S = 500e-6
"""What the emulated kswapd takes to demote 4 KiB. Chosen on that half of the corpus which rules may be made on."""
LISTS_DEMOTION_UNIT_S, LOOK_S = 350e-6, 80e-6
"""The same where it looks at pages, and what a look takes. Chosen on that half, of five pairs."""
KERNEL_PAGE_RATIO = 1 / 512
"""A page of page tables maps so many."""
KERNEL_SWITCHES = {
    "allocation_demotes": 1.0,
    "promotion_needs_free": 1.0,
    "continuous_kswapd": 1.0,
    "cache_trim_mode": 1.0,
}
"""What a kernel in mode 2 does, and does within a second."""
TIERING = 2
"""`numa_balancing` that promotes by tier."""

REMARKS: Mapping[str, str] = {
    "10-cxl-real": "The moves are few (1.8 % of the load's pages). Each access to the emulated device takes "
    "microseconds and each copy of a page milliseconds, while the replay moves pages in no time: that may be why.",
    "08-swap": "The replay demotes 0.40 of what the kernel demotes. Before, with reclaim once a second in no "
    "time, it was 0.79: kswapd that takes its time falls behind while pages come from swap, where a "
    "kernel's allocations wait.",
    "15-mixed-reclaim": "`memory.high` stops at pages in use. Replayed with reclaim in no time it emptied DRAM (149 "
    "pages, 3.16 times the promotions).",
    "23-huge-pages-exchange": "A fifth of the kernel's moves: the replay arms all pages at the begin of a second, so "
    "that hot huge pages fault at once and few find room, and the cost of a demotion is that of the corpus's "
    "emulation, for every base page.",
    "26-reclaim-7.2": "Something beside the load reads 1.8 GB of files (`pgpgin`), which the kernel demotes and drops "
    "(`pgsteal_file` 842,348) and the load's log says nothing of; without them the limit empties DRAM here.",
}


@dataclass(frozen=True, slots=True)
class Found:
    """The kernel's numbers and those of the replay, pages of the whole machine, shares in 0..1; kernel first."""

    name: str
    one_in: int
    promoted: tuple[float, float]
    demoted: tuple[float, float]
    local: tuple[float, float]
    hot_on_dram: tuple[float, float] | None
    on_dram: tuple[float, float]
    regime: Regime

    @property
    def moves_pass(self) -> bool:
        """Whether promotions and demotions are within a factor of two."""
        return all(_within_factor(*pair) for pair in (self.promoted, self.demoted))

    @property
    def shares_pass(self) -> bool:
        """Whether shares of accesses and of pages are within ten points."""
        pairs = [self.local] if self.hot_on_dram is None else [self.local, self.hot_on_dram]
        return all(abs(kernel - replayed) <= POINTS for kernel, replayed in pairs)

    def row(self) -> Row:
        return (
            self.name,
            f"1/{self.one_in}",
            _counted(self.promoted),
            _counted(self.demoted),
            verdict(passed=self.moves_pass),
            _shares(self.local),
            "-" if self.hot_on_dram is None else _shares(self.hot_on_dram),
            _counted(self.on_dram),
            verdict(passed=self.shares_pass),
        )


def _within_factor(kernel: float, replayed: float) -> bool:
    if abs(kernel - replayed) < FEW_PAGES:
        return True
    if kernel == 0 or replayed == 0:
        return False
    return 1 / FACTOR <= replayed / kernel <= FACTOR


def _counted(pair: tuple[float, float]) -> str:
    kernel, replayed = pair
    ratio = f" = {replayed / kernel:.2f}" if kernel else ""
    return f"{replayed:,.0f} / {kernel:,.0f}{ratio}"


def _shares(pair: tuple[float, float]) -> str:
    return f"{pair[1]:.3f} / {pair[0]:.3f}"


def compare(recording: Recording, one_in: int | None = None, *, seed: int = SEED) -> Found:
    """Replays a recording's load; one page in so many."""
    size = size_of(recording.load) if one_in is None else one_in
    begin = int(np.ceil(recording.load.fill_s))
    (trace, outcome), second = _replay(recording, size, seed), _seconds(recording)
    figures, log = outcome.figures, recording.log
    seen = np.array([row.on_dram is not None for row in log])
    kinds = kinds_of(recording.load)
    accesses = figures.accesses[begin:, kinds].sum(axis=1)[second[seen]]
    hot = None
    if _tracks_hot(recording.load):
        hot = (
            float(np.mean([row.hot_on_dram for row in log[-LAST_ROWS:] if row.hot_on_dram is not None])),
            float(figures.used[-LAST_ROWS:, 0, TMPFS].mean()) / (log[0].hot_pages // size),
        )
    totals = outcome.totals()
    return Found(
        name=recording.name,
        one_in=size,
        promoted=(promoted_of(recording), totals.promoted_pages * size),
        demoted=(demoted_of(recording), totals.demoted_pages * size),
        local=(local_of(recording), 1 - float(accesses[:, SLOW].sum() / accesses.sum())),
        hot_on_dram=hot,
        on_dram=(
            float(np.mean([row.on_dram for row in log[-LAST_ROWS:] if row.on_dram is not None])),
            float(figures.used[-LAST_ROWS:, 0][:, kinds].sum(axis=1).mean()) * size,
        ),
        regime=find_regime(trace, outcome),
    )


def kinds_of(load: Load) -> list[int]:
    """Kinds of the load's own pages; files that are read beside are counted apart."""
    return [ANON, TMPFS] if load.flooded else [ANON, FILE, TMPFS]


def local_of(recording: Recording) -> float:
    """Share of the load's accesses that DRAM served, from the first look at its pages on."""
    seen = [row for row in recording.log if row.on_dram is not None]
    return 1 - sum(row.accesses * row.slow_ratio for row in seen) / sum(row.accesses for row in seen)


def promoted_of(recording: Recording) -> int:
    return recording.counters.get("pgpromote_success", 0)


def demoted_of(recording: Recording) -> int:
    """Demotions of every cause: kswapd, allocations that waited, and the cgroup."""
    names = ("pgdemote_kswapd", "pgdemote_khugepaged", "pgdemote_direct", "pgdemote_proactive")
    return sum(recording.counters.get(name, 0) for name in names)


def _tracks_hot(load: Load) -> bool:
    """Whether hot pages can be told apart by their kind: they stay the same, are base pages, and all is anonymous."""
    return not load.moves_on and load.page_units == 1 and load.pages == load.pages_by_kind[ANON]


def is_tiered(recording: Recording) -> bool:
    """Whether the kernel moved pages between tiers both ways."""
    return recording.balancing == TIERING and recording.demotion and not recording.one_tier


def _replay(recording: Recording, one_in: int, seed: int) -> tuple["SimulationTrace", Outcome]:
    trace = compile_trace(columns(recording, one_in, seed))
    policy = make_policy("numa_balancing" if recording.balancing and not recording.one_tier else "first_touch")
    if is_tiered(recording):
        settings = {**KERNEL_SWITCHES, **recording.settings, **_list_settings(recording.reclaim)}
        policy = make_policy("hot_page_selection_auto", settings)
    group = [
        replace(event, reclaim_pages=event.reclaim_pages // one_in, high_pages=_part(event.high_pages, one_in))
        for event in recording.group
    ]
    machine = smaller(_lab_machine(recording), one_in)
    armed = armed_pages(recording, one_in) if policy.kind.loop == "hot_page_selection" else []
    return trace, replay(trace, policy, machine, interval_s=1.0, group=group, armed_pages=armed)


def _list_settings(reclaim: Reclaim | None) -> dict[str, float]:
    """Lists as the kernel has them, which find files that were read once by themselves."""
    if reclaim is None:
        return {}
    lists = parse_settings([f"lru={reclaim.lru}"])
    return {**lists, "cache_trim_mode": 0.0, "allocation_demotes": float(reclaim.is_slow_movable)}


def armed_pages(recording: Recording, one_in: int) -> list[int]:
    """Pages that the scanner armed in each second of the replay.

    One that rests longer than the time between two snapshots armed its pages at once: in that second between them in
    which the load did least, for the faults of these pages hold it up. One that does not armed them evenly.
    """
    if recording.reclaim is None:
        return []
    begin = int(np.ceil(recording.load.fill_s))
    seconds = begin + int(_seconds(recording)[-1]) + 1
    edges = recording.log[0].at - 1 - begin + np.arange(seconds + 1)
    times, counts = (np.array(column) for column in zip(*recording.reclaim.armed, strict=True))
    total = np.interp(edges, times, counts)
    if _scan_period_max_s(recording) > np.diff(times).max(initial=0):
        places = _slowest_seconds(recording, times - edges[0], begin, seconds)
        total = np.concatenate([[0.0], np.cumsum(np.bincount(places, weights=np.diff(counts), minlength=seconds))])
    found: list[int] = np.diff(np.rint(total / one_in).astype(np.int64)).tolist()
    return found


def _slowest_seconds(recording: Recording, times: Floats, begin: int, seconds: int) -> Ints:
    """The second of the replay with the fewest accesses of the load, for each stretch between two of these times.

    Those of the fill are not counted: it takes the last of such a stretch.
    """
    accesses = np.full(seconds, np.inf)
    accesses[begin + _seconds(recording)] = [row.accesses for row in recording.log]
    ends = np.clip(np.floor(times), 0, seconds - 1).astype(np.int64)
    found = []
    for first, last in pairwise(ends.tolist()):
        inside = accesses[first : last + 1]
        found.append(first + int(np.argmin(inside)) if np.isfinite(inside).any() else last)
    return np.array(found, np.int64)


def _part(pages: int | None, one_in: int) -> int | None:
    return None if pages is None else pages // one_in


def _lab_machine(recording: Recording) -> Machine:
    """The machine with what the emulation makes slow, and the scanner's longest pass where none were counted."""
    machine = replace(recording.machine, demotion_unit_s=DEMOTION_UNIT_S)
    if recording.reclaim is not None:
        machine = replace(
            machine,
            demotion_unit_s=LISTS_DEMOTION_UNIT_S,
            look_s=LOOK_S,
            slow_zone_watermarks=recording.reclaim.slow_watermarks,
            kernel_page_ratio=KERNEL_PAGE_RATIO,
        )
    if machine.scan_pass_s is not None:
        return machine
    return replace(machine, scan_pass_max_s=_scan_period_max_s(recording))


def _scan_period_max_s(recording: Recording) -> float:
    return float(recording.knobs.get(f"{SCANNER}/scan_period_max_ms", SCAN_PERIOD_MAX_MS)) / 1000


def smaller(machine: Machine, one_in: int) -> Machine:
    """The machine on which one page in so many is replayed."""
    marks = machine.zone_watermarks
    assert marks is not None
    return replace(
        machine,
        dram_pages=machine.dram_pages // one_in,
        slow_pages=machine.slow_pages // one_in,
        swap_pages=machine.swap_pages // one_in,
        zone_watermarks=(marks[0] // one_in, marks[1] // one_in, marks[2] // one_in),
        slow_zone_watermarks=(machine.slow_zone_watermarks[0] // one_in, machine.slow_zone_watermarks[1] // one_in),
        sampled_ratio=1 / one_in,
    )


def size_of(load: Load) -> int:
    """One page in so many is replayed, on a machine as much smaller; all where few pages take most accesses."""
    return 1 if load.distribution == "zipf" or load.page_units > 1 else 4


def _seconds(recording: Recording) -> Ints:
    """Second after the fill of each row of the log."""
    times = np.array([row.at for row in recording.log])
    return np.asarray(np.rint(times - times[0]), np.int64)


def columns(recording: Recording, one_in: int, seed: int = SEED) -> TraceColumns:
    """The accesses of each second: pages are filled in order of address, then drawn as the load draws them.

    A second that the log has no row of is as the one before it. Pages of files that are read beside come after all
    others, each with the one access that reads it.
    """
    load = recording.load
    random = np.random.default_rng(np.random.SeedSequence(seed))
    pages, together = load.pages // one_in, load.heat_units
    units = _sizes(load, pages)
    starts = np.cumsum(units) - units
    page_of_rank = random.permutation(pages // together).repeat(together) * together
    page_of_rank += np.arange(len(page_of_rank)) % together
    begin, second_of = int(np.ceil(load.fill_s)), _seconds(recording)
    first = starts * begin // pages
    parts: list[tuple[Ints, Ints, Ints]] = [(first, np.arange(len(units)), np.ones(len(units), np.int64))]
    chances: Floats = np.zeros(pages)
    flood: list[int] = []
    for second in range(int(second_of[-1]) + 1):
        row = recording.log[int(np.searchsorted(second_of, second, "right")) - 1]
        chances[page_of_rank] = np.roll(_chances(load, one_in, row.hot_pages), row.hot_begin // one_in % pages)
        per_page = np.add.reduceat(chances, starts)
        counts = random.poisson(per_page * (row.accesses / one_in))
        touched = np.flatnonzero(counts)
        parts.append((np.full(len(touched), begin + second), touched, counts[touched].astype(np.int64)))
        flood.append(int(row.flood_mib * PAGES_PER_MIB) // one_in)
    kinds = np.repeat(np.arange(3), [count // one_in for count in load.pages_by_kind])[starts]
    if _tracks_hot(load):
        kinds[page_of_rank[: recording.log[0].hot_pages // one_in]] = TMPFS
    read_at = begin + np.repeat(np.arange(len(flood)), flood)
    parts.append((read_at, len(kinds) + np.arange(len(read_at)), np.ones(len(read_at), np.int64)))
    interval, page, accesses = (np.concatenate([part[column] for part in parts]) for column in range(3))
    order = np.argsort(interval, kind="stable")
    intervals, count = begin + len(flood), len(kinds) + len(read_at)
    return TraceColumns(
        intervals=intervals,
        kinds=np.concatenate([kinds, np.full(len(read_at), FILE)]),
        units=np.concatenate([units, np.ones(len(read_at), np.int64)]),
        first=np.concatenate([first, read_at]),
        last=np.full(count, intervals - 1),
        row_interval=interval[order],
        row_page=page[order],
        row_accesses=accesses[order],
        row_written=random.random(len(page)) < WRITTEN,
    )


def _sizes(load: Load, pages: int) -> Ints:
    """Base pages of each page in order of address: huge ones, save where base pages came in their place."""
    sizes = np.full(pages // load.page_units, load.page_units)
    return np.concatenate(
        [np.ones(size, np.int64) if slot in load.fallen_back else [size] for slot, size in enumerate(sizes)]
        if load.fallen_back
        else [sizes]
    )


@cache
def _chances(load: Load, one_in: int, hot_pages: int) -> Floats:
    """Chance of each rank to be accessed; of so many ranks in a row one page stands for all, at their mean."""
    pages, hot = load.pages // one_in, hot_pages // one_in
    if load.distribution == "zipf":
        rates = 1.0 / np.arange(1, load.pages + 1) ** ZIPF
        grouped = rates[: pages * one_in].reshape(pages, one_in).sum(axis=1)
        return np.asarray(grouped / grouped.sum())
    found = np.zeros(pages)
    probability = 1.0 if load.distribution == "uniform" else load.hot_probability
    found[:hot] = probability / hot
    return np.asarray(found + (1.0 - probability) / pages)
