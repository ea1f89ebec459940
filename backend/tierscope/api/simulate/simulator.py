"""The placement-policy simulator: policies, what can be replayed, and uploaded page traces."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.concurrency import run_in_threadpool

from tierscope.api.base.answers import Answer, answer
from tierscope.api.base.bodies import spooled_body
from tierscope.api.base.limited import COSTLY
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.simulate.service_workload import ServiceWorkload, ServiceWorkloadReads
from tierscope.usecases.simulate.sources import SimulatorReads
from tierscope.usecases.simulate.swap_devices import SwapDeviceReads, SwapDevices
from tierscope.usecases.simulate.uploads import TraceUploads
from tierscope.usecases.simulate.views import (
    SimulatorPolicies,
    SimulatorSources,
    TraceUpload,
)

router = APIRouter(prefix="/v1/simulator", tags=["simulator"])

Reads = Annotated[SimulatorReads, Depends(use(lambda held: held.simulator))]
Uploads = Annotated[TraceUploads, Depends(use(lambda held: held.trace_uploads))]
SwapModel = Annotated[SwapDeviceReads, Depends(use(lambda held: held.swap_devices))]
Stand = Annotated[ServiceWorkloadReads, Depends(use(lambda held: held.service_workloads))]
Writer = Annotated[Caller, Depends(requires("write:sweeps"))]
_READ = [Depends(requires("read:fleet"))]


@router.get("/policies", dependencies=_READ, summary="Policies and settings")
def list_policies(request: Request, reads: Reads) -> Answer[SimulatorPolicies]:
    """Placement policies with their settings, defaults and where these come from."""
    return answer(request, SimulatorPolicies, reads.policies())


@router.get("/sources", dependencies=[*_READ, COSTLY], summary="What can be replayed")
def list_sources(request: Request, reads: Reads) -> Answer[SimulatorSources]:
    """Services with page samples, synthetic workloads and uploaded traces."""
    return answer(request, SimulatorSources, reads.sources())


@router.get(
    "/services/{service_id}/workload",
    dependencies=[*_READ, COSTLY],
    summary="The workload that a service stands for",
)
def read_service_workload(request: Request, reads: Stand, service_id: str) -> Answer[ServiceWorkload]:
    """What the paper of a simulated service's workload measured, beside what comes out; null of any other."""
    return answer(request, ServiceWorkload, reads.service(service_id))


@router.get("/swap-devices", dependencies=_READ, summary="Swap devices against their use")
@tabular("points")
def list_swap_devices(
    request: Request,
    devices: SwapModel,
    load: Annotated[Literal["read_mostly", "mixed", "write_heavy"], Query()] = "mixed",
) -> Answer[SwapDevices]:
    """Write amplification, throughput and times of swap-in of simulated swap devices, by use, under one load."""
    return answer(request, SwapDevices, devices.curves(load))


@router.post(
    "/uploads",
    status_code=201,
    summary="Upload a page trace",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def upload_trace(
    request: Request,
    uploads: Uploads,
    caller: Writer,
    name: Annotated[str, Query(min_length=1, max_length=200)],
) -> Answer[TraceUpload]:
    """Store a page trace (Parquet, at most 64 MiB). A bad one is refused, and the row named."""
    async with spooled_body(request) as file:
        view = await run_in_threadpool(uploads.create, name, file, actor=caller.name)
    return answer(request, TraceUpload, view, status_code=201)


@router.delete("/uploads/{upload_id}", status_code=204, summary="Remove an uploaded trace")
def delete_upload(uploads: Uploads, caller: Writer, upload_id: str) -> None:
    """Remove a trace that no sweep replays."""
    uploads.delete(upload_id, actor=caller.name)
