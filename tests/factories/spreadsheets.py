"""Workbooks, recalculated by a spreadsheet program that knows nothing of this product."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import openpyxl

PROGRAM = shutil.which("soffice")
REASON = "soffice (package libreoffice-calc-nogui) is not installed"
SECONDS = 240


class Recalculated:
    """A workbook after recalculation; cells by the names that formulas use."""

    def __init__(self, body: bytes) -> None:
        self._book = openpyxl.load_workbook(BytesIO(body), data_only=True)

    @property
    def names(self) -> list[str]:
        return sorted(self._book.defined_names)

    def cell(self, name: str) -> Any:  # noqa: ANN401 - what a cell can hold
        sheet, place = self._place(name)
        return self._book[sheet][place].value

    def rows(self, name: str) -> list[list[Any]]:
        """The values of a named range."""
        sheet, place = self._place(name)
        return [[cell.value for cell in row] for row in self._book[sheet][place]]

    def faults(self) -> list[str]:
        """Cells that hold an error, such as #VALUE!."""
        return [
            f"{sheet.title}!{cell.coordinate}: {cell.value}"
            for sheet in self._book
            for row in sheet.iter_rows()
            for cell in row
            if isinstance(cell.value, str) and cell.value.startswith(("#", "Err:"))
        ]

    def _place(self, name: str) -> tuple[str, str]:
        sheet, _, place = str(self._book.defined_names[name].attr_text).rpartition("!")
        return sheet.strip("'$"), place.replace("$", "")


def stored_results(body: bytes) -> list[str]:
    """Cells with a formula that carry a result already."""
    formulas = openpyxl.load_workbook(BytesIO(body))
    results = openpyxl.load_workbook(BytesIO(body), data_only=True)
    return [
        f"{sheet.title}!{cell.coordinate}"
        for sheet in formulas
        for row in sheet.iter_rows()
        for cell in row
        if cell.data_type == "f" and results[sheet.title][cell.coordinate].value not in (None, "")
    ]


def texts(body: bytes) -> list[str]:
    """All texts of a workbook that are no formulas."""
    book = openpyxl.load_workbook(BytesIO(body))
    return [
        str(cell.value)
        for sheet in book
        for row in sheet.iter_rows()
        for cell in row
        if cell.data_type in ("s", "inlineStr")
    ]


def recalculate(books: Mapping[str, bytes], directory: Path) -> dict[str, Recalculated]:
    """Open workbooks in a program with a profile of its own, and read what it calculated."""
    assert PROGRAM is not None
    sources, out = directory / "sources", directory / "recalculated"
    sources.mkdir()
    paths = []
    for name, body in books.items():
        path = sources / f"{name}.xlsx"
        path.write_bytes(body)
        paths.append(str(path))
    _run(PROGRAM, directory / "profile", paths, out)
    return {name: Recalculated((out / f"{name}.xlsx").read_bytes()) for name in books}


def _run(program: str, profile: Path, paths: Sequence[str], out: Path) -> None:
    command = [program, f"-env:UserInstallation={profile.as_uri()}", "--headless", "--norestore"]
    command += ["--convert-to", "xlsx:Calc MS Excel 2007 XML", "--outdir", str(out), *paths]
    environment = {**os.environ, "HOME": str(profile.parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
