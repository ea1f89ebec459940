"""Advice cards: what was advised to whom, the most at stake first, and what people decided."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field

from tierscope.api.base.answers import Answer, Cursor, Limit, Tags, answer
from tierscope.api.base.figures import Model
from tierscope.api.base.ownership import in_path
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.pages import Page
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.knobs.advice import Advice, AdviceCard, AdviceDetail, Decision, Kind, Status


class DecisionRequest(Model):
    """What was decided; `open` takes a decision back."""

    decision: Decision
    note: str = Field(default="", max_length=500)


router = APIRouter(prefix="/v1/advice", tags=["advice"])


Cards = Annotated[Advice, Depends(use(lambda held: held.advice))]


@router.get(
    "",
    dependencies=[Depends(requires("read:fleet"))],
    summary="Advice, the most at stake first",
)
@tabular("items")
def list_advice(
    request: Request,
    cards: Cards,
    kind: Kind | None = None,
    status: Annotated[Status | None, Query(description="Default: all but those that are gone.")] = None,
    service: Annotated[str | None, Query(description="Service id: its own advice, and that to its hosts.")] = None,
    host: Annotated[str | None, Query(description="Host id.")] = None,
    tags: Tags = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Answer[Page[AdviceCard]]:
    """List cards. Identical knob advice to hosts of one service reads as one card."""
    page = cards.list(kind=kind, status=status, service=service, host=host, tags=tags or [], limit=limit, cursor=cursor)
    return answer(request, Page[AdviceCard], page)


@router.get(
    "/{advice_id}",
    dependencies=[Depends(requires("read:fleet"))],
    summary="One card with what it rests on",
)
def read_advice(request: Request, cards: Cards, advice_id: str) -> Answer[AdviceDetail]:
    """Open a card."""
    return answer(request, AdviceDetail, cards.read(advice_id))


@router.post("/{advice_id}/decision", summary="Adopt or dismiss advice")
def decide_advice(
    request: Request,
    cards: Cards,
    advice_id: str,
    body: DecisionRequest,
    caller: Annotated[Caller, Depends(requires("write:advice", owned=in_path("advice", "advice_id")))],
) -> Answer[AdviceDetail]:
    """Record a decision, on all hosts of the card. It stays until what the card says changes materially."""
    return answer(request, AdviceDetail, cards.decide(advice_id, body.decision, note=body.note, actor=caller.name))
