"""Tables as files: CSV that no spreadsheet program runs as formulas; Parquet and Arrow where pyarrow is installed."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal

from tierscope.core.errors import Unprocessable

Cell = str | int | float | bool | date | datetime | list[Any] | None
FileFormat = Literal["csv", "parquet", "arrow"]
MEDIA_TYPES: Mapping[FileFormat, str] = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
}
SUFFIXES: Mapping[FileFormat, str] = {"csv": "csv", "parquet": "parquet", "arrow": "arrows"}
Kind = Literal["text", "integer", "number", "boolean", "time", "date"]
"""What the cells of a column are."""
_AFTER_SEPARATOR = re.compile(r"([;|\t][ ]*)(?=[=+\-@])")
"""Where a program that splits cells there would see a formula."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `many`: each cell is a list of that kind. Times are UTC."""

    name: str
    kind: Kind
    many: bool = False


class TableFile:
    """A table that becomes a file, rows after rows. What was added is held in the file's form, not as objects."""

    def __init__(self, columns: Sequence[Column], file_format: FileFormat) -> None:
        """Makes an empty table.

        Raises:
            Unprocessable: Parquet or Arrow is asked for, and the installation cannot write it.
        """
        self._written: _Csv | _Arrow = _Csv(columns) if file_format == "csv" else _Arrow(columns, file_format)

    def add(self, rows: Iterable[Sequence[Cell]]) -> None:
        """Append rows, a cell for each column. Times may be text as RFC 3339 has it."""
        self._written.add(rows)

    def finish(self, metadata: Mapping[str, str] | None = None) -> bytes:
        """The bytes of the file. `metadata` goes into the schema; CSV has no place for it."""
        return self._written.finish(metadata or {})


def write_table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    file_format: FileFormat,
    metadata: Mapping[str, str] | None = None,
) -> bytes:
    """A table as the bytes of a file. Absent cells are empty in CSV and null in Parquet and Arrow.

    Raises:
        Unprocessable: Parquet or Arrow is asked for, and the installation cannot write it.
    """
    file = TableFile(columns, file_format)
    file.add(rows)
    return file.finish(metadata)


def plain_text(text: str) -> str:
    """Text that a spreadsheet program shows as it is: what looks like a formula gets an apostrophe in front.

    Behind a separator that another program splits cells at, too.
    """
    if text.startswith(_FORMULA):
        text = f"'{text}"
    return _AFTER_SEPARATOR.sub(r"\1'", text)


class _Csv:
    def __init__(self, columns: Sequence[Column]) -> None:
        self._out = io.StringIO(newline="")
        self._writer = csv.writer(self._out, lineterminator="\r\n")
        self._writer.writerow([plain_text(column.name) for column in columns])

    def add(self, rows: Iterable[Sequence[Cell]]) -> None:
        self._writer.writerows([_text(cell) for cell in row] for row in rows)

    def finish(self, _: Mapping[str, str]) -> bytes:
        return self._out.getvalue().encode()


def _text(cell: Cell) -> str | int | float:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, list):
        return plain_text(", ".join("" if one is None else str(_text(one)) for one in cell))
    if isinstance(cell, str):
        return plain_text(cell)
    return cell if isinstance(cell, int | float) else cell.isoformat()


class _Arrow:
    def __init__(self, columns: Sequence[Column], file_format: FileFormat) -> None:
        try:
            import pyarrow as pa  # noqa: PLC0415 - an extra that an installation may lack, and slow to load
        except ImportError as error:
            name = "Parquet" if file_format == "parquet" else "Arrow"
            raise Unprocessable(
                f"this installation cannot write {name}: pyarrow is not installed",
                next_step="Install the extra `tierscope[parquet]`, or ask for format=csv.",
            ) from error
        self._pa = pa
        self._columns = columns
        self._format = file_format
        self._batches: list[Any] = []

    def add(self, rows: Iterable[Sequence[Cell]]) -> None:
        cells = list(zip(*rows, strict=True)) or [()] * len(self._columns)
        arrays = [self._array(column, found) for column, found in zip(self._columns, cells, strict=True)]
        self._batches.append(self._pa.RecordBatch.from_arrays(arrays, names=[one.name for one in self._columns]))

    def _array(self, column: Column, cells: Sequence[Cell]) -> Any:  # noqa: ANN401 - pyarrow has no types
        kind = self._type(column.kind)
        if column.many:
            kind = self._pa.list_(kind)
        return self._pa.array([_typed(column.kind, cell) for cell in cells], type=kind)

    def _type(self, kind: Kind) -> Any:  # noqa: ANN401 - the same
        pa = self._pa
        kinds = {
            "text": pa.string,
            "integer": pa.int64,
            "number": pa.float64,
            "boolean": pa.bool_,
            "date": pa.date32,
            "time": lambda: pa.timestamp("us", tz="UTC"),
        }
        return kinds[kind]()

    def finish(self, metadata: Mapping[str, str]) -> bytes:
        if not self._batches:
            self.add(())
        table = self._pa.Table.from_batches(self._batches).replace_schema_metadata(dict(metadata) or None)
        out = io.BytesIO()
        if self._format == "parquet":
            from pyarrow import parquet  # noqa: PLC0415 - as above

            parquet.write_table(table.combine_chunks(), out)
        else:
            with self._pa.ipc.new_stream(out, table.schema) as stream:
                stream.write_table(table)
        return out.getvalue()


def _typed(kind: Kind, cell: Cell) -> Cell:
    """A cell as its column takes it."""
    if cell is None:
        return None
    if isinstance(cell, list):
        return [_typed(kind, one) for one in cell]
    if kind == "number" and isinstance(cell, int | float):
        return float(cell)
    if kind == "time" and isinstance(cell, str):
        return datetime.fromisoformat(cell)
    if kind == "date" and isinstance(cell, str):
        return date.fromisoformat(cell)
    return cell
