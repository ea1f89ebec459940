"""Page samples: hash-selected pages with their loads and stores per interval, and how a block of them is packed.

Columns are packed exactly: differences and shuffled bytes, so that a general compressor finds the runs. Times are kept
relative to the block's end, which is stored beside the body and may have been corrected on arrival.
"""

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MAX_PAGES = 4096
"""Most pages of one service in one block."""
MAX_BODY_BYTES = 256 << 10
"""Most bytes of one packed and compressed block."""

_HEAD = struct.Struct("<4sIII")
_MAGIC = b"TSP1"


@dataclass(frozen=True, slots=True)
class SampledPages:
    """A block of k intervals, m pages and r rows of activity, ordered by interval, then page.

    `before_end_ns` [k]: how long before the block's end each interval ended, descending to 0. `observed` [k]: False
    where the interval was missed, so that its rows say nothing. `page_ids` [m]: keyed hashes, the signed integers of
    the same 64 bits. A page is resident from `first_interval` to `last_interval` [m]. Rows point into both.
    """

    before_end_ns: Ints
    observed: Bools
    page_ids: Ints
    kinds: Ints
    page_sizes_bytes: Ints
    first_interval: Ints
    last_interval: Ints
    row_interval: Ints
    row_page: Ints
    row_loads: Ints
    row_stores: Ints


_PER_PAGE = ("page_ids", "kinds", "page_sizes_bytes", "first_interval", "last_interval")
_PER_ROW = ("row_interval", "row_page", "row_loads", "row_stores")
_DIFFERENCED = frozenset({"row_interval", "row_page"})


def find_fault(sample: SampledPages) -> str | None:
    """What is wrong with a block, None where it holds together."""
    intervals, pages = len(sample.before_end_ns), len(sample.page_ids)
    if len(np.unique(sample.page_ids)) != pages:
        return "lists a page twice"
    if (np.diff(sample.before_end_ns) >= 0).any():
        return "has intervals that are not in order of time"
    if (sample.first_interval > sample.last_interval).any() or (sample.last_interval >= intervals).any():
        return f"has pages that are resident outside of its {intervals} intervals"
    if (sample.row_interval >= intervals).any() or (sample.row_page >= pages).any():
        return f"has rows outside of its {intervals} intervals and {pages} pages"
    if (np.diff(sample.row_interval * max(pages, 1) + sample.row_page) <= 0).any():
        return "has rows that are not in order of interval and page, or repeat"
    inside = (sample.row_interval >= sample.first_interval[sample.row_page]) & (
        sample.row_interval <= sample.last_interval[sample.row_page]
    )
    return None if inside.all() else "has activity of pages that are not resident"


def pack_sample(sample: SampledPages) -> bytes:
    """Pack a block; compressing it is up to the caller."""
    sizes = (len(sample.before_end_ns), len(sample.page_ids), len(sample.row_interval))
    columns = [sample.before_end_ns, sample.observed.astype(np.int64)]
    columns += [getattr(sample, name) for name in _PER_PAGE]
    for name in _PER_ROW:
        values: Ints = getattr(sample, name)
        columns.append(np.diff(values, prepend=np.int64(0)) if name in _DIFFERENCED else values)
    return _HEAD.pack(_MAGIC, *sizes) + b"".join(_shuffle(column) for column in columns)


def unpack_sample(body: bytes) -> SampledPages:
    """The block that `pack_sample` was given.

    Raises:
        ValueError: the body is not a packed block.
    """
    if len(body) < _HEAD.size:
        raise ValueError("not a packed page sample")
    magic, intervals, pages, rows = _HEAD.unpack_from(body)
    lengths = [intervals, intervals, *[pages] * len(_PER_PAGE), *[rows] * len(_PER_ROW)]
    if magic != _MAGIC or len(body) != _HEAD.size + 8 * sum(lengths):
        raise ValueError("not a packed page sample")
    at = _HEAD.size
    columns = []
    for length in lengths:
        columns.append(_unshuffle(body, at, length))
        at += 8 * length
    named = dict(zip((*_PER_PAGE, *_PER_ROW), columns[2:], strict=True))
    for name in _DIFFERENCED:
        named[name] = np.cumsum(named[name], dtype=np.int64)
    return SampledPages(before_end_ns=columns[0], observed=columns[1].astype(np.bool_), **named)


def _shuffle(values: Ints) -> bytes:
    raw = np.ascontiguousarray(values, "<i8").view(np.uint8).reshape(-1, 8)
    return np.ascontiguousarray(raw.T).tobytes()


def _unshuffle(body: bytes, at: int, length: int) -> Ints:
    raw = np.frombuffer(body, np.uint8, count=8 * length, offset=at).reshape(8, -1)
    return np.ascontiguousarray(raw.T).view("<i8").reshape(-1).astype(np.int64)
