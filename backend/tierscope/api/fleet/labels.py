"""Labels of hosts set in the service."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from tierscope.api.base.answers import answer
from tierscope.api.base.bodies import read_body
from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.fleet.labels import Labels

LabelSource = Literal["join_token", "service", "agent", "kubernetes"]


class HiddenLabel(Model):
    """What a weaker source says of a label."""

    source: LabelSource
    value: str


class HostLabel(Model):
    """A label in force, with its source. `hidden`: what weaker sources say."""

    key: str
    value: str
    source: LabelSource
    hidden: list[HiddenLabel]


class HostLabels(Model):
    """The labels of a host. `set_labels`: those that were set in the service, whatever is in force."""

    host_id: str
    name: str
    labels: list[HostLabel]
    set_labels: dict[str, str]


class LabelsRequest(Model):
    """The labels that are set in the service from now on; none of before stays."""

    labels: dict[str, str] = Field(max_length=64)


class LabelChange(Model):
    """A host whose labels in force change."""

    host_id: str
    name: str
    before: dict[str, str]
    after: dict[str, str]


class LabelProblem(Model):
    """A row that was left out, or something to know of it; the header is row 1, row 0 the file as a whole."""

    row: int
    message: str


class LabelUpload(Model):
    """What a file changed, or would change. `unknown`: hosts that nobody knows."""

    dry_run: bool
    rows: int
    changed: list[LabelChange]
    unknown: list[str]
    problems: list[LabelProblem]


router = APIRouter(prefix="/v1/hosts", tags=["hosts"])
Stored = Annotated[Labels, Depends(use(lambda held: held.labels))]
Writer = Annotated[Caller, Depends(requires("write:labels"))]


@router.get(
    "/{host_id}/labels",
    response_model=HostLabels,
    dependencies=[Depends(requires("read:fleet"))],
    summary="Labels of a host with their sources",
)
def read_host_labels(request: Request, labels: Stored, host_id: str) -> Response:
    """Of the same label the strongest source counts: join token, service, agent, kubernetes."""
    return answer(request, HostLabels, labels.read(host_id))


@router.put("/{host_id}/labels", summary="Set labels of a host")
def set_host_labels(labels: Stored, host_id: str, body: LabelsRequest, caller: Writer) -> HostLabels:
    """Replace the labels that are set in the service; those of the agent and of its cluster stay beneath."""
    view = labels.replace(host_id, dict(body.labels), actor=caller.name)
    return HostLabels.model_validate(view, from_attributes=True)


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
    done = labels.upload(body, dry_run=dry_run, actor=caller.name)
    return LabelUpload.model_validate(done, from_attributes=True)
