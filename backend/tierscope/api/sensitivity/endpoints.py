"""Sensitivity: how throughput follows the anon and file memory that DRAM serves, or why that cannot be told."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from tierscope.api.base.answers import Answer, From, To
from tierscope.api.base.permissions import requires
from tierscope.api.base.reuse import answer_reused
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.sensitivity.reads import (
    Sensitivity,
    SensitivityReads,
)

router = APIRouter(
    prefix="/v1/services/{service_id}/sensitivity", tags=["analytics"], dependencies=[Depends(requires("read:fleet"))]
)

Reads = Annotated[SensitivityReads, Depends(use(lambda held: held.sensitivity))]


@router.get("", summary="How throughput follows anon and file memory in DRAM")
@tabular("kinds", "scatter")
def read_sensitivity(
    request: Request, reads: Reads, service_id: str, from_: From = None, to: To = None
) -> Answer[Sensitivity]:
    """Elasticities with intervals or refusals, the scatter, and the index from heat that needs no throughput."""
    return answer_reused(request, Sensitivity, from_, to, lambda: reads.service(service_id, from_=from_, to=to))
