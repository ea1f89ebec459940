"""Saved views of the dashboard."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from tierscope.api.base.answers import Answer, Cursor, Limit, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.pages import Page
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.access.views import SavedView, SavedViews, ViewRequest

router = APIRouter(prefix="/v1/views", tags=["access"])

Views = Annotated[SavedViews, Depends(use(lambda held: held.saved_views))]
Reader = Annotated[Caller, Depends(requires("read:fleet"))]
Own = Annotated[Caller, Depends(requires("write:own"))]


@router.get("", summary="Saved views, newest first")
@tabular("items")
def list_views(
    request: Request, views: Views, caller: Reader, limit: Limit = 100, cursor: Cursor = None
) -> Answer[Page[SavedView]]:
    """List one's own views and those that are shared with everyone."""
    return answer(request, Page[SavedView], views.list(caller=caller, limit=limit, cursor=cursor))


@router.post("", status_code=201, summary="Save a view")
def create_view(body: ViewRequest, views: Views, caller: Own) -> SavedView:
    """Name an address of the dashboard. Without an account the view belongs to the installation and is shared."""
    return views.create(body, caller=caller)


@router.put("/{view_id}", summary="Change a saved view")
def change_view(view_id: str, body: ViewRequest, views: Views, caller: Own) -> SavedView:
    """Rename a view, share it, or give it another address. Administrators may change those of others, too."""
    return views.change(view_id, body, caller=caller)


@router.delete("/{view_id}", status_code=204, summary="Delete a saved view")
def delete_view(view_id: str, views: Views, caller: Own) -> None:
    """Delete a view. Administrators may delete shared ones of others, too."""
    views.delete(view_id, caller=caller)
