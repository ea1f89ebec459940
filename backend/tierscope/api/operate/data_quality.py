"""Data quality: what should have arrived, what did, and why the rest did not."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from tierscope.api.base.answers import Answer, Cursor, From, Limit, To, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.operate.data_quality import (
    DataQuality,
    DataQualityReads,
)

router = APIRouter(prefix="/v1/data-quality", tags=["fleet"], dependencies=[Depends(requires("read:fleet"))])


@router.get("", summary="What arrived, what is missing, and why")
@tabular("hosts")
def read_data_quality(
    request: Request,
    reads: Annotated[DataQualityReads, Depends(use(lambda held: held.data_quality))],
    from_: From = None,
    to: To = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Answer[DataQuality]:
    """Completeness of the fleet's data in a window of at most 8 days; by default the last 24 hours.

    A file is the table of hosts.
    """
    view = reads.read(from_=from_, to=to, limit=limit, cursor=cursor)
    return answer(request, DataQuality, view)
