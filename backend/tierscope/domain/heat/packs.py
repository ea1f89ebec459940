"""Rows of heat packed exactly, and folded straight from their packs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tierscope.domain._generated.heat_columns import HEAT_COLUMNS
from tierscope.domain.base.compiled import compiled_core
from tierscope.domain.base.page_size import LARGEST_BASE_PAGE_BYTES
from tierscope.domain.heat.beside import BESIDE_WIDTHS, Beside
from tierscope.domain.heat.classes import EDGES, FOLDED_COLUMNS, Folded
from tierscope.domain.heat.folding import HOT_WINDOW, MOST_KIND, FoldedStrata
from tierscope.domain.heat.rows import HeatRow, HeatSeries, Method, fold_rows, make_series

if TYPE_CHECKING:
    from tierscope_simcore import HeatFold

Ints = npt.NDArray[np.int64]

_ARRAYS = ("kinds", "page_sizes", *(column.name for column in HEAT_COLUMNS))
"""In the order of packed bodies: new ones come last, and bodies packed before them lack them."""
_GROUPS, _TIERS, _LENGTHS = 4, 5, 6
"""Places in a row's head."""
_SHAPES = 4096
_PIECES = 3
"""A head falls into so many pieces between its three lists."""


def pack_rows(rows: Sequence[HeatRow]) -> bytes:
    """Pack rows of one method exactly: a line of JSON, then all arrays as little-endian int64."""
    heads = []
    arrays = []
    for row in rows:
        lengths = []
        for name in _ARRAYS:
            values = getattr(row, name)
            lengths.append(-1 if values is None else len(values))
            if values is not None:
                arrays.append(values)
        head = [row.end_us, row.boottime_ns, row.period_events, row.duty_ratio, row.groups, row.tiers, lengths]
        heads.append([*head, row.bits_per_interval])
    data = np.concatenate(arrays).astype("<i8") if arrays else np.zeros(0, "<i8")
    raw = np.ascontiguousarray(data.view(np.uint8).reshape(-1, 8).T).tobytes()
    return json.dumps(heads, ensure_ascii=False).encode() + b"\n" + raw


def unpack_rows(body: bytes, method: Method) -> list[HeatRow]:
    """The rows that `pack_rows` was given, by this release or an earlier one, whose bodies lack later columns."""
    return _make_rows(*_open(body), method)


def _make_rows(heads: Sequence[Any], data: Ints, method: Method) -> list[HeatRow]:
    at = 0
    rows = []
    for end_us, boottime_ns, period, duty, groups, tiers, lengths, *later in heads:
        arrays: dict[str, Ints | None] = {}
        for name, length in zip(_ARRAYS, lengths, strict=False):
            arrays[name] = None if length < 0 else data[at : at + length]
            at += max(length, 0)
        rows.append(
            HeatRow(
                end_us=end_us,
                boottime_ns=boottime_ns,
                method=method,
                groups=tuple(groups),
                tiers=tuple(tiers),
                period_events=period,
                duty_ratio=duty,
                bits_per_interval=later[0] if later else 1,
                **arrays,  # type: ignore[arg-type]
            )
        )
    return rows


def unpack_last(body: bytes, method: Method, until_us: int) -> HeatRow | None:
    """The last of the rows that end at `until_us` or before, without making the others; None without any."""
    head, _, raw = body.partition(b"\n")
    heads = json.loads(head)
    place = max((i for i, row in enumerate(heads) if row[0] <= until_us), default=None)
    if place is None:
        return None
    first = sum(max(length, 0) for row in heads[:place] for length in row[_LENGTHS])
    data = _unshuffle(raw)[first:]
    count = sum(max(length, 0) for length in heads[place][_LENGTHS])
    return _make_rows([heads[place]], data[:count], method)[0]


@dataclass(frozen=True, slots=True)
class Columns:
    """Some columns of t rows with the same strata: `values` [t, numbers] by name, None where not measured.

    `tiers` runs over the n strata, `period_events` and `duty_ratios` over the rows.
    """

    ends_us: Ints
    period_events: list[float | None]
    duty_ratios: list[float | None]
    tiers: list[str]
    values: dict[str, Ints | None]

    def take(self, places: Ints) -> "Columns":
        """Some of the rows."""
        return Columns(
            self.ends_us[places],
            [self.period_events[place] for place in places],
            [self.duty_ratios[place] for place in places],
            self.tiers,
            {name: None if cells is None else cells[places] for name, cells in self.values.items()},
        )


def read_columns(body: bytes, names: Sequence[str]) -> list[Columns]:
    """Columns of the rows of a pack; rows that have none of these are left out."""
    head, _, raw = body.partition(b"\n")
    alike = _read_alike(head)
    if alike is not None:
        _, row = alike
        if not any(_place(row[_LENGTHS], name) for name in names):
            return []
        pieces = head[2:-2].split(b"], [")[::_PIECES]
        starts = [json.loads(b"[" + b",".join(piece.split(b",", _GROUPS)[:_GROUPS]) + b"]") for piece in pieces]
        return [_columns_of(starts, row, _unshuffle(raw).reshape(len(starts), -1), names)]
    rows = json.loads(head)
    stops = np.cumsum([sum(max(length, 0) for length in row[_LENGTHS]) for row in rows])
    parts = np.split(_unshuffle(raw), stops[:-1]) if rows else []
    return [
        _columns_of([row[:_GROUPS]], row, part.reshape(1, -1), names)
        for row, part in zip(rows, parts, strict=True)
        if any(_place(row[_LENGTHS], name) for name in names)
    ]


def columns_of_row(row: HeatRow, names: Sequence[str]) -> Columns:
    """The same of one row."""
    cells = {name: getattr(row, name) for name in names}
    values = {name: None if cell is None else cell.reshape(1, -1) for name, cell in cells.items()}
    return Columns(np.array([row.end_us]), [row.period_events], [row.duty_ratio], list(row.tiers), values)


def _columns_of(starts: Sequence[Sequence[Any]], row: Sequence[Any], data: Ints, names: Sequence[str]) -> Columns:
    places = {name: _place(row[_LENGTHS], name) for name in names}
    return Columns(
        np.array([start[0] for start in starts], np.int64),
        [start[2] for start in starts],
        [start[3] for start in starts],
        row[_TIERS],
        {name: None if place is None else data[:, place] for name, place in places.items()},
    )


def _place(lengths: Sequence[int], name: str) -> slice | None:
    """Where a column stands among the numbers of a row; None where the row lacks it."""
    number = _ARRAYS.index(name)
    if number >= len(lengths) or lengths[number] < 0:
        return None
    first = sum(max(length, 0) for length in lengths[:number])
    return slice(first, first + lengths[number])


def fold_packs(host_id: int, bodies: Sequence[bytes], method: Method) -> HeatSeries | None:
    """What `fold_rows` makes of the rows of these packs, without making the rows. None without rows.

    Raises:
        RuntimeError: the compiled core is not built.
    """
    found = compiled_fold().fold(bodies)
    if found is None:  # rows that came twice or out of order, or nothing at all
        return fold_rows(host_id, [row for body in bodies for row in unpack_rows(body, method)])
    ends_us, groups, sums, history = found
    shape = (len(ends_us), len(groups))
    shaped = {
        name: values.reshape(shape if width == 1 else (*shape, width))
        for (name, width), values in zip(_SUMS, sums, strict=True)
    }
    folded = Folded(**{field: shaped.pop(field) for field, _ in FOLDED_COLUMNS.values()})
    return make_series(host_id, method, ends_us, FoldedStrata(tuple(groups), folded, Beside(shaped), history))


_RULES = {"kinds": "kinds", "page_sizes": "page_sizes", "validity": "validity"} | {
    name: {"age_bytes": "age", "never_bytes": "never"}.get(name, "sum") for name in FOLDED_COLUMNS
}
"""What folding does with columns that the contract has no rule for."""
_SUMS = tuple(FOLDED_COLUMNS.values()) + tuple(BESIDE_WIDTHS.items())
"""Names and numbers of values of the sums, in the order of the columns that they are of."""


@lru_cache(maxsize=1)
def compiled_fold() -> "HeatFold":
    """The fold of the compiled core, with the columns of the contract."""
    core = compiled_core("HeatFold", "folding packs of heat needs")
    plain = [(name, 1, _RULES[name], None) for name in _ARRAYS[: -len(HEAT_COLUMNS)]]
    told = [
        (column.name, column.width, column.rule or _RULES.get(column.name, ""), column.absent)
        for column in HEAT_COLUMNS
    ]
    fold: HeatFold = core.HeatFold(
        [*plain, *told],
        edges=list(EDGES),
        hot_window=HOT_WINDOW,
        most_kind=MOST_KIND,
        small_page_bytes=LARGEST_BASE_PAGE_BYTES,
    )
    return fold


def _open(body: bytes) -> tuple[list[Any], Ints]:
    """The heads and the values of a pack."""
    head, _, raw = body.partition(b"\n")
    return json.loads(head), _unshuffle(raw)


def _unshuffle(raw: bytes) -> Ints:
    planes = np.frombuffer(raw, np.uint8).reshape(8, -1)
    values = np.empty(planes.shape[1], "<i8")
    octets = values.view(np.uint8).reshape(-1, 8)
    for place, plane in enumerate(planes):  # transposed as a whole it takes twice as long
        octets[:, place] = plane
    return values.astype(np.int64, copy=False)


def _read_alike(head: bytes) -> tuple[list[int], Sequence[Any]] | None:
    """The ends of rows that differ in nothing else that columns need, and the rest of one; None where they may.

    Reading one row in ten is what makes this fast. A name that holds the separator is found out by the count, or by
    what it makes of the row, and then everything is read.
    """
    pieces = head[2:-2].split(b"], [")
    count, rest = divmod(len(pieces), _PIECES)
    if rest or pieces[1::_PIECES].count(pieces[1]) != count or pieces[2::_PIECES].count(pieces[2]) != count:
        return None
    try:
        ends = [int(piece[: piece.index(b",")]) for piece in pieces[::_PIECES]]
    except ValueError:
        return None
    row = _read_shape(b"], [".join([pieces[0].split(b",", _GROUPS)[-1], *pieces[1:_PIECES]]))
    return None if row is None else (ends, row)


@lru_cache(maxsize=_SHAPES)
def _read_shape(text: bytes) -> tuple[Any, ...] | None:
    """A row without its numbers, from what follows them: groups, tiers, lengths; None where it is not that.

    Hosts have few shapes, and send the same ones again and again.
    """
    try:
        row = (*(None,) * _GROUPS, *json.loads(b"[" + text + b"]"))
    except ValueError:
        return None
    lengths = row[_LENGTHS] if len(row) > _LENGTHS else None
    return row if isinstance(lengths, list) and all(isinstance(n, int) for n in lengths) else None
