"""Binary COPY: what goes in as arrays comes out of PostgreSQL unchanged."""

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from tierscope.core.database import Database
from tierscope.storage.base import copy

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@pytest.fixture
def database(empty_database_url: str) -> Iterator[Database]:
    with closing(Database(empty_database_url)) as opened:
        yield opened


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), width=st.integers(1, 7))
def test_rows_with_missing_elements_arrive_as_they_are(database: Database, data: st.DataObject, width: int) -> None:
    cell = st.one_of(st.none(), INT64)
    wanted = data.draw(st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1, max_size=6))
    values = np.array([[value or 0 for value in row] for row in wanted], dtype=np.int64)
    present = np.array([[value is not None for value in row] for row in wanted])
    places = np.arange(len(wanted), dtype=np.int64)
    encoded = copy.int8_matrix_rows([places, None, places.astype(np.int16)], values, present)
    with database.write() as transaction:
        transaction.execute(text("CREATE TEMP TABLE t (place bigint, empty bigint, small smallint, vals bigint[])"))
        copy.copy_rows(transaction, "t", ("place", "empty", "small", "vals"), [encoded])
        found = [tuple(row) for row in transaction.execute(text("SELECT * FROM t ORDER BY place"))]
        transaction.execute(text("DROP TABLE t"))
    assert found == [(place, None, place, row) for place, row in enumerate(wanted)]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), entries=st.integers(1, 6), width=st.integers(1, 4))
def test_rows_of_some_entries_each_arrive_as_they_are(
    database: Database, data: st.DataObject, entries: int, width: int
) -> None:
    def drawn(low: int, high: int, columns: int) -> np.ndarray:
        size = entries * columns
        values = data.draw(st.lists(st.integers(low, high), min_size=size, max_size=size))
        return np.array(values, dtype=np.int64).reshape(entries, columns)

    small, middle, large = (
        drawn(-(1 << 15), 32_767, 1),
        drawn(-(1 << 31), (1 << 31) - 1, 1),
        drawn(-(1 << 63), 1, width),
    )
    words = data.draw(
        st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=entries, max_size=entries)
    )
    groups = data.draw(st.lists(st.lists(st.integers(0, entries - 1), max_size=5), min_size=1, max_size=4))
    encoded = copy.grouped_rows(
        groups,
        [
            ("each", [copy.int8(place) for place in range(len(groups))]),
            ("same", copy.NULL),
            ("int2", small),
            ("int4", middle[:, 0]),
            ("int8", large),
            ("text", words),
        ],
    )
    with database.write() as transaction:
        transaction.execute(text("CREATE TEMP TABLE t (a int8, b text, c int2[], d int4[], e int8[], f text[])"))
        copy.copy_rows(transaction, "t", tuple("abcdef"), [encoded])
        found = [tuple(row) for row in transaction.execute(text("SELECT * FROM t ORDER BY a"))]
        transaction.execute(text("DROP TABLE t"))
    columns = (small, middle, large)
    assert found == [
        (place, None, *(values[group].ravel().tolist() for values in columns), [words[at] for at in group])
        for place, group in enumerate(groups)
    ]


def test_a_place_beyond_a_column_is_refused() -> None:
    with pytest.raises(ValueError, match="fewer entries"):
        copy.grouped_rows([[0, 3]], [("int8", np.zeros((3, 2), dtype=np.int64))])
    with pytest.raises(ValueError, match="fewer entries"):
        copy.grouped_rows([[1]], [("text", ["a"])])


def test_every_kind_of_field_arrives_as_it_is(database: Database) -> None:
    numbers = np.array([3, -1, 1 << 20], dtype=np.int64)
    empty = np.zeros(0, dtype=np.int64)
    fields = [
        copy.int2(-2),
        copy.int4(None),
        copy.int8(1 << 62),
        copy.float8(0.5),
        copy.text('"é\n'),
        copy.blob(b"\0\xff"),
        copy.jsonb({"a": [None, "ü"]}),
        copy.instant(1_795_221_600_123_456_789),
        copy.int8_array(numbers.reshape(3, 1)),
        copy.int4_array(numbers),
        copy.int2_array(empty),
        copy.text_array(["", "b"]),
        copy.text_array([]),
        copy.int8_array(None),
    ]
    types = "a int2, b int4, c int8, d float8, e text, f bytea, g jsonb, h timestamptz, i int8[], j int4[], k int2[]"
    with database.write() as transaction:
        transaction.execute(text(f"CREATE TEMP TABLE t ({types}, l text[], m text[], n int8[])"))
        copy.copy_rows(transaction, "t", tuple("abcdefghijklmn"), [copy.row(fields)])
        (found,) = transaction.execute(text("SELECT *, extract(epoch FROM h)::text AS epoch FROM t"))
    assert tuple(found)[:7] == (-2, None, 1 << 62, 0.5, '"é\n', b"\0\xff", {"a": [None, "ü"]})
    assert found.epoch == "1795221600.123456"
    assert tuple(found)[8:14] == ([3, -1, 1 << 20], [3, -1, 1 << 20], [], ["", "b"], [], None)


def test_a_long_copy_is_sent_in_parts(database: Database) -> None:
    part = copy.row([copy.blob(b"x" * 700_000)])
    with database.write() as transaction:
        transaction.execute(text("CREATE TEMP TABLE t (a bytea)"))
        copy.copy_rows(transaction, "t", ("a",), [part] * 5)
        assert transaction.execute(text("SELECT count(*), sum(length(a)) FROM t")).one() == (5, 3_500_000)
