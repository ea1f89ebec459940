"""Counter keys, and differences of monotonic counters under the rules for reboot, wrap, missing values and gaps.

A key is `<scope>|<source>|<name>`. Values are int64 as read; a mask says which were read at all. Differences are never
guessed: where one cannot be had, it is absent and the cause is named.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

CounterKind = Literal["counter", "gauge", "unknown"]

GAP_INTERVALS = 3.0
"""A step longer than this many nominal intervals is flagged as a gap."""


class Cause(IntEnum):
    """Why a difference is absent, or, for GAP, flagged though kept. Stored as these numbers."""

    NONE = 0
    REBOOT = 1
    WENT_BACKWARDS = 2
    MISSING = 3
    GAP = 4
    FIRST = 5


CAUSE_TEXT: dict[int, str] = {
    Cause.REBOOT: "reboot, or a recording that counts anew: the counters began again at zero",
    Cause.WENT_BACKWARDS: "a counter went backwards within one boot: wrap, or the kernel zeroed it",
    Cause.MISSING: "a counter was not read at one end of the interval",
    Cause.GAP: "no samples for longer than three intervals; the difference spans the gap",
    Cause.FIRST: "nothing before it to compare with",
}


@dataclass(frozen=True, slots=True)
class Key:
    """A parsed counter key."""

    scope: str
    source: str
    name: str


def parse_key(key: str) -> Key:
    """Split a key. A key with fewer parts keeps what there is as the name, so that nothing is dropped."""
    scope, bar, rest = key.partition("|")
    if not bar:
        return Key("", "", key)
    source, bar, name = rest.partition("|")
    return Key(scope, source, name) if bar else Key(scope, "", source)


@dataclass(frozen=True, slots=True)
class Differences:
    """Differences of n samples to the one before: row i belongs to sample i + 1.

    `delta` [n-1, k] is 0 where not `ok`; `cause` [n-1, k] says why not; `gap` [n-1] flags long steps of `dt_seconds`.
    """

    delta: Ints
    ok: Bools
    cause: npt.NDArray[np.int8]
    dt_seconds: Floats
    gap: Bools


def nominal_step(times_s: Floats) -> float:
    """The usual distance of samples in seconds: the median step, 60 with fewer than two samples."""
    steps = np.diff(times_s)
    steps = steps[steps > 0]
    return float(np.median(steps)) if len(steps) else 60.0


def differences(times_s: Floats, boots: Ints, values: Ints, present: Bools, *, nominal_s: float) -> Differences:
    """Difference each sample to the one before it.

    Rules: another boot id makes all differences of the step absent (REBOOT); a decrease makes that one absent
    (WENT_BACKWARDS); a value missing at either end makes it absent (MISSING); a step over `GAP_INTERVALS` nominal
    intervals within one boot keeps its difference and is flagged. `times_s` is strictly increasing.
    """
    dt = np.diff(times_s)
    return step_differences(
        values[:-1],
        values[1:],
        present[1:] & present[:-1],
        boots[1:] == boots[:-1],
        dt,
        dt > GAP_INTERVALS * nominal_s,
    )


def step_differences(before: Ints, after: Ints, both: Bools, same_boot: Bools, dt: Floats, gap: Bools) -> Differences:
    """The same for steps [n] that need not follow each other; `both` [n, k]: present at either end."""
    one_boot = same_boot[:, None]
    delta = np.subtract(after, before)
    forwards = after >= before
    ok = both & one_boot & forwards
    cause = np.zeros(delta.shape, np.int8)
    cause[~forwards] = Cause.WENT_BACKWARDS
    cause[~both] = Cause.MISSING
    cause[np.broadcast_to(~one_boot, cause.shape)] = Cause.REBOOT
    return Differences(delta=np.where(ok, delta, 0), ok=ok, cause=cause, dt_seconds=dt, gap=gap)


_MONOTONIC_NR = frozenset(
    {
        "nr_dirtied",
        "nr_written",
        "nr_throttled_written",
        "nr_vmscan_write",
        "nr_vmscan_immediate_reclaim",
        "nr_foll_pin_acquired",
        "nr_foll_pin_released",
        "nr_tlb_remote_flush",
        "nr_tlb_remote_flush_received",
        "nr_tlb_local_flush_all",
        "nr_tlb_local_flush_one",
    }
)
_GAUGE_NAMES = frozenset({"workingset_nodes", "nr_unstable"})
_GAUGE_SOURCES = frozenset(
    {
        "meminfo",
        "zoneinfo",
        "memory.current",
        "memory.max",
        "memory.high",
        "memory.low",
        "memory.min",
        "swaps",
        "smaps_rollup",
    }
)
_COUNTER_SOURCES = frozenset({"numastat", "memory.events", "memory.events.local", "stat", "cpu.stat", "io.stat"})
_MEMORY_STAT_COUNTERS = (
    "pg",
    "workingset_",
    "numa_",
    "thp_fault",
    "thp_collapse",
    "thp_swpout",
    "zswp",
    "pswp",
    "swpin",
    "swpout",
)


def guess_kind(key: Key) -> CounterKind:
    """Whether a counter that the catalogue does not have is monotonic, by the rules of the kernel's files."""
    if key.source.endswith(("pressure.memory", "pressure.cpu", "pressure.io", "pressure.irq", ".pressure")):
        return "counter" if key.name.endswith("total_us") else "gauge"
    if key.source in _COUNTER_SOURCES:
        return "counter"
    if key.source in _GAUGE_SOURCES:
        return "counter" if key.source == "zoneinfo" and key.name.startswith("numa_") else "gauge"
    if key.source == "vmstat":
        if key.name in _MONOTONIC_NR:
            return "counter"
        return "gauge" if key.name.startswith("nr_") or key.name in _GAUGE_NAMES else "counter"
    if key.source in ("memory.stat", "memory.numa_stat"):
        if key.name.startswith("workingset_nodes"):
            return "gauge"
        return "counter" if key.name.startswith(_MEMORY_STAT_COUNTERS) else "gauge"
    return "unknown"


def guess_unit(key: Key) -> str:
    """The unit of a counter that the catalogue does not have."""
    if key.name.endswith("_us"):
        return "us"
    if key.source in ("meminfo", "smaps_rollup", "swaps") or key.source.startswith(
        ("memory.current", "memory.max", "memory.high")
    ):
        return "bytes"
    if key.source in ("memory.stat", "memory.numa_stat"):
        return "count" if guess_kind(key) == "counter" else "bytes"
    if key.source in ("vmstat", "zoneinfo") and (key.name.startswith(("nr_", "pg")) or key.source == "zoneinfo"):
        return "pages"
    return "count"
