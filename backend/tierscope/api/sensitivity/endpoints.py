"""Sensitivity: how throughput follows the anon and file memory that DRAM serves, or why that cannot be told."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from tierscope.api.base.answers import From, To
from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.reuse import answer_reused
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Figure, Origin, Window
from tierscope.usecases.sensitivity.reads import KindSensitivity, ScatterFit, ScatterPoint, SensitivityReads

Kind = Literal["anon", "file"]


class MovingLoss(Model):
    """What moving all memory of one kind to the slow tier would cost, from heat."""

    kind: Kind
    share_of_accesses: Figure
    loss: Figure


class HeatIndex(Model):
    """The fallback that needs no throughput: access density of anon against file."""

    log2_density_anon_file: Figure
    moving: list[MovingLoss]


class Sensitivity(Model):
    """Answer of /v1/services/{id}/sensitivity."""

    service_id: str
    origin: Origin
    window: Window
    label: Literal["association"] = Field(description="What the elasticities are: nothing was changed at random.")
    residency: str | None = Field(description="Where the bytes in DRAM come from.")
    throughput_measure: Literal["throughput", "throughput_per_cpu_second"] | None
    interval_seconds: float | None
    kinds: list[KindSensitivity]
    scatter: list[ScatterPoint]
    scatter_of: int = Field(description="Host-intervals before thinning; `scatter` is every n-th of them.")
    fit: list[ScatterFit]
    n_pairs: int = Field(description="Changes between neighbouring intervals of one host.")
    n_hosts: int
    n_effective: float | None
    correlation: float | None = Field(description="Of the changes of anon and of file.")
    variance_inflation: float | None
    errors: Literal["clustered", "hac"] | None
    heat_index: HeatIndex
    confounders: list[str]
    missing: Figure | None = Field(description="Why there is no panel.")
    notes: list[str]


router = APIRouter(
    prefix="/v1/services/{service_id}/sensitivity", tags=["analytics"], dependencies=[Depends(requires("read:fleet"))]
)

Reads = Annotated[SensitivityReads, Depends(use(lambda held: held.sensitivity))]


@router.get("", response_model=Sensitivity, summary="How throughput follows anon and file memory in DRAM")
def read_sensitivity(request: Request, reads: Reads, service_id: str, from_: From = None, to: To = None) -> Response:
    """Elasticities with intervals or refusals, the scatter, and the index from heat that needs no throughput."""
    return answer_reused(request, Sensitivity, from_, to, lambda: reads.service(service_id, from_=from_, to=to))
