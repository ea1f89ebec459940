"""Health of the installation and the metric catalogue."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from tierscope.api.base.answers import Answer, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.operate.status import Catalogue, InstallationStatus, Quantities, StatusReads

router = APIRouter(prefix="/v1", tags=["status"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[StatusReads, Depends(use(lambda held: held.status))]


@router.get("/status", summary="Health of the installation")
def read_status(request: Request, reads: Reads) -> Answer[InstallationStatus]:
    """Each component with its health and the reason."""
    return answer(request, InstallationStatus, reads.status())


@router.get("/metrics", summary="The metric catalogue")
@tabular("items", quick=True)
def read_catalogue(request: Request, reads: Reads) -> Answer[Catalogue]:
    """Every metric that Tierscope knows by name: unit, kind, scopes, kernel, meaning."""
    return answer(request, Catalogue, reads.catalogue())


@router.get("/quantities", summary="What each figure is")
@tabular("items", quick=True)
def read_quantities(request: Request, reads: Reads) -> Answer[Quantities]:
    """Every definition that a figure may have: unit, subjects, meaning, and the page of its method."""
    return answer(request, Quantities, reads.quantities())
