"""What-if of cost: evaluate a scenario, compare stored ones."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from tierscope.api.base.answers import Answer, answer
from tierscope.api.base.figures import Model
from tierscope.api.base.limited import COSTLY
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.tco.published import PRESET_CURRENCY
from tierscope.usecases.tco.answers import TcoAnswer, TcoComparison
from tierscope.usecases.tco.reads import DEFAULT_DRAWS, DEFAULT_SEED, MOST_DRAWS, MOST_SHEET_DRAWS, TcoReads
from tierscope.usecases.tco.reclaimable import ReclaimableDram, ReclaimableReads
from tierscope.usecases.tco.scenario_documents import ScenarioDocument

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


class TcoRequest(Model):
    """A scenario to cost. The same seed gives the same draws."""

    spec: ScenarioDocument
    seed: int = Field(default=DEFAULT_SEED, ge=0, lt=2**63)
    draws: int = Field(default=DEFAULT_DRAWS, ge=100, le=MOST_DRAWS)


class SheetRequest(Model):
    """A scenario to write as a workbook."""

    spec: ScenarioDocument
    seed: int = Field(default=DEFAULT_SEED, ge=0, lt=2**63)
    draws: int = Field(default=DEFAULT_DRAWS, ge=100, le=MOST_SHEET_DRAWS)


router = APIRouter(prefix="/v1/tco", tags=["tco"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[TcoReads, Depends(use(lambda held: held.tco))]


Idle = Annotated[ReclaimableReads, Depends(use(lambda held: held.reclaimable))]


@router.get(
    "/reclaimable", dependencies=[COSTLY], summary="DRAM of the fleet that holds cold memory, and what it costs a year"
)
def read_reclaimable(
    request: Request,
    reads: Idle,
    currency: Annotated[str, Query(pattern=r"^[A-Z]{3}$", description="ISO 4217.")] = PRESET_CURRENCY,
) -> Answer[ReclaimableDram]:
    """Cold memory in DRAM over all hosts, its annual cost at the confirmed price, and the share of memory known."""
    return answer(request, ReclaimableDram, reads.read(currency=currency))


@router.post("/evaluate", dependencies=[COSTLY], summary="Cost a scenario")
def evaluate_scenario(
    request: Request,
    reads: Reads,
    body: TcoRequest,
) -> Answer[TcoAnswer]:
    """Cost per host and for the fleet, savings, break-even points, what matters most, and how sure it is.

    A saving is the median over random draws of all uncertain inputs.

    Nothing is stored. A missing price or loss is no error: `missing` says what, where it belongs, and what to do.
    """
    return answer(request, TcoAnswer, reads.evaluate(body.spec, draws=body.draws, seed=body.seed))


@router.post(
    "/sheet",
    dependencies=[COSTLY],
    response_class=Response,
    responses={200: {"content": {XLSX: {}}, "description": "A workbook."}},
    summary="A costed scenario as a workbook",
)
def download_sheet(reads: Reads, body: SheetRequest) -> Response:
    """A workbook in which every total is a formula over named inputs, the random draws included.

    The same seed and number of draws give the numbers of the evaluation. 422 while something is missing.
    """
    workbook = reads.sheet(body.spec, draws=body.draws, seed=body.seed)
    headers = {"Content-Disposition": 'attachment; filename="tierscope-tco.xlsx"', "Cache-Control": "no-store"}
    return Response(content=workbook, media_type=XLSX, headers=headers)


@router.get("/compare", summary="Stored scenarios side by side")
@tabular("scenarios", "differences")
def compare_scenarios(
    request: Request,
    reads: Reads,
    scenario: Annotated[list[str], Query(description="Ids of 2 to 8 stored scenarios.")],
    seed: Annotated[int, Query(ge=0, lt=2**63)] = DEFAULT_SEED,
) -> Answer[TcoComparison]:
    """Answers of stored scenarios in one currency, and where the scenarios differ."""
    return answer(request, TcoComparison, reads.compare(scenario, seed=seed))
