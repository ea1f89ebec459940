"""What papers say of services in numbers, beside what was measured here: for comparison, never a target.

Only numbers that stand in a text are used: curves that exist as pictures alone are not read off.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tierscope.domain.base.figures import AbsentStatus, Figure, Interval, Window, absent
from tierscope.domain.curve.reaccess import LENGTHS
from tierscope.domain.heat.rows import Method
from tierscope.storage.curve.reuse_intervals import GapBlock
from tierscope.usecases.curve.reuse_intervals import curve_of_hosts, gaps_by_host

_SOURCE = "TPP (ASPLOS 2023), text on figure 11"
_TEN_MINUTES_NS = 600 * 10**9
_COLD_NS = 120 * 10**9
GROUNDING = "S text of the source paper; L Kaplan-Meier, Aalen-Johansen"


@dataclass(frozen=True, slots=True)
class _Point:
    point: str
    published: float
    kind: str
    since_cold: bool


_POINTS = (
    _Point("Web: cold memory accessed again within 10 minutes", 0.80, "all", since_cold=True),
    _Point("Data Warehouse: hot file memory accessed again within 10 minutes", 0.20, "file", since_cold=False),
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A number that a paper states, and the same of this service. Published points are no targets."""

    point: str
    published: float
    source: str
    measured: Figure


def compare(
    blocks: Sequence[GapBlock], method: Method | None, window: Window, pages: Mapping[str, float]
) -> tuple[Comparison, ...]:
    """All published points beside the re-access shares of this service; `blocks` are of one method.

    `pages`: those through which each kind was seen, where they are a sample (`count_pages`).
    """
    return tuple(
        Comparison(point.point, point.published, _SOURCE, _measure(point, blocks, method, window, pages))
        for point in _POINTS
    )


def _measure(
    point: _Point, blocks: Sequence[GapBlock], method: Method | None, window: Window, pages: Mapping[str, float]
) -> Figure:
    definition = "revisit.reaccessed_within_10_min_ratio/1"

    def nothing(reason: str) -> Figure:
        status: AbsentStatus = "not_collected" if method is None else "not_enough_data"
        return absent(definition, "ratio", status, reason, window=window)

    if method is None:
        return nothing("No reuse gaps were measured in the window.")
    lag = round(_TEN_MINUTES_NS / method.interval_ns)
    if not 1 <= lag <= LENGTHS:
        return nothing(f"Intervals of {method.interval_ns / 1e9:g} s do not reach to 10 minutes, or beyond them.")
    hosts = [gaps for gaps in gaps_by_host(blocks, point.kind).values() if gaps.closed.sum() + gaps.at_risk_only.sum()]
    if not hosts:
        return nothing(f"No gaps of {point.kind} memory.")
    idle = max(-(-_COLD_NS // method.interval_ns), 1) if point.since_cold else None
    curve, band = curve_of_hosts(hosts, idle, pages.get(point.kind))
    value = float(curve.share[lag - 1])
    if not np.isfinite(value):
        return nothing("No memory was watched for 10 minutes after its last access.")
    lo, hi = float(band.lo[lag - 1]), float(band.hi[lag - 1])
    interval = Interval(min(lo, value), max(hi, value), band.level, "confidence") if np.isfinite(lo) else None
    return Figure(
        definition,
        "ok",
        value,
        "ratio",
        method=method.family,
        window=window,
        interval=interval,
        n_hosts=len(hosts),
        n_intervals=max(sum(block.intervals for block in blocks) // len(hosts), 1),
        grade="early",
        grounding=GROUNDING,
        warnings=("for comparison with a published number, which is no target",),
    )
