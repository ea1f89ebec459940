"""Page samples: packing gives back what went in, and faults are named."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.domain.curve.sample_blocks import SampledPages, find_fault, pack_sample, unpack_sample


def make_sample(intervals: int, pages: int, active: list[tuple[int, int]]) -> SampledPages:
    """Pages resident all the time, active at these (interval, page) places."""
    cells = sorted(set(active))
    rows = np.array(cells, np.int64).reshape(-1, 2)
    return SampledPages(
        before_end_ns=np.arange(intervals - 1, -1, -1, dtype=np.int64) * 60_000_000_000,
        observed=np.arange(intervals) % 3 != 1,
        page_ids=np.arange(pages, dtype=np.int64) * -(1 << 40),
        kinds=np.ones(pages, np.int64),
        page_sizes_bytes=np.full(pages, 4096, np.int64),
        first_interval=np.zeros(pages, np.int64),
        last_interval=np.full(pages, intervals - 1, np.int64),
        row_interval=rows[:, 0],
        row_page=rows[:, 1],
        row_loads=np.arange(len(rows), dtype=np.int64) + 1,
        row_stores=np.arange(len(rows), dtype=np.int64) % 2,
    )


@given(st.integers(1, 20), st.integers(1, 30), st.data())
def test_a_block_is_unpacked_as_it_was_packed(intervals: int, pages: int, data: st.DataObject) -> None:
    cell = st.tuples(st.integers(0, intervals - 1), st.integers(0, pages - 1))
    sample = make_sample(intervals, pages, data.draw(st.lists(cell, max_size=60)))
    assert find_fault(sample) is None
    found = unpack_sample(pack_sample(sample))
    for name in SampledPages.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(found, name), getattr(sample, name))


@pytest.mark.parametrize("body", [b"", b"TSP1", bytes(24), pack_sample(make_sample(2, 2, []))[:-1]])
def test_what_is_no_packed_block_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a packed page sample|ends early"):
        unpack_sample(body)


def test_rows_may_repeat_neither_place_nor_order() -> None:
    sample = make_sample(3, 4, [(0, 3), (1, 0)])
    assert find_fault(sample) is None
    backwards = replace(sample, row_interval=sample.row_interval[::-1], row_page=sample.row_page[::-1])
    assert find_fault(backwards) == "has rows that are not in order of interval and page, or repeat"
    freed = replace(sample, last_interval=np.array([0, 2, 2, 2]))
    assert find_fault(freed) == "has activity of pages that are not resident"
