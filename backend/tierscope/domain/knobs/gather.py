"""From a host's inventory, counters, ledger and verdict to the facts of rules. What is not known stays None."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tierscope.domain.counters import Bools, Floats, Ints, differences, nominal_step
from tierscope.domain.knobs.facts import RATE_LIMIT, Facts, Flows, Heat, Host, PingPong
from tierscope.domain.knobs.machine import read_host
from tierscope.domain.tier_moves import (
    Ledger,
    Verdict,
    follow_states,
    move_bytes_per_s,
    steady_intervals,
    traffic_holds,
)
from tierscope.domain.tier_moves.ping_pong import FAULT_SECONDS, PAGE_BYTES

GB = 1e9
MIB = 1 << 20
CRIT_SECONDS = 600.0
BUCKET_SECONDS = 300.0
"""Candidates come in bursts of the scanner, so that they are held against the limit in stretches of this length."""
BAND = 0.10
FAULTS_MIN = 100
HUGE_SPOILT = 1.05
"""Huge pages count 512 candidates and one fault: beyond this many candidates per fault the share says nothing."""
BURST_PERCENTILE = 99.0
RECURS = 0.10
_SUFFIXES = (
    "|meminfo|MemFree",
    "|meminfo|AnonPages",
    "|meminfo|FilePages",
    "|numastat|numa_hit",
    "|numastat|numa_foreign",
    "|zoneinfo|managed",
    "|zoneinfo|high",
    "|zoneinfo|promo",
)
_SWAP_SIZE, _SWAP_USED = "host|swaps|size", "host|swaps|used"


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
    return [key for key in keys if key.endswith(_SUFFIXES) or key in (_SWAP_SIZE, _SWAP_USED)]


def gather(
    inventory: Mapping[str, Any] | None,
    samples: Samples | None,
    ledger: Ledger,
    verdict: Verdict | None,
    heat: Heat | None = None,
    limit_events: int | None = None,
) -> Facts:
    """All facts of one host over one window. Flows and levels are those of the steady part, as in verdicts.

    `limit_events`: how often memory limits of cgroups were reached, None where not counted.
    """
    steady = steady_intervals(ledger)
    host = read_host(inventory)
    levels = None if samples is None else _Levels(samples, ledger.times_s[steady], host)
    word = None if verdict is None else verdict.word
    if levels is not None:
        host = levels.fill(host)
    flows = replace(_flows(ledger, steady, host, word), limit_events=limit_events)
    if levels is not None:
        flows = levels.add(flows, ledger)
    return Facts(host, flows, heat or Heat(), word)


class _Levels:
    """Gauges and counters of nodes and zones, read in the steady part."""

    def __init__(self, samples: Samples, steady_times: Floats, host: Host) -> None:
        self._samples = samples
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
        return _median(np.sum(known, axis=0)[self._rows])

    def _zones(self, name: str) -> float | None:
        """Bytes of all zones of the top tier's nodes."""
        prefixes = tuple(f"zone:{scope.removeprefix('node:')}/" for scope in self._top)
        keys = [key for key in self._samples.keys if key.startswith(prefixes) and key.endswith(f"|zoneinfo|{name}")]
        columns = [column for column in map(self._column, keys) if column is not None]
        pages = _median(np.sum(columns, axis=0)[self._rows]) if prefixes and columns else None
        return None if pages is None else pages * PAGE_BYTES

    def _flow(self, name: str) -> tuple[Floats, Floats] | None:
        """Allocations of the top tier's nodes per interval with its seconds; None where a node does not count them."""
        places = [self._place.get(f"{scope}|numastat|{name}") for scope in self._top]
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
        deltas = np.where(found.ok.all(axis=1), found.delta.sum(axis=1).astype(np.float64), np.nan)
        return deltas, found.dt_seconds

    def _spill(self) -> float | None:
        """Allocations that wanted DRAM and got none, a second; those of one half alone are a service that fills up."""
        foreign = self._flow("numa_foreign")
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
        hit, foreign = self._flow("numa_hit"), self._flow("numa_foreign")
        if hit is None or foreign is None:
            return None
        promoted = dict(
            zip(np.round(ledger.times_s, 3).tolist(), ledger.column("promoted_pages").tolist(), strict=True)
        )
        moved = np.nan_to_num([promoted.get(at, 0.0) for at in np.round(self._samples.times_s[1:], 3).tolist()])
        rates = np.maximum(hit[0] + foreign[0] - moved, 0.0) / hit[1]
        rates = rates[np.isfinite(rates) & self._rows[1:]]
        return float(np.percentile(rates, BURST_PERCENTILE)) * PAGE_BYTES if len(rates) else None

    def _swap_used(self) -> float | None:
        size, used = self._column(_SWAP_SIZE), self._column(_SWAP_USED)
        if size is None or used is None:
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = (used / size)[self._rows]
        shares = shares[np.isfinite(shares)]
        return float(shares[-1]) if len(shares) else None


def _flows(ledger: Ledger, steady: Bools, host: Host, word: str | None) -> Flows:
    seconds = float(ledger.dt_seconds[steady].sum())
    rate = {key: _rate(ledger, steady, key) for key in _RATES}
    promoted, demoted = rate["promoted_pages"], rate["demoted_pages"]
    candidates, faults = rate["promotion_candidates_pages"], rate["hint_faults"]
    moved = None if promoted is None or demoted is None else (promoted + demoted) * PAGE_BYTES
    direct, limited, reclaimed = (
        rate[key] for key in ("demoted_direct_pages", "limit_reclaimed_pages", "reclaimed_pages")
    )
    top, slow = (_median(ledger.column(key)[steady]) for key in ("top_resident_bytes", "slow_resident_bytes"))
    state = _ping_pong(ledger, host, word, seconds)
    return Flows(
        promoted_pages_per_s=promoted,
        demoted_pages_per_s=demoted,
        candidate_pages_per_s=candidates,
        candidates_steady_minutes=_steady_minutes(ledger, host.number(RATE_LIMIT)),
        swapped_out_pages_per_s=rate["swap_out_pages"],
        swapped_in_pages_per_s=rate["swap_in_pages"],
        refaulted_file_pages_per_s=rate["refault_file_pages"],
        refaulted_anon_pages_per_s=rate["refault_anon_pages"],
        hint_fault_cpu_ratio=None if faults is None else faults * FAULT_SECONDS,
        useful_promotion_p95_mb_per_s=_useful(ledger, steady) if state == "ok" else None,
        tier_move_slow_bandwidth_ratio=moved / (host.slow_gb_per_s * GB)
        if moved is not None and host.slow_gb_per_s
        else None,
        ping_pong=state,
        allocation_stalls_per_s=rate["direct_reclaim_stalls"],
        direct_demoted_ratio=direct / demoted if demoted and direct is not None else None,
        limit_reclaimed_ratio=min(max(limited, direct or 0.0) / reclaimed, 1.0)
        if reclaimed and limited is not None
        else None,
        hot_share_of_slow=_hot_share(ledger, steady),
        slow_ratio=slow / (top + slow) if top is not None and slow is not None and top + slow > 0 else None,
        seconds=seconds,
    )


_RATES = (
    "promoted_pages",
    "demoted_pages",
    "demoted_direct_pages",
    "promotion_candidates_pages",
    "hint_faults",
    "swap_out_pages",
    "swap_in_pages",
    "refault_file_pages",
    "refault_anon_pages",
    "reclaimed_pages",
    "limit_reclaimed_pages",
    "direct_reclaim_stalls",
)


def _rate(ledger: Ledger, steady: Bools, key: str) -> float | None:
    values = ledger.column(key)
    known = steady & np.isfinite(values)
    seconds = float(ledger.dt_seconds[known].sum())
    return float(values[known].sum()) / seconds if seconds > 0 else None


def _median(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else None


def _hot_share(ledger: Ledger, steady: Bools) -> float | None:
    """Candidates per hint fault; None with too few faults, and where huge pages spoil the ratio."""
    candidates, faults = (ledger.column(key)[steady] for key in ("promotion_candidates_pages", "hint_faults"))
    known = np.isfinite(candidates) & np.isfinite(faults)
    some, all_ = float(candidates[known].sum()), float(faults[known].sum())
    return min(some / all_, 1.0) if all_ >= FAULTS_MIN and some <= HUGE_SPOILT * all_ else None


def _useful(ledger: Ledger, steady: Bools) -> float | None:
    """The 95th percentile of promotion over intervals, MB/s."""
    rates = ledger.column("promoted_pages")[steady] * PAGE_BYTES / np.maximum(ledger.dt_seconds[steady], 1e-9) / 1e6
    rates = rates[np.isfinite(rates)]
    return float(np.percentile(rates, 95)) if len(rates) else None


def _ping_pong(ledger: Ledger, host: Host, word: str | None, seconds: float) -> PingPong | None:
    """Measured on TPP kernels; elsewhere the verdict: futile moves are WARN, and CRIT after ten minutes."""
    marked = ledger.column("candidates_demoted")
    if np.isfinite(marked).any():
        candidates, promoted, demoted = (
            ledger.column(key) for key in ("promotion_candidates_pages", "promoted_pages", "demoted_pages")
        )
        moved = np.nan_to_num(promoted) + np.nan_to_num(demoted)
        ratios = [float(a / b) if np.isfinite(a) and b > 0 else None for a, b in zip(marked, candidates, strict=True)]
        busy = [
            traffic_holds(move_bytes_per_s(int(pages), 0, float(dt)), host.dram_bytes)
            for pages, dt in zip(moved, ledger.dt_seconds, strict=True)
        ]
        return follow_states(ratios, busy)[-1]
    if word is None or word == "not_enough_data":
        return None
    if word != "futile_ping_pong":
        return "ok"
    return "crit" if seconds >= CRIT_SECONDS else "warn"


def _steady_minutes(ledger: Ledger, limit_mib_per_s: int | None) -> float | None:
    """How long candidates have been on one side of the limit up to the end of the window; None where not counted."""
    candidates = ledger.column("promotion_candidates_pages")
    known = np.isfinite(candidates)
    if not limit_mib_per_s or not known.any():
        return None
    age = ledger.times_s[known][-1] - ledger.times_s[known]
    place = np.floor(age / BUCKET_SECONDS).astype(np.int64)
    seconds = np.bincount(place, weights=ledger.dt_seconds[known])
    pages = np.bincount(place, weights=candidates[known])
    with np.errstate(invalid="ignore", divide="ignore"):
        share = pages * PAGE_BYTES / seconds / (limit_mib_per_s * MIB)
    side = np.where(share > 1 + BAND, 1, np.where(share < 1 - BAND, -1, 0))
    same = (side == side[0]) & (side != 0) & (seconds > 0)
    run = len(same) if same.all() else int(np.argmin(same))
    return float(seconds[:run].sum()) / 60.0
