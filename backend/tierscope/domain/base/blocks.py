"""The codec of blocks: columns of numbers of a closed day, each in the fewest bytes that give it back exactly.

A block holds n rows as parts. A part is one column, or several that are read together; it is made of:

    form      u8: 0x80 | holes << 4 | form
    kind      u8: kind << 4 | width. It and all that follows is absent in the forms EMPTY and SAME
    holes     ceil(n / 8) bytes where holes = 1: a set bit for each missing row, the highest bit first
    first     varint, form STEPS alone: the first present value
    low       varint: the least residual
    planes    width x m bytes: residual - low of the m values that are left, as little-endian unsigned integers of
              `width` bytes: all lowest bytes first, then all second ones and so on

A varint is a zigzag LEB128 of 64 bits. Missing rows are left out of what is counted: m = present rows, one less in
STEPS. All sums are modulo 2^64. Residuals become values by the form, values become numbers by the kind.

A whole part may be a Zstandard frame instead: that is done outside of this module.
"""

import json
from collections.abc import Iterator, Sequence
from enum import IntEnum

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
_Unsigned = npt.NDArray[np.uint64]


class Form(IntEnum):
    """What a residual is."""

    EMPTY = 0
    """No row is present: there are no residuals. `holes` is 0."""
    SAME = 1
    """Values, kind and missing rows are those of the column before, in the same part."""
    VALUES = 2
    """The value."""
    STEPS = 3
    """The value less that of the row before."""
    BESIDE = 4
    """The value less that of the column before in this row. Both have the same kind and missing rows."""


class Holes(IntEnum):
    """Where rows are missing."""

    NONE = 0
    STORED = 1
    AS_BEFORE = 2
    """As in the column before, in the same part."""


class Kind(IntEnum):
    """What number a value is."""

    INTEGER = 0
    WHOLE = 1
    """A float64 that is a whole number."""
    HUNDREDTHS = 2
    """A float64: the value divided by 100."""
    MILLIS = 3
    MICROS = 4
    NANOS = 5
    BITS = 6
    """A float64: the value has its 64 bits."""


_DIVISORS = {Kind.WHOLE: 1.0, Kind.HUNDREDTHS: 1e2, Kind.MILLIS: 1e3, Kind.MICROS: 1e6, Kind.NANOS: 1e9}
_MARK = 0x80
_EXACT = 2.0**53
_WORD = 1 << 64
_WORD_BYTES = 8


def pack_floats(columns: Floats) -> bytes:
    """A part of columns [c, n] of float64, NaN where missing. `unpack_floats` gives back the same numbers."""
    writer = _Writer()
    for column in columns:
        present = ~np.isnan(column)
        known = column if present.all() else column[present]
        writer.add(*_as_ints(np.ascontiguousarray(known, np.float64)), present)
    return bytes(writer.body)


def pack_ints(columns: Ints, present: Bools | None = None) -> bytes:
    """A part of columns [c, n] of int64; `present` [c, n], None = all. `unpack_ints` gives back the same."""
    writer = _Writer()
    for place, column in enumerate(columns):
        there = np.ones(len(column), np.bool_) if present is None else present[place]
        writer.add(Kind.INTEGER, np.ascontiguousarray(column[there], np.int64), there)
    return bytes(writer.body)


def pack_words(words: Sequence[str]) -> bytes:
    """A part of texts, such as those that a column of places points into: a JSON array in UTF-8."""
    return json.dumps(list(words), ensure_ascii=False, separators=(",", ":")).encode()


def unpack_floats(part: bytes, n: int) -> Floats:
    """The columns [c, n] of a part of n rows as float64, NaN where missing. Integers become float64 too.

    Raises:
        ValueError: this is not a part of n rows.
    """
    columns = []
    for kind, values, present in _read(part, n):
        known = _as_floats(kind, values)
        if present is None:
            columns.append(known)
            continue
        column = np.full(n, np.nan)
        column[present] = known
        columns.append(column)
    if len(columns) == 1:
        return columns[0][None]  # without a copy: most parts are one column
    return np.stack(columns) if columns else np.zeros((0, n))


def unpack_ints(part: bytes, n: int) -> tuple[Ints, Bools]:
    """The columns [c, n] of a part of n integer rows, 0 where missing, and which are present [c, n].

    Raises:
        ValueError: this is not a part of n rows, or holds fractions.
    """
    columns, there = [], []
    for kind, values, present in _read(part, n):
        if kind != Kind.INTEGER:
            raise ValueError("a part of integers was asked for, this one has fractions")
        if present is None:
            columns.append(values)
            there.append(np.ones(n, np.bool_))
            continue
        column = np.zeros(n, np.int64)
        column[present] = values
        columns.append(column)
        there.append(present)
    return (
        np.stack(columns) if columns else np.zeros((0, n), np.int64),
        np.stack(there) if there else np.zeros((0, n), np.bool_),
    )


def unpack_words(part: bytes) -> tuple[str, ...]:
    """The texts that `pack_words` was given."""
    return tuple(json.loads(part))


def _as_ints(known: Floats) -> tuple[Kind, Ints]:
    """Floats as integers from which `_as_floats` makes the same bits."""
    if np.isfinite(known).all() and not (np.signbit(known) & (known == 0)).any():
        with np.errstate(over="ignore"):
            for kind, divisor in _DIVISORS.items():
                scaled = np.rint(known * divisor)
                if np.abs(scaled).max(initial=0.0) < _EXACT and np.array_equal(scaled / divisor, known):
                    return kind, scaled.astype(np.int64)
    return Kind.BITS, known.view(np.int64)


def _as_floats(kind: Kind, values: Ints) -> Floats:
    if kind == Kind.BITS:
        return values.view(np.float64)
    floats = values.astype(np.float64)
    if kind > Kind.WHOLE:
        floats /= _DIVISORS[kind]
    return floats


class _Writer:
    """Adds columns to a part."""

    def __init__(self) -> None:
        self.body = bytearray()
        self._before: tuple[Kind, Ints, Bools] | None = None

    def add(self, kind: Kind, values: Ints, present: Bools) -> None:
        """Add the present values of a column."""
        before, self._before = self._before, (kind, values, present)
        if not len(values):
            self.body.append(_MARK | Form.EMPTY)
            return
        alike = before is not None and np.array_equal(before[2], present)
        beside = before[1] if before is not None and alike and before[0] == kind else None
        if beside is not None and np.array_equal(beside, values):
            self.body.append(_MARK | Form.SAME)
            return
        form, residuals = _smallest(values, beside)
        low = int(residuals.min())
        above = residuals.view(np.uint64) - np.uint64(low % _WORD)
        width = (int(above.max(initial=0)).bit_length() + 7) // 8
        holes = Holes.NONE if present.all() else Holes.AS_BEFORE if alike else Holes.STORED
        self.body += bytes((_MARK | holes << 4 | form, kind << 4 | width))
        if holes == Holes.STORED:
            self.body += np.packbits(~present).tobytes()
        if form == Form.STEPS:
            self.body += _varint(int(values[0]))
        self.body += _varint(low)
        if width:
            planes = np.ascontiguousarray(above, "<u8").view(np.uint8).reshape(-1, 8)[:, :width]
            self.body += planes.T.tobytes()


def _smallest(values: Ints, beside: Ints | None) -> tuple[Form, Ints]:
    """The form whose residuals need the fewest bits."""
    if (values == values[0]).all():
        return Form.VALUES, values
    choices = {Form.VALUES: values, Form.STEPS: values[1:] - values[:-1]}
    if beside is not None:
        choices[Form.BESIDE] = values - beside
    form = min(choices, key=lambda choice: _bits(choices[choice]))
    return form, np.ascontiguousarray(choices[form])


def _bits(residuals: Ints) -> float:
    """About how many bits residuals need beyond their middle."""
    middle = np.partition(residuals, len(residuals) // 2)[len(residuals) // 2]
    return float(np.log2(1.0 + np.abs(residuals.astype(np.float64) - float(middle))).sum())


def _varint(value: int) -> bytes:
    """A signed integer of 64 bits, zigzag and then seven bits a byte, the lowest first."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest >= _MARK:
        out.append(rest % _MARK | _MARK)
        rest >>= 7
    out.append(rest)
    return bytes(out)


class _Reader:
    """Takes a part to pieces."""

    def __init__(self, part: bytes) -> None:
        self._part = part
        self._at = 0

    def more(self) -> bool:
        """Whether another column follows."""
        return self._at < len(self._part)

    def take(self, length: int) -> bytes:
        """The next bytes."""
        start, self._at = self._at, self._at + length
        if self._at > len(self._part):
            raise ValueError("a part of a block ends early: it has other rows, or is damaged")
        return self._part[start : self._at]

    def varint(self) -> int:
        """The next signed integer."""
        rest = shift = 0
        while shift < 70:  # noqa: PLR2004 - ten bytes hold 64 bits
            (byte,) = self.take(1)
            rest |= (byte & 0x7F) << shift
            shift += 7
            if byte < _MARK:
                return (rest >> 1) ^ -(rest & 1)
        raise ValueError("a number in a part of a block is longer than 64 bits")

    def planes(self, width: int, count: int) -> _Unsigned:
        """The next unsigned integers."""
        raw = np.frombuffer(self.take(width * count), np.uint8).reshape(width, count)
        if width > _WORD_BYTES:
            raise ValueError("a number in a part of a block is longer than 64 bits")
        wide = raw[0].astype(np.uint64) if width else np.zeros(count, np.uint64)
        for place in range(1, width):
            wide |= raw[place].astype(np.uint64) << np.uint64(8 * place)
        return wide


def _read(part: bytes, n: int) -> Iterator[tuple[Kind, Ints, Bools | None]]:
    """Kind, present values and present rows of each column, None where all rows are."""
    reader = _Reader(part)
    kind, values, present = Kind.INTEGER, np.zeros(0, np.int64), None
    while reader.more():
        (head,) = reader.take(1)
        if not head & _MARK:
            raise ValueError("this is not a part of a block")
        form, holes = Form(head & 0x0F), Holes(head >> 4 & 0x07)
        if form == Form.EMPTY:
            kind, values, present = Kind.INTEGER, np.zeros(0, np.int64), np.zeros(n, np.bool_)
        elif form != Form.SAME:
            (second,) = reader.take(1)
            before, kind = kind, Kind(second >> 4)
            if holes == Holes.NONE:
                present = None
            elif holes == Holes.STORED:
                bits = np.frombuffer(reader.take((n + 7) // 8), np.uint8)
                present = ~np.unpackbits(bits, count=n).astype(np.bool_)
            count = n if present is None else int(present.sum())
            values = _values(reader, form, second & 0x0F, count, values if before == kind else None)
        yield kind, values, present


def _values(reader: _Reader, form: Form, width: int, count: int, before: Ints | None) -> Ints:
    steps = form == Form.STEPS
    if steps and not count:
        raise ValueError("a column of a block has steps and no rows")
    first = reader.varint() if steps else 0
    low = np.uint64(reader.varint() % _WORD)
    residuals = reader.planes(width, count - steps) + low
    if steps:
        values = np.empty(count, np.uint64)
        values[0] = first % _WORD
        values[1:] = residuals
        return np.cumsum(values, out=values).view(np.int64)
    if form == Form.BESIDE:
        if before is None or len(before) != count:
            raise ValueError("a column of a block is told from another that is not there")
        residuals = residuals + before.view(np.uint64)
    return residuals.view(np.int64)
