"""Releases of agents side by side."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response

from tierscope.api.base.answers import Cursor, Limit, answer
from tierscope.api.base.figures import Model, Page
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.usecases.fleet.agent_versions import AgentVersions as AgentVersionReads

Standing = Literal["current", "behind", "too_old", "ahead", "unknown"]


class _Release(Model):
    version: str | None
    last_seen: datetime | None
    standing: Standing
    supported: bool
    protocol: int | None


class AgentVersion(_Release):
    """A release in use. Version null: hosts that have sent nothing yet.

    `behind` is supported; `too_old`, `ahead` (newer than the service) and `unknown` are not. `hosts` is a count now.
    """

    hosts: int
    first_seen: datetime | None


class HostAgentVersion(_Release):
    """The release of one host's agent.

    `refused_at`: when its newest batch was refused because the service cannot read its `protocol`; it keeps its spool.
    """

    host_id: str
    name: str
    since: datetime | None
    outdated: bool
    refused_at: datetime | None


class AgentVersions(Model):
    """Releases in use, newest first, and hosts by name. `protocol`: what this service reads."""

    service_version: str
    protocol: int
    oldest_supported: str | None
    refused_hosts: int
    versions: list[AgentVersion]
    hosts: Page[HostAgentVersion]


router = APIRouter(prefix="/v1/agents", tags=["agents"])


@router.get(
    "/versions",
    response_model=AgentVersions,
    dependencies=[Depends(requires("read:agents"))],
    summary="Releases of agents side by side",
)
def read_agent_versions(
    request: Request,
    reads: Annotated[AgentVersionReads, Depends(use(lambda held: held.agent_versions))],
    version: Annotated[str | None, Query(max_length=64, description="Only hosts of this release.")] = None,
    outdated: Annotated[bool | None, Query(description="Only hosts that are behind the service, or are not.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Which releases of the agent are in use, during a rolling upgrade and after it; retired hosts do not count."""
    view = reads.read(version=version, outdated=outdated, limit=limit, cursor=cursor)
    return answer(request, AgentVersions, view)
