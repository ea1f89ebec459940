"""A costed scenario as a workbook in which every total is a formula over named inputs."""

from tierscope.domain.tco.results import Evaluation
from tierscope.domain.tco.scenario import Scenario
from tierscope.usecases.tco.answers import TcoAnswer
from tierscope.usecases.tco.workbook.cells import Book
from tierscope.usecases.tco.workbook.draws_page import all_equal, write_distribution, write_draws
from tierscope.usecases.tco.workbook.hosts_page import write_hosts
from tierscope.usecases.tco.workbook.inputs_page import write_inputs
from tierscope.usecases.tco.workbook.result_pages import write_break_even, write_fleet, write_tornado, write_waterfall
from tierscope.usecases.tco.workbook.summary_page import write_summary

__all__ = ["write_sheet"]


def write_sheet(scenario: Scenario, evaluation: Evaluation, view: TcoAnswer) -> bytes:
    """The workbook (xlsx). The draws of the evaluation stand on a page of their own."""
    spread = [option.distribution for option in evaluation.options]
    draws, seed = spread[0].draws, spread[0].seed
    book = Book()
    write_summary(book, scenario, view, draws=draws, seed=seed)
    write_inputs(book, scenario, view)
    write_hosts(book, scenario, evaluation)
    write_fleet(book, scenario)
    write_waterfall(book, evaluation)
    write_break_even(book, scenario, evaluation)
    write_tornado(book, scenario, evaluation)
    write_distribution(book, scenario, tuple(all_equal(item.saving) for item in spread))
    write_draws(book, scenario, draws=draws, seed=seed)
    return book.finish()
