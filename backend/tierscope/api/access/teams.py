"""Teams, and which of them owns which service."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import Field

from tierscope.api.base.answers import Answer, answer
from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use_cases
from tierscope.usecases.access.teams import TeamRef, TeamRequest, TeamRow
from tierscope.usecases.access.tokens import Caller

router = APIRouter(tags=["users"])

Writer = Annotated[Caller, Depends(requires("write:users"))]


class Team(Model):
    """A team."""

    id: str
    name: str
    members: list[str] = Field(description="Ids of users.")
    services: list[str] = Field(description="Ids of services that it owns.")


class OwnerRequest(Model):
    """The team that is to own a service; null = nobody."""

    team_id: str | None


class Owner(Model):
    """Which team owns a service."""

    service_id: str
    owner_team: TeamRef | None


@router.get("/v1/teams", summary="Teams by name")
@tabular(quick=True)
def list_teams(request: Request, caller: Writer) -> Answer[list[Team]]:
    """List all teams with members and services."""
    del caller
    return answer(request, list[Team], [_team(row) for row in use_cases(request).teams.list()])


@router.post("/v1/teams", status_code=201, summary="Make a team")
def create_team(body: TeamRequest, request: Request, caller: Writer) -> Team:
    """Make a team. Its members may see page-level heat of its services and write events, advice and experiments."""
    return _team(use_cases(request).teams.create(body, by=caller))


@router.put("/v1/teams/{team_id}", summary="Change a team")
def update_team(team_id: str, body: TeamRequest, request: Request, caller: Writer) -> Team:
    """Give a team its name, members and services."""
    return _team(use_cases(request).teams.update(team_id, body, by=caller))


@router.delete("/v1/teams/{team_id}", status_code=204, summary="Remove a team")
def delete_team(team_id: str, request: Request, caller: Writer) -> None:
    """Remove a team; its services are owned by nobody then."""
    use_cases(request).teams.delete(team_id, by=caller)


@router.put("/v1/services/{service_id}/owner", summary="Say which team owns a service")
def set_owner(service_id: str, body: OwnerRequest, request: Request, caller: Writer) -> Owner:
    """Give a service to a team, or to nobody."""
    team = use_cases(request).teams.set_owner(service_id, body.team_id, by=caller)
    return Owner(service_id=service_id, owner_team=team)


def _team(row: TeamRow) -> Team:
    return Team(id=row.public_id, name=row.name, members=list(row.members), services=list(row.services))
