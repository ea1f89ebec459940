"""Heat tiles: coarser cells keep what the fine ones know."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tierscope.domain.tiles.damo_records import most_active, place_rows, record_of_tiles
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


def test_tiles_as_regions_keep_offsets_and_merge_neighbours_of_one_activity() -> None:
    rows = [
        (1, "heap", 4 << 20, 1 << 20),
        (1, "heap", 5 << 20, 1 << 20),
        (2, "lib.so", 0, 4096),
        (1, "heap", 8 << 20, 1),
    ]
    starts = place_rows(rows)
    assert (starts[1] - starts[0], starts[3] - starts[0]) == (1 << 20, 4 << 20)
    assert starts[0] == starts[2] % (2 << 20) + (2 << 20), "each begins at a multiple of 2 MiB"
    assert starts[2] >= starts[3] + (2 << 20)
    half = int(to_cells(np.array([0.51]), SCALE)[0])
    minute = 60_000_000
    bodies = [bytes([half, half, 0, 0]), bytes([half, 1, NOT_RESIDENT, 0]), bytes([half, half, NOT_COLLECTED, 0])]
    columns = [(minute, bodies[0]), (2 * minute, bodies[1]), (4 * minute, bodies[2])]
    record = record_of_tiles(rows, columns, minute * 1000, SCALE, 1.0, 7)
    assert (record.target, record.intervals_us) == (7, (minute // 100, minute))
    first, second, third = (shot.regions for shot in record.snapshots)
    assert first.accesses.tolist() == [51, 0, 0]
    assert (first.end - first.start).tolist() == [2 << 20, 1, 4096], "neighbours of one activity are one region"
    assert second.accesses.tolist() == [51, 1, 0], "any activity is at least one check"
    assert second.age.tolist() == [1, 0, 1]
    assert third.age.tolist() == [0, 0], "a minute is missing before it"
    assert most_active(columns, SCALE) == pytest.approx(0.5, rel=0.05)
    assert most_active([(minute, bytes([NOT_COLLECTED]))], SCALE) == 0.0
