"""What travels beside the histograms of heat: the size of the sample, written bytes, sub-pages of huge pages.

All are sums over intervals like the histograms, so that hours and days add up. None of them is heat.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tierscope.domain.heat.classes import WINDOWS

Ints = npt.NDArray[np.int64]

SMALL_PAGE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Beside:
    """Sums over any leading shape [...]; zero where nothing of the kind was measured.

    `sampled_pages` [...]: pages that the figures were scaled up from, 0 where they rest on all pages. `written`
    [..., 4]: bytes written within 1, 2, 5 and 10 intervals, of memory with `written_of` [...] resident bytes.
    `huge_active` [...]: bytes of huge pages active within 2 intervals whose sub-pages are told apart, and
    `huge_subpages` [...] those of their sub-pages that were seen active.
    """

    sampled_pages: Ints
    written: Ints
    written_of: Ints
    huge_active: Ints
    huge_subpages: Ints

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
        return Beside(*(change(getattr(self, name)) for name in BESIDE_FIELDS))


BESIDE_FIELDS = tuple(field.name for field in fields(Beside))
BESIDE_WIDTHS = (1, len(WINDOWS), 1, 1, 1)


def zeros_beside(shape: tuple[int, ...]) -> Beside:
    """Nothing measured, over a leading shape."""
    sizes = (shape if width == 1 else (*shape, width) for width in BESIDE_WIDTHS)
    return Beside(*(np.zeros(size, np.int64) for size in sizes))


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
    out = zeros_beside((sum(len(part.sampled_pages) for part in parts), n_groups))
    at = 0
    for part, places in zip(parts, columns, strict=True):
        n = len(part.sampled_pages)
        for name in BESIDE_FIELDS:
            getattr(out, name)[at : at + n, list(places)] = getattr(part, name)
        at += n
    return out
