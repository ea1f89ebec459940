"""What rules judge of one host, interval by interval, from its ledger and its raw counters.

Differences follow the one set of rules for reboots, wraps and holes (domain/counters/monotonic.py): where one cannot be
had, the value is absent, so that neither a reset nor a lost sample is ever an amount.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tierscope.domain.alerts.catalogue import is_flow, pick_keys
from tierscope.domain.alerts.frame import Bools, Floats, Ints
from tierscope.domain.alerts.vocabulary import BUDGET_WORDS, PING_PONG_WORDS, VERDICT_WORDS
from tierscope.domain.counters.monotonic import differences, nominal_step
from tierscope.domain.counters.packing import Block
from tierscope.domain.ledger import COLUMN_KEYS, COLUMNS, Ledger, Tiers

_MEMINFO = {
    "memory_total_bytes": "host|meminfo|MemTotal",
    "memory_available_bytes": "host|meminfo|MemAvailable",
    "swap_total_bytes": "host|meminfo|SwapTotal",
    "swap_free_bytes": "host|meminfo|SwapFree",
}
_ALLOCATED = "host|vmstat|pgalloc_"
SERVICE_NAMES = tuple(column.key for column in COLUMNS if column.service is not None)


@dataclass(frozen=True, slots=True)
class Report:
    """A report of the agent on itself: its end, what it is of before that, and what it says; None where it does not."""

    end_s: float
    seconds: float
    budget: str | None
    samples_taken: int | None
    samples_lost: int | None
    spool_batches: int


@dataclass(frozen=True, slots=True)
class Placed:
    """Sampled loads of one interval, by where they went."""

    end_s: float
    slow: float
    known: float


@dataclass(frozen=True, slots=True)
class Judged:
    """Per interval [n]: the state of ping-pong and the verdict, as numbers of their words; NaN where not judged."""

    ping_pong: Floats
    verdict: Floats


Columns = dict[str, Floats]


def ledger_columns(ledger: Ledger, names: Sequence[str] = COLUMN_KEYS) -> Columns:
    """The ledger's columns as inputs."""
    return {name: ledger.column(name) for name in names}


def moved_columns(ledger: Ledger, page_bytes: int | None) -> Columns:
    """Tier moves and what was asked of them in bytes; absent where the page size of the host is not known."""
    ways = ("promoted", "demoted", "promotion_candidates")
    return {f"{way}_bytes": in_bytes(ledger.column(f"{way}_pages"), page_bytes) for way in ways}


def in_bytes(pages: Floats, page_bytes: int | None) -> Floats:
    """Counts of pages in bytes; NaN where the page size is not known."""
    return pages * (np.nan if page_bytes is None else float(page_bytes))


def host_columns(
    block: Block, times_s: Floats, tiers: Tiers, top_bytes: float | None, page_bytes: int | None
) -> Columns:
    """Sizes and free memory at the ends of intervals [n], and pages allocated in them."""
    rows = _rows_at(block, times_s)
    found = {name: _states(block, [key], rows) for name, key in _MEMINFO.items()}
    free = [f"node:{node}|meminfo|MemFree" for node in sorted(tiers.top_nodes)]
    found["top_free_bytes"] = _states(block, free, rows)
    if free and page_bytes is not None and np.isnan(found["top_free_bytes"]).all():
        pages = [f"node:{node}|vmstat|nr_free_pages" for node in sorted(tiers.top_nodes)]
        found["top_free_bytes"] = _states(block, pages, rows) * page_bytes
    size = np.nan if top_bytes is None else top_bytes
    found["top_capacity_bytes"] = np.where(rows >= 0, size, np.nan)
    allocated = [key for key in block.keys if key.startswith(_ALLOCATED)]
    found["allocated_pages"] = _amounts(block, allocated, rows)
    return found


def host_keys(keys: Sequence[str]) -> list[str]:
    """Those of a layout's keys that `host_columns` may read."""
    ends = ("|meminfo|MemFree", "|vmstat|nr_free_pages")
    sizes = set(_MEMINFO.values())
    return [key for key in keys if key in sizes or key.startswith(_ALLOCATED) or key.endswith(ends)]


def catalogue_columns(block: Block, times_s: Floats, names: Sequence[str], scope: str | None, tiers: Tiers) -> Columns:
    """Metrics of the catalogue that rules name."""
    rows = _rows_at(block, times_s)
    found = {}
    for name in names:
        keys = pick_keys(name, block.keys, scope, tiers.top_nodes)
        found[name] = (_amounts if is_flow(name) else _states)(block, keys, rows)
    return found


def agent_columns(times_s: Floats, seconds: Floats, reports: Sequence[Report]) -> Columns:
    """The agent's reports in the intervals that they are of: one, or those of a batch that holds several.

    Counts of a report are shared among its intervals by their lengths, in whole numbers.
    """
    shape = len(times_s)
    names = ("agent_budget", "agent_samples_taken", "agent_samples_lost", "agent_spool_batches")
    found = {name: np.full(shape, np.nan) for name in names}
    for report in reports:
        ended = (report.end_s > times_s - seconds + 1e-6) & (report.end_s <= times_s + 1e-6)
        earlier = (times_s <= report.end_s) & (times_s > report.end_s - report.seconds + seconds / 2)
        places = np.flatnonzero(ended | earlier)
        if not len(places):
            continue
        if report.budget in BUDGET_WORDS:
            found["agent_budget"][places] = BUDGET_WORDS.index(report.budget)
        _share(found["agent_samples_taken"], places, seconds, report.seconds, report.samples_taken)
        _share(found["agent_samples_lost"], places, seconds, report.seconds, report.samples_lost)
        found["agent_spool_batches"][places] = report.spool_batches
    return found


def placement_columns(times_s: Floats, seconds: Floats, placed: Sequence[Placed]) -> Columns:
    """Sampled loads by tier in the intervals in which theirs end."""
    slow, known = np.full(len(times_s), np.nan), np.full(len(times_s), np.nan)
    for item in placed:
        inside = np.flatnonzero((item.end_s > times_s - seconds + 1e-6) & (item.end_s <= times_s + 1e-6))
        for place in inside[:1].tolist():
            slow[place] = np.nan_to_num(slow[place]) + item.slow
            known[place] = np.nan_to_num(known[place]) + item.known
    return {"slow_tier_samples": slow, "placed_samples": known}


def judged_columns(judged: Judged) -> Columns:
    """Words as their numbers."""
    return {"ping_pong_state": judged.ping_pong, "verdict": judged.verdict}


def state_number(state: str | None) -> float:
    """The number of a state of ping-pong; NaN where it is not known."""
    return float(PING_PONG_WORDS.index(state)) if state in PING_PONG_WORDS else np.nan


def verdict_number(word: str) -> float:
    """The number of a verdict; `not_known` is absent."""
    return np.nan if word == "not_known" else float(VERDICT_WORDS.index(word))


def to_matrix(columns: Mapping[str, Floats], names: Sequence[str]) -> Floats:
    """[n, names] of columns."""
    return np.stack([columns[name] for name in names], axis=1)


def uncovered(times_s: Floats, seconds: Floats, spans: Sequence[tuple[float, float]]) -> Bools:
    """Intervals that no stored one overlaps: late rows never take the place of what was judged."""
    if not spans:
        return np.ones(len(times_s), bool)
    ordered = np.array(sorted(spans))
    starts, ends = ordered[:, 0], np.maximum.accumulate(ordered[:, 1])
    begin = times_s - seconds
    before = np.searchsorted(starts, times_s - _SLACK_S, side="left") - 1
    return (before < 0) | (ends[np.maximum(before, 0)] <= begin + _SLACK_S)


_SLACK_S = 0.5
"""Ends of intervals are the same within this."""


def _rows_at(block: Block, times_s: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The place of each interval's end among the samples, -1 where there is none."""
    wanted = np.rint(times_s * 1e6).astype(np.int64)
    at = np.searchsorted(block.times_us, wanted)
    inside = np.minimum(at, max(len(block.times_us) - 1, 0))
    if not len(block.times_us):
        return np.full(len(times_s), -1, np.int64)
    return np.where(block.times_us[inside] == wanted, inside, -1).astype(np.int64)


def _places(block: Block, keys: Sequence[str]) -> list[int] | None:
    place = {key: i for i, key in enumerate(block.keys)}
    return [place[key] for key in keys] if keys and all(key in place for key in keys) else None


def _states(block: Block, keys: Sequence[str], rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    places = _places(block, keys)
    if places is None:
        return np.full(len(rows), np.nan)
    known = (rows >= 0) & block.present[np.maximum(rows, 0)][:, places].all(axis=1)
    total = block.values[np.maximum(rows, 0)][:, places].sum(axis=1).astype(np.float64)
    return np.where(known, total, np.nan)


def _amounts(block: Block, keys: Sequence[str], rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    places = _places(block, keys)
    if places is None or len(block) < 2:  # noqa: PLR2004 - a difference needs two samples
        return np.full(len(rows), np.nan)
    times_s = block.times_us / 1e6
    flow = differences(
        times_s, block.boots, block.values[:, places], block.present[:, places], nominal_s=nominal_step(times_s)
    )
    at = rows - 1
    inside = np.maximum(at, 0)
    known = (at >= 0) & flow.ok[inside].all(axis=1)
    return np.where(known, flow.delta[inside].sum(axis=1).astype(np.float64), np.nan)


def _share(target: Floats, places: Ints, seconds: Floats, window_s: float, count: int | None) -> None:
    """Share a count of a window among the intervals of it that are at hand: whole numbers, whose sum is the count."""
    if count is None:
        return
    ends_s = np.cumsum(seconds[places])
    whole_s = float(ends_s[-1])
    if window_s - whole_s > float(seconds[places].min()) / 2:
        whole_s = window_s  # the others are recorded already
    target[places] = np.diff(np.floor(count * ends_s / whole_s), prepend=0.0)
