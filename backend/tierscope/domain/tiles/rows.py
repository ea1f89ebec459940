"""Matching the row lists of two epochs, so that the past of a mapping can be shown beside its present.

A named mapping is the same where kind, name and offset agree. Unnamed ones are renumbered in every epoch: they are
the same only where exactly one of each epoch has that size. Rows without a counterpart have no known past.
"""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tierscope.domain.tiles.levels import NOT_COLLECTED, Cells

Ints = npt.NDArray[np.int64]
Row = tuple[int, str, int, int]
"""(kind, mapping, offset in bytes, size in bytes)"""
_UNNAMED = re.compile(r"^anon-\d+$")


def match_rows(rows: Sequence[Row], older: Sequence[Row]) -> Ints:
    """For each of `rows` its place in `older`, -1 without a counterpart."""
    found = {key: place for place, key in enumerate(_identify(older)) if key is not None}
    return np.array([-1 if key is None else found.get(key, -1) for key in _identify(rows)], np.int64)


def carry_over(cells: bytes, places: Ints) -> bytes:
    """A column of the older epoch over the rows of the newer one; rows without a counterpart are not collected."""
    old = np.frombuffer(cells, np.uint8)
    if not len(old):
        return bytes([NOT_COLLECTED]) * len(places)
    return np.where(places >= 0, old[np.maximum(places, 0)], NOT_COLLECTED).astype(np.uint8).tobytes()


def carry_over_block(block: Cells, places: Ints, missing: int) -> Cells:
    """Columns [n, older rows] over the rows of the newer epoch, `missing` for those without a counterpart."""
    if not block.shape[1]:
        return np.full((len(block), len(places)), missing, np.uint8)
    return np.where(places >= 0, block[:, np.maximum(places, 0)], missing).astype(np.uint8)


def _identify(rows: Sequence[Row]) -> list[tuple[int, str, int] | None]:
    """What identifies each row across epochs, None where nothing does."""
    totals: Counter[tuple[int, str]] = Counter()
    for kind, mapping, _, size in rows:
        if _UNNAMED.match(mapping):
            totals[kind, mapping] += size
    sizes = Counter((kind, total) for (kind, _), total in totals.items())
    keys: list[tuple[int, str, int] | None] = []
    for kind, mapping, offset, _ in rows:
        total = totals.get((kind, mapping))
        if total is None:
            keys.append((kind, mapping, offset))
        elif sizes[kind, total] == 1:
            keys.append((kind, f"unnamed of {total} bytes", offset))
        else:
            keys.append(None)
    return keys
