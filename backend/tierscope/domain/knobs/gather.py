"""From a host's inventory, counters, ledger and verdict to the facts of rules. What is not known stays None."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tierscope.domain.base.page_size import bytes_of
from tierscope.domain.counters.monotonic import Bools, Floats, differences, nominal_step
from tierscope.domain.knobs.facts import RATE_LIMIT, Facts, Flows, Heat, Host, PingPong
from tierscope.domain.knobs.levels import Levels, Samples, median_of
from tierscope.domain.knobs.machine import read_host, read_knobs
from tierscope.domain.ledger import (
    Context,
    Ledger,
    Verdict,
    Word,
    follow_states,
    limited_bytes_per_s,
    move_bytes_per_s,
    steady_intervals,
    traffic_holds,
)
from tierscope.domain.ledger.outcome import measured_outcome
from tierscope.domain.ledger.ping_pong import FAULT_SECONDS
from tierscope.domain.ratio.memory_bound import MemoryBound, bind_memory, read_nodes, read_traffic

GB = 1e9
CRIT_SECONDS = 600.0
BUCKET_SECONDS = 300.0
"""Candidates come in bursts of the scanner, so that they are held against the limit in stretches of this length."""
BAND = 0.10
FAULTS_MIN = 100
HUGE_SPOILT = 1.05
"""Huge pages count 512 candidates and one fault: beyond this many candidates per fault the share says nothing."""


def gather(
    inventory: Mapping[str, Any] | None,
    samples: Samples | None,
    ledger: Ledger,
    verdict: Verdict | None,
    heat: Heat | None = None,
    limit_events: int | None = None,
    before: Mapping[str, Any] | None = None,
) -> Facts:
    """All facts of one host over one window. Flows and levels are those of the steady part, as in verdicts.

    `limit_events`: how often memory limits of cgroups were reached, None where not counted. `before`: the inventory as
    the window began, None where none is known.
    """
    steady = steady_intervals(ledger)
    host = _with_damon(read_host(inventory), ledger)
    levels = None if samples is None else Levels(samples, ledger.times_s[steady], host)
    word = _word(verdict)
    if levels is not None:
        host = levels.fill(host)
    flows = replace(_flows(ledger, steady, host, word), limit_events=limit_events)
    if levels is not None:
        flows = levels.add(flows, ledger)
    heat = heat or Heat()
    if samples is not None and heat.bound is None:
        heat = replace(heat, bound=classify_host(inventory, samples))
    was = read_knobs(before)
    unsettled = frozenset(path for path, value in host.knobs.items() if was.get(path) not in (None, value))
    return Facts(host, flows, heat, word, unsettled)


def _with_damon(host: Host, ledger: Ledger) -> Host:
    """The host with what schemes of DAMON do that run at the end of the window, whether or not they moved anything."""
    late = slice(len(ledger.times_s) // 2, None)
    up, down = (
        bool(np.isfinite(ledger.column(key)[late]).any()) for key in ("damon_promoted_bytes", "damon_demoted_bytes")
    )
    # What goes down by a scheme that spreads hot pages is no demotion of cold ones.
    down = down and not host.damon_spreads
    return replace(host, damon_promotes=host.damon_promotes or up, damon_demotes=host.damon_demotes or down)


def _word(verdict: Verdict | None) -> Word | None:
    """The verdict's word; None where too little was recorded for any: what was not seen has a word that it may be."""
    if verdict is None or (verdict.word == "not_known" and not verdict.evidence):
        return None
    return verdict.word


def _flows(ledger: Ledger, steady: Bools, host: Host, word: str | None) -> Flows:
    seconds = float(ledger.dt_seconds[steady].sum())
    rate = {key: _rate(ledger, steady, key) for key in _RATES}
    promoted, demoted = rate["promoted_pages"], rate["demoted_pages"]
    candidates, faults = rate["promotion_candidates_pages"], rate["hint_faults"]
    moved = bytes_of(None if promoted is None or demoted is None else promoted + demoted, host.page_bytes)
    direct, limited, reclaimed = (
        rate[key] for key in ("demoted_direct_pages", "limit_reclaimed_pages", "reclaimed_pages")
    )
    top, slow = (median_of(ledger.column(key)[steady]) for key in ("top_resident_bytes", "slow_resident_bytes"))
    state, outcome = _ping_pong(ledger, host, word, seconds), measured_outcome(ledger, Context())
    return Flows(
        promoted_pages_per_s=promoted,
        demoted_pages_per_s=demoted,
        candidate_pages_per_s=candidates,
        candidates_steady_minutes=_steady_minutes(ledger, host),
        swapped_out_pages_per_s=rate["swap_out_pages"],
        swapped_in_pages_per_s=rate["swap_in_pages"],
        refaulted_file_pages_per_s=rate["refault_file_pages"],
        refaulted_anon_pages_per_s=rate["refault_anon_pages"],
        hint_fault_cpu_ratio=None if faults is None else faults * FAULT_SECONDS,
        useful_promotion_p95_mb_per_s=_useful(ledger, steady, host.page_bytes) if state == "ok" else None,
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
        slow_access_ratio=None if outcome is None else outcome.slow_share,
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


def _hot_share(ledger: Ledger, steady: Bools) -> float | None:
    """Candidates per hint fault; None with too few faults, and where huge pages spoil the ratio."""
    candidates, faults = (ledger.column(key)[steady] for key in ("promotion_candidates_pages", "hint_faults"))
    known = np.isfinite(candidates) & np.isfinite(faults)
    some, all_ = float(candidates[known].sum()), float(faults[known].sum())
    return min(some / all_, 1.0) if all_ >= FAULTS_MIN and some <= HUGE_SPOILT * all_ else None


def _useful(ledger: Ledger, steady: Bools, page_bytes: int | None) -> float | None:
    """The 95th percentile of promotion over intervals, MB/s."""
    if page_bytes is None:
        return None
    rates = ledger.column("promoted_pages")[steady] * page_bytes / np.maximum(ledger.dt_seconds[steady], 1e-9) / 1e6
    rates = rates[np.isfinite(rates)]
    return float(np.percentile(rates, 95)) if len(rates) else None


def _ping_pong(ledger: Ledger, host: Host, word: str | None, seconds: float) -> PingPong | None:
    """Measured on TPP kernels; elsewhere the verdict: futile moves are WARN, and CRIT after ten minutes."""
    marked = ledger.column("candidates_demoted")
    if np.isfinite(marked).any():
        if host.page_bytes is None:
            return None
        candidates, promoted, demoted = (
            ledger.column(key) for key in ("promotion_candidates_pages", "promoted_pages", "demoted_pages")
        )
        moved = np.nan_to_num(promoted) + np.nan_to_num(demoted)
        ratios = [float(a / b) if np.isfinite(a) and b > 0 else None for a, b in zip(marked, candidates, strict=True)]
        busy = [
            traffic_holds(move_bytes_per_s(int(pages), host.page_bytes, float(dt)), host.dram_bytes)
            for pages, dt in zip(moved, ledger.dt_seconds, strict=True)
        ]
        return follow_states(ratios, busy)[-1]
    if word is None or word == "not_known":
        return None
    if word != "futile_ping_pong":
        return "ok"
    return "crit" if seconds >= CRIT_SECONDS else "warn"


def _steady_minutes(ledger: Ledger, host: Host) -> float | None:
    """How long candidates have been on one side of what the limit lets pass on all nodes, up to the end of the window.

    None where they are not counted.
    """
    candidates = ledger.column("promotion_candidates_pages")
    known = np.isfinite(candidates)
    limit_mib_per_s, page_bytes = host.number(RATE_LIMIT), host.page_bytes
    if not limit_mib_per_s or page_bytes is None or not known.any():
        return None
    age = ledger.times_s[known][-1] - ledger.times_s[known]
    place = np.floor(age / BUCKET_SECONDS).astype(np.int64)
    seconds = np.bincount(place, weights=ledger.dt_seconds[known])
    pages = np.bincount(place, weights=candidates[known])
    with np.errstate(invalid="ignore", divide="ignore"):
        share = pages * page_bytes / seconds / limited_bytes_per_s(limit_mib_per_s, host.limited_nodes)
    side = np.where(share > 1 + BAND, 1, np.where(share < 1 - BAND, -1, 0))
    same = (side == side[0]) & (side != 0) & (seconds > 0)
    run = len(same) if same.all() else int(np.argmin(same))
    return float(seconds[:run].sum()) / 60.0


def classify_host(inventory: Mapping[str, Any] | None, samples: Samples) -> MemoryBound:
    """What limits the host's memory over the intervals of its samples."""
    place = {key: i for i, key in enumerate(samples.keys)}

    def rates_of(keys: Sequence[str]) -> Floats:
        columns = [place[key] for key in keys]
        found = differences(
            samples.times_s,
            samples.boots,
            samples.values[:, columns],
            samples.present[:, columns],
            nominal_s=nominal_step(samples.times_s),
        )
        ok = found.ok.all(axis=1) & (found.dt_seconds > 0)
        rates: Floats = np.asarray(found.delta[ok], np.float64) / found.dt_seconds[ok][:, None]
        return rates

    nodes = read_nodes(inventory)
    return bind_memory(nodes, read_traffic(samples.keys, rates_of, nodes.top_nodes))
