"""Pages of what follows from the cost of a host: the fleet over the years, steps of a saving, break-even points."""

from tierscope.domain.tco.analysis import HIGHEST_PRICE_FACTOR
from tierscope.domain.tco.results import Evaluation, OptionResult
from tierscope.domain.tco.scenario import HIGHEST_LOSS, Scenario
from tierscope.usecases.tco.workbook.cells import Book, Page
from tierscope.usecases.tco.workbook.expressions import Reference, named, saving

_NONE = '"none in range"'
_SLACK = "1E-9"
_USED = "fleet_hosts*host0_work/host{n}_work"
"""Hosts that the work fills; a part of one is used by others too."""
_FLEET_ROWS = (
    ("Hosts", "hosts", f"ROUNDUP({_USED}-{_SLACK},0)", "whole"),
    ("Hosts beyond the baseline's", "extra_hosts", "fleet{n}_hosts-fleet_hosts", "whole"),
    ("Price", "capex", f"{_USED}*host{{n}}_capex", "money"),
    ("Cost per year", "annual", f"{_USED}*host{{n}}_annual", "money"),
    ("Power, W", "watts", f"{_USED}*host{{n}}_watts", "number"),
    (
        "Saving per year, every input at its value",
        "saving_as_given",
        "fleet_hosts*host0_annual-fleet{n}_annual",
        "money",
    ),
    ("Saving per year, median over draws", "saving", "PERCENTILE({drawn},0.5)", "money"),
    ("10th percentile", "saving_p10", "PERCENTILE({drawn},0.1)", "money"),
    ("90th percentile", "saving_p90", "PERCENTILE({drawn},0.9)", "money"),
    ("Saving, share of the median", "saving_ratio", "fleet{n}_saving/(fleet_hosts*host0_annual)", "ratio"),
)


def write_fleet(book: Book, scenario: Scenario) -> None:
    """Hosts and cost of the fleet today and in each year of growth."""
    designs = scenario.designs
    page = book.page("Fleet", (42, *(18 for _ in range(3 * len(designs) + 1))))
    page.heads(0, ("Fleet today", *(design.name for design in designs)))
    for row, (label, key, formula, look) in enumerate(_FLEET_ROWS, start=1):
        page.text(row, 0, label)
        for n in range(len(designs)):
            drawn = f"draws{n}_fleet_saving" if n else "fleet0_saving_as_given"
            page.formula(row, 1 + n, formula.format(n=n, drawn=drawn), look, f"fleet{n}_{key}")  # type: ignore[arg-type]
    top = len(_FLEET_ROWS) + 3
    titles = ["Year", "Hosts of the baseline"]
    for design in designs:
        titles += [f"{design.name}: hosts", f"{design.name}: cost", f"{design.name}: saving"]
    page.heads(top, titles)
    years = scenario.fleet.years
    for year in range(1, years + 1):
        row = top + year
        page.number(row, 0, float(year), "whole")
        demand = f"fleet_year{year}_demand"
        grown = f"ROUNDUP(fleet_hosts*(1+growth_per_year)^{year - 1}-{_SLACK},0)"
        page.formula(row, 1, grown, "whole", demand)
        for n in range(len(designs)):
            cell = f"fleet{n}_year{year}"
            used = f"{demand}*host0_work/host{n}_work"
            page.formula(row, 2 + 3 * n, f"ROUNDUP({used}-{_SLACK},0)", "whole", f"{cell}_hosts")
            page.formula(row, 3 + 3 * n, f"{used}*host{n}_annual", "money", f"{cell}_annual")
            page.formula(row, 4 + 3 * n, f"{demand}*host0_annual-{cell}_annual", "money", f"{cell}_saving")
    _write_fleet_totals(page, scenario, top + years + 1)


def _write_fleet_totals(page: Page, scenario: Scenario, row: int) -> None:
    page.text(row, 0, "All years")
    page.text(row + 1, 0, "Present value (capital recovery factor only)")
    years = range(1, scenario.fleet.years + 1)
    for n in range(len(scenario.designs)):
        total = "+".join(f"fleet{n}_year{year}_annual" for year in years)
        saved = "+".join(f"fleet{n}_year{year}_saving" for year in years)
        page.formula(row, 3 + 3 * n, total, "money", f"fleet{n}_total")
        page.formula(row, 4 + 3 * n, saved, "money", f"fleet{n}_total_saving")
        if scenario.finance.method == "crf":
            present = "+".join(f"fleet{n}_year{year}_annual/(1+discount_rate)^{year}" for year in years)
            page.formula(row + 1, 3 + 3 * n, present, "money", f"fleet{n}_present_value")


def write_waterfall(book: Book, evaluation: Evaluation) -> None:
    """From the baseline's cost per unit of work to the option's, step by step; the last row checks the sum."""
    page = book.page("Waterfall", (34, *(20 for _ in evaluation.options)))
    page.heads(0, ("Step, per year and unit of work", *(option.name for option in evaluation.options)))
    rows = {step: row for row, step in enumerate(_steps(evaluation), start=2)}
    page.text(1, 0, "Baseline")
    for step, row in rows.items():
        page.text(row, 0, step.replace("_", " ").capitalize())
    last = len(rows) + 2
    page.text(last, 0, "Option")
    page.text(last + 1, 0, "Check: option less its cost on Hosts")
    for n, option in enumerate(evaluation.options, start=1):
        page.formula(1, n, "host0_annual_per_work")
        for item in option.waterfall:
            formula = _step(item.part, evaluation, n)
            page.formula(rows[item.part], n, formula, "money", f"waterfall{n}_{item.part}")
        first = page.range((1, n), (last - 1, n))
        page.formula(last, n, f"SUM({first})", "money", f"waterfall{n}_sum")
        page.formula(last + 1, n, f"waterfall{n}_sum-host{n}_annual_per_work", "money", f"waterfall{n}_check")


def _steps(evaluation: Evaluation) -> list[str]:
    return list(dict.fromkeys(step.part for option in evaluation.options for step in option.waterfall))


def _step(part: str, evaluation: Evaluation, n: int) -> str:
    throughput = f"((1-host{n}_loss)*(1-host{n}_zswap_cpu_ratio))"
    if part == "lost_throughput":
        return f"host{n}_annual/{throughput}-host{n}_annual-(host0_annual_per_work-host0_annual)"
    if part == "more_memory_per_host":
        return f"host{n}_annual_per_work-host{n}_annual/{throughput}"
    before = any(item.name == part for item in evaluation.baseline.per_host.parts)
    after = any(item.name == part for item in evaluation.options[n - 1].per_host.parts)
    there = f"host{n}_{part}_annual" if after else "0"
    return f"{there}-host0_{part}_annual" if before else there


_PRICED = "({h}dram_gb*{h}dram_price_ratio)"


def write_break_even(book: Book, scenario: Scenario, evaluation: Evaluation) -> None:
    """Where the saving is zero, by algebra: it is linear in each price, and in 1 / (1 - loss)."""
    page = book.page("Break-even", (44, *(20 for _ in evaluation.options)))
    page.heads(0, ("The saving is zero at, all else as given", *(option.name for option in evaluation.options)))
    labels = ("Price of memory behind CXL", "Price of reused DDR4", "Price of DRAM", "Lost throughput")
    for row, label in enumerate(labels, start=1):
        page.text(row, 0, label)
    page.text(
        6, 0, f"Prices are sought up to {HIGHEST_PRICE_FACTOR:g} times that of DRAM, losses up to {HIGHEST_LOSS}."
    )
    for n in range(1, len(evaluation.options) + 1):
        prices = (
            ("cxl_price", "in_cxl_media", "{h}cxl_gb"),
            ("ddr4_price", "in_ddr4_reused", "{h}ddr4_gb"),
            ("dram_price", "in_dram", "({h}dram_gb*{h}dram_price_ratio+{h}cxl_gb)" if scenario.linked else _PRICED),
        )
        for row, (key, price, gb) in enumerate(prices, start=1):
            page.formula(row, n, _price_root(n, price, gb), "number", f"break_even{n}_{key}")
        page.formula(4, n, _loss_root(n), "number", f"break_even{n}_loss")


def _price_root(n: int, price: str, gb: str) -> str:
    base, option = gb.format(h="host0_"), gb.format(h=f"host{n}_")
    slope = f"({base}*capital_factor/host0_work-{option}*capital_factor/host{n}_work)"
    root = f"({price}-host{n}_saving_as_given/{slope})"
    highest = f"{HIGHEST_PRICE_FACTOR:g}*in_dram"
    return f"IFERROR(IF(AND({root}>=0,{root}<={highest}),{root},{_NONE}),{_NONE})"


def _loss_root(n: int) -> str:
    kept = f"host{n}_annual/(host0_annual_per_work*(1-host{n}_zswap_cpu_ratio)*host{n}_capacity_factor)"
    return f"IFERROR(IF(AND(1-{kept}>=0,1-{kept}<={HIGHEST_LOSS}),1-{kept},{_NONE}),{_NONE})"


def write_tornado(book: Book, scenario: Scenario, evaluation: Evaluation) -> None:
    """The saving with one input at a time at the ends of its range."""
    page = book.page("Tornado", (30, 28, 14, 14, 18, 18, 18))
    page.heads(0, ("Option", "Input", "Low", "High", "Saving at low", "Saving at high", "Reach"))
    page.freeze(1, 0)
    row = 1
    for n, option in enumerate(evaluation.options, start=1):
        for bar in option.tornado:
            _write_bar(page, row, scenario, option, n, bar.input)
            row += 1


def _write_bar(page: Page, row: int, scenario: Scenario, option: OptionResult, n: int, moved: str) -> None:
    cell = f"tornado{n}_{moved}"
    page.text(row, 0, option.name)
    page.text(row, 1, moved)
    own = moved in ("loss", "swap_out_mb_per_s")
    for column, end in enumerate(("low", "high")):
        value = f"host{n}_{moved}_{end}" if own else f"in_{moved}_{end}"
        page.formula(row, 2 + column, value, "number", f"{cell}_{end}")
        formula = saving(
            scenario,
            n,
            named(0) if own else _moving(scenario, moved, value, 0),
            _moving(scenario, moved, value, n),
        )
        page.formula(row, 4 + column, formula, "money", f"{cell}_saving_{end}")
    page.formula(row, 6, f"ABS({cell}_saving_high-{cell}_saving_low)", "money")


def _moving(scenario: Scenario, moved: str, value: str, place: int) -> Reference:
    """The inputs as given but one; a linked price moves with that of DRAM."""
    given = named(place)

    def refer(name: str) -> str:
        follows = scenario.linked and moved == "dram" and name == "cxl_media"
        return value if name == moved or follows else given(name)

    return refer
