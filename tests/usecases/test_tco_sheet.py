"""Workbooks of costed scenarios: a spreadsheet program arrives at every number of the evaluation, from inputs alone."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from factories.scenarios import random_scenario, worked_example
from factories.spreadsheets import PROGRAM, REASON, Recalculated, recalculate, stored_results, texts
from fixtures.elsewhere import long
from tierscope.domain.tco.results import BaselineResult, Evaluation, Fleet, OptionResult, PerHost, evaluate
from tierscope.domain.tco.scenario import Scenario
from tierscope.usecases.tco.answers import TcoAnswer
from tierscope.usecases.tco.workbook import write_sheet

needs_program = pytest.mark.skipif(PROGRAM is None, reason=REASON)
DRAWS = 300
SEEDS = (0, 3, 5, 11)
"""Between them: all kinds of memory, drives bought and worn, linked prices, both methods, credit for memory."""

PER_HOST = (
    "capex",
    "annual",
    "watts",
    "kwh_per_year",
    "memory_gb",
    "dram_price_per_gb",
    "loss",
    "work",
    "annual_per_work",
)
"""Figures of a host that the workbook has."""


def view_of(scenario: Scenario) -> TcoAnswer:
    """What the pages show beside numbers."""
    return TcoAnswer(scenario.name, scenario.currency, None, None, (), (), (), None, (), ("=1+1",))


def sheet_of(scenario: Scenario) -> tuple[Evaluation, bytes]:
    evaluation = evaluate(scenario, draws=DRAWS, seed=4)
    return evaluation, write_sheet(scenario, evaluation, view_of(scenario))


def close(found: object, expected: float) -> bool:
    """Whether a cell holds a number, up to rounding."""
    return isinstance(found, int | float) and math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-6)


class Comparison:
    """Compares cells with an evaluation and counts them."""

    def __init__(self, book: Recalculated) -> None:
        self.book = book
        self.compared: set[str] = set()
        self.wrong: list[str] = []

    def number(self, name: str, expected: float | None) -> None:
        """One cell; None is a text there."""
        self.compared.add(name)
        found = self.book.cell(name)
        if not (isinstance(found, str) if expected is None else close(found, expected)):
            self.wrong.append(f"{name}: {found!r}, not {expected!r}")

    def host(self, n: int, host: PerHost) -> None:
        for part in host.parts:
            for what in ("capex", "annual", "watts"):
                self.number(f"host{n}_{part.name}_{what}", getattr(part, what))
        for what in PER_HOST:
            self.number(f"host{n}_{what}", getattr(host, what))
        if host.endurance:
            for what in ("written_tb_per_year", "drive_writes_per_day", "drive_life_years"):
                self.number(f"host{n}_{what}", getattr(host.endurance, what))

    def fleet(self, n: int, fleet: Fleet) -> None:
        for what in ("hosts", "extra_hosts", "capex", "annual", "watts", "saving", "saving_ratio", "saving_as_given"):
            self.number(f"fleet{n}_{what}", getattr(fleet, what))
        for what in ("saving_p10", "saving_p90"):
            self.number(f"fleet{n}_{what}", getattr(fleet, what))
        self.number(f"fleet{n}_total", fleet.total)
        self.number(f"fleet{n}_total_saving", fleet.total_saving)
        if fleet.present_value is not None:
            self.number(f"fleet{n}_present_value", fleet.present_value)
        for year in fleet.years:
            for what in ("hosts", "annual", "saving"):
                self.number(f"fleet{n}_year{year.year}_{what}", getattr(year, what))

    def option(self, n: int, option: OptionResult) -> None:
        self.number(f"host{n}_saving", option.saving)
        self.number(f"host{n}_saving_ratio", option.saving_ratio)
        self.number(f"host{n}_saving_as_given", option.saving_as_given)
        for item in option.break_even:
            self.number(f"break_even{n}_{item.of}", item.value)
        for step in option.waterfall:
            self.number(f"waterfall{n}_{step.part}", step.delta)
        self.number(f"waterfall{n}_check", 0.0)
        for bar in option.tornado:
            for what in ("low", "high", "saving_low", "saving_high"):
                self.number(f"tornado{n}_{bar.input}_{what}", getattr(bar, what))
        spread = option.distribution
        for what in ("p10", "p50", "p90", "p_positive"):
            self.number(f"distribution{n}_{what}", getattr(spread, what))
        rows = self.book.rows(f"distribution{n}_bins")
        assert len(rows) == len(spread.bins)
        for (lo, hi, count), drawn_bin in zip(rows, spread.bins, strict=True):
            if not (close(lo, drawn_bin.lo) and close(hi, drawn_bin.hi) and count == drawn_bin.n):
                self.wrong.append(f"bin of option {n}: {lo}, {hi}, {count}, not {drawn_bin}")
        drawn = [row[0] for row in self.book.rows(f"draws{n}_saving")]
        self.wrong += [
            f"draw {at}"
            for at, (cell, one) in enumerate(zip(drawn, spread.saving, strict=True))
            if not close(cell, float(one))
        ]


def compare(book: Recalculated, baseline: BaselineResult, options: tuple[OptionResult, ...]) -> Comparison:
    found = Comparison(book)
    found.host(0, baseline.per_host)
    found.fleet(0, baseline.fleet)
    for n, option in enumerate(options, start=1):
        found.host(n, option.per_host)
        found.fleet(n, option.fleet)
        found.option(n, option)
    return found


@long
@needs_program
def test_a_spreadsheet_program_arrives_at_every_number(tmp_path: Path) -> None:
    scenarios = {"example": worked_example(), **{f"seed{seed}": random_scenario(seed) for seed in SEEDS}}
    made = {name: sheet_of(scenario) for name, scenario in scenarios.items()}
    found = recalculate({name: body for name, (_, body) in made.items()}, tmp_path)
    kinds: set[str] = set()
    for name, (evaluation, body) in made.items():
        assert stored_results(body) == []
        assert found[name].faults() == []
        comparison = compare(found[name], evaluation.baseline, evaluation.options)
        assert comparison.wrong == [], name
        assert len(comparison.compared) > 60
        kinds |= {part.name for option in evaluation.options for part in option.per_host.parts}
        results = ("fleet", "break_even", "waterfall", "tornado", "distribution")
        left_out = {cell for cell in found[name].names if cell.startswith(results)} - comparison.compared
        assert all(
            cell.endswith(("_bins", "_demand", "_sum")) or cell in {"fleet_hosts", "fleet_years"} for cell in left_out
        )
    assert kinds >= {"base", "dram", "cxl_media", "ddr4_reused", "cxl_controllers", "swap_drive", "wear", "other"}


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", '=HYPERLINK("http://x")'])
def test_names_never_become_formulas(name: str) -> None:
    scenario = worked_example()
    hostile = replace(
        scenario,
        name=name,
        baseline=replace(scenario.baseline, name=name),
        options=(replace(scenario.options[0], name=f"{name}2"),),
    )
    _, body = sheet_of(hostile)
    written = texts(body)
    assert f"'{name}" in written
    assert f"'{name}2" in written
    assert "'=1+1" in written
    assert not [text for text in written if text.startswith(("=", "+", "@", "\t"))]
