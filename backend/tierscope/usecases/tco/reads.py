"""What-if of cost: evaluate a scenario, compare stored ones. Nothing is costed while a price or loss is missing."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from tierscope.core.errors import BadRequest, NotFound, Unprocessable
from tierscope.domain.base.copying import copied
from tierscope.domain.tco.analysis import BreakEven as Found
from tierscope.domain.tco.published import PUBLISHED_SAVINGS
from tierscope.domain.tco.results import Evaluation, OptionResult, evaluate
from tierscope.domain.tco.scenario import Scenario
from tierscope.storage.tco.scenarios import find_scenario
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.tco.answers import (
    Baseline,
    BreakEven,
    ComparedScenario,
    Difference,
    LossSource,
    MemoryNeed,
    MissingInput,
    Option,
    TcoAnswer,
    TcoComparison,
)
from tierscope.usecases.tco.inputs import Inputs, build_scenario, gather_inputs, needed_inputs
from tierscope.usecases.tco.losses import FoundLoss, ServiceFacts, find_loss, find_need, judge_fit
from tierscope.usecases.tco.prices import Price, Prices
from tierscope.usecases.tco.scenario_documents import ScenarioDocument
from tierscope.usecases.tco.scenario_files import parse_scenario

DEFAULT_DRAWS = 10_000
MOST_DRAWS = 100_000
DEFAULT_SEED = 1
MOST_COMPARED = 8
MOST_SHEET_DRAWS = 10_000
OLD_PRICE_DAYS = 90
MOST_DIFFERENCES = 200


class Costed:
    """A scenario with its answer; `scenario` and `evaluation` are None while something is missing."""

    __slots__ = ("evaluation", "scenario", "view")

    def __init__(self, view: TcoAnswer, scenario: Scenario | None, evaluation: Evaluation | None) -> None:
        self.view = view
        self.scenario = scenario
        self.evaluation = evaluation


class TcoReads:
    """Costs scenarios with the prices, services and sweeps of an installation."""

    def __init__(self, context: ReadContext, facts: ServiceFacts) -> None:
        self._context = context
        self._facts = facts

    def cost(self, document: ScenarioDocument, *, draws: int, seed: int) -> Costed:
        """The answer with the values that it was made from.

        Raises:
            Unprocessable: currencies are mixed, or a host contradicts itself.
        """
        confirmed: Mapping[str, Price] = {}
        stated = document.prices
        if any(getattr(stated, item) is None for item in type(stated).model_fields if item in needed_inputs(document)):
            confirmed = Prices(self._context.database, clock=self._context.clock).in_force(document.currency)
        today = self._context.clock().date()
        return cost_document(document, confirmed, self._facts, draws=draws, seed=seed, today=today)

    def evaluate(self, document: ScenarioDocument, *, draws: int, seed: int) -> TcoAnswer:
        """The answer.

        Raises:
            Unprocessable: currencies are mixed, or a host contradicts itself.
        """
        return self.cost(document, draws=draws, seed=seed).view

    def sheet(self, document: ScenarioDocument, *, draws: int, seed: int) -> bytes:
        """The answer as a workbook.

        Raises:
            Unprocessable: something is missing, currencies are mixed, or a host contradicts itself.
        """
        return sheet_of(self.cost(document, draws=draws, seed=seed))

    def compare(self, ids: list[str], *, seed: int) -> TcoComparison:
        """Stored scenarios side by side, with the places in which they differ.

        Raises:
            BadRequest: fewer than two, too many, or scenarios in several currencies.
            NotFound: one of them is not there.
        """
        if not 1 < len(dict.fromkeys(ids)) <= MOST_COMPARED:
            raise BadRequest(f"compare 2 to {MOST_COMPARED} scenarios, not {len(dict.fromkeys(ids))}")
        rows, documents = [], []
        with self._context.database.read() as session:
            for public_id in dict.fromkeys(ids):
                row = find_scenario(session, public_id)
                if row is None:
                    raise NotFound(f"there is no scenario {public_id[:80]!r}")
                rows.append(row)
                documents.append(parse_scenario(row.spec))
        currencies = dict.fromkeys(document.currency for document in documents)
        if len(currencies) > 1:
            raise BadRequest(
                f"the scenarios are in {' and '.join(currencies)}: currencies are never mixed",
                next_step="Compare scenarios of one currency.",
            )
        answers = [self.evaluate(document, draws=DEFAULT_DRAWS, seed=seed) for document in documents]
        compared = tuple(
            ComparedScenario(row.public_id, row.version, answer) for row, answer in zip(rows, answers, strict=True)
        )
        return TcoComparison(documents[0].currency, compared, find_differences(documents))


def sheet_of(costed: Costed) -> bytes:
    """A costed scenario as a workbook.

    Raises:
        Unprocessable: something is missing.
    """
    if costed.scenario is None or costed.evaluation is None:
        missing = costed.view.missing
        raise Unprocessable(
            f"missing: {'; '.join(f'{item.what} ({item.path}): {item.why}' for item in missing)}",
            next_step=missing[0].next_step,
        )
    from tierscope.usecases.tco.workbook import write_sheet  # noqa: PLC0415 - its library is slow to load

    return write_sheet(costed.scenario, costed.evaluation, costed.view)


def cost_document(
    document: ScenarioDocument,
    confirmed: Mapping[str, Price],
    facts: ServiceFacts | None,
    *,
    draws: int,
    seed: int,
    today: date,
) -> Costed:
    """Cost a scenario from what is confirmed and measured; `facts` None where there is no database.

    Raises:
        Unprocessable: currencies are mixed, or a host contradicts itself.
    """
    inputs = gather_inputs(document, confirmed)
    hosts = [("baseline", document.baseline)]
    hosts += [(f"options[{at}]", option) for at, option in enumerate(document.options)]
    found = [find_loss(path, host, facts) for path, host in hosts]
    missing = (*inputs.missing, *(item for item in found if isinstance(item, MissingInput)))
    need = find_need(document, facts)
    memory = need if isinstance(need, MemoryNeed) else None
    empty = TcoAnswer(
        name=document.name,
        currency=document.currency,
        price_date=inputs.dram_date,
        baseline=None,
        options=(),
        missing=missing,
        inputs=inputs.views,
        memory=memory,
        sanity=PUBLISHED_SAVINGS,
        notes=_notes(inputs, need if isinstance(need, str) else None, today),
    )
    if missing:
        return Costed(empty, None, None)
    losses = [item for item in found if isinstance(item, FoundLoss)]
    scenario = build_scenario(document, inputs, [item.loss for item in losses])
    evaluation = evaluate(scenario, draws=draws, seed=seed)
    view = _answered(empty, scenario, evaluation, [item.view for item in losses], memory)
    return Costed(view, scenario, evaluation)


def _answered(
    empty: TcoAnswer,
    scenario: Scenario,
    evaluation: Evaluation,
    losses: list[LossSource],
    memory: MemoryNeed | None,
) -> TcoAnswer:
    baseline, design = evaluation.baseline, scenario.baseline
    fit = judge_fit(memory, memory_gb=design.memory_gb, dram_gb=design.dram_gb)
    options = tuple(
        _option(result, loss, memory, dram_gb=option.dram_gb)
        for result, option, loss in zip(evaluation.options, scenario.options, losses[1:], strict=True)
    )
    shown = Baseline(baseline.name, baseline.per_host, baseline.fleet, losses[0], fit)
    return replace(empty, baseline=shown, options=options)


def _option(result: OptionResult, loss: LossSource, memory: MemoryNeed | None, *, dram_gb: float) -> Option:
    fit = judge_fit(memory, memory_gb=result.per_host.memory_gb, dram_gb=dram_gb)
    warnings = list(result.warnings)
    if fit is not None and fit.holds_required is False:
        warnings.append("Holds less memory than the work needs.")
    if fit is not None and fit.dram_holds_hot is False:
        warnings.append("Its DRAM holds less than 1.1 times the hot memory: hot pages will be on slow memory.")
    if loss.simulated:
        warnings.append("The loss is simulated.")
    return copied(
        Option,
        result,
        hosts_needed=result.fleet.hosts,
        loss=loss,
        fit=fit,
        break_even=_break_even(result.break_even),
        warnings=tuple(warnings),
    )


def _break_even(found: tuple[Found, ...]) -> BreakEven:
    values = {item.of: item.value for item in found}
    why = tuple(f"{item.of}: {item.why}" for item in found if item.why is not None)
    return BreakEven(values["cxl_price"], values["ddr4_price"], values["dram_price"], values["loss"], why)


def _notes(inputs: Inputs, need: str | None, today: date) -> tuple[str, ...]:
    notes = []
    for view in inputs.views:
        is_price = view.name in ("dram", "cxl_media", "ssd", "ddr4_reused") and view.origin != "follows_dram"
        if is_price and view.grounding != "A" and view.date is not None and (today - view.date).days > OLD_PRICE_DAYS:
            days = (today - view.date).days
            notes.append(f"The price of {view.label} is of {view.date}, {days} days ago; memory prices move fast.")
    if need is not None:
        notes.append(need)
    return tuple(notes)


def find_differences(documents: list[ScenarioDocument]) -> tuple[Difference, ...]:
    """The paths at which scenarios do not say the same."""
    flat = [dict(_leaves("", document.model_dump(mode="json"))) for document in documents]
    paths = dict.fromkeys(path for values in flat for path in values)
    rows = [Difference(path, tuple(values.get(path) for values in flat)) for path in paths]
    found = [row for row in rows if len(set(row.values)) > 1 and row.path not in ("name", "description")]
    return tuple(found[:MOST_DIFFERENCES])


def _leaves(path: str, value: Any) -> list[tuple[str, str]]:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        inner = [(f"{path}.{name}" if path else str(name), item) for name, item in value.items()]
    elif isinstance(value, list):
        inner = [(f"{path}[{at}]", item) for at, item in enumerate(value)]
    else:
        return [] if value is None else [(path, str(value))]
    return [leaf for place, item in inner for leaf in _leaves(place, item)]
