"""The lines of ping-pong over time, summed over hosts."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.axis import Grid
from tierscope.domain.base.figures import Series, gaps_to_none
from tierscope.domain.ledger import Ledger
from tierscope.domain.ledger.flows import rate_series, sum_series
from tierscope.usecases.ledger.ping_pong import Kind
from tierscope.usecases.ledger.ping_pong_hosts import HostHistory

Floats = npt.NDArray[np.float64]
_MICRO = 1e-6


def view_series(parts: Sequence[HostHistory], grid: Grid, *, kind: Kind, own_groups: bool) -> tuple[Series, ...]:
    """All lines; a line of which nothing is known has gaps alone. Pressure is that of a service's own groups."""
    ledgers = [part.part.ledger for part in parts]
    promoted, demoted = (_summed(ledgers, grid, key) for key in ("promoted_pages", "demoted_pages"))
    churn = _sum([_churn(ledger, grid) for ledger in ledgers], grid)
    top, slow = (_summed(ledgers, grid, key) for key in ("top_resident_bytes", "slow_resident_bytes"))
    if kind == "sampled":
        again, all_ = (_summed(ledgers, grid, key) for key in ("followed_round_trips", "followed_promotions"))
        ratio, label = _divide(again, all_), "Followed pages that went round, of those promoted"
    elif kind == "measured":
        again, all_ = (_summed(ledgers, grid, key) for key in ("candidates_demoted", "promotion_candidates_pages"))
        ratio, label = _divide(again, all_), "Candidates demoted before, of all"
    else:
        ratio, label = _divide(churn, promoted), "Churn of promoted pages, upper bound"
    nothing = np.full(len(grid), np.nan)
    pressure = [rate_series(ledger, grid, "psi_some_us") * _MICRO for ledger in ledgers] if own_groups else []
    lines = (
        ("ping_pong_ratio", label, "ratio", ratio),
        ("promoted_pages_per_s", "Promoted", "pages_per_s", promoted),
        ("demoted_pages_per_s", "Demoted", "pages_per_s", demoted),
        ("churn_pages_per_s", "Churn, upper bound of round trips", "pages_per_s", churn),
        ("top_residency_ratio", "Share of memory in the top tier", "ratio", _divide(top, top + slow)),
        ("throughput_per_s", "Throughput", "count_per_s", _sum([_throughput(part, grid) for part in parts], grid)),
        ("memory_pressure_ratio", "Memory pressure, some", "ratio", _mean(pressure) if pressure else nothing),
    )
    return tuple(Series(key, name, unit, gaps_to_none(values)) for key, name, unit, values in lines)


def _summed(ledgers: Sequence[Ledger], grid: Grid, key: str) -> Floats:
    return _sum([rate_series(ledger, grid, key) for ledger in ledgers], grid)


def _sum(parts: Sequence[Floats], grid: Grid) -> Floats:
    return sum_series(parts) if parts else np.full(len(grid), np.nan)


def _churn(ledger: Ledger, grid: Grid) -> Floats:
    out: Floats = np.minimum(rate_series(ledger, grid, "promoted_pages"), rate_series(ledger, grid, "demoted_pages"))
    return out


def _throughput(part: HostHistory, grid: Grid) -> Floats:
    return grid.means(part.part.ledger.times_s, part.throughput)


def _divide(top: Floats, under: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Floats = np.where(under > 0, top / under, np.nan)
    return out


def _mean(parts: Sequence[Floats]) -> Floats:
    stacked = np.stack(parts)
    known = np.isfinite(stacked).sum(axis=0)
    return _divide(np.nansum(stacked, axis=0), known.astype(np.float64))
