"""The change plan of a fleet: identical changes, their files, canary hosts, and drift of settings."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, Limit, answer
from tierscope.api.base.limited import COSTLY
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.knobs.canaries import Canaries
from tierscope.usecases.knobs.drift import SettingDrifts
from tierscope.usecases.knobs.plan import ChangePlans
from tierscope.usecases.knobs.plan_answers import CanaryProposal, ChangePlan, PlanBundle, SettingDrift

router = APIRouter(prefix="/v1/advice", tags=["advice"], dependencies=[Depends(requires("read:fleet"))])

Plans = Annotated[ChangePlans, Depends(use(lambda held: held.change_plans))]
Proposals = Annotated[Canaries, Depends(use(lambda held: held.canaries))]
Drifts = Annotated[SettingDrifts, Depends(use(lambda held: held.setting_drifts))]
MAX_IDS = 1000
ChangeIds = Annotated[list[str], Query(alias="change", min_length=1, max_length=MAX_IDS, description="Change ids.")]
HostIds = Annotated[
    list[str], Query(alias="host", default_factory=list, max_length=MAX_IDS, description="Host ids; absent: all.")
]
WithoutIds = Annotated[
    list[str], Query(alias="without_host", default_factory=list, max_length=MAX_IDS, description="Hosts to leave out.")
]


@router.get("/plan", summary="Settings to change in the fleet, by identical change")
@tabular("changes", "conflicts", "left_out")
def read_change_plan(request: Request, plans: Plans) -> Answer[ChangePlan]:
    """Open advice on settings with its hosts and rollback values, the most at stake first. Nothing is applied."""
    return answer(request, ChangePlan, plans.plan())


@router.get("/plan/bundle", dependencies=[COSTLY], summary="Files of some changes: drop-ins, Ansible, rollback")
def read_plan_bundle(
    request: Request, plans: Plans, changes: ChangeIds, hosts: HostIds, without: WithoutIds
) -> Answer[PlanBundle]:
    """Text that people apply themselves: sysctl.d, tmpfiles.d and systemd files, an inventory, playbooks, rollback."""
    return answer(request, PlanBundle, plans.bundle(changes, host_ids=set(hosts), without_host_ids=set(without)))


@router.get("/plan/canaries", dependencies=[COSTLY], summary="Canary and control hosts of a change")
def propose_canaries(
    request: Request,
    proposals: Proposals,
    change: Annotated[str, Query(max_length=200, description="Change id.")],
    service: Annotated[str | None, Query(description="Service id; absent: that with most hosts of the change.")] = None,
    canary_n: Annotated[int | None, Query(ge=1, le=1000, description="Default 5, at most half of the hosts.")] = None,
) -> Answer[CanaryProposal]:
    """Hosts for an experiment with the change, drawn at random among like ones; the same at each call."""
    return answer(request, CanaryProposal, proposals.propose(change, service=service, canary_n=canary_n))


@router.get("/drift", summary="Hosts that are set otherwise than most of their peers")
@tabular("settings", "hosts")
def read_setting_drift(
    request: Request,
    drifts: Drifts,
    service: Annotated[str | None, Query(description="Service id: only its hosts.")] = None,
    limit: Limit = 200,
) -> Answer[SettingDrift]:
    """Hosts by settings. Peers run the same services on the same kernel."""
    return answer(request, SettingDrift, drifts.read(service=service, limit=limit))
