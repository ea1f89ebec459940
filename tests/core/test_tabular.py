"""Tables as files: no cell is run as a formula, absent is empty, and a missing library is named."""

import io
import subprocess
import sys
from datetime import UTC, date, datetime
from typing import Literal

import pyarrow as pa
import pytest
from pyarrow import parquet

from factories.waiting import DEADLINE_SECONDS
from tierscope.core.errors import Unprocessable
from tierscope.core.tabular import Column, Kind, TableFile, write_table


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1", "\n=1"])
def test_text_that_looks_like_a_formula_is_shown_as_it_is(text: str) -> None:
    body = write_table((Column("name", "text"),), [(text,)], "csv").decode()
    assert body.split("\r\n", 1)[1].lstrip('"').startswith("'")


@pytest.mark.parametrize(
    ("text", "shown"),
    [("x;=1+1", "x;'=1+1"), ("a; +1", "a; '+1"), ("a|@b", "a|'@b"), ("a;b", "a;b"), ("a-b;1", "a-b;1")],
)
def test_what_another_separator_would_make_a_formula_is_none(text: str, shown: str) -> None:
    body = write_table((Column("name", "text"),), [(text,)], "csv").decode()
    assert body == f"name\r\n{shown}\r\n"


def test_numbers_keep_their_sign_and_absent_cells_are_empty() -> None:
    rows = [(-1.5, None, True, date(2026, 11, 21), 'a "b", c')]
    kinds: dict[str, Kind] = {"n": "number", "=x": "text", "b": "boolean", "d": "date", "t": "text"}
    body = write_table([Column(name, kind) for name, kind in kinds.items()], rows, "csv").decode()
    assert body == 'n,\'=x,b,d,t\r\n-1.5,,true,2026-11-21,"a ""b"", c"\r\n'


def test_parquet_keeps_types_and_nulls() -> None:
    columns = (Column("n", "number"), Column("t", "text"))
    table = parquet.read_table(io.BytesIO(write_table(columns, [(1.5, "=a"), (None, None)], "parquet")))
    assert table.to_pydict() == {"n": [1.5, None], "t": ["=a", None]}


def test_columns_keep_their_types_where_all_cells_are_absent_and_over_several_parts() -> None:
    columns = [Column("at", "time"), Column("n", "integer"), Column("x", "number"), Column("names", "text", many=True)]
    file = TableFile(columns, "arrow")
    file.add([("2026-11-21T01:00:00+01:00", None, 2, ["a", None])])
    file.add([])
    file.add([(None, 3, None, None)])
    table = pa.ipc.open_stream(file.finish({"origin": "simulated"})).read_all()
    utc_microseconds = pa.timestamp("us", tz="UTC")
    assert table.schema.types == [utc_microseconds, pa.int64(), pa.float64(), pa.list_(pa.string())]
    assert table.schema.metadata == {b"origin": b"simulated"}
    assert table.to_pylist() == [
        {"at": datetime(2026, 11, 21, tzinfo=UTC), "n": None, "x": 2.0, "names": ["a", None]},
        {"at": None, "n": 3, "x": None, "names": None},
    ]
    empty = pa.ipc.open_stream(TableFile(columns, "arrow").finish()).read_all()
    assert (empty.num_rows, empty.schema.types) == (0, table.schema.types)


@pytest.mark.parametrize(
    ("module", "others"),
    [("tierscope.api.app", ()), ("tierscope.cli.main", ("numpy", "psycopg", "sqlalchemy")), ("tierscope_client", ())],
)
def test_what_writes_no_file_loads_no_library_of_tables(module: str, others: tuple[str, ...]) -> None:
    """The library takes a quarter of a second of a core and 50 MiB, which what needs no such file does not pay.

    Of a command, what speaks to databases and computes is most of the start: commands that do neither load neither.
    """
    slow = {"pandas", "polars", "pyarrow", *others}
    asked = f"import sys, {module}; print(*{slow!r} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", asked],
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE_SECONDS,
    )
    assert done.stdout.split() == []


def test_a_list_in_a_cell_is_one_text_in_csv() -> None:
    columns = (Column("names", "text", many=True),)
    assert write_table(columns, [(["=a", "b"],)], "csv").decode().splitlines()[1] == '"\'=a, b"'


@pytest.mark.parametrize("file_format", ["parquet", "arrow"])
def test_a_file_that_needs_pyarrow_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, file_format: Literal["parquet", "arrow"]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Unprocessable, match="pyarrow is not installed") as error:
        write_table((Column("a", "integer"),), [(1,)], file_format)
    assert "format=csv" in error.value.next_step
