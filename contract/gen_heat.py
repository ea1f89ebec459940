"""Write the columns of heat rows for the wire, the agent and the service, from contract/heat_columns.toml.

    .venv/bin/python contract/gen_heat.py

What the keys of an entry mean stands at the top of that file. An entry that breaks a rule ends the run with its name
and what to change. The fields of HeatBlock are written between two marks of heat.proto, which gen_proto.py reads.
"""

import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

from gen_proto import write_if_changed

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = ROOT / "contract" / "heat_columns.toml"
PROTO = ROOT / "contract" / "proto" / "tierscope" / "v1" / "heat.proto"
PYTHON_OUT = ROOT / "backend" / "tierscope" / "domain" / "_generated" / "heat_columns.py"
SAMPLE_OUT = ROOT / "collector-agent" / "crates" / "sample" / "src" / "_generated" / "heat_columns.rs"
WIRE_OUT = ROOT / "collector-agent" / "crates" / "wire" / "src" / "_generated" / "heat_columns.rs"
OPENED_OUT = ROOT / "collector-agent" / "testing" / "opened" / "src" / "_generated" / "heat_columns.rs"

FIELD_TYPES = {
    "bits": "repeated fixed64",
    "int64": "repeated int64",
    "uint64": "repeated uint64",
    "sint64": "repeated sint64",
    "matrix": "bytes",
}
WIDTHS = {"ages": 9, "counts": 11, "windows": 4, "lags": 3}
PRESENCE = ("required", "samples", "optional")
ROLLUPS = {"part": 2, "sample": 1, "huge": 2}
"""How columns add up, and how many columns of sums that takes."""
KEYS = {"name", "number", "type", "width", "presence", "absent", "meaning", "rollup"}

MARK = "written by `contract/gen_heat.py` from `contract/heat_columns.toml`"
FIRST = f"  // Columns, {MARK}. Those of type `bytes` hold little-endian int64.\n"
LAST = "  // End of the columns.\n"
LINE = 120


class ColumnError(Exception):
    """An entry breaks a rule; the text says which and what to change."""


@dataclass(frozen=True, slots=True)
class HeatColumn:
    """One entry. `width` is 0 for one number per row that travels in a repeated field."""

    name: str
    number: int
    type: str
    width: int
    presence: str
    absent: int | None
    meaning: str
    rule: str
    sums: tuple[str, ...]

    @property
    def shape(self) -> str:
        """Values of a block of n rows, in words."""
        size = f"n x {self.width}" if self.width else "n"
        return size if self.presence == "required" else f"{size}, or empty"

    @property
    def rust(self) -> str:
        """The type of a row's value in Rust."""
        return f"[i64; {self.width}]" if self.width else "i64"


def parse_column(entry: dict[str, object]) -> HeatColumn:
    """Check one `[[column]]` table. Raises ColumnError."""
    name = str(entry.get("name", "an entry without a name"))
    unknown = sorted(set(entry) - KEYS)
    if unknown:
        raise ColumnError(f"{name}: `{unknown[0]}` is not a key of a column; remove it.")
    for key in ("name", "number", "type", "presence", "meaning"):
        if not entry.get(key):
            raise ColumnError(f"{name}: `{key}` is missing; add it.")
    for key, allowed in (("type", FIELD_TYPES), ("presence", PRESENCE)):
        if entry[key] not in allowed:
            raise ColumnError(f"{name}: {key} `{entry[key]}` is unknown; use one of {', '.join(allowed)}.")
    if (entry["type"] == "matrix") != (entry.get("width") in WIDTHS):
        raise ColumnError(f"{name}: a matrix, and nothing else, has a `width`: one of {', '.join(WIDTHS)}.")
    absent, rollup = entry.get("absent"), entry.get("rollup", {"rule": "", "columns": []})
    if absent is not None and (entry["presence"] != "optional" or not isinstance(absent, int)):
        raise ColumnError(f"{name}: `absent` is a number, of optional columns alone.")
    if not isinstance(rollup, dict) or len(rollup.get("columns", [])) != ROLLUPS.get(rollup.get("rule", ""), 0):
        raise ColumnError(f"{name}: `rollup` is a rule ({', '.join(ROLLUPS)}) and the columns of its sums.")
    if rollup["columns"] and absent is None:
        raise ColumnError(f"{name}: what is rolled up says which rows lack it: add `absent`.")
    return HeatColumn(
        name=name,
        number=int(str(entry["number"])),
        type=str(entry["type"]),
        width=WIDTHS.get(str(entry.get("width")), 0),
        presence=str(entry["presence"]),
        absent=absent if isinstance(absent, int) else None,
        meaning=str(entry["meaning"]),
        rule=str(rollup["rule"]),
        sums=tuple(rollup["columns"]),
    )


def load_columns(path: Path = COLUMNS) -> list[HeatColumn]:
    """All entries in their order. Raises ColumnError, also when a name, a number or a sum is a duplicate."""
    columns = [parse_column(entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["column"]]
    for what in ([column.name for column in columns], [column.number for column in columns]):
        for value in what:
            if what.count(value) > 1:
                raise ColumnError(f"duplicate `{value}`; change one entry.")
    sums = [name for column in columns for name in column.sums]
    for name in sums:
        if sums.count(name) > 1:
            raise ColumnError(f"duplicate sum `{name}`; change one entry.")
    return columns


def render_proto(columns: list[HeatColumn], text: str) -> str:
    """The wire schema with the fields of these columns between its marks."""
    before, first, rest = text.partition(FIRST)
    _, last, after = rest.partition(LAST)
    if not first or not last:
        raise ColumnError(f"{PROTO.name} has lost its marks; put `{FIRST.strip()}` and `{LAST.strip()}` back.")
    lines = []
    for column in columns:
        absent = "" if column.absent is None else f" A row that lacks it has {column.absent}."
        comment = f"{column.shape}: {column.meaning[0].lower()}{column.meaning[1:]}{absent}"
        lines += textwrap.wrap(comment, LINE, initial_indent="  // ", subsequent_indent="  // ")
        lines.append(f"  {FIELD_TYPES[column.type]} {column.name} = {column.number};")
    return before + first + "\n".join(lines) + "\n" + last + after


PYTHON_HEAD = '''"""The columns of heat rows; {mark}."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HeatColumn:
    """A column of heat rows by name, with its number of values per row.

    `field`: its type on the wire; a matrix is bytes of little-endian int64, all else a repeated field. `presence`:
    required, samples (there where sampled accesses are known) or optional. `absent`: the value in rows that lack an
    optional column, None where all rows of a block have it. `rule`: how it adds up (part, sample, huge, or "" for not
    at all), into the columns `sums` of the rollups.
    """

    name: str
    field: str
    width: int
    presence: str
    absent: int | None
    rule: str
    sums: tuple[str, ...]


'''


def render_python(columns: list[HeatColumn]) -> str:
    """The service's table, and the fields that a row has for them."""
    lines = ["HEAT_COLUMNS: tuple[HeatColumn, ...] = ("]
    for column in columns:
        width = max(column.width, 1)
        sums = "(" + "".join(f'"{name}", ' for name in column.sums).strip() + ")"
        texts = f'"{column.name}", "{column.type}", {width}, "{column.presence}", {column.absent}, "{column.rule}"'
        lines.append(f"    HeatColumn({texts}, {sums}),")
    lines += [")", '"""In the order in which rows are packed."""', "", ""]
    lines += ["@dataclass(frozen=True, slots=True, kw_only=True)", "class RowColumns:"]
    lines += ['    """The columns of one interval: int64 over its n groups, None where not measured."""', ""]
    for column in columns:
        kind = "Ints" if column.presence == "required" else "Ints | None = None"
        lines.append(f"    {column.name}: {kind}")
        size = f"[n * {column.width}]" if column.width else "[n]"
        absent = "" if column.absent is None else f" A group that lacks it has {column.absent}."
        doc = f'"""{size}: {column.meaning[0].lower()}{column.meaning[1:]}{absent}"""'
        lines += textwrap.wrap(doc, LINE, initial_indent="    ", subsequent_indent="    ")
    return PYTHON_HEAD.replace("{mark}", MARK) + "\n".join(lines) + "\n"


def beside(columns: list[HeatColumn]) -> list[HeatColumn]:
    """The columns that single rows may lack."""
    return [column for column in columns if column.absent is not None]


def render_sample(columns: list[HeatColumn]) -> str:
    """The agent's struct of the columns that rows may lack, and its arithmetic."""
    lines = [f"//! Columns that rows of heat may lack; {MARK}.", ""]
    lines += ["use crate::column::{ColumnValue, plus};", ""]
    lines += [
        "/// What a row of heat says beside its histograms; `None` where it was not measured.",
        "#[rustfmt::skip]",
    ]
    lines += ["#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]", "pub struct Beside {"]
    for column in beside(columns):
        lines += textwrap.wrap(column.meaning, LINE - 8, initial_indent="    /// ", subsequent_indent="    /// ")
        lines.append(f"    pub {column.name}: Option<{column.rust}>,")
    lines += ["}", "", "#[rustfmt::skip]", "impl Beside {"]
    lines += ["    /// The sums of two parts of a row: of the columns that both have.", "    #[must_use]"]
    lines += ["    pub fn plus(self, other: Self) -> Self {", "        Self {"]
    lines += [
        f"            {column.name}: plus(self.{column.name}, other.{column.name})," for column in beside(columns)
    ]
    lines += ["        }", "    }", "", "    /// Name and value of every column, in the order of the contract."]
    lines += [
        "    pub fn columns(&self) -> impl Iterator<Item = (&'static str, Option<ColumnValue<'_>>)> {",
        "        [",
    ]
    for column in beside(columns):
        value = "|values| ColumnValue::Several(values)" if column.width else "|value| ColumnValue::One(*value)"
        lines.append(f'            ("{column.name}", self.{column.name}.as_ref().map({value})),')
    lines += ["        ]", "        .into_iter()", "    }", "}", ""]
    return "\n".join(lines)


def render_wire(columns: list[HeatColumn]) -> str:
    """The encoding of the same columns."""
    lines = [f"//! Columns that rows of heat may lack, on the wire; {MARK}.", ""]
    lines += [
        "use tierscope_sample::heat::Beside;",
        "",
        "use crate::columns::push_i64s;",
        "use crate::proto::HeatBlock;",
    ]
    lines += [
        "",
        "/// Adds the columns of all rows of a block. A column that no row has stays empty.",
        "#[rustfmt::skip]",
    ]
    lines += ["pub(crate) fn push(block: &mut HeatBlock, rows: &[Beside]) {"]
    for column in beside(columns):
        name, absent = column.name, column.absent
        lines += [f"    if rows.iter().any(|row| row.{name}.is_some()) {{", "        for row in rows {"]
        if column.width:
            lines.append(
                f"            push_i64s(&mut block.{name}, &row.{name}.unwrap_or([{absent}; {column.width}]));"
            )
        else:
            cast = ".cast_unsigned()" if column.type == "uint64" else ""
            value = f"row.{name}.unwrap_or({absent}){cast}"
            lines.append(f"            block.{name}.push({value});")
        lines += ["        }", "    }"]
    return "\n".join([*lines, "}", ""])


def render_opened(columns: list[HeatColumn]) -> str:
    """The decoding of the same columns, for tests."""
    lines = [f"//! Columns that rows of heat may lack, read again; {MARK}.", ""]
    lines += ["use tierscope_sample::heat::Beside;", "use tierscope_wire::proto::HeatBlock;", ""]
    lines += ["use crate::columns::{check_length, read_optional_rows};", "use crate::error::OpenError;", ""]
    lines += ["/// What each of the `n` rows of a block has of them.", "#[rustfmt::skip]"]
    lines += ["pub(crate) fn read(block: &HeatBlock, n: usize) -> Result<Vec<Beside>, OpenError> {"]
    for column in beside(columns):
        if column.width:
            read = f"read_optional_rows::<{column.width}>"
            lines.append(f'    let {column.name} = {read}("{column.name}", &block.{column.name}, n)?;')
        else:
            field = f"block.{column.name}"
            wanted = f"if {field}.is_empty() {{ 0 }} else {{ n }}"
            lines.append(f'    check_length("{column.name}", {field}.len(), {wanted})?;')
    lines += ["    let row = |i: usize| Beside {"]
    for column in beside(columns):
        if column.width:
            absent = f"[{column.absent}; {column.width}]"
            found = f"{column.name}.as_ref().map(|rows| rows[i]).filter(|row| *row != {absent})"
        else:
            cast = ".copied().map(u64::cast_signed)" if column.type == "uint64" else ".copied()"
            found = f"block.{column.name}.get(i){cast}.filter(|value| *value != {column.absent})"
        lines.append(f"        {column.name}: {found},")
    return "\n".join([*lines, "    };", "    Ok((0..n).map(row).collect())", "}", ""])


def render_all(columns: list[HeatColumn]) -> dict[Path, str]:
    """Text of every file that is made from the columns."""
    return {
        PROTO: render_proto(columns, PROTO.read_text(encoding="utf-8")),
        PYTHON_OUT: render_python(columns),
        SAMPLE_OUT: render_sample(columns),
        WIRE_OUT: render_wire(columns),
        OPENED_OUT: render_opened(columns),
    }


def main() -> None:
    """Write the files that differ."""
    try:
        texts = render_all(load_columns())
    except ColumnError as error:
        raise SystemExit(f"The columns of heat cannot be read. {error}") from error
    for path, text in texts.items():
        write_if_changed(path, text)


if __name__ == "__main__":
    main()
