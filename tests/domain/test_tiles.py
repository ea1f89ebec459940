"""Heat tiles: coarser cells keep what the fine ones know."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tierscope.domain.tiles.levels import (
    NOT_COLLECTED,
    NOT_RESIDENT,
    Scale,
    choose_level,
    merge,
    rows_per_cell,
    to_activity,
    to_cells,
)

SCALE = Scale(base=2 ** (1 / 8), unit=1e-3)


@given(npst.arrays(np.uint8, (5,), elements=st.integers(0, 250)))
def test_scale_round_trip_is_exact(cells: np.ndarray) -> None:
    assert (to_cells(to_activity(cells, SCALE), SCALE) == cells).all()


@given(npst.arrays(np.uint8, st.tuples(st.integers(1, 70), st.integers(1, 5))), st.integers(1, 12))
def test_coarse_activity_is_the_mean_of_known_cells_within_one_step(cells: np.ndarray, length: int) -> None:
    merged = merge(cells, length, SCALE)
    for group in range(len(merged.cells)):
        fine = to_activity(cells[group * length : (group + 1) * length], SCALE)
        for column in range(cells.shape[1]):
            known = fine[:, column][np.isfinite(fine[:, column])]
            coarse = to_activity(merged.cells[group : group + 1, column], SCALE)[0]
            if len(known) == 0:
                assert np.isnan(coarse)
                assert merged.known[group, column] == 0
            elif known.mean() == 0:
                assert coarse == 0
            else:
                clipped = np.clip(known.mean(), SCALE.unit, None)
                assert coarse == pytest.approx(clipped, rel=SCALE.base**0.5 - 1 + 1e-6)


def test_known_share_counts_missing_columns() -> None:
    cells = np.array([[10], [10], [NOT_COLLECTED], [NOT_COLLECTED]], np.uint8)
    merged = merge(cells, 4, SCALE)
    assert merged.cells[0, 0] == 10
    assert merged.known[0, 0] == 128


def test_a_run_without_known_cells_keeps_its_reason() -> None:
    cells = np.array([[NOT_RESIDENT], [NOT_COLLECTED]], np.uint8)
    assert merge(cells, 2, SCALE).cells[0, 0] == NOT_RESIDENT


def test_rows_weigh_by_their_bytes() -> None:
    cells = np.array([[0], [80]], np.uint8)
    heavy = merge(cells, 2, SCALE, weights=np.array([0.0, 1.0])).cells[0, 0]
    assert heavy == 80


@pytest.mark.parametrize(
    ("hours", "columns", "level", "merged"),
    [(1, 60, 0, 1), (6, 60, 1, 1), (24, 144, 1, 1), (24, 60, 2, 1), (240, 60, 2, 4)],
)
def test_level_is_the_finest_that_fits(hours: int, columns: int, level: int, merged: int) -> None:
    assert choose_level(hours * 3600, 60, columns) == (level, merged)


def test_rows_merge_by_powers_of_two() -> None:
    assert [rows_per_cell(n, 256) for n in (100, 256, 257, 1024)] == [1, 1, 2, 4]
