"""Tables as files: no cell is run as a formula, absent is empty, and a missing library is named."""

import io
import sys
from datetime import date

import pytest
from pyarrow import parquet

from tierscope.core.errors import Unprocessable
from tierscope.core.tabular import write_table


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1", "\n=1"])
def test_text_that_looks_like_a_formula_is_shown_as_it_is(text: str) -> None:
    body = write_table(("name",), [(text,)], "csv").decode()
    assert body.split("\r\n", 1)[1].lstrip('"').startswith("'")


def test_numbers_keep_their_sign_and_absent_cells_are_empty() -> None:
    rows = [(-1.5, None, True, date(2026, 11, 21), 'a "b", c')]
    body = write_table(("n", "=x", "b", "d", "t"), rows, "csv").decode()
    assert body == 'n,\'=x,b,d,t\r\n-1.5,,true,2026-11-21,"a ""b"", c"\r\n'


def test_parquet_keeps_types_and_nulls() -> None:
    table = parquet.read_table(io.BytesIO(write_table(("n", "t"), [(1.5, "=a"), (None, None)], "parquet")))
    assert table.to_pydict() == {"n": [1.5, None], "t": ["=a", None]}


def test_parquet_without_pyarrow_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Unprocessable, match="pyarrow is not installed") as error:
        write_table(("a",), [(1,)], "parquet")
    assert "format=csv" in error.value.next_step
