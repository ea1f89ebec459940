"""What travels beside the histograms of heat: the size of the sample, written bytes, sub-pages of huge pages.

All are sums over intervals like the histograms, so that hours and days add up. None of them is heat. Which there are
stands in contract/heat_columns.toml.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tierscope.domain._generated.heat_columns import HEAT_COLUMNS, HeatColumn

Ints = npt.NDArray[np.int64]

BESIDE_COLUMNS: Mapping[str, HeatColumn] = {column.name: column for column in HEAT_COLUMNS if column.rule}
"""The columns of rows that sums are made of, by name."""


def _widths(column: HeatColumn) -> tuple[int, ...]:
    """Values of each of its sums: what it is a part of is one number."""
    return (column.width, *(1 for _ in column.sums[1:]))


BESIDE_WIDTHS: Mapping[str, int] = {
    name: width for column in BESIDE_COLUMNS.values() for name, width in zip(column.sums, _widths(column), strict=True)
}
"""Values of each sum. In the order of packed bodies: new ones come last."""
BESIDE_VALUES = sum(BESIDE_WIDTHS.values())


def _places() -> dict[str, slice]:
    found, at = {}, 0
    for name, width in BESIDE_WIDTHS.items():
        found[name] = slice(at, at + width)
        at += width
    return found


BESIDE_PLACES: Mapping[str, slice] = _places()
"""Where the values of each sum lie among all of them."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Sums over any leading shape [...], or [..., w] of w values; zero where nothing of the kind was measured.

    `sampled_pages`: pages that the figures were scaled up from, 0 where they rest on all pages. A part of resident
    memory, such as `written_bytes` within 1, 2, 5 and 10 intervals, has beside it the resident bytes of which it is
    known (`written_of_bytes`). `huge_active_bytes`: bytes of huge pages active within 2 intervals whose sub-pages are
    told apart, and `huge_subpage_bytes` those of their sub-pages that were seen active.
    """

    sums: Mapping[str, Ints]

    def __getitem__(self, name: str) -> Ints:
        return self.sums[name]

    def sum(self, axis: int | tuple[int, ...]) -> "Beside":
        """Add up along leading axes. Sizes of samples are those of strata: see `combine_sampled`."""
        return self._each(lambda values: values.sum(axis=axis))

    def take(self, index: Any) -> "Beside":  # noqa: ANN401 - whatever numpy takes as an index
        """Index the leading axes."""
        return self._each(lambda values: values[index])

    def add_runs(self, first: Ints) -> "Beside":
        """Sum runs of the first axis that begin at `first`."""
        return self._each(lambda values: np.add.reduceat(values, first, axis=0))

    def _each(self, change: Callable[[Ints], Ints]) -> "Beside":
        return Beside({name: change(values) for name, values in self.sums.items()})


def zeros_beside(shape: tuple[int, ...]) -> Beside:
    """Nothing measured, over a leading shape."""
    sizes = {name: shape if width == 1 else (*shape, width) for name, width in BESIDE_WIDTHS.items()}
    return Beside({name: np.zeros(size, np.int64) for name, size in sizes.items()})


def combine_sampled(resident: Ints, pages: Ints, cell: Ints, n_cells: int) -> Ints:
    """Pages of a simple sample that is as sure as the strata of each cell together: Kish's effective size.

    `resident`, `pages`, `cell` [n] are the strata; 0 pages stand for a stratum of which every page was looked at.
    """
    weight = resident.astype(np.float64)
    part = np.where(pages > 0, weight * weight / np.maximum(pages, 1), 0.0)
    variance = np.bincount(cell, weights=part, minlength=n_cells)
    whole = np.bincount(cell, weights=weight, minlength=n_cells)
    size = np.where(variance > 0, whole * whole / np.where(variance > 0, variance, 1.0), 0.0)
    # Rounding keeps whole sizes whole; a sampled cell never looks like one that rests on all pages.
    out: Ints = np.where(variance > 0, np.maximum(np.rint(np.minimum(size, 2.0**40)), 1), 0).astype(np.int64)
    return out


def join_beside(parts: Sequence[Beside], columns: Sequence[Sequence[int]], n_groups: int) -> Beside:
    """Stretches [t, g] after each other over `n_groups` groups; `columns` place the groups of each."""
    lengths = [len(part["sampled_pages"]) for part in parts]
    out = zeros_beside((sum(lengths), n_groups))
    at = 0
    for part, places, n in zip(parts, columns, lengths, strict=True):
        for name in BESIDE_WIDTHS:
            out[name][at : at + n, list(places)] = part[name]
        at += n
    return out
