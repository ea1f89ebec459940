"""Page samples: hash-selected pages with their loads and stores per interval, and how a block of them is packed.

Times are kept relative to the block's end, which is stored beside the body and may have been corrected on arrival.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.blocks import join_parts, pack_ints, split_parts, unpack_ints

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MAX_PAGES = 4096
"""Most pages of one service in one block."""
MAX_BODY_BYTES = 256 << 10
"""Most bytes of one packed and compressed block."""


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


_PARTS = (
    ("before_end_ns", "observed"),
    ("page_ids", "kinds", "page_sizes_bytes", "first_interval", "last_interval"),
    ("row_interval", "row_page", "row_loads", "row_stores"),
)
"""Columns of each part."""


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
    """Pack a block: a part each of its intervals, its pages and its rows."""
    columns = (np.stack([getattr(sample, name).astype(np.int64) for name in names]) for names in _PARTS)
    return join_parts([(part.shape[1], pack_ints(part, dictionaries=False)) for part in columns])


def unpack_sample(body: bytes) -> SampledPages:
    """The block that `pack_sample` was given.

    Raises:
        ValueError: the body is not a packed block.
    """
    parts = [unpack_ints(part, n)[0] for n, part in split_parts(body)]
    if [len(part) for part in parts] != [len(names) for names in _PARTS]:
        raise ValueError("not a packed page sample")
    named: dict[str, Ints] = {}
    for names, part in zip(_PARTS, parts, strict=True):
        named |= zip(names, part, strict=True)
    return SampledPages(observed=named.pop("observed").astype(np.bool_), **named)
