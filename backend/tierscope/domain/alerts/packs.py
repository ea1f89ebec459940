"""A column of a day, packed small: most are whole numbers, many are constant or missing, times are regular."""

import struct

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_HEAD = struct.Struct("<BBI")
_MISSING, _REGULAR, _WHOLE, _ANY = 0, 1, 2, 3
_PAIR = struct.Struct("<dd")
_LOW = struct.Struct("<d")
_EXACT = 2.0**53
_WIDTHS = (("u1", 2**8), ("<u2", 2**16), ("<u4", 2**32))


def pack_column(values: Floats) -> bytes:
    """Bytes of a column, NaN where missing; `unpack_column` gives back exactly the same."""
    n = len(values)
    missing = np.isnan(values)
    if missing.all():
        return _HEAD.pack(_MISSING, 0, n)
    if not missing.any() and np.isfinite(values).all():
        step = float(values[1] - values[0]) if n > 1 else 0.0
        if np.array_equal(values[0] + step * np.arange(n), values):
            return _HEAD.pack(_REGULAR, 0, n) + _PAIR.pack(float(values[0]), step)
    holes = np.packbits(missing).tobytes() if missing.any() else b""
    known = values[~missing]
    low = float(known.min())
    whole = np.isfinite(known).all() and (np.rint(known) == known).all() and np.abs(known).max() < _EXACT
    negative_zero = bool((np.signbit(known) & (known == 0)).any())
    if whole and not negative_zero:
        span = float(known.max()) - low
        for code, (width, limit) in enumerate(_WIDTHS):
            if span < limit:
                body = np.where(missing, 0.0, values - low).astype(width).tobytes()
                return _HEAD.pack(_WHOLE, code << 1 | bool(holes), n) + _LOW.pack(low) + holes + body
    return _HEAD.pack(_ANY, int(bool(holes)), n) + holes + np.where(missing, 0.0, values).astype("<f8").tobytes()


def unpack_column(body: bytes) -> Floats:
    """The column that `pack_column` was given."""
    kind, flags, n = _HEAD.unpack_from(body)
    at = _HEAD.size
    if kind == _MISSING:
        return np.full(n, np.nan)
    if kind == _REGULAR:
        start, step = _PAIR.unpack_from(body, at)
        return np.full(n, start) if step == 0 else np.asarray(start + step * np.arange(n), np.float64)
    low = 0.0
    if kind == _WHOLE:
        (low,) = _LOW.unpack_from(body, at)
        at += _LOW.size
    holes = None
    if flags & 1:
        holes = np.unpackbits(np.frombuffer(body, np.uint8, count=(n + 7) // 8, offset=at), count=n).astype(bool)
        at += (n + 7) // 8
    if kind == _WHOLE:
        values = np.frombuffer(body, _WIDTHS[flags >> 1][0], count=n, offset=at).astype(np.float64)
        if low:
            values += low
    else:
        values = np.frombuffer(body, "<f8", count=n, offset=at).astype(np.float64)
    if holes is not None:
        values[holes] = np.nan
    return values
