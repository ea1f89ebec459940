"""Cells of a workbook: texts that cannot become formulas, named cells, formulas without stored results."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any, Literal

import xlsxwriter
from xlsxwriter.utility import xl_rowcol_to_cell
from xlsxwriter.worksheet import Worksheet

Look = Literal["money", "number", "whole", "ratio", "date", "text", "head", "title", "input", "input_ratio"]
_FORMATS: dict[Look, dict[str, Any]] = {
    "money": {"num_format": "#,##0.00"},
    "number": {"num_format": "#,##0.######"},
    "whole": {"num_format": "#,##0"},
    "ratio": {"num_format": "0.00%"},
    "date": {"num_format": "yyyy-mm-dd", "align": "left"},
    "text": {"text_wrap": False},
    "head": {"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"},
    "title": {"bold": True, "font_size": 14},
    "input": {"num_format": "#,##0.######", "font_color": "#1f4e9c"},
    "input_ratio": {"num_format": "0.00%", "font_color": "#1f4e9c"},
}
_TURNS_INTO_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def plain(text: str) -> str:
    """The text, with an apostrophe before it where a program might take it for a formula."""
    return f"'{text}" if text.startswith(_TURNS_INTO_FORMULA) else text


class _Sheet(Worksheet):  # type: ignore[misc]
    """A sheet whose formulas name old functions alone, so that none is searched for the names of newer ones.

    That search takes most of the time of writing draws; a library that does it elsewhere is only slower.
    """

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:  # noqa: ARG002, FBT001, FBT002 - as the library calls it
        return formula.removeprefix("=")


class Book:
    """A workbook in memory. Formulas carry no results: whoever opens it calculates them."""

    def __init__(self) -> None:
        self._body = BytesIO()
        options = {
            "in_memory": True,
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "strings_to_numbers": False,
        }
        self._workbook = xlsxwriter.Workbook(self._body, options)
        self._formats = {look: self._workbook.add_format(values) for look, values in _FORMATS.items()}

    def page(self, name: str, widths: Sequence[float]) -> "Page":
        """A new page with these widths of columns."""
        sheet = self._workbook.add_worksheet(name, worksheet_class=_Sheet)
        for column, width in enumerate(widths):
            sheet.set_column(column, column, width)
        return Page(self, sheet, name)

    def define(self, name: str, place: str) -> None:
        """Give a cell or range a name that formulas can use."""
        self._workbook.define_name(name, f"={place}")

    def look(self, look: Look) -> Any:  # noqa: ANN401 - a format of the library
        """The format of a look."""
        return self._formats[look]

    def finish(self) -> bytes:
        """The finished file."""
        self._workbook.close()
        return self._body.getvalue()


class Page:
    """A page of a workbook; rows and columns count from zero."""

    def __init__(self, book: Book, sheet: Any, name: str) -> None:  # noqa: ANN401 - a sheet of the library
        self._book = book
        self._sheet = sheet
        self.name = name

    def text(self, row: int, column: int, text: str, look: Look = "text", name: str | None = None) -> None:
        """Write a text as a text, whatever it begins with."""
        self._sheet.write_string(row, column, plain(text), self._book.look(look))
        self._define(row, column, name)

    def number(self, row: int, column: int, value: float, look: Look = "number", name: str | None = None) -> None:
        """Write a number, under a name if it has one."""
        self._sheet.write_number(row, column, value, self._book.look(look))
        self._define(row, column, name)

    def formula(self, row: int, column: int, formula: str, look: Look = "money", name: str | None = None) -> None:
        """Write a formula (without its `=`), under a name if it has one."""
        self._sheet.write_formula(row, column, f"={formula}", self._book.look(look), "")
        self._define(row, column, name)

    def heads(self, row: int, titles: Sequence[str]) -> None:
        """Write a row of column titles and keep it in view."""
        for column, title in enumerate(titles):
            self.text(row, column, title, "head")

    def freeze(self, row: int, column: int) -> None:
        """Keep what is above and left in view."""
        self._sheet.freeze_panes(row, column)

    def numbers(self, first_row: int, column: int, values: Sequence[float]) -> None:
        """Write numbers below each other."""
        look = self._book.look("number")
        for offset, value in enumerate(values):
            self._sheet.write_number(first_row + offset, column, value, look)

    def range(self, first: tuple[int, int], last: tuple[int, int], name: str | None = None) -> str:
        """The absolute address of a range, named if it has a name."""
        here = xl_rowcol_to_cell(*first, row_abs=True, col_abs=True)
        there = xl_rowcol_to_cell(*last, row_abs=True, col_abs=True)
        place = f"'{self.name}'!{here}:{there}"
        if name is not None:
            self._book.define(name, place)
        return place

    def _define(self, row: int, column: int, name: str | None) -> None:
        if name is not None:
            self._book.define(name, f"'{self.name}'!{xl_rowcol_to_cell(row, column, row_abs=True, col_abs=True)}")
