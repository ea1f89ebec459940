"""Labels of hosts: bounds, and the CSV files that give many hosts their labels at once.

A file has a header: the first column, `host`, holds ids or names, every other column is a label. An empty cell leaves
the label alone, a lone `-` takes it away.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from tierscope.domain.base.names import problem_of_name

MAX_LABELS = 64
MAX_LABEL_CHARS = 256
MAX_ROWS = 50_000
MAX_CELLS = 200_000
"""Cells of a file that set or take away a label, over all rows."""
HOST_COLUMNS = ("host", "host_id", "hostname", "name")
TAKE_AWAY = "-"

LabelSource = Literal["join_token", "service", "agent", "kubernetes"]
"""Where a label comes from, the strongest first."""


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A row of a file; `labels` None takes the label away."""

    row: int
    host: str
    labels: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class LabelProblem:
    """A row that was left out, or something to know of it; the header is row 1, row 0 the file as a whole."""

    row: int
    message: str


def problem_of_labels(labels: Mapping[str, str]) -> str | None:
    """Why labels cannot be stored; None where they can."""
    if len(labels) > MAX_LABELS:
        return f"a host has at most {MAX_LABELS} labels, not {len(labels)}"
    for key, value in labels.items():
        if not key or len(key) > MAX_LABEL_CHARS or len(value) > MAX_LABEL_CHARS:
            return f"label {key[:40]!r} is empty or longer than {MAX_LABEL_CHARS} characters"
        if any(not character.isprintable() for character in key + value):
            return f"label {key[:40]!r} holds a character that cannot be printed"
        problem = problem_of_name(key) or problem_of_name(value)
        if problem is not None:
            return f"label {key[:40]!r} {problem}"
    return None


def read_label_file(data: bytes) -> tuple[list[LabelRow], list[LabelProblem]]:
    """The rows of a CSV file (UTF-8, commas, semicolons or tabs), and what is wrong with others.

    Raises:
        ValueError: it is no such file as a whole.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError("the file is not UTF-8") from error
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        keys = _header(next(lines, []))
        return _rows(lines, keys)
    except csv.Error as error:
        raise ValueError(f"line {lines.line_num} is no CSV: {error}") from error


def _header(cells: list[str]) -> list[str]:
    names = [cell.strip() for cell in cells]
    if not names[1:] or names[0].lower() not in HOST_COLUMNS:
        raise ValueError("the first line names the columns: `host`, then a label for each other column")
    if len(set(names)) != len(names):
        raise ValueError("two columns have the same name")
    problem = problem_of_labels(dict.fromkeys(names[1:], ""))
    if problem is not None:
        raise ValueError(problem)
    return names[1:]


def _rows(lines: Iterator[list[str]], keys: list[str]) -> tuple[list[LabelRow], list[LabelProblem]]:
    rows: list[LabelRow] = []
    problems: list[LabelProblem] = []
    cells_used = 0
    for number, cells in enumerate(lines, start=2):
        if number > MAX_ROWS + 1:
            raise ValueError(f"the file has more than {MAX_ROWS} rows")
        values = [cell.strip() for cell in cells]
        if not any(values):
            continue
        cells_used += sum(1 for value in values[1:] if value)
        if cells_used > MAX_CELLS:
            raise ValueError(f"the file has more than {MAX_CELLS} labels")
        labels = {
            key: None if value == TAKE_AWAY else value for key, value in zip(keys, values[1:], strict=False) if value
        }
        wrong = problem_of_labels({key: value or "" for key, value in labels.items()})
        if len(values) != len(keys) + 1:
            wrong = f"{len(values)} cells, the header has {len(keys) + 1}"
        elif not values[0]:
            wrong = "no host is named"
        if wrong is not None:
            problems.append(LabelProblem(number, wrong))
        else:
            rows.append(LabelRow(number, values[0], labels))
    return rows, problems
