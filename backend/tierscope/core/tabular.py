"""Tables as files: CSV that no spreadsheet program runs as formulas; Parquet and Arrow where pyarrow is installed."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

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


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a column as one value: whole numbers (of times, microseconds since the epoch), or numbers.

    Of text the places in `texts`, where less than 0 is absent. Absent too is what is not `present`, and NaN.
    """

    values: npt.NDArray[np.int64] | npt.NDArray[np.float64]
    present: npt.NDArray[np.bool_] | None = None
    texts: Sequence[str] = ()


def write_groups(
    columns: Sequence[Column], groups: Iterable[Sequence[Cells]], metadata: Mapping[str, str]
) -> tuple[bytes, int]:
    """A table as Parquet, each group of rows read by itself; how many rows. The same cells are the same bytes.

    Whole numbers and texts by dictionary, which every reader knows; numbers by streams of their bytes.

    Raises:
        Unprocessable: the installation cannot write Parquet.
    """
    pa, _ = load_parquet()
    schema = pa.schema([(one.name, _arrow_type(pa, one.kind)) for one in columns], metadata=dict(metadata))

    def tables() -> Iterator[Any]:
        for group in groups:
            arrays = [_cells(pa, one.type, cells) for one, cells in zip(schema, group, strict=True)]
            yield pa.Table.from_arrays(arrays, schema=schema)

    return _write_groups(schema, tables())


def only_rows(body: bytes, kept: Mapping[str, AbstractSet[str]]) -> tuple[bytes, int]:
    """A file of `write_groups` with those rows alone whose texts are kept, or absent; how many rows."""
    pa, parquet = load_parquet()
    file = parquet.ParquetFile(io.BytesIO(body))

    def tables() -> Iterator[Any]:
        for number in range(file.num_row_groups):
            group = file.read_row_group(number)
            columns = zip(*(group[name].to_pylist() for name in kept), strict=True)
            stays = [
                all(text is None or text in some for text, some in zip(texts, kept.values(), strict=True))
                for texts in columns
            ]
            yield group.filter(pa.array(stays, pa.bool_()))

    return _write_groups(file.schema_arrow, tables())


def _write_groups(schema: Any, tables: Iterable[Any]) -> tuple[bytes, int]:  # noqa: ANN401 - pyarrow has no types
    pa, parquet = load_parquet()
    numbers = [one.name for one in schema if pa.types.is_floating(one.type)]
    others = [one.name for one in schema if one.name not in numbers]
    out = io.BytesIO()
    n_rows = 0
    with parquet.ParquetWriter(
        out, schema, compression="zstd", use_dictionary=others, use_byte_stream_split=numbers
    ) as writer:
        for table in tables:
            n_rows += len(table)
            if len(table):
                writer.write_table(table, row_group_size=len(table))
    return out.getvalue(), n_rows


def load_parquet() -> tuple[Any, Any]:
    """What writes Parquet, loaded whole: who changes accounts afterwards may not reach the files of this Python.

    Raises:
        Unprocessable: the installation cannot write Parquet.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra that an installation may lack, and slow to load
        import pyarrow.compute  # noqa: PLC0415 - likewise
        from pyarrow import parquet  # noqa: PLC0415 - likewise
    except ImportError as error:
        raise _not_installed("Parquet") from error
    return pa, parquet


def _not_installed(name: str) -> Unprocessable:
    return Unprocessable(
        f"this installation cannot write {name}: pyarrow is not installed",
        next_step="Install the extra `tierscope[parquet]`, or ask for format=csv.",
    )


def _arrow_type(pa: Any, kind: Kind) -> Any:  # noqa: ANN401 - pyarrow has no types
    kinds = {
        "text": pa.string,
        "integer": pa.int64,
        "number": pa.float64,
        "boolean": pa.bool_,
        "date": pa.date32,
        "time": lambda: pa.timestamp("us", tz="UTC"),
    }
    return kinds[kind]()


def _cells(pa: Any, kind: Any, cells: Cells) -> Any:  # noqa: ANN401 - pyarrow has no types
    if pa.types.is_string(kind):
        places = pa.array(cells.values.astype(np.int32), mask=cells.values < 0)
        return pa.DictionaryArray.from_arrays(places, pa.array(list(cells.texts), kind)).dictionary_decode()
    absent = np.isnan(cells.values) if cells.present is None else ~cells.present
    return pa.array(cells.values, mask=absent).cast(kind)


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
            raise _not_installed("Parquet" if file_format == "parquet" else "Arrow") from error
        self._pa = pa
        self._columns = columns
        self._format = file_format
        self._batches: list[Any] = []

    def add(self, rows: Iterable[Sequence[Cell]]) -> None:
        cells = list(zip(*rows, strict=True)) or [()] * len(self._columns)
        arrays = [self._array(column, found) for column, found in zip(self._columns, cells, strict=True)]
        self._batches.append(self._pa.RecordBatch.from_arrays(arrays, names=[one.name for one in self._columns]))

    def _array(self, column: Column, cells: Sequence[Cell]) -> Any:  # noqa: ANN401 - pyarrow has no types
        kind = _arrow_type(self._pa, column.kind)
        if column.many:
            kind = self._pa.list_(kind)
        return self._pa.array([_typed(column.kind, cell) for cell in cells], type=kind)

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
