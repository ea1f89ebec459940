"""Knob advice: which settings of a host to change, why, what to expect, and how to take it back."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from tierscope.api.base.answers import Answer, From, To, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.knobs.reads import HostKnobAdvice, KnobReads

router = APIRouter(prefix="/v1/hosts/{host_id}", tags=["knobs"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[KnobReads, Depends(use(lambda held: held.knobs))]


@router.get("/knob-advice", summary="Which settings of a host to change, and why")
@tabular("advice", "knobs", "waiting", "unknown")
def read_knob_advice(
    request: Request, reads: Reads, host_id: str, from_: From = None, to: To = None
) -> Answer[HostKnobAdvice]:
    """Advice on settings that the host has, with evidence, effect, risk, rollback and files to apply."""
    return answer(request, HostKnobAdvice, reads.host(host_id, from_=from_, to=to))
