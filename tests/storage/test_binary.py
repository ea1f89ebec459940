"""Records as whole columns: integers, doubles, arrays, nulls, and rows that do not fit each other."""

import struct

import numpy as np
import pytest

from tierscope.storage.base.binary import columns_of


def row(*fields: bytes | None) -> bytes:
    """A record in binary; the type of its fields is not looked at."""
    parts = (struct.pack("!Ii", 20, -1 if field is None else len(field)) + (field or b"") for field in fields)
    return struct.pack("!i", len(fields)) + b"".join(parts)


def array(*values: int) -> bytes:
    cells = b"".join(struct.pack("!iq", 8, value) for value in values)
    return struct.pack("!iiiii", 1, 0, 20, len(values), 1) + cells


def test_columns_hold_what_the_rows_say() -> None:
    rows = [
        row(struct.pack("!q", n), struct.pack("!h", -n), struct.pack("!d", n / 2), None, array(n, -(2**63), 7))
        for n in range(3)
    ]
    found = columns_of(b"".join(rows))
    assert found is not None
    np.testing.assert_array_equal(found.ints(0), [0, 1, 2])
    np.testing.assert_array_equal(found.ints(1), [0, -1, -2])
    np.testing.assert_array_equal(found.floats(2), [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(found.ints(3), [0, 0, 0])
    np.testing.assert_array_equal(found.int8_arrays(4), [[n, -(2**63), 7] for n in range(3)])
    assert found.times_us(0)[1] == 946_684_800_000_001


def test_no_rows_are_no_columns() -> None:
    assert columns_of(b"") is None


@pytest.mark.parametrize("other", [row(bytes(4), None), row(None, bytes(8)), row(bytes(8))])
def test_rows_of_other_lengths_are_refused(other: bytes) -> None:
    with pytest.raises(ValueError, match="rows differ"):
        columns_of(row(bytes(8), None) + other)
