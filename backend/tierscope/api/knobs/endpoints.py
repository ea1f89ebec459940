"""Knob advice: which settings of a host to change, why, what to expect, and how to take it back."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from tierscope.api.base.answers import From, To, answer
from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Figure, Origin, Window
from tierscope.usecases.knobs.answers import KnobAdvice, UnknownRule, WaitingAdvice
from tierscope.usecases.knobs.groups import KnobState
from tierscope.usecases.knobs.reads import KnobReads


class KnobLeadingFigures(Model):
    """The two figures that people act on."""

    hot_outside_dram_bytes: Figure
    cold_in_dram_bytes: Figure


class SubtractedMemory(Model):
    """Memory that no setting moves."""

    what: str
    bytes: float | None
    why: str


class HostKnobAdvice(Model):
    """Answer of /v1/hosts/{id}/knob-advice."""

    host_id: str
    origin: Origin
    window: Window
    verdict: str
    explanation: str
    leading: KnobLeadingFigures
    subtracted: list[SubtractedMemory]
    advice: list[KnobAdvice] = Field(description="In the order in which to try them, one at a time.")
    waiting: list[WaitingAdvice]
    nothing_to_do: KnobAdvice | None
    unknown: list[UnknownRule]
    knobs: list[KnobState]
    notes: list[str]


router = APIRouter(prefix="/v1/hosts/{host_id}", tags=["knobs"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[KnobReads, Depends(use(lambda held: held.knobs))]


@router.get("/knob-advice", response_model=HostKnobAdvice, summary="Which settings of a host to change, and why")
def read_knob_advice(request: Request, reads: Reads, host_id: str, from_: From = None, to: To = None) -> Response:
    """Advice on settings that the host has, with evidence, effect, risk, rollback and files to apply."""
    return answer(request, HostKnobAdvice, reads.host(host_id, from_=from_, to=to))
