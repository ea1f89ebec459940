"""Parts of blocks give back exactly what went in, and what says nothing new takes almost no bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tierscope.domain.base.blocks import (
    pack_floats,
    pack_ints,
    pack_words,
    unpack_floats,
    unpack_ints,
    unpack_words,
)

SHAPES = st.tuples(st.integers(1, 4), st.integers(0, 40))
ANY_INT = st.integers(-(2**63), 2**63 - 1)
SOME_INT = st.sampled_from([0, 1, -1, 7, 2**40, -(2**63), 2**63 - 1])
WHOLE = st.integers(-(2**60), 2**60).map(float)
HUNDREDTHS = st.integers(-(10**6), 10**6).map(lambda value: value / 100)
NANOS = st.integers(0, 10**12).map(lambda value: value / 1e9)
SPECIAL = st.sampled_from([0.0, -0.0, 1.0, np.inf, -np.inf, 5e-324, 1.7e308, 2.0**53])


def repeated(columns: np.ndarray, again: list[bool]) -> np.ndarray:
    """Some of the columns are those before them, as first and least values of a counter are."""
    for place in range(1, len(columns)):
        if again[place]:
            columns[place] = columns[place - 1]
    return columns


@st.composite
def int_columns(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    shape = draw(SHAPES)
    elements = draw(st.sampled_from([ANY_INT, SOME_INT, st.integers(0, 300)]))
    again = draw(st.lists(st.booleans(), min_size=4, max_size=4))
    values = repeated(draw(npst.arrays(np.int64, shape, elements=elements)), again)
    present = draw(st.sampled_from([np.ones(shape, bool), np.zeros(shape, bool)]) | npst.arrays(bool, shape))
    return values, repeated(present.copy(), again)


@given(int_columns())
def test_integers_come_back(given_columns: tuple[np.ndarray, np.ndarray]) -> None:
    values, present = given_columns
    found, there = unpack_ints(pack_ints(values, present), values.shape[1])
    np.testing.assert_array_equal(there, present)
    np.testing.assert_array_equal(found, np.where(present, values, 0))
    everything, all_there = unpack_ints(pack_ints(values), values.shape[1])
    assert all_there.all()
    np.testing.assert_array_equal(everything, values)


@st.composite
def float_columns(draw: st.DrawFn) -> np.ndarray:
    shape = draw(SHAPES)
    elements = draw(st.sampled_from([st.floats(), WHOLE, HUNDREDTHS, NANOS, SPECIAL, st.sampled_from([3.0, np.nan])]))
    again = draw(st.lists(st.booleans(), min_size=4, max_size=4))
    return repeated(draw(npst.arrays(np.float64, shape, elements=elements)), again)


@given(float_columns())
def test_floats_come_back_to_the_bit(columns: np.ndarray) -> None:
    found = unpack_floats(pack_floats(columns), columns.shape[1])
    np.testing.assert_array_equal(np.isnan(found), np.isnan(columns))
    known = ~np.isnan(columns)
    assert found[known].tobytes() == columns[known].tobytes()


def test_columns_of_several_kinds_come_back_from_one_part() -> None:
    columns = np.array([[1.0, 2.0, 3.0], [0.25, np.nan, 0.5], [0.1, 1 / 3, 7.0], [1.5, np.nan, 0.5], [np.nan] * 3])
    found = unpack_floats(pack_floats(columns), 3)
    np.testing.assert_array_equal(found, columns)
    np.testing.assert_array_equal(unpack_floats(pack_ints(np.array([[4, 5]])), 2), [[4.0, 5.0]])


@given(st.lists(st.text()))
def test_words_come_back(words: list[str]) -> None:
    assert unpack_words(pack_words(words)) == tuple(words)


def test_a_constant_takes_a_few_bytes_however_often_it_is_said() -> None:
    n = 144
    counter = np.stack([np.full(n, 5e6)] * 4 + [np.zeros(n), np.full(n, 10.0)])
    assert len(pack_floats(counter)) <= 16
    assert len(pack_ints(np.zeros((1, n), np.int64), np.zeros((1, n), bool))) == 1
    regular = np.arange(1440) * 60.0 + 1_700_000_000.0
    assert len(pack_floats(np.array([regular]))) <= 12


def test_a_rising_counter_takes_its_steps_and_what_is_beside_it_the_difference() -> None:
    rng = np.random.default_rng(7)
    last = 2**40 + np.cumsum(rng.integers(0, 200, 1440))
    one = len(pack_ints(last[None]))
    assert one < 1440 + 20
    assert len(pack_ints(np.stack([last, last - 3]))) < one + 10


def test_a_few_large_values_are_told_by_a_dictionary() -> None:
    rng = np.random.default_rng(7)
    sizes = rng.integers(0, 2**40, 9)
    columns = np.stack([sizes[rng.integers(0, 9, 1440)], rng.integers(0, 2**40, 1440)])
    there = rng.random(columns.shape) < 0.9
    values, present = unpack_ints(pack_ints(columns, there), 1440)
    np.testing.assert_array_equal(values, np.where(there, columns, 0))
    np.testing.assert_array_equal(present, there)
    assert len(pack_ints(columns[:1])) < 1440 * 0.55, "four bits a value, and a little"


@pytest.mark.parametrize("cut", [1, 2, 5, 15])
def test_a_part_that_ends_early_is_refused(cut: int) -> None:
    part = pack_ints(np.array([[3, 900, 70_000, 2**40]]), np.array([[True, True, False, True]]))
    with pytest.raises(ValueError, match="ends early"):
        unpack_ints(part[:-cut], 4)


def test_what_is_no_part_is_refused_with_its_cause() -> None:
    with pytest.raises(ValueError, match="not a part"):
        unpack_ints(b"\x00\x00", 1)
    with pytest.raises(ValueError, match="fractions"):
        unpack_ints(pack_floats(np.array([[0.5]])), 1)
    with pytest.raises(ValueError, match="longer than 64 bits"):
        unpack_ints(b"\x82\x00" + b"\xff" * 11, 1)
    with pytest.raises(ValueError, match="not there"):
        unpack_ints(b"\x84\x00\x00", 1)
    with pytest.raises(ValueError, match="dictionary"):
        unpack_ints(b"\x85\x00\x00\x00\x01", 1)
    with pytest.raises(ValueError, match="ends early"):
        unpack_ints(b"\x28\xb5\x2f\xfd\x00", 1)
