"""The heat of a trace beside its replay: bands of pages, ordered by kind and first use, over time."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.vocabulary import PageKind
from tierscope.domain.curve.page_traces import KINDS
from tierscope.domain.simulate.trace import TraceColumns

Floats = npt.NDArray[np.float64]

MAX_ROWS, MAX_COLUMNS = 64, 240


@dataclass(frozen=True, slots=True)
class Bands:
    """`accesses` [bands, columns], NaN where no page of the band is resident. Columns begin at `intervals`.

    `kinds` and `pages` [bands]: what a band holds. Bands of one kind have as many pages each, by first use.
    """

    kinds: tuple[PageKind, ...]
    pages: tuple[int, ...]
    intervals: tuple[int, ...]
    accesses: Floats


def cut_bands(
    columns: TraceColumns, *, lead_intervals: int = 0, rows: int = MAX_ROWS, most_columns: int = MAX_COLUMNS
) -> Bands:
    """Cut a trace into at most so many bands and columns; each kind gets bands by its share of pages, one at least."""
    intervals = columns.intervals - lead_intervals
    width = -(-intervals // most_columns)
    n_columns = -(-intervals // width)
    first_use = np.full(len(columns.kinds), columns.intervals, np.int64)
    np.minimum.at(first_use, columns.row_page, columns.row_interval)
    order = np.lexsort((np.arange(len(first_use)), first_use, columns.kinds))
    band = np.empty(len(order), np.int64)
    kinds: list[PageKind] = []
    sizes: list[int] = []
    sorted_kinds = columns.kinds[order]
    present = [kind for kind in range(len(KINDS)) if (sorted_kinds == kind).any()]
    for kind in present:
        members = order[sorted_kinds == kind]
        room = rows - (len(present) - 1)
        n = int(np.clip(round(rows * len(members) / len(order)), 1, min(room, len(members))))
        places = np.arange(len(members)) * n // len(members)
        band[members] = len(kinds) + places
        sizes += np.bincount(places, minlength=n).tolist()
        kinds += [KINDS[kind]] * n
    shape = (len(kinds), n_columns)
    at = np.maximum(columns.row_interval - lead_intervals, 0) // width
    cell = band[columns.row_page] * n_columns + at
    accesses = np.bincount(cell, weights=columns.row_accesses, minlength=shape[0] * shape[1]).reshape(shape)
    return Bands(
        tuple(kinds),
        tuple(sizes),
        tuple(int(column * width) for column in range(n_columns)),
        np.where(_resident(columns, band, shape, lead_intervals, width), accesses, np.nan),
    )


def _resident(
    columns: TraceColumns, band: npt.NDArray[np.int64], shape: tuple[int, int], lead: int, width: int
) -> npt.NDArray[np.bool_]:
    """Whether any page of a band is resident in any interval of a column."""
    change = np.zeros((shape[0], shape[1] + 1), np.int64)
    first = np.maximum(columns.first - lead, 0) // width
    last = np.maximum(columns.last - lead, 0) // width
    np.add.at(change, (band, first), 1)
    np.add.at(change, (band, last + 1), -1)
    return np.asarray(np.cumsum(change, axis=1)[:, :-1] > 0)


def join_bands(bands: Bands, *, rows: int, columns: int) -> Bands:
    """At most so many bands and columns: neighbours of one kind are joined, and columns. Each kind keeps a band."""
    wide = -(-len(bands.intervals) // max(columns, 1))
    kinds: list[PageKind] = []
    pages: list[int] = []
    parts: list[Floats] = []
    places = {kind: [at for at, found in enumerate(bands.kinds) if found == kind] for kind in bands.kinds}
    tall = 1
    while tall < len(bands.kinds) and sum(-(-len(members) // tall) for members in places.values()) > rows:
        tall += 1
    for kind, members in places.items():
        for start in range(0, len(members), tall):
            some = members[start : start + tall]
            kinds.append(kind)
            pages.append(sum(bands.pages[at] for at in some))
            parts.append(_sum_known(bands.accesses[some], 0))
    table = np.stack(parts)
    cut = [_sum_known(table[:, start : start + wide], 1) for start in range(0, table.shape[1], wide)]
    return Bands(tuple(kinds), tuple(pages), bands.intervals[::wide], np.stack(cut, axis=1))


def _sum_known(values: Floats, axis: int) -> Floats:
    known = np.isfinite(values)
    return np.where(known.any(axis=axis), np.where(known, values, 0.0).sum(axis=axis), np.nan)
