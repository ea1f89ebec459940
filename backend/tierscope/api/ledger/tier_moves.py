"""The ledger of tier moves: promotions and demotions, normalised over kernel dialects."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from tierscope.api.base.answers import Answer, From, MaxPoints, To, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.ledger.answers import Ledger
from tierscope.usecases.ledger.reads import LedgerReads

router = APIRouter(prefix="/v1", tags=["tier moves"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[LedgerReads, Depends(use(lambda held: held.ledger))]


@router.get("/hosts/{host_id}/ledger", summary="Tier moves of a host")
@tabular("series", "columns", "resets", "services")
def read_host_ledger(
    request: Request,
    reads: Reads,
    host_id: str,
    from_: From = None,
    to: To = None,
    max_points: MaxPoints = 500,
) -> Answer[Ledger]:
    """Totals, rates and series of every ledger column, what was left out and why, and the ping-pong estimate."""
    view = reads.host(host_id, from_=from_, to=to, max_points=max_points)
    return answer(request, Ledger, view, knows_its_files=True)


@router.get("/services/{service_id}/ledger", summary="Tier moves of a service")
@tabular("series", "columns", "resets")
def read_service_ledger(
    request: Request,
    reads: Reads,
    service_id: str,
    from_: From = None,
    to: To = None,
    max_points: MaxPoints = 500,
) -> Answer[Ledger]:
    """The ledger of the service's own cgroups, summed over hosts; not_supported where the kernel has none."""
    view = reads.service(service_id, from_=from_, to=to, max_points=max_points)
    return answer(request, Ledger, view, knows_its_files=True)
