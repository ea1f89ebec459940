"""Strata of many intervals folded by page kind, tier and page size, whole columns at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.heat.beside import SMALL_PAGE_BYTES, Beside, combine_sampled
from tierscope.domain.heat.classes import BUCKETS, COUNTS, WINDOWS, Folded, file_partial, valid_run

Ints = npt.NDArray[np.int64]
Group = tuple[int, str, int]
"""Number of the page kind, tier and page size in bytes."""

HISTORY_BITS = 64
MOST_KIND = 3
"""Page kinds beyond this number are not known: they read as 0."""
MISSING = {"sampled_pages": 0, "written_bytes": -1, "subpage_active_bytes": -1}
"""Columns that a row may lack, and what stands for them."""
WIDTHS = {
    "kinds": 1,
    "page_sizes": 1,
    "validity": 1,
    "resident_bytes": 1,
    "age_bytes": BUCKETS,
    "never_bytes": BUCKETS,
    "active_count_bytes": COUNTS,
    "active_lo_bytes": len(WINDOWS),
    "active_hi_bytes": len(WINDOWS),
    "sampled_pages": 1,
    "written_bytes": len(WINDOWS),
    "subpage_active_bytes": 1,
}
"""Columns that folding needs, with their values per stratum."""
_HOT_WINDOW = WINDOWS.index(2)


@dataclass(frozen=True, slots=True)
class Strata:
    """n strata of t intervals. `interval` [n] is the place of each one's interval, ascending; `columns` [n * width]."""

    n_intervals: int
    interval: Ints
    tiers: Sequence[str]
    columns: Mapping[str, Ints]
    bits_per_interval: int
    """The most that any interval has."""

    def column(self, name: str) -> Ints:
        """A column [n], or [n, width] where a stratum has several values."""
        values, width = self.columns[name], WIDTHS[name]
        return values if width == 1 else values.reshape(-1, width)


@dataclass(frozen=True, slots=True)
class FoldedStrata:
    """Sums [t, g] over strata of one group, and the longest run of valid intervals."""

    groups: tuple[Group, ...]
    folded: Folded
    beside: Beside
    history: int


def fold_strata(strata: Strata) -> FoldedStrata:
    """Fold by group, with memory behind a missing interval filed as unknown."""
    groups, column = _label(strata)
    shape = (strata.n_intervals, len(groups))
    cell = strata.interval * len(groups) + column
    alone = bool(np.bincount(cell, minlength=1).max(initial=0) <= 1)

    def place_sum(values: Ints) -> Ints:
        out = np.zeros((shape[0] * shape[1], *values.shape[1:]), np.int64)
        if alone:
            out[cell] = values
        else:
            np.add.at(out, cell, values)
        return out.reshape(*shape, *values.shape[1:])

    validity = strata.column("validity").view(np.uint64)
    age, never = file_partial(strata.column("age_bytes"), strata.column("never_bytes"), validity)
    folded = Folded(
        resident=place_sum(strata.column("resident_bytes")),
        age=place_sum(age),
        never=place_sum(never),
        count=place_sum(strata.column("active_count_bytes")),
        lo=place_sum(strata.column("active_lo_bytes")),
        hi=place_sum(strata.column("active_hi_bytes")),
    )
    resident, subpages = strata.column("resident_bytes"), strata.column("subpage_active_bytes")
    written = strata.column("written_bytes")
    tracked = written.min(axis=1, initial=0) >= 0
    told_apart = (subpages >= 0) & (strata.column("page_sizes") > SMALL_PAGE_BYTES)
    active = strata.column("active_lo_bytes")[:, _HOT_WINDOW]
    sampled = combine_sampled(resident, strata.column("sampled_pages"), cell, shape[0] * shape[1])
    beside = Beside(
        sampled_pages=sampled.reshape(shape),
        written=place_sum(np.where(tracked[:, None], written, 0)),
        written_of=place_sum(np.where(tracked, resident, 0)),
        huge_active=place_sum(np.where(told_apart, active, 0)),
        huge_subpages=place_sum(np.where(told_apart, subpages, 0)),
    )
    history = min(int(valid_run(validity).max(initial=0)), HISTORY_BITS // strata.bits_per_interval)
    return FoldedStrata(groups, folded, beside, history)


def _label(strata: Strata) -> tuple[tuple[Group, ...], Ints]:
    """The groups in order, and the place [n] of each stratum's group among them."""
    names = sorted(set(strata.tiers))
    number = {name: i for i, name in enumerate(names)}
    tier = np.array([number[name] for name in strata.tiers], np.int64)
    kinds = strata.column("kinds")
    kind = np.where((kinds >= 0) & (kinds <= MOST_KIND), kinds, 0)
    sizes, size = np.unique(strata.column("page_sizes"), return_inverse=True)
    codes, column = np.unique((kind * len(names) + tier) * len(sizes) + size, return_inverse=True)
    groups: list[Group] = []
    for code in codes.tolist():
        rest, at_size = divmod(code, len(sizes))
        at_kind, at_tier = divmod(rest, len(names))
        groups.append((at_kind, names[at_tier], int(sizes[at_size])))
    return tuple(groups), column
