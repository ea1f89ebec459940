"""Watching a service while a load runs: lag, and CPU time and memory of its process trees."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tierscope.core.embedded.process import stat_fields

if TYPE_CHECKING:
    from tierscope.usecases.operate.load_figures import LoadFigures

EVERY_SECONDS = 5.0
_PPID, _TICKS, _RSS = 1, slice(11, 15), 21
"""Fields of /proc/PID/stat, counted behind the name: parent, CPU of the process and its ended children, pages."""


@dataclass(frozen=True, slots=True)
class Use:
    """Of one process tree: CPU seconds so far, and resident bytes (shared ones counted in each process)."""

    cpu_seconds: float
    rss_bytes: int


@dataclass(frozen=True, slots=True)
class Look:
    """What one look found. `lag`: None where the database did not answer in time."""

    at_s: float
    lag: dict[str, float] | None
    use: dict[str, Use]


class LoadWatch(threading.Thread):
    """Looks every few seconds, at the hosts that enrol from now on. `at_s` of a look is of the monotonic clock.

    Hosts that are there already send too, and what they send waits for others' sake: a new one has no row of its
    ledger before its second sample.
    """

    def __init__(self, figures: LoadFigures, stages: Mapping[str, int]) -> None:
        super().__init__(name="load-watch", daemon=True)
        self._figures = figures
        self._begun = figures.newest_enrolment()
        self.stages = dict(stages)
        """Root process of each stage; more may be added while it runs."""
        self.looks: list[Look] = []
        self._stop_asked = threading.Event()

    def run(self) -> None:
        """Look until asked to stop."""
        while not self._stop_asked.wait(EVERY_SECONDS):
            self.look()

    def look(self) -> None:
        """Look now. The database may be too busy to answer; the look is kept without its lag then."""
        from tierscope.core.errors import TierscopeError

        use = use_of_trees(self.stages)
        at_s = time.monotonic()
        try:
            lag = {name: float(value) for name, value in asdict(self._figures.lag(self._begun)).items()}
        except TierscopeError:
            lag = None
        self.looks.append(Look(at_s, lag, use))

    def settle(self, *, at_most_s: float, wholly: bool) -> float | None:
        """Wait until no ledger is behind, then end; after how many seconds, None if never.

        `wholly`: until nothing at all is due, closed buckets included.
        """
        due = "oldest_due_s" if wholly else "open_due_s"
        start = time.monotonic()
        waited = None
        while waited is None and time.monotonic() - start < at_most_s:
            self.look()
            lag = self.looks[-1].lag
            if lag is not None and lag["behind_s"] <= 0 and lag[due] <= 0:
                waited = time.monotonic() - start
            else:
                self._stop_asked.wait(1.0)
        self.stop()
        return waited

    def stop(self) -> None:
        """End; harmless when it ended before."""
        self._stop_asked.set()
        self.join()


@dataclass(frozen=True, slots=True)
class Spent:
    """Over a part of a load: its seconds, CPU seconds by stage, and the largest resident size by stage."""

    seconds: float
    cpu_seconds: dict[str, float]
    rss_bytes: dict[str, int]


def spent(looks: list[Look], begin_s: float, end_s: float) -> Spent | None:
    """What was spent between the looks next to the two times; None where there are not two."""
    within = [look for look in looks if begin_s - EVERY_SECONDS / 2 <= look.at_s <= end_s + EVERY_SECONDS / 2]
    if len(within) < 2:  # noqa: PLR2004 - a difference
        return None
    seconds = within[-1].at_s - within[0].at_s
    return Spent(
        seconds=seconds,
        cpu_seconds={name: _cpu_rate(within, name) * seconds for name in within[0].use},
        rss_bytes={
            name: max(look.use[name].rss_bytes for look in within if name in look.use) for name in within[0].use
        },
    )


def _cpu_rate(looks: list[Look], stage: str) -> float:
    """CPU seconds per second of a stage while it was seen: the generator ends before the last look."""
    seen = [look for look in looks if stage in look.use]
    seconds = seen[-1].at_s - seen[0].at_s
    return (seen[-1].use[stage].cpu_seconds - seen[0].use[stage].cpu_seconds) / seconds if seconds > 0 else 0.0


def lag_summary(looks: list[Look], begin_s: float) -> dict[str, Any]:
    """The worst and the usual lag from a time on."""
    seen = [look for look in looks if look.at_s >= begin_s]
    lags = [look.lag for look in seen if look.lag is not None]
    found: dict[str, Any] = {"looks": len(seen), "failed_looks": len(seen) - len(lags)}
    for name in ("open_due_s", "oldest_due_s", "behind_s", "pending"):
        ordered = sorted(lag[name] for lag in lags)
        if ordered:
            p95 = ordered[min(round(len(ordered) * 0.95), len(ordered) - 1)]
            found[name] = {"p50": ordered[len(ordered) // 2], "p95": p95, "max": ordered[-1]}
    return found


def use_of_trees(roots: Mapping[str, int]) -> dict[str, Use]:
    """What each process tree used so far, by one walk through /proc. Processes that ended count with their parents."""
    children: dict[int, list[int]] = defaultdict(list)
    own: dict[int, Use] = {}
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = stat_fields(int(entry.name))
            if fields is not None:
                children[int(fields[_PPID])].append(int(entry.name))
                cpu = sum(int(field) for field in fields[_TICKS]) / ticks
                own[int(entry.name)] = Use(cpu, int(fields[_RSS]) * page)
    return {name: _sum(pid, own, children) for name, pid in roots.items() if pid in own}


def parent_of(pid: int) -> int | None:
    """The parent of a process of this machine; None where it cannot be seen."""
    fields = stat_fields(pid)
    return None if fields is None else int(fields[_PPID])


def _sum(pid: int, own: Mapping[int, Use], children: Mapping[int, list[int]]) -> Use:
    parts = [own[pid], *(_sum(child, own, children) for child in children.get(pid, []))]
    return Use(sum(part.cpu_seconds for part in parts), sum(part.rss_bytes for part in parts))
