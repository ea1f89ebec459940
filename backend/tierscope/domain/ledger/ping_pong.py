"""Ping-pong: measured where the kernel marks demoted pages (TPP), bounded where it does not (mainline).

Definitions follow docs/method/tier-moves.md. The mainline upper bound is churn, min(promoted, demoted): a page cannot
have gone round without both. The lower bound is counting: of the promoted pages, those beyond what was on the slow tier
at the start, or was allocated there since, must have been demoted within the window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tierscope.domain.base.page_size import MODEL_PAGE_BYTES
from tierscope.domain.ledger.ledger import Ledger

OFF_LISTS = 0.02
"""Pages of a tier that are on none of its LRU lists, over those that are: on their way there, or locked [A]."""
MOVE_SECONDS = 3e-6
"""CPU time of moving 4 KiB of pages. Assumption, to be measured per machine."""
FAULT_SECONDS = 1e-6
"""CPU time of one hint fault. Assumption."""

WARN_RATIO = 0.10
CLEAR_RATIO = 0.05
CRIT_RATIO = 0.30
STREAK = 3
TRAFFIC_BYTES_PER_S = 16e6
TRAFFIC_DRAM_SHARE_PER_S = 0.001

State = Literal["ok", "warn", "crit"]


@dataclass(frozen=True, slots=True)
class Measured:
    """TPP: what the kernel counts itself. Ratios are None where their denominator is zero."""

    ratio: float | None
    return_ratio: float | None
    pages_per_s: float
    pages_per_s_per_gib: float | None


@dataclass(frozen=True, slots=True)
class Bounded:
    """Mainline: hard bounds of the pages that went round in the window, and how evenly the flows balance."""

    round_trip_pages_lo: int
    round_trip_pages_hi: int
    churn_pages_per_s: float
    churn_pages_per_s_per_gib: float | None
    symmetry: float | None
    turnover: float | None


def measure_tpp(
    *, candidates: int, candidates_demoted: int, demoted_pages: int, seconds: float, dram_bytes: float | None
) -> Measured:
    """Ping-pong as TPP counts it: candidates that carry the mark of an earlier demotion."""
    per_s = candidates_demoted / seconds
    gib = dram_bytes / 2**30 if dram_bytes else None
    return Measured(
        ratio=candidates_demoted / candidates if candidates else None,
        return_ratio=candidates_demoted / demoted_pages if demoted_pages else None,
        pages_per_s=per_s,
        pages_per_s_per_gib=per_s / gib if gib else None,
    )


def count_returns(ledger: Ledger, page_bytes: int | None, huge_pages: int) -> int:
    """Promoted pages of a ledger that must have been demoted within it; 0 where that cannot be told.

    From any interval on: pages that were promoted, less those that were on the slow tier at its end and those that were
    allocated there since. The largest of these differences counts, so that memory that fills at first does no harm. An
    allocation off its node is one event, of up to `huge_pages` base pages where huge pages are scanned.
    """
    if page_bytes is None:
        return 0
    allocations, slow = ledger.column("allocation_spill"), ledger.column("slow_resident_bytes")
    each = huge_pages if np.nansum(ledger.column("huge_pte_updates")) > 0 else 1
    promoted = np.nan_to_num(ledger.column("promoted_pages"))
    # What follows each interval; where allocations were not counted, nothing before is told.
    since = np.append(np.cumsum((promoted - each * allocations)[:0:-1])[::-1], 0.0)
    beyond = since - (1.0 + OFF_LISTS) * slow / page_bytes
    return max(int(np.nanmax(beyond)), 0) if np.isfinite(beyond).any() else 0


def bound_churn(
    *,
    promoted_pages: int,
    demoted_pages: int,
    seconds: float,
    dram_bytes: float | None,
    returned_pages: int = 0,
    top_resident_pages: float | None = None,
) -> Bounded:
    """Bounds of the round trips within the window. `returned_pages`: those of `count_returns`."""
    churn = min(promoted_pages, demoted_pages)
    per_s = churn / seconds
    gib = dram_bytes / 2**30 if dram_bytes else None
    moved = promoted_pages + demoted_pages
    return Bounded(
        round_trip_pages_lo=min(returned_pages, churn),
        round_trip_pages_hi=churn,
        churn_pages_per_s=per_s,
        churn_pages_per_s_per_gib=per_s / gib if gib else None,
        symmetry=2 * churn / moved if moved else None,
        turnover=churn / top_resident_pages if top_resident_pages else None,
    )


def bound_moves(ledger: Ledger, *, dram_bytes: float | None, page_bytes: int | None, huge_pages: int) -> Bounded | None:
    """The bounds of a ledger's moves; None where promotions and demotions are not both counted."""
    promoted, demoted = ledger.total("promoted_pages"), ledger.total("demoted_pages")
    seconds = ledger.seconds("promoted_pages")
    if promoted is None or demoted is None or seconds <= 0:
        return None
    return bound_churn(
        promoted_pages=promoted,
        demoted_pages=demoted,
        seconds=seconds,
        dram_bytes=dram_bytes,
        returned_pages=count_returns(ledger, page_bytes, huge_pages),
    )


def move_bytes_per_s(moved_pages: int, page_bytes: int, seconds: float) -> float:
    """Tier-move traffic: every page that was promoted or demoted once, bytes per second."""
    return moved_pages * page_bytes / seconds


def cpu_core_ratio(moved_bytes: float, faults: int, seconds: float) -> float:
    """Share of one core that moves and hint faults cost, at the assumed costs."""
    return (moved_bytes / MODEL_PAGE_BYTES * MOVE_SECONDS + faults * FAULT_SECONDS) / seconds


def traffic_holds(bytes_per_s: float, dram_bytes: float | None) -> bool:
    """Whether tier moves are enough to matter: over 16 MB/s, or over 0.1 % of DRAM a second where that is less."""
    limit = TRAFFIC_BYTES_PER_S
    if dram_bytes:
        limit = min(limit, TRAFFIC_DRAM_SHARE_PER_S * dram_bytes)
    return bytes_per_s > limit


def follow_states(ratios: Sequence[float | None], traffic: Sequence[bool], start: State = "ok") -> list[State]:
    """The alert state after each interval, with hysteresis.

    WARN after three intervals in a row at 0.10 or more with traffic, cleared after three below 0.05; CRIT at once
    while 0.30 or more with traffic. A missing interval (None) leaves state and streaks as they are.
    """
    warned, above, below = start != "ok", 0, 0
    states: list[State] = []
    crit = start == "crit"
    for ratio, busy in zip(ratios, traffic, strict=True):
        if ratio is not None:
            above = above + 1 if ratio >= WARN_RATIO and busy else 0
            below = below + 1 if ratio < CLEAR_RATIO else 0
            if above >= STREAK:
                warned = True
            if below >= STREAK:
                warned = False
            crit = ratio >= CRIT_RATIO and busy
        states.append("crit" if crit else "warn" if warned else "ok")
    return states
