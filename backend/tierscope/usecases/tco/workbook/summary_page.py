"""The first page: what was asked, what came out, what to check. Every number is a formula on the other pages."""

from tierscope.domain.tco.scenario import Scenario
from tierscope.usecases.tco.answers import TcoAnswer
from tierscope.usecases.tco.workbook.cells import Book, Look

_ROWS: tuple[tuple[str, str, Look], ...] = (
    ("Price of a host", "host{n}_capex", "money"),
    ("Cost of a host per year", "host{n}_annual", "money"),
    ("Power of a host, W", "host{n}_watts", "number"),
    ("Cost per year and unit of work", "host{n}_annual_per_work", "money"),
    ("Hosts needed", "fleet{n}_hosts", "whole"),
    ("Fleet, cost per year", "fleet{n}_annual", "money"),
    ("Fleet, all years", "fleet{n}_total", "money"),
)
_OPTION_ROWS: tuple[tuple[str, str, Look], ...] = (
    ("Saving per year and unit of work, median", "host{n}_saving", "money"),
    ("10th percentile", "distribution{n}_p10", "money"),
    ("90th percentile", "distribution{n}_p90", "money"),
    ("Saving, share", "host{n}_saving_ratio", "ratio"),
    ("Probability that it saves", "distribution{n}_p_positive", "ratio"),
    ("Fleet, saving per year, median", "fleet{n}_saving", "money"),
    ("10th percentile", "fleet{n}_saving_p10", "money"),
    ("90th percentile", "fleet{n}_saving_p90", "money"),
    ("With every input at its value: saving per year and unit of work", "host{n}_saving_as_given", "money"),
    ("Fleet, saving per year", "fleet{n}_saving_as_given", "money"),
    ("Fleet, saving over all years", "fleet{n}_total_saving", "money"),
    ("Breaks even at a CXL price of", "break_even{n}_cxl_price", "number"),
    ("Breaks even at a DDR4 price of", "break_even{n}_ddr4_price", "number"),
    ("Breaks even at a DRAM price of", "break_even{n}_dram_price", "number"),
    ("Breaks even at a loss of", "break_even{n}_loss", "ratio"),
)


def write_summary(book: Book, scenario: Scenario, view: TcoAnswer, *, draws: int, seed: int) -> None:
    """Totals of every design, warnings, and where the numbers are from."""
    page = book.page("Summary", (58, *(24 for _ in scenario.designs)))
    page.text(0, 0, scenario.name, "title")
    dated = view.price_date.isoformat() if view.price_date else ""
    page.text(1, 0, f"Money in {scenario.currency}. Price of DRAM of {dated}. {draws} draws, seed {seed}.")
    page.text(2, 0, "All numbers are formulas over the page Inputs; docs/method/tco.md says what they mean.")
    page.heads(4, ("", *(design.name for design in scenario.designs)))
    for row, (label, cell, look) in enumerate((*_ROWS, *_OPTION_ROWS), start=5):
        page.text(row, 0, label)
        for n in range(len(scenario.designs)):
            if n > 0 or row < 5 + len(_ROWS):
                page.formula(row, 1 + n, cell.format(n=n), look)
    row = 7 + len(_ROWS) + len(_OPTION_ROWS)
    for text in _remarks(view):
        page.text(row, 0, text)
        row += 1


def _remarks(view: TcoAnswer) -> list[str]:
    remarks = [f"{option.name}: {warning}" for option in view.options for warning in option.warnings]
    remarks += [f"Loss of {option.name}: {option.loss.source}." for option in view.options]
    remarks += view.notes
    for known in view.sanity:
        remarks.append(f"Published for comparison: {known.source} in {known.year}, {known.span} of {known.what}.")
    return remarks
