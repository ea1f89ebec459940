"""Agents: enrolment, credential rotation and revocation, the host's own settings, the kill switch."""

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from tierscope.api.base.answers import Answer, answer
from tierscope.api.base.callers import bearer_of
from tierscope.api.base.figures import MAX_COUNT, Model
from tierscope.api.base.limited import limit_agent
from tierscope.api.base.permissions import Requirement, requires
from tierscope.api.base.short_ways import JSON_TYPE, ShortAnswer, ShortRequest, Work
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use, use_cases
from tierscope.domain.base.figures import Origin
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.fleet.agent_plans import AgentConfig, AgentPlans, Pause, SwitchAnswer
from tierscope.usecases.fleet.agents import Agents, EnrolAnswer, HostIdentity

router = APIRouter(tags=["agents"])

MAX_JOIN_HOURS = 24 * 30
MAX_SEND_MINUTES = 1440
_MOST_MINUTES = b"x-tierscope-most-send-minutes"
_CACHE = "private, no-cache"
WriteAgents: Requirement = requires("write:agents")


class EnrolRequest(Model):
    """What a new host says of itself. `origin` and labels give way to what the join token fixes."""

    join_token: str = Field(max_length=256)
    hostname: str = Field(min_length=1, max_length=255)
    labels: dict[str, str] = Field(default_factory=dict)
    origin: Origin = "live"


class JoinTokenRequest(Model):
    """How many hosts may join with the token, how long, and what it fixes."""

    uses: int | None = Field(default=1, ge=1, le=MAX_COUNT, description="Null = any number.")
    hours: float = Field(default=24, gt=0, le=MAX_JOIN_HOURS)
    origin: Origin | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    note: str = Field(default="", max_length=200)


class JoinToken(Model):
    """A join token, shown this once."""

    id: str
    token: str
    expires_at: datetime | None


class HeatConfig(Model):
    """Whether this host measures heat, and of which services (`namespace/name`).

    Null = no plan: what the host's own file lists. A host measures only what both name.
    """

    enabled: bool
    services: list[str] | None
    sample_services: list[str] | None


class AgentConfigAnswer(Model):
    """What a host is asked to do. It never names a URL, a path or a command."""

    interval_seconds: int
    send_minutes: int = Field(
        description="Minutes that a batch holds. 1 for an agent that does not say what it would take."
    )
    paused: bool
    heat: HeatConfig
    version: int


class SwitchRequest(Model):
    """Whose agent: one host's, or with null every host's. `heat_only` leaves counters alone."""

    host_id: str | None = Field(max_length=64)
    heat_only: bool = False


async def authenticate(request: Request) -> HostIdentity:
    """Returns which host is sending; asks the database only for a credential not seen in the last seconds."""
    agents = use_cases(request).agents
    bearer = bearer_of(request)
    known = agents.known(bearer) if bearer else None
    host = known if known is not None else await run_in_threadpool(agents.authenticate, bearer)
    limit_agent(request, host.public_id)
    return host


AgentsOf = Annotated[Agents, Depends(use(lambda held: held.agents))]
PlansOf = Annotated[AgentPlans, Depends(use(lambda held: held.agent_plans))]
MostMinutes = Annotated[
    int, Header(ge=1, le=MAX_SEND_MINUTES, description="The longest time between batches that the host takes.")
]
Operator = Annotated[Caller, Depends(requires("operate:agents"))]


@router.post(
    "/v1/agents/enrol", status_code=201, dependencies=[Depends(requires("public"))], summary="Trade a join token"
)
def enrol(body: EnrolRequest, agents: AgentsOf) -> EnrolAnswer:
    """Make a new host: always a new one, whatever its name. The join token is what authorises it."""
    enrolled = agents.enrol(join_token=body.join_token, hostname=body.hostname, labels=body.labels, origin=body.origin)
    return EnrolAnswer(host_id=enrolled.host_id, credential=enrolled.credential)


@router.post("/v1/agents/join-tokens", status_code=201, summary="Make a join token")
def create_join_token(
    body: JoinTokenRequest, request: Request, caller: Annotated[Caller, Depends(WriteAgents)]
) -> JoinToken:
    """Make a token that lets hosts enrol."""
    token = use_cases(request).access.create_join_token(
        uses=body.uses,
        lifetime=timedelta(hours=body.hours),
        origin=body.origin,
        labels=body.labels,
        note=body.note,
        actor=caller.name,
    )
    return JoinToken(id=token.id, token=token.secret, expires_at=token.expires_at)


@router.post("/v1/agents/{host_id}/revoke", status_code=204, summary="End a host's access at once")
def revoke(host_id: str, agents: AgentsOf, caller: Annotated[Caller, Depends(WriteAgents)]) -> None:
    """Revoke a host's credentials. What it sent stays."""
    agents.revoke(host_id, actor=caller.name)


@router.post("/v1/agent/rotate", dependencies=[Depends(requires("agent"))], summary="Get a new credential")
def rotate(request: Request, agents: AgentsOf) -> EnrolAnswer:
    """Give the calling host a new credential; the one it used stays valid for 24 h."""
    enrolled = agents.rotate(bearer_of(request))
    return EnrolAnswer(host_id=enrolled.host_id, credential=enrolled.credential)


@router.get(
    "/v1/agent/config",
    dependencies=[Depends(requires("agent"))],
    summary="The calling host's settings",
)
async def read_config(
    request: Request,
    host: Annotated[HostIdentity, Depends(authenticate)],
    plans: PlansOf,
    x_tierscope_most_send_minutes: MostMinutes = 1,
) -> Answer[AgentConfigAnswer]:
    """What the calling host is asked to do; 304 while it does not change."""
    config = plans.known(host, most_minutes=x_tierscope_most_send_minutes)
    if config is None:
        config = await run_in_threadpool(plans.config, host, most_minutes=x_tierscope_most_send_minutes)
    etag, body = _told(config)
    headers = {"ETag": etag, "Cache-Control": _CACHE}
    if _is_among(etag, request.headers.get("if-none-match", "")):
        return Answer(status_code=304, headers=headers)
    return Answer(body, media_type="application/json", headers=headers)


def short_config(asked: ShortRequest) -> Work | None:
    """The short way of `read_config`, where the settings are in memory."""
    minutes = asked.number(_MOST_MINUTES) if _MOST_MINUTES in asked.heads else 1
    if minutes is None or not 1 <= minutes <= MAX_SEND_MINUTES:
        return None
    config = asked.cases.agent_plans.known(asked.host, most_minutes=minutes)
    if config is None:
        return None
    etag, body = _told(config)
    headers = (b"etag", etag.encode()), (b"cache-control", _CACHE.encode())
    if _is_among(etag, asked.heads.get(b"if-none-match", b"").decode("latin-1")):
        found = ShortAnswer(304, b"", headers)
    else:
        found = ShortAnswer(200, body, (*headers, JSON_TYPE))

    async def work() -> ShortAnswer:
        return found

    return work


def _is_among(etag: str, sent: str) -> bool:
    return etag in {tag.strip().removeprefix("W/") for tag in sent.split(",")}


@lru_cache(maxsize=1024)
def _told(config: AgentConfig) -> tuple[str, bytes]:
    """ETag and JSON of settings: most hosts of a fleet have the same."""
    body = AgentConfigAnswer(
        interval_seconds=config.interval_seconds,
        send_minutes=config.send_minutes,
        paused=config.paused,
        heat=HeatConfig(
            enabled=config.heat_enabled,
            services=_list(config.plan.services),
            sample_services=_list(config.plan.sample_services),
        ),
        version=config.version,
    )
    return config.etag, body.model_dump_json().encode()


@router.post("/v1/agents/pause", summary="The kill switch: stop agents")
def pause(body: SwitchRequest, plans: PlansOf, caller: Operator) -> SwitchAnswer:
    """Ask one agent or all to collect and send nothing, or no heat. They obey at their next look, within minutes."""
    return plans.pause(body.host_id, heat_only=body.heat_only, actor=caller.name)


@router.post("/v1/agents/resume", summary="Let agents go on")
def resume(body: SwitchRequest, plans: PlansOf, caller: Operator) -> SwitchAnswer:
    """End the pauses of one host, or all of them."""
    return plans.resume(body.host_id, heat_only=body.heat_only, actor=caller.name)


@router.get("/v1/agents/pauses", dependencies=[Depends(requires("read:fleet"))], summary="Who is paused, and by whom")
@tabular(quick=True)
def list_pauses(request: Request, plans: PlansOf) -> Answer[list[Pause]]:
    """Pauses that hold, oldest first."""
    return answer(request, list[Pause], plans.pauses())


def _list(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)
