"""Labels of hosts set in the service."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field

from tierscope.api.base.answers import Answer, answer
from tierscope.api.base.bodies import read_body
from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.fleet.labels import HostLabels, Labels, LabelUpload


class LabelsRequest(Model):
    """The labels that are set in the service from now on; none of before stays."""

    labels: dict[str, str] = Field(max_length=64)


router = APIRouter(prefix="/v1/hosts", tags=["hosts"])
Stored = Annotated[Labels, Depends(use(lambda held: held.labels))]
Writer = Annotated[Caller, Depends(requires("write:labels"))]


@router.get(
    "/{host_id}/labels",
    dependencies=[Depends(requires("read:fleet"))],
    summary="Labels of a host with their sources",
)
@tabular("labels", quick=True)
def read_host_labels(request: Request, labels: Stored, host_id: str) -> Answer[HostLabels]:
    """Of the same label the strongest source counts: join token, service, agent, kubernetes."""
    return answer(request, HostLabels, labels.read(host_id))


@router.put("/{host_id}/labels", summary="Set labels of a host")
def set_host_labels(labels: Stored, host_id: str, body: LabelsRequest, caller: Writer) -> HostLabels:
    """Replace the labels that are set in the service; those of the agent and of its cluster stay beneath."""
    return labels.replace(host_id, dict(body.labels), actor=caller.name)


@router.post(
    "/labels",
    summary="Set labels of many hosts from a CSV file",
    openapi_extra={"requestBody": {"required": True, "content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def upload_host_labels(
    labels: Stored,
    caller: Writer,
    body: Annotated[bytes, Depends(read_body("text/csv"))],
    dry_run: Annotated[bool, Query(description="Change nothing.")] = False,  # noqa: FBT002 - a query
) -> LabelUpload:
    """A header `host,<label>,…`, then a row per host by id or name. An empty cell leaves a label, `-` takes it away."""
    return labels.upload(body, dry_run=dry_run, actor=caller.name)
