"""Rows of heat of a service on a host, drawn at random but consistent in themselves."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tierscope.domain.heat.classes import BUCKETS, COUNTS, WINDOWS
from tierscope.domain.heat.rows import HeatRow, HeatSeries, Method, coarsen, fold_rows

MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
STRATA = ((1, 4096, "dram"), (1, 2 << 20, "dram"), (2, 4096, "cxl"), (3, 4096, ""))
"""Page kind, page size, tier."""
METHOD = Method(4, 1, 60_000_000_000)


def draw_row(
    rng: np.random.Generator,
    end_us: int,
    *,
    method: Method = METHOD,
    strata: Sequence[tuple[int, int, str]] = STRATA,
    sampled: bool = False,
    coarse: bool = False,
    validity: int = -1,
) -> HeatRow:
    """One interval. `sampled`: scaled up from samples; `coarse`: pages of a mapping are not told apart."""
    n = len(strata)
    pages = rng.integers(1000, 2_000_000, n)
    never = rng.multinomial(rng.integers(pages // 9, pages // 3), np.full(BUCKETS, 1 / BUCKETS)).astype(np.int64)
    age = rng.multinomial(pages - never.sum(axis=1), rng.dirichlet(np.full(BUCKETS, 0.7))).astype(np.int64)
    low = np.cumsum(age, axis=1)[:, [0, 1, 3, 4]]
    counts = np.concatenate([never.sum(axis=1, keepdims=True), np.zeros((n, COUNTS - 1), np.int64)], axis=1)
    counts[:, 1:] = rng.multinomial(age.sum(axis=1), rng.dirichlet(np.full(COUNTS - 1, 0.7)))
    high = np.minimum(low + rng.integers(0, 500, low.shape), pages[:, None]) if coarse else low
    huge = np.array([size > 4096 for _, size, _ in strata])
    return HeatRow(
        end_us=end_us,
        boottime_ns=None,
        method=method,
        groups=("server",) * n,
        kinds=np.array([kind for kind, _, _ in strata], np.int64),
        page_sizes=np.array([size for _, size, _ in strata], np.int64),
        tiers=tuple(tier for _, _, tier in strata),
        validity=np.full(n, validity, np.int64),
        resident_bytes=pages * 4096,
        age_bytes=(age * 4096).ravel(),
        never_bytes=(never * 4096).ravel(),
        active_count_bytes=(counts * 4096).ravel(),
        active_lo_bytes=(low * 4096).ravel(),
        active_hi_bytes=(high * 4096).ravel(),
        load_samples=None,
        store_samples=None,
        period_events=None,
        duty_ratio=None,
        distinct_pages=None,
        f1_pages=None,
        f2_pages=None,
        hot_intersection_bytes=None,
        hot_union_bytes=None,
        sampled_pages=np.full(n, 400, np.int64) if sampled else None,
        written_bytes=(low * 2048).ravel() if sampled else np.full(n * len(WINDOWS), -1, np.int64),
        subpage_active_bytes=np.where(huge, low[:, 1] * 300, -1),
    )


def draw_rows(
    rng: np.random.Generator,
    minutes: Sequence[int],
    *,
    start_us: int = 0,
    **options: Any,  # noqa: ANN401 - as `draw_row` takes them
) -> list[HeatRow]:
    """An interval that ends at each of these minutes after `start_us`."""
    return [draw_row(rng, start_us + minute * MINUTE_US, **options) for minute in minutes]


def draw_hours(rng: np.random.Generator, host_id: int, minutes: Sequence[int], **options: Any) -> HeatSeries:  # noqa: ANN401 - as `draw_row` takes them
    folded = fold_rows(host_id, draw_rows(rng, minutes, **options))
    assert folded is not None
    return coarsen(folded, HOUR_US)
