"""Releases of agents side by side."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, Cursor, Limit, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.fleet.agent_versions import (
    AgentVersionReads,
    AgentVersions,
)

router = APIRouter(prefix="/v1/agents", tags=["agents"])


@router.get(
    "/versions",
    dependencies=[Depends(requires("read:agents"))],
    summary="Releases of agents side by side",
)
@tabular("versions")
def read_agent_versions(
    request: Request,
    reads: Annotated[AgentVersionReads, Depends(use(lambda held: held.agent_versions))],
    version: Annotated[str | None, Query(max_length=64, description="Only hosts of this release.")] = None,
    outdated: Annotated[bool | None, Query(description="Only hosts that are behind the service, or are not.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Answer[AgentVersions]:
    """Which releases of the agent are in use, during a rolling upgrade and after it; retired hosts do not count."""
    view = reads.read(version=version, outdated=outdated, limit=limit, cursor=cursor)
    return answer(request, AgentVersions, view)
