"""Liveness, readiness, and the API's own description."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response

from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.problems import RETRY_SECONDS
from tierscope.api.base.use_cases import use
from tierscope.usecases.operate.readiness import Readiness

router = APIRouter(dependencies=[Depends(requires("public"))], tags=["health"])


class Alive(Model):
    """The process answers."""

    status: Literal["alive"]


class Ready(Model):
    """Whether the service can take work, and what keeps it from it."""

    ready: bool
    reason: str | None


@router.get("/healthz", summary="The process answers")
async def read_health() -> Alive:
    """Say that the process is alive; it does not look at the database."""
    return Alive(status="alive")


@router.get("/readyz", summary="The service can take work", responses={503: {"model": Ready}})
def read_readiness(
    response: Response, readiness: Annotated[Readiness, Depends(use(lambda held: held.readiness))]
) -> Ready:
    """Say whether the database answers and has this release's schema."""
    reason = readiness.obstacle()
    if reason is not None:
        response.status_code = 503
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return Ready(ready=reason is None, reason=reason)


@router.get("/openapi.json", include_in_schema=False)
def read_openapi(request: Request) -> Response:
    """The description of this API."""
    return Response(request.app.document(), media_type="application/json")
