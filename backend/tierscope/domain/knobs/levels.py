"""What lies and is free on each tier, and what is asked of DRAM: gauges and counters of nodes and zones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tierscope.domain.base.page_size import bytes_of
from tierscope.domain.counters.monotonic import Bools, Floats, Ints, differences, nominal_step
from tierscope.domain.knobs.facts import Flows, Host
from tierscope.domain.ledger import Ledger

BURST_PERCENTILE = 99.0
RECURS = 0.10
"""Least share of the spill in each half of the steady part: that of one half alone is a service that fills up."""
_SUFFIXES = (
    "|meminfo|MemFree",
    "|meminfo|AnonPages",
    "|meminfo|FilePages",
    "|meminfo|Shmem",
    "|meminfo|Mapped",
    "|numastat|numa_hit",
    "|numastat|numa_foreign",
    "|zoneinfo|managed",
    "|zoneinfo|high",
    "|zoneinfo|promo",
    "|vmstat|zone_reclaim_failed",
)
_SWAP_SIZE, _SWAP_USED = "host|swaps|size", "host|swaps|used"
_PROMOTED = "|vmstat|pgpromote_success"


@dataclass(frozen=True, slots=True)
class Samples:
    """n samples of k counters in order of time. `values` [n, k] are 0 where not `present`; `boots` [n] tell reboots."""

    times_s: Floats
    boots: Ints
    keys: tuple[str, ...]
    values: Ints
    present: Bools


def wanted_keys(keys: Sequence[str]) -> list[str]:
    """Those counters of a layout that facts need besides the ledger."""
    return [
        key
        for key in keys
        if key.endswith(_SUFFIXES)
        or key in (_SWAP_SIZE, _SWAP_USED)
        or (key.startswith("node:") and key.endswith(_PROMOTED))
    ]


class Levels:
    """Gauges and counters of nodes and zones, read in the steady part."""

    def __init__(self, samples: Samples, steady_times: Floats, host: Host) -> None:
        self._samples = samples
        self._page_bytes = host.page_bytes
        self._place = {key: i for i, key in enumerate(samples.keys)}
        inside = np.isin(np.round(samples.times_s, 3), np.round(steady_times, 3))
        self._rows = inside if inside.any() else np.ones(len(samples.times_s), bool)
        scopes = [key.partition("|")[0] for key in samples.keys if key.endswith("|meminfo|MemFree")]
        nodes = [scope for scope in scopes if scope.startswith("node:")]
        slow = {f"node:{node}" for node in host.slow_nodes}
        self._slow = [scope for scope in nodes if scope in slow]
        self._top = [scope for scope in nodes if scope not in slow]

    def fill(self, host: Host) -> Host:
        """The host with what is free and what the kernel keeps free."""
        marks = [self._zones(name) for name in ("high", "promo")]
        known = [mark for mark in marks if mark is not None]
        managed = self._zones("managed")
        return replace(
            host,
            dram_free_bytes=self._level(self._top, "MemFree"),
            slow_free_bytes=self._level(self._slow, "MemFree"),
            dram_managed_bytes=host.dram_bytes if managed is None else managed,
            dram_watermark_bytes=max(known) if known else None,
            promotion_nodes=self._promoted_to() or host.promotion_nodes,
        )

    def add(self, flows: Flows, ledger: Ledger) -> Flows:
        """Flows with shares of anon and file memory, spill, bursts of allocation and swap in use."""
        top_anon, slow_anon = self._level(self._top, "AnonPages"), self._level(self._slow, "AnonPages")
        top_file, free = self._level(self._top, "FilePages"), self._level(self._top, "MemFree")
        anon = None if top_anon is None or slow_anon is None else top_anon + slow_anon
        used = None if top_anon is None or top_file is None or free is None else top_anon + top_file + free
        return replace(
            flows,
            slow_anon_ratio=slow_anon / anon if anon and slow_anon is not None else None,
            file_ratio_of_dram=top_file / used if used and top_file is not None else None,
            slow_shared_ratio=self._of_slow("Shmem"),
            slow_cache_ratio=self._of_slow("FilePages", less=("Shmem", "Mapped")),
            local_reclaim_failed_per_s=self._rate("host|vmstat|zone_reclaim_failed"),
            spilled_pages_per_s=self._spill(),
            allocation_p99_bytes_per_s=self._bursts(ledger),
            swap_used_ratio=self._swap_used(),
        )

    def _column(self, key: str) -> Floats | None:
        place = self._place.get(key)
        if place is None:
            return None
        values = np.where(self._samples.present[:, place], self._samples.values[:, place].astype(np.float64), np.nan)
        return values if np.isfinite(values).any() else None

    def _level(self, scopes: Sequence[str], name: str) -> float | None:
        columns = [self._column(f"{scope}|meminfo|{name}") for scope in scopes]
        known = [column for column in columns if column is not None]
        if not known or len(known) < len(columns):
            return None
        return median_of(np.sum(known, axis=0)[self._rows])

    def _zones(self, name: str) -> float | None:
        """Bytes of all zones of the top tier's nodes."""
        prefixes = tuple(f"zone:{scope.removeprefix('node:')}/" for scope in self._top)
        keys = [key for key in self._samples.keys if key.startswith(prefixes) and key.endswith(f"|zoneinfo|{name}")]
        columns = [column for column in map(self._column, keys) if column is not None]
        pages = median_of(np.sum(columns, axis=0)[self._rows]) if prefixes and columns else None
        return bytes_of(pages, self._page_bytes)

    def _promoted_to(self) -> int:
        """How many nodes of the top tier took promotions; 0 where none did, or they are not counted by node."""
        rates = [self._rate(f"{scope}{_PROMOTED}") for scope in self._top]
        return sum(rate is not None and rate > 0 for rate in rates)

    def _of_slow(self, name: str, less: Sequence[str] = ()) -> float | None:
        """The share of some memory in what lies on slower nodes, less parts of it; where those overlap it reads low."""
        anon, file_, part, *parts = (self._level(self._slow, each) for each in ("AnonPages", "FilePages", name, *less))
        used = None if anon is None or file_ is None else anon + file_
        known = [each for each in parts if each is not None]
        if not used or part is None or len(known) < len(parts):
            return None
        return max(part - sum(known), 0.0) / used

    def _rate(self, key: str) -> float | None:
        """How fast a counter grows in the steady part, a second; None where it is not there."""
        flow = self._flow([key])
        if flow is None:
            return None
        deltas, seconds = flow
        ok = np.isfinite(deltas) & self._rows[1:]
        return float(deltas[ok].sum()) / float(seconds[ok].sum()) if ok.any() else None

    def _allocated(self, name: str) -> tuple[Floats, Floats] | None:
        """Allocations of the top tier's nodes per interval with its seconds; None where a node does not count them."""
        return self._flow([f"{scope}|numastat|{name}" for scope in self._top])

    def _flow(self, keys: Sequence[str]) -> tuple[Floats, Floats] | None:
        """Sum of some counters per interval with its seconds; None where one is not there."""
        places = [self._place.get(key) for key in keys]
        chosen = [place for place in places if place is not None]
        if not chosen or len(chosen) < len(places) or len(self._samples.times_s) < 2:  # noqa: PLR2004 - two samples
            return None
        taken = self._samples
        found = differences(
            taken.times_s,
            taken.boots,
            taken.values[:, chosen],
            taken.present[:, chosen],
            nominal_s=nominal_step(taken.times_s),
        )
        timed = found.ok.all(axis=1) & (found.dt_seconds > 0)
        deltas = np.where(timed, found.delta.sum(axis=1).astype(np.float64), np.nan)
        return deltas, found.dt_seconds

    def _spill(self) -> float | None:
        """Allocations that wanted DRAM and got none, a second; those of one half alone are a service that fills up."""
        foreign = self._allocated("numa_foreign")
        if foreign is None:
            return None
        deltas, seconds = foreign
        ok = np.isfinite(deltas) & self._rows[1:]
        if not ok.any():
            return None
        early, late = (float(half.sum()) for half in np.array_split(deltas[ok], 2))
        if min(early, late) < RECURS * (early + late):
            return 0.0
        return (early + late) / float(seconds[ok].sum())

    def _bursts(self, ledger: Ledger) -> float | None:
        """The 99th percentile of what is asked of DRAM: given there or elsewhere, less promotions, which count too."""
        hit, foreign = self._allocated("numa_hit"), self._allocated("numa_foreign")
        if hit is None or foreign is None:
            return None
        promoted = dict(
            zip(np.round(ledger.times_s, 3).tolist(), ledger.column("promoted_pages").tolist(), strict=True)
        )
        moved = np.nan_to_num([promoted.get(at, 0.0) for at in np.round(self._samples.times_s[1:], 3).tolist()])
        rates = np.maximum(hit[0] + foreign[0] - moved, 0.0) / hit[1]
        rates = rates[np.isfinite(rates) & self._rows[1:]]
        return bytes_of(float(np.percentile(rates, BURST_PERCENTILE)) if len(rates) else None, self._page_bytes)

    def _swap_used(self) -> float | None:
        size, used = self._column(_SWAP_SIZE), self._column(_SWAP_USED)
        if size is None or used is None:
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = (used / size)[self._rows]
        shares = shares[np.isfinite(shares)]
        return float(shares[-1]) if len(shares) else None


def median_of(values: Floats) -> float | None:
    """The median of what is known, None where nothing is."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else None
