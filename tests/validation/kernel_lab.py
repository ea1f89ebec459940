"""The load of each recording of a real kernel, replayed under the policy that the kernel ran."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tierscope.domain.simulate import Machine, Outcome, TraceColumns, compile_trace, make_policy, replay
from validation.recordings import Load, Recording
from validation.tables import Row, verdict

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SEED = 1
WRITTEN = 0.3
ZIPF = 0.99
LAST_ROWS = 15
FACTOR, POINTS = 2.0, 0.10
ANON, TMPFS = 0, 2
SLOW = 1

SIZES: Mapping[str, int] = {
    "01-baseline-fits": 4,
    "04-pingpong": 4,
    "05-ratelimited": 4,
    "07b-phase-fastscan": 4,
    "12-kernel-6.1": 4,
}
"""One page in so many is replayed, on a machine as much smaller; all of them where few pages take most accesses."""

REMARKS: Mapping[str, str] = {
    "10-cxl-real": "Each access to the emulated device takes microseconds and each copy of a page milliseconds, of "
    "host time: the kernel gets less done in a second than the replay, which moves pages in no time. The moves are "
    "few (1.8 % of the load's pages).",
    "15-mixed-reclaim": "`memory.reclaim` and `memory.high` of the load's cgroup demote 92,888 pages more "
    "(`pgdemote_direct`): reclaim of one cgroup is not simulated, and is left out of the kernel's demotions here.",
}


@dataclass(frozen=True, slots=True)
class Found:
    """The kernel's numbers and those of the replay, pages of the whole machine, shares in 0..1."""

    name: str
    one_in: int
    promoted: tuple[float, float]
    demoted: tuple[float, float]
    local: tuple[float, float]
    hot_on_dram: tuple[float, float] | None
    on_dram: tuple[float, float]

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
        """As a row of a table."""
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
    if kernel == 0 or replayed == 0:
        return kernel == replayed
    return 1 / FACTOR <= replayed / kernel <= FACTOR


def _counted(pair: tuple[float, float]) -> str:
    kernel, replayed = pair
    ratio = f" = {replayed / kernel:.2f}" if kernel else ""
    return f"{replayed:,.0f} / {kernel:,.0f}{ratio}"


def _shares(pair: tuple[float, float]) -> str:
    return f"{pair[1]:.3f} / {pair[0]:.3f}"


def compare(recording: Recording, one_in: int | None = None) -> Found:
    """Replays a recording's load; one page in so many, those of `SIZES` unless it is said."""
    size = SIZES.get(recording.name, 1) if one_in is None else one_in
    begin = int(np.ceil(recording.load.fill_s))
    outcome = _replay(recording, size)
    figures, log = outcome.figures, recording.log
    seen = np.array([row["pages_n0"] + row["pages_n1"] > 0 for row in log])
    ops = np.array([row["ops_s"] for row in log])[seen]
    slow = np.array([row["slow_frac"] for row in log])[seen]
    accesses = figures.accesses[begin:].sum(axis=1)[seen]
    count = recording.counters.get
    hot = None
    if _tracks_hot(recording.load):
        last = log[-LAST_ROWS:]
        share = [row["hot_n0"] / (row["hot_n0"] + row["hot_n1"] + row["hot_absent"]) for row in last]
        hot = (
            float(np.mean(share)),
            float(figures.used[-LAST_ROWS:, 0, TMPFS].mean()) / (recording.load.hot_pages // size),
        )
    totals = outcome.totals()
    return Found(
        name=recording.name,
        one_in=size,
        promoted=(count("pgpromote_success", 0), totals.promoted_pages * size),
        demoted=(_demoted(recording), totals.demoted_pages * size),
        local=(1 - float((ops * slow).sum() / ops.sum()), 1 - float(accesses[:, SLOW].sum() / accesses.sum())),
        hot_on_dram=hot,
        on_dram=(
            float(np.mean([row["pages_n0"] for row in log[-LAST_ROWS:]])),
            float(figures.used[-LAST_ROWS:, 0].sum(axis=1).mean()) * size,
        ),
    )


def _demoted(recording: Recording) -> int:
    """Demotions by the kernel's own reclaim; those of a cgroup's reclaim are not simulated."""
    names = ["pgdemote_kswapd", "pgdemote_khugepaged"]
    if recording.name != "15-mixed-reclaim":
        names.append("pgdemote_direct")
    return sum(recording.counters.get(name, 0) for name in names)


def _tracks_hot(load: Load) -> bool:
    """Whether hot pages can be told apart by their kind: they stay the same, and all memory is anonymous."""
    return not load.phase_s and load.pages == load.pages_by_kind[ANON]


def _replay(recording: Recording, one_in: int) -> Outcome:
    trace = compile_trace(columns(recording, one_in))
    policy = make_policy("first_touch")
    if recording.tiering:
        # The kernel always adjusts its threshold, wakes demotion at low memory, and promotes into free memory only.
        switches = {"allocation_demotes": 1.0, "promotion_needs_free": 1.0}
        policy = make_policy("hot_page_selection_auto", {**switches, **recording.settings})
    return replay(trace, policy, _smaller(recording.machine, one_in), interval_s=1.0)


def _smaller(machine: Machine, one_in: int) -> Machine:
    marks = machine.zone_watermarks
    assert marks is not None
    return replace(
        machine,
        dram_pages=machine.dram_pages // one_in,
        slow_pages=machine.slow_pages // one_in,
        swap_pages=machine.swap_pages // one_in,
        zone_watermarks=(marks[0] // one_in, marks[1] // one_in, marks[2] // one_in),
        sampled_ratio=1 / one_in,
    )


def columns(recording: Recording, one_in: int) -> TraceColumns:
    """The accesses of each second: pages are filled in order of address, then drawn as the load draws them."""
    load = recording.load
    random = np.random.default_rng(np.random.SeedSequence(SEED))
    pages, hot = load.pages // one_in, load.hot_pages // one_in
    page_of_rank = random.permutation(pages)
    by_rank = _chances(load, one_in)
    begin = int(np.ceil(load.fill_s))
    first = np.arange(pages) * begin // pages
    parts: list[tuple[Ints, Ints, Ints]] = [(first, np.arange(pages), np.ones(pages, np.int64))]
    chances: Floats = np.zeros(pages)
    for second, row in enumerate(recording.log):
        if second == 0 or (load.phase_s and second % load.phase_s == 0):
            offset = second // load.phase_s * hot % pages if load.phase_s else 0
            chances[page_of_rank] = np.roll(by_rank, offset)
        counts = random.poisson(chances * (row["ops_s"] / one_in))
        touched = np.flatnonzero(counts)
        parts.append((np.full(len(touched), begin + second), touched, counts[touched].astype(np.int64)))
    interval, page, accesses = (np.concatenate([part[column] for part in parts]) for column in range(3))
    kinds = np.repeat(np.arange(3), [count // one_in for count in load.pages_by_kind])
    if _tracks_hot(load):
        kinds[page_of_rank[:hot]] = TMPFS
    intervals = begin + len(recording.log)
    return TraceColumns(
        intervals=intervals,
        kinds=kinds,
        units=np.ones(pages, np.int64),
        first=first,
        last=np.full(pages, intervals - 1),
        row_interval=interval,
        row_page=page,
        row_accesses=accesses,
        row_written=random.random(len(page)) < WRITTEN,
    )


def _chances(load: Load, one_in: int) -> Floats:
    """Chance of each rank to be accessed; of so many ranks in a row one page stands for all, at their mean."""
    pages, hot = load.pages // one_in, load.hot_pages // one_in
    if load.distribution == "zipf":
        rates = 1.0 / np.arange(1, load.pages + 1) ** ZIPF
        grouped = rates[: pages * one_in].reshape(pages, one_in).sum(axis=1)
        return np.asarray(grouped / grouped.sum())
    found = np.zeros(pages)
    probability = 1.0 if load.distribution == "uniform" else load.hot_probability
    found[:hot] = probability / hot
    return np.asarray(found + (1.0 - probability) / pages)
