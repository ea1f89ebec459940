"""Reuse gaps of a window: the method that is shown, the gaps of each host, and the curve of all of them."""

from collections.abc import Sequence

import numpy as np

from tierscope.domain.curve import reaccess
from tierscope.domain.curve.reaccess import Band, Curve, Gaps
from tierscope.domain.heat.rows import BACKENDS, Method
from tierscope.storage.curve.reuse_intervals import GapBlock


def choose_gaps(blocks: Sequence[GapBlock], wanted: str | None) -> Method | None:
    """The method asked for (a family or a back end), else one that misses no access, then the one of most intervals."""
    weights: dict[Method, int] = {}
    for block in blocks:
        if wanted in (None, block.method.family, BACKENDS[block.method.backend]):
            weights[block.method] = weights.get(block.method, 0) + block.intervals
    return max(weights, key=lambda method: (not method.is_sampler, weights[method], -method.backend), default=None)


def name_others(blocks: Sequence[GapBlock], chosen: Method | None) -> tuple[str, ...]:
    """Back ends with gaps that are not shown."""
    return tuple(sorted({BACKENDS[block.method.backend] for block in blocks if block.method != chosen}))


def gaps_by_host(blocks: Sequence[GapBlock], kind: str) -> dict[int, Gaps]:
    """Gaps by host: ended ones add up over blocks, open ones are those of the newest block. `kind` may be `all`."""
    newest: dict[int, int] = {}
    for block in blocks:
        newest[block.host_id] = max(newest.get(block.host_id, 0), block.end_us)
    found: dict[int, Gaps] = {}
    for block in blocks:
        rows = np.array([kind in ("all", name) for name in block.kinds], bool)
        closed, freed, censored, open_ = (
            getattr(block, name)[rows].sum(axis=0).astype(np.float64)
            for name in ("closed", "freed", "censored", "open")
        )
        is_last = block.end_us == newest[block.host_id]
        gaps = Gaps(closed, freed, censored + open_ if is_last else censored)
        found[block.host_id] = found[block.host_id] + gaps if block.host_id in found else gaps
    return found


def curve_of_hosts(
    hosts: Sequence[Gaps], idle_intervals: int | None, pages: float | None, *, level: float = 0.95
) -> tuple[Curve, Band]:
    """Re-access over hosts, with the band that hosts and sampled `pages` allow (None: all pages were seen).

    `idle_intervals`: the age at which memory turns cold, where the clock starts then. At least one host.
    """
    pooled = sum(hosts[1:], hosts[0])
    curve = reaccess.reaccess_curve(reaccess.cold_start(pooled, idle_intervals) if idle_intervals else pooled)
    band = reaccess.host_band(hosts, idle_intervals=idle_intervals, level=level)
    return curve, reaccess.sampled_band(curve, pages, band)
