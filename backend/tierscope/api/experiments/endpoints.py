"""Experiments: canary hosts against control hosts, before and after a change."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import AwareDatetime, Field

from tierscope.api.base.answers import Answer, Cursor, From, Limit, MaxPoints, To, answer
from tierscope.api.base.figures import Model
from tierscope.api.base.ownership import in_path, service_in_body
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.copying import copied
from tierscope.domain.base.pages import Page
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.experiments.reads import ExperimentReads
from tierscope.usecases.experiments.views import Experiment, ExperimentItem, ExperimentPlan, StartedExperiment, State
from tierscope.usecases.experiments.writes import ExperimentWrites, MetricRequest, NewExperiment


class AutoArms(Model):
    """Arms drawn at random from peer hosts of the service."""

    canary_n: int = Field(ge=1, le=10_000)
    seed: int | None = Field(default=None, ge=0, lt=2**63, description="Absent: drawn, and stored.")


class ExperimentRequest(Model):
    """A new experiment. Either `canary` and `control`, or `auto`. The first metric decides."""

    name: str = Field(min_length=1, max_length=200)
    service_id: str = Field(max_length=100)
    advice_id: str | None = Field(default=None, max_length=100)
    hypothesis: str = Field(default="", max_length=2000)
    metrics: list[MetricRequest] = Field(min_length=1, max_length=10)
    canary: list[str] = Field(default=[], max_length=10_000, description="Host ids.")
    control: list[str] = Field(default=[], max_length=10_000, description="Host ids.")
    auto: AutoArms | None = None
    seed: int | None = Field(
        default=None,
        ge=0,
        lt=2**63,
        description="With which the named arms were drawn, as a proposal of the change plan says; null: chosen.",
    )
    before_from: AwareDatetime
    change_at: AwareDatetime
    settling_seconds: int = Field(default=1800, ge=0, le=7 * 86_400)
    planned_end: AwareDatetime


router = APIRouter(prefix="/v1/experiments", tags=["experiments"])

Reads = Annotated[ExperimentReads, Depends(use(lambda held: held.experiments))]
Writes = Annotated[ExperimentWrites, Depends(use(lambda held: held.experiment_writes))]
Starter = Annotated[Caller, Depends(requires("write:experiments", owned=service_in_body))]
Ender = Annotated[Caller, Depends(requires("write:experiments", owned=in_path("experiment", "experiment_id")))]
_READ = [Depends(requires("read:fleet"))]


@router.post("", status_code=201, summary="Start an experiment")
def create_experiment(
    body: ExperimentRequest, request: Request, writes: Writes, caller: Starter
) -> Answer[StartedExperiment]:
    """Register an experiment and mark its change on the charts. The change itself is made by whoever runs the hosts."""
    new = copied(
        NewExperiment,
        body,
        metrics=tuple(body.metrics),
        canary=tuple(body.canary),
        control=tuple(body.control),
        canary_n=None if body.auto is None else body.auto.canary_n,
        seed=body.seed if body.auto is None else body.auto.seed,
    )
    return answer(request, StartedExperiment, writes.create(new, actor=caller.name), status_code=201)


@router.get("", dependencies=_READ, summary="Experiments, newest first")
@tabular("items")
def list_experiments(
    request: Request,
    reads: Reads,
    service: Annotated[str | None, Query(description="Service id.")] = None,
    state: State | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Answer[Page[ExperimentItem]]:
    """List experiments."""
    return answer(request, Page[ExperimentItem], reads.list(service=service, state=state, limit=limit, cursor=cursor))


@router.get("/plan", dependencies=_READ, summary="Power before starting")
@tabular("points", "choices", "excluded")
def plan_experiment(
    request: Request,
    reads: Reads,
    service: Annotated[str, Query(description="Service id.")],
    metric: Annotated[str, Query(max_length=300)] = "throughput_per_s",
    effect_ratio: Annotated[float, Query(gt=0, le=10, description="The relative effect to find.")] = 0.05,
    from_: From = None,
    to: To = None,
) -> Answer[ExperimentPlan]:
    """How many hosts an experiment needs, and what the peer hosts of the service could find. Default: seven days."""
    view = reads.plan(service, metric=metric, effect_ratio=effect_ratio, from_=from_, to=to)
    return answer(request, ExperimentPlan, view)


@router.get("/{experiment_id}", dependencies=_READ, summary="One experiment")
@tabular("metrics", "metrics.series", "arms")
def read_experiment(
    request: Request, reads: Reads, experiment_id: str, max_points: MaxPoints = 500
) -> Answer[Experiment]:
    """The live effect with its interval while it runs, the frozen answer after its end."""
    return answer(request, Experiment, reads.show(experiment_id, max_points=max_points))


@router.post("/{experiment_id}/end", summary="End an experiment")
def end_experiment(request: Request, writes: Writes, caller: Ender, experiment_id: str) -> Answer[Experiment]:
    """End it now and freeze its answer. Before the planned end the verdict needs stronger evidence."""
    return answer(request, Experiment, writes.end(experiment_id, actor=caller.name))
