"""The page of inputs: everything that is not calculated, each value in a named cell with its source and date."""

from tierscope.domain.tco.scenario import SHARED_INPUTS, Scenario
from tierscope.usecases.tco.answers import TcoAnswer
from tierscope.usecases.tco.workbook.cells import Book

_HEADS = ("Input", "Value", "Low", "High", "Unit", "From", "Source", "Date", "Grounding")


def write_inputs(book: Book, scenario: Scenario, view: TcoAnswer) -> None:
    """Shared inputs, finance, fleet. A price that follows that of DRAM is a formula."""
    page = book.page("Inputs", (34, 12, 12, 12, 16, 12, 60, 12, 10))
    page.heads(0, _HEADS)
    page.freeze(1, 1)
    shown = {item.name: item for item in view.inputs}
    for row, name in enumerate(SHARED_INPUTS, start=1):
        item = scenario.inputs[name]
        known = shown.get(name)
        page.text(row, 0, known.label if known else f"{name} (no host needs it)")
        follows = scenario.linked and name == "cxl_media"
        for column, (end, value) in enumerate((("", item.value), ("_low", item.low), ("_high", item.high)), start=1):
            if follows:
                page.formula(row, column, f"in_dram{end}", "number", f"in_{name}{end}")
            else:
                page.number(row, column, value, "input", f"in_{name}{end}")
        if known:
            dated = known.date.isoformat() if known.date else ""
            for column, text in enumerate((known.unit, known.origin, known.source, dated, known.grounding), start=4):
                page.text(row, column, text)
    row = len(SHARED_INPUTS) + 2
    finance, fleet = scenario.finance, scenario.fleet
    page.text(row, 0, "Method of spreading capital")
    page.text(row, 1, finance.method, "text", "method")
    numbers = (
        ("Life of a host, years", finance.life_years, "life_years"),
        ("Discount rate, per year", finance.discount_rate, "discount_rate"),
        ("Hosts of the baseline today", float(fleet.hosts), "fleet_hosts"),
        ("Growth of demand, per year", fleet.growth_per_year, "growth_per_year"),
        ("Years to look at", float(fleet.years), "fleet_years"),
    )
    for offset, (label, value, cell) in enumerate(numbers, start=1):
        page.text(row + offset, 0, label)
        page.number(row + offset, 1, value, "input", cell)
