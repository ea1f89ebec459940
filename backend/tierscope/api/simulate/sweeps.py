"""Sweeps of the simulator: policies, DRAM shares and settings over one trace, replayed by workers."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import Field

from tierscope.api.base.answers import Answer, Cursor, Limit, answer
from tierscope.api.base.figures import Model
from tierscope.api.base.limited import COSTLY
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.copying import copied
from tierscope.domain.base.pages import Page
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.simulate.reads import SweepReads
from tierscope.usecases.simulate.spec import NewSweep, Prices, SweepSourceRequest
from tierscope.usecases.simulate.views import Sweep, SweepHeat, SweepResults, SweepRun
from tierscope.usecases.simulate.writes import SweepWrites


class SweepCostRequest(Model):
    """Prices for the frontier, per byte and over that of DRAM."""

    slow_price_ratio: float = Field(default=0.5, ge=0, le=10)
    swap_price_ratio: float = Field(default=0.03, ge=0, le=10)


class SweepRequest(Model):
    """A new sweep: every policy at every DRAM share, and all combinations of the values of `search`."""

    name: str = Field(min_length=1, max_length=200)
    source: SweepSourceRequest
    policies: list[str] = Field(min_length=1, max_length=20)
    dram_ratios: list[float] = Field(min_length=1, max_length=40, description="DRAM as a share of the peak, 0..1.")
    settings: dict[str, float] = Field(default={}, max_length=60, description="Of policies, machine and costs.")
    search: dict[str, list[float]] = Field(default={}, max_length=6, description="Values to try, by setting.")
    seed: int | None = Field(
        default=None, ge=0, lt=2**63, description="Null: hint faults come at their expected time; workloads take 0."
    )
    cpu_seconds: float | None = Field(default=None, gt=0, description="Processor time of the trace, of all hosts.")
    cost: SweepCostRequest = SweepCostRequest()


router = APIRouter(prefix="/v1/sweeps", tags=["simulator"])

Reads = Annotated[SweepReads, Depends(use(lambda held: held.sweeps))]
Writes = Annotated[SweepWrites, Depends(use(lambda held: held.sweep_writes))]
Writer = Annotated[Caller, Depends(requires("write:sweeps"))]
_READ = [Depends(requires("read:fleet"))]


@router.post("", status_code=202, summary="Start a sweep")
def create_sweep(
    body: SweepRequest,
    request: Request,
    writes: Writes,
    caller: Writer,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> Answer[Sweep]:
    """Queue a sweep. Workers replay it, one policy at a time; look at it for its progress.

    The same Idempotency-Key with the same body queues it once.
    """
    new = copied(
        NewSweep,
        body,
        policies=tuple(body.policies),
        dram_ratios=tuple(body.dram_ratios),
        search={key: tuple(values) for key, values in body.search.items()},
        prices=Prices(body.cost.slow_price_ratio, body.cost.swap_price_ratio),
    )
    return _accepted(request, writes.create(new, actor=caller.name, idempotency_key=idempotency_key))


@router.get("", dependencies=_READ, summary="Sweeps, newest first")
@tabular("items")
def list_sweeps(
    request: Request,
    reads: Reads,
    service: Annotated[str | None, Query(description="Service id.", max_length=100)] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Answer[Page[Sweep]]:
    """List sweeps with their progress."""
    return answer(request, Page[Sweep], reads.list(service=service, limit=limit, cursor=cursor))


@router.get("/{sweep_id}", dependencies=_READ, summary="One sweep")
@tabular("tasks", quick=True)
def read_sweep(request: Request, reads: Reads, sweep_id: str) -> Answer[Sweep]:
    """What was asked, and how far it is."""
    return answer(request, Sweep, reads.show(sweep_id))


@router.post("/{sweep_id}/cancel", status_code=202, summary="Cancel a sweep")
def cancel_sweep(request: Request, writes: Writes, caller: Writer, sweep_id: str) -> Answer[Sweep]:
    """Stop it between runs. What is finished stays."""
    return _accepted(request, writes.cancel(sweep_id, actor=caller.name))


@router.post("/{sweep_id}/resume", status_code=202, summary="Resume a sweep")
def resume_sweep(request: Request, writes: Writes, caller: Writer, sweep_id: str) -> Answer[Sweep]:
    """Go on with cancelled and failed policies. Finished runs are not repeated."""
    return _accepted(request, writes.resume(sweep_id, actor=caller.name))


@router.delete("/{sweep_id}", status_code=204, summary="Remove a sweep")
def delete_sweep(writes: Writes, caller: Writer, sweep_id: str) -> None:
    """Remove a sweep with all its results, finished or not."""
    writes.delete(sweep_id, actor=caller.name)


@router.get("/{sweep_id}/results", dependencies=_READ, summary="Results of a sweep")
@tabular("cells", "frontier", "oracle", "searches")
def read_results(request: Request, reads: Reads, sweep_id: str) -> Answer[SweepResults]:
    """The grid, the bound, the frontier of cost against loss, and the searches, of the runs finished so far."""
    return answer(request, SweepResults, reads.results(sweep_id))


@router.get("/{sweep_id}/runs/{run_id}", dependencies=[*_READ, COSTLY], summary="One run of a sweep")
def read_run(request: Request, reads: Reads, sweep_id: str, run_id: str) -> Answer[SweepRun]:
    """A finished run with its totals and its series."""
    return answer(request, SweepRun, reads.run(sweep_id, run_id))


@router.get(
    "/{sweep_id}/heat",
    dependencies=[Depends(requires("read:tiles")), COSTLY],
    summary="Heat of the trace of a sweep",
)
def read_sweep_heat(
    request: Request,
    reads: Reads,
    sweep_id: str,
    rows: Annotated[int, Query(ge=3, le=64)] = 48,
    columns: Annotated[int, Query(ge=1, le=240)] = 240,
) -> Answer[SweepHeat]:
    """Bands of the trace's pages, ordered by kind and first use, over time: to be seen beside the replay."""
    return answer(request, SweepHeat, reads.heat(sweep_id, rows=rows, columns=columns))


def _accepted(request: Request, view: Sweep) -> Answer[Sweep]:
    return answer(request, Sweep, view, status_code=202)
