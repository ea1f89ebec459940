"""Ledgers of a host whose flows are written down, column by column."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tierscope.domain.ledger import COLUMN_INDEX, COLUMN_KEYS, Ledger

TOP_PAGES, SLOW_PAGES = 10_000, 10_000
UNPRESSED = dict.fromkeys(
    (
        "swap_in_pages",
        "swap_out_pages",
        "reclaimed_pages",
        "limit_reclaimed_pages",
        "demoted_direct_pages",
        "demoted_proactive_pages",
        "migrate_fail_pages",
        "refault_anon_pages",
    ),
    0,
)
"""Nothing is swapped, nothing is reclaimed for limits, no move fails: counted, and none."""
QUIET = {
    **UNPRESSED,
    **dict.fromkeys(("promoted_pages", "demoted_pages", "promotion_candidates_pages", "hint_faults", "pte_updates"), 0),
}
EXCHANGE = {
    **UNPRESSED,
    "promoted_pages": 200,
    "demoted_pages": 200,
    "promotion_candidates_pages": 250,
    "hint_faults": 500,
    "pte_updates": 500,
    "reclaim_scanned_pages": 400,
    "reclaim_passed_over_pages": 200,
}


def made(columns: Mapping[str, npt.ArrayLike], *, n: int = 60, slow_pages: int = SLOW_PAGES) -> Ledger:
    """A ledger of n minutes with the same amounts in each, or those given [n]; columns not named are not collected."""
    values = np.zeros((n, len(COLUMN_KEYS)), np.int64)
    present = np.zeros(values.shape, bool)
    gauges = {"top_resident_bytes": TOP_PAGES * 4096, "slow_resident_bytes": slow_pages * 4096}
    for key, amounts in {**gauges, **columns}.items():
        values[:, COLUMN_INDEX[key]], present[:, COLUMN_INDEX[key]] = amounts, True
    return Ledger(60.0 * np.arange(1.0, n + 1), np.full(n, 60.0), values, present, np.zeros(n, np.int8))
