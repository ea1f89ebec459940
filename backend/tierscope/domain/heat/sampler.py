"""What a hardware sampler saw in the newest intervals of a host: pages, loads and stores, and what that says of all.

Loads and stores are two populations with estimates of their own, never added. Pages are counted by the loads that hit
them. Strata are page kinds and sizes: an estimate of pages holds for pages of one size.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.heat.classes import WINDOWS
from tierscope.domain.heat.rows import HeatRow
from tierscope.domain.heat.unseen import CLAIMS, Claim, PageCounts, bound_touched, estimate_events

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TouchedBytes:
    """Bytes touched within a window of intervals, seen or not; `claim` says how much of it may be said."""

    intervals: int
    seen_bytes: float
    value: float
    lo: float
    hi: float
    coverage: float | None
    samples: int
    claim: Claim


@dataclass(frozen=True, slots=True)
class Events:
    """Samples of one population over the longest window, and the events behind them with their interval."""

    samples: int
    events: float
    lo: float
    hi: float


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the samplers of several hosts say; `windows` are those that all hosts observed without a hole."""

    windows: tuple[TouchedBytes, ...]
    loads: Events
    stores: Events


def read_samples(hosts: Sequence[Sequence[HeatRow]]) -> Sampled | None:
    """Estimate from the newest intervals of each host; None where no host counted samples."""
    counted = [rows for rows in (_newest(rows) for rows in hosts) if rows]
    if not counted:
        return None
    windows = []
    for place, length in enumerate(WINDOWS):
        if all(len(rows) >= length for rows in counted):
            windows.append(_window(counted, place, length))
    return Sampled(tuple(windows), _events(counted, "load_samples"), _events(counted, "store_samples"))


def _newest(rows: Sequence[HeatRow]) -> list[HeatRow]:
    """The newest run of intervals without a hole, the newest first, at most as long as the longest window."""
    kept: list[HeatRow] = []
    for row in sorted({row.end_us: row for row in rows}.values(), key=lambda row: -row.end_us):
        step = row.method.interval_ns / 1000
        if row.load_samples is None or row.period_events is None or len(kept) == WINDOWS[-1]:
            break
        if kept and kept[-1].end_us - row.end_us > 1.5 * step:
            break
        kept.append(row)
    return kept


def _window(hosts: Sequence[Sequence[HeatRow]], place: int, length: int) -> TouchedBytes:
    totals: dict[str, float] = defaultdict(float)
    weakest = len(CLAIMS) - 1
    missed, samples = 0.0, 0
    for rows in hosts:
        period, duty = rows[0].period_events or 1.0, rows[0].duty_ratio or 1.0
        for size, counts in _strata(rows, place, length):
            found = bound_touched(counts, period, duty)
            for name in ("value", "lo", "hi"):
                totals[name] += float(getattr(found, name)) * size
            totals["seen"] += int(counts.distinct) * size
            weakest = min(weakest, int(found.claim))
            missed += int(counts.f1)
            samples += int(counts.samples)
    coverage = 1 - missed / samples if samples else None
    return TouchedBytes(
        length, totals["seen"], totals["value"], totals["lo"], totals["hi"], coverage, samples, CLAIMS[weakest]
    )


def _strata(rows: Sequence[HeatRow], place: int, length: int) -> list[tuple[int, PageCounts]]:
    """Page size and counts of each (kind, size) of one host that has samples or resident pages."""
    newest = rows[0]
    keys = list(zip(newest.kinds.tolist(), newest.page_sizes.tolist(), strict=True))
    found = []
    for kind, size in sorted(set(keys)):
        here = np.array([key == (kind, size) for key in keys])
        samples = sum(_of(row, kind, size) for row in rows[:length])
        distinct, f1, f2 = (
            np.asarray(_column(values, place, len(keys))[here].sum())
            for values in (newest.distinct_pages, newest.f1_pages, newest.f2_pages)
        )
        resident = np.asarray(newest.resident_bytes[here].sum() // size)
        found.append((size, PageCounts(np.asarray(samples), distinct, f1, f2, resident)))
    return found


def _of(row: HeatRow, kind: int, size: int) -> int:
    here = (row.kinds == kind) & (row.page_sizes == size)
    return 0 if row.load_samples is None else int(row.load_samples[here].sum())


def _column(values: Ints | None, place: int, n: int) -> Ints:
    return np.zeros(n, np.int64) if values is None else values.reshape(n, len(WINDOWS))[:, place]


def _events(hosts: Sequence[Sequence[HeatRow]], column: str) -> Events:
    samples, events, below, above = 0, 0.0, 0.0, 0.0
    for rows in hosts:
        period, duty = rows[0].period_events or 1.0, rows[0].duty_ratio or 1.0
        count = sum(int(values.sum()) for row in rows if (values := getattr(row, column)) is not None)
        estimate, less, more = (float(part) for part in estimate_events(count, period, duty))
        samples += count
        events += estimate
        below, above = math.hypot(below, less), math.hypot(above, more)
    return Events(samples, events, max(events - below, 0.0), events + above)
