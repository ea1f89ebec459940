"""Tags: what lists can be narrowed by."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from tierscope.api.base.answers import Answer, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.fleet.tags import TagChoices, TagReads

router = APIRouter(prefix="/v1/tags", tags=["fleet"], dependencies=[Depends(requires("read:fleet"))])


@router.get("", summary="What lists can be narrowed by")
@tabular("tags", quick=True)
def list_tags(request: Request, reads: Annotated[TagReads, Depends(use(lambda held: held.tags))]) -> Answer[TagChoices]:
    """Services, owning teams, kernels and labels, with how many hosts have each."""
    return answer(request, TagChoices, reads.choices())
