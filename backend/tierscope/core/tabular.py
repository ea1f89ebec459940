"""Tables as files: CSV that no spreadsheet program runs as formulas, and Parquet where pyarrow is installed."""

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Literal

from tierscope.core.errors import Unprocessable

Cell = str | int | float | bool | date | datetime | None
FileFormat = Literal["csv", "parquet"]
MEDIA_TYPES: Mapping[FileFormat, str] = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def write_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], file_format: FileFormat) -> bytes:
    """A table as the bytes of a file. Absent cells are empty in CSV and null in Parquet.

    Raises:
        Unprocessable: Parquet is asked for, and the installation cannot write it.
    """
    return _csv(columns, rows) if file_format == "csv" else _parquet(columns, rows)


def plain_text(text: str) -> str:
    """Text that a spreadsheet program shows as it is: what looks like a formula gets an apostrophe in front."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _csv(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([plain_text(name) for name in columns])
    writer.writerows([[_text(cell) for cell in row] for row in rows])
    return out.getvalue().encode()


def _text(cell: Cell) -> str | int | float:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        return plain_text(cell)
    return cell if isinstance(cell, int | float) else cell.isoformat()


def _parquet(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> bytes:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra that an installation may lack
        from pyarrow import parquet  # noqa: PLC0415 - the same
    except ImportError as error:
        raise Unprocessable(
            "this installation cannot write Parquet: pyarrow is not installed",
            next_step="Install the extra `tierscope[parquet]`, or ask for format=csv.",
        ) from error
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(columns)})
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()
