"""Advice cards: what was advised to whom, the most at stake first, and what people decided."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from tierscope.api.base.answers import Cursor, Limit, answer
from tierscope.api.base.figures import Model, Page
from tierscope.api.base.ownership import in_path
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Origin
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.knobs.advice import Advice

Kind = Literal["ratio", "knob"]
Status = Literal["open", "adopted", "dismissed", "gone"]


class AdviceCard(Model):
    """One piece of advice; identical knob advice to hosts of one service is one card."""

    id: str
    kind: Kind
    key: str = Field(description="`ratio`, or the rule of a knob.")
    title: str
    sentence: str
    host_id: str | None
    service_id: str | None
    subject_name: str
    origin: Origin
    hosts: int = Field(description="Hosts that it concerns.")
    host_ids: list[str]
    advice_ids: list[str] = Field(description="All cards that are shown as this one; a decision on it is one on all.")
    stake_bytes: float | None = Field(description="Hot bytes outside DRAM and cold bytes in DRAM that it concerns.")
    status: Status
    created_at: datetime
    refreshed_at: datetime
    expires_at: datetime
    decided_by: str | None
    decided_at: datetime | None
    note: str | None


class AdviceDetail(AdviceCard):
    """A card that is opened: the answer that it was made from."""

    body: dict[str, Any] = Field(description="The ratio answer, or the knob advice with what it rests on.")


class DecisionRequest(Model):
    """What was decided; `open` takes a decision back."""

    decision: Literal["adopted", "dismissed", "open"]
    note: str = Field(default="", max_length=500)


router = APIRouter(prefix="/v1/advice", tags=["advice"])


Cards = Annotated[Advice, Depends(use(lambda held: held.advice))]


@router.get(
    "",
    response_model=Page[AdviceCard],
    dependencies=[Depends(requires("read:fleet"))],
    summary="Advice, the most at stake first",
)
def list_advice(
    request: Request,
    cards: Cards,
    kind: Kind | None = None,
    status: Annotated[Status | None, Query(description="Default: all but those that are gone.")] = None,
    service: Annotated[str | None, Query(description="Service id: its own advice, and that to its hosts.")] = None,
    host: Annotated[str | None, Query(description="Host id.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """List cards. Identical knob advice to hosts of one service reads as one card."""
    page = cards.list(kind=kind, status=status, service=service, host=host, limit=limit, cursor=cursor)
    return answer(request, Page[AdviceCard], page)


@router.get(
    "/{advice_id}",
    response_model=AdviceDetail,
    dependencies=[Depends(requires("read:fleet"))],
    summary="One card with what it rests on",
)
def read_advice(request: Request, cards: Cards, advice_id: str) -> Response:
    """Open a card."""
    return answer(request, AdviceDetail, cards.read(advice_id))


@router.post("/{advice_id}/decision", response_model=AdviceDetail, summary="Adopt or dismiss advice")
def decide_advice(
    request: Request,
    cards: Cards,
    advice_id: str,
    body: DecisionRequest,
    caller: Annotated[Caller, Depends(requires("write:advice", owned=in_path("advice", "advice_id")))],
) -> Response:
    """Record a decision, on all hosts of the card. It stays until what the card says changes materially."""
    return answer(request, AdviceDetail, cards.decide(advice_id, body.decision, note=body.note, actor=caller.name))
