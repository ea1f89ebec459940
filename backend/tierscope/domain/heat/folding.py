"""Strata of many intervals folded by page kind, tier and page size, whole columns at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain._generated.heat_columns import HEAT_COLUMNS
from tierscope.domain.base.page_size import LARGEST_BASE_PAGE_BYTES
from tierscope.domain.heat.beside import BESIDE_COLUMNS, Beside, combine_sampled
from tierscope.domain.heat.classes import FOLDED_COLUMNS, WINDOWS, Folded, file_partial, valid_run

Ints = npt.NDArray[np.int64]
Group = tuple[int, str, int]
"""Number of the page kind, tier and page size in bytes."""

HISTORY_BITS = 64
MOST_KIND = 3
"""Page kinds beyond this number are not known: they read as 0."""
MISSING = {name: column.absent for name, column in BESIDE_COLUMNS.items() if column.absent is not None}
"""Columns that a row may lack, and what stands for them."""
WIDTHS = {"kinds": 1, "page_sizes": 1} | {
    column.name: column.width
    for column in HEAT_COLUMNS
    if column.name in {"validity", *FOLDED_COLUMNS, *BESIDE_COLUMNS}
}
"""Columns that folding needs, with their values per stratum."""
HOT_WINDOW = WINDOWS.index(2)
"""The window of active bytes of huge pages, beside which those of their sub-pages stand."""


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


class _Cells:
    """Places of strata in t intervals of g groups, and sums over those of one place."""

    def __init__(self, strata: Strata) -> None:
        self._strata = strata
        self.groups, column = _label(strata)
        self._shape = (strata.n_intervals, len(self.groups))
        self._cell = strata.interval * len(self.groups) + column
        self._alone = bool(np.bincount(self._cell, minlength=1).max(initial=0) <= 1)

    def sum(self, values: Ints) -> Ints:
        """Values of strata [n] or [n, width] as [t, g] or [t, g, width]."""
        out = np.zeros((self._shape[0] * self._shape[1], *values.shape[1:]), np.int64)
        if self._alone:
            out[self._cell] = values
        else:
            np.add.at(out, self._cell, values)
        return out.reshape(*self._shape, *values.shape[1:])

    def sample(self, name: str) -> Ints:
        """A column of sampled pages as [t, g]: a stratum that shows all pages makes those of its place all pages."""
        resident, pages = self._strata.column("resident_bytes"), self._strata.column(name)
        return combine_sampled(resident, pages, self._cell, self._shape[0] * self._shape[1]).reshape(self._shape)


def fold_strata(strata: Strata) -> FoldedStrata:
    """Fold by group, with memory behind a missing interval filed as unknown."""
    cells = _Cells(strata)
    validity = strata.column("validity").view(np.uint64)
    age, never = file_partial(strata.column("age_bytes"), strata.column("never_bytes"), validity)
    summed = {name: strata.column(name) for name in FOLDED_COLUMNS} | {"age_bytes": age, "never_bytes": never}
    folded = Folded(**{field: cells.sum(summed[name]) for name, (field, _) in FOLDED_COLUMNS.items()})
    beside: dict[str, Ints] = {}
    for name, told in BESIDE_COLUMNS.items():
        if told.rule == "sample":
            beside[told.sums[0]] = cells.sample(name)
        else:
            beside |= zip(told.sums, map(cells.sum, _RULES[told.rule](strata, name)), strict=True)
    history = min(int(valid_run(validity).max(initial=0)), HISTORY_BITS // strata.bits_per_interval)
    return FoldedStrata(cells.groups, folded, Beside(beside), history)


def _part(strata: Strata, name: str) -> tuple[Ints, Ints]:
    """The column where a stratum has it, and the resident bytes there."""
    values, resident = strata.column(name), strata.column("resident_bytes")
    known = np.all((values >= 0).reshape(len(resident), BESIDE_COLUMNS[name].width), axis=1)
    return np.where(known.reshape(-1, *(1,) * (values.ndim - 1)), values, 0), np.where(known, resident, 0)


def _huge(strata: Strata, name: str) -> tuple[Ints, Ints]:
    """Active bytes of huge pages that have the column, and the column there."""
    values = strata.column(name)
    known = (values >= 0) & (strata.column("page_sizes") > LARGEST_BASE_PAGE_BYTES)
    active = strata.column("active_lo_bytes")[:, HOT_WINDOW]
    return np.where(known, active, 0), np.where(known, values, 0)


_RULES: Mapping[str, Callable[[Strata, str], tuple[Ints, Ints]]] = {"part": _part, "huge": _huge}
"""What is summed of a column: the sums of the contract's rules, in the order of their columns."""


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
