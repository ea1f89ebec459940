"""Pages of the random draws: the values drawn, the saving of each draw as a formula, percentiles and bins over them."""

import numpy as np

from tierscope.domain.tco.analysis import BINS
from tierscope.domain.tco.costs import Floats
from tierscope.domain.tco.draws import draw_own, draw_shared
from tierscope.domain.tco.scenario import SHARED_INPUTS, Scenario
from tierscope.usecases.tco.workbook.cells import Book, Page
from tierscope.usecases.tco.workbook.expressions import Reference, annual_per_work, named, work

_FIRST = 2
_ROW = "{row}"
_STATISTICS = (
    ("p10", "PERCENTILE({range},0.1)"),
    ("p50", "PERCENTILE({range},0.5)"),
    ("p90", "PERCENTILE({range},0.9)"),
)


def write_draws(book: Book, scenario: Scenario, *, draws: int, seed: int) -> None:
    """What was drawn, values; and what follows from it, formulas. Inputs that are certain stand on Inputs."""
    columns = _drawn_columns(scenario, draws=draws, seed=seed)
    hosts = len(scenario.designs)
    page = book.page("Draws", (10, *(16 for _ in range(len(columns) + 3 * hosts))))
    page.text(0, 0, f"{draws} draws of seed {seed}: drawn values, then formulas of each draw.")
    titles = ["Draw", *columns]
    titles += [f"{design.name}: cost per unit of work" for design in scenario.designs]
    titles += [f"{design.name}: saving" for design in scenario.options]
    titles += [f"{design.name}: saving of the fleet" for design in scenario.options]
    page.heads(1, titles)
    page.freeze(2, 1)
    page.numbers(_FIRST, 0, list(range(1, draws + 1)))
    letters: dict[str, str] = {}
    for column, (name, values) in enumerate(columns.items(), start=1):
        page.numbers(_FIRST, column, values.tolist())
        letters[name] = _letters(column)
    first_cost = 1 + len(columns)
    base = _letters(first_cost)
    base_work = work(0, _of_row(scenario, letters, 0))
    for n, design in enumerate(scenario.designs):
        own_work = work(n, _of_row(scenario, letters, n))
        cost = annual_per_work(design, n, _of_row(scenario, letters, n))
        own = _letters(first_cost + n)
        for row in range(_FIRST, _FIRST + draws):
            page.formula(row, first_cost + n, cost.replace(_ROW, str(row + 1)))
            if n > 0:
                page.formula(row, first_cost + hosts + n - 1, f"{base}{row + 1}-{own}{row + 1}")
                needed = f"fleet_hosts*{base_work}/{own_work}"
                fleet = f"fleet_hosts*{base}{_ROW}*{base_work}-{needed}*{own}{_ROW}*{own_work}"
                page.formula(row, first_cost + 2 * hosts + n - 2, fleet.replace(_ROW, str(row + 1)))
    for n in range(1, hosts):
        column = first_cost + hosts + n - 1
        page.range((_FIRST, column), (_FIRST + draws - 1, column), f"draws{n}_saving")
        column += hosts - 1
        page.range((_FIRST, column), (_FIRST + draws - 1, column), f"draws{n}_fleet_saving")


def write_distribution(book: Book, scenario: Scenario, certain: tuple[bool, ...]) -> None:
    """Percentiles, the share of draws that save, and bins; `certain` says of each option that all draws are equal."""
    page = book.page("Distribution", (30, *(16 for _ in range(3 * len(scenario.options)))))
    page.heads(0, ("Saving per year and unit of work", *(design.name for design in scenario.options)))
    for row, (label, _) in enumerate((*_STATISTICS, ("P(saving > 0)", "")), start=1):
        page.text(row, 0, label)
    for n in range(1, len(scenario.designs)):
        drawn = f"draws{n}_saving"
        for row, (key, formula) in enumerate(_STATISTICS, start=1):
            page.formula(row, n, formula.format(range=drawn), "money", f"distribution{n}_{key}")
        share = f'COUNTIF({drawn},">0")/COUNT({drawn})'
        page.formula(4, n, share, "ratio", f"distribution{n}_p_positive")
        _write_bins(page, scenario, n, 1 if certain[n - 1] else BINS)


def _write_bins(page: Page, scenario: Scenario, n: int, bins: int) -> None:
    drawn, left, top = f"draws{n}_saving", 1 + 3 * (n - 1), 7
    page.text(top - 1, left, scenario.designs[n].name, "head")
    for column, title in enumerate(("From", "To", "Draws")):
        page.text(top, left + column, title, "head")
    low, width = f"MIN({drawn})", f"(MAX({drawn})-MIN({drawn}))"
    for number in range(bins):
        row = top + 1 + number
        last = number == bins - 1
        page.formula(row, left, f"{low}+{width}*{number}/{bins}" if number else low)
        page.formula(row, left + 1, f"MAX({drawn})" if last else f"{low}+{width}*{number + 1}/{bins}")
        lo, hi = f"{_letters(left)}{row + 1}", f"{_letters(left + 1)}{row + 1}"
        below = f"({drawn}<={hi})" if last else f"({drawn}<{hi})"
        page.formula(row, left + 2, f"SUMPRODUCT(({drawn}>={lo})*{below})", "whole")
    page.range((top + 1, left), (top + bins, left + 2), f"distribution{n}_bins")


def _drawn_columns(scenario: Scenario, *, draws: int, seed: int) -> dict[str, Floats]:
    """Drawn values of inputs that are uncertain, by their references: `dram`, `host1_loss`."""
    shared = draw_shared(scenario, draws=draws, seed=seed)
    columns: dict[str, Floats] = {
        name: shared[name]
        for name in SHARED_INPUTS
        if not scenario.inputs[name].is_certain and not (scenario.linked and name == "cxl_media")
    }
    for place, design in enumerate(scenario.designs):
        own = draw_own(design, place, draws=draws, seed=seed)
        if not design.loss.is_certain:
            columns[f"host{place}_loss"] = own.loss
        if design.swap and not design.swap.swap_out_mb_per_s.is_certain:
            columns[f"host{place}_swap_out_mb_per_s"] = own.swap_out_mb_per_s
    return columns


def _of_row(scenario: Scenario, letters: dict[str, str], place: int) -> Reference:
    """Drawn values of a row, whose number is yet to be put in, and the cells of the inputs for what is certain."""
    given = named(place)

    def refer(name: str) -> str:
        source = "dram" if scenario.linked and name == "cxl_media" else name
        key = given(source).removeprefix("in_")
        return f"{letters[key]}{_ROW}" if key in letters else given(source)

    return refer


def _letters(column: int) -> str:
    """Name of a column that is counted from zero."""
    name, rest = "", column + 1
    while rest:
        rest, digit = divmod(rest - 1, 26)
        name = chr(ord("A") + digit) + name
    return name


def all_equal(saving: Floats) -> bool:
    """Whether all draws are one value."""
    return bool(np.min(saving) == np.max(saving))
