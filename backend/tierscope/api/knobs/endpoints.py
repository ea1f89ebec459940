"""Knob advice: which settings of a host to change, why, what to expect, and how to take it back."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from tierscope.api.base.answers import From, To, answer
from tierscope.api.base.figures import Figure, Model, Window
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Origin
from tierscope.usecases.knobs.reads import KnobReads


class KnobChange(Model):
    """One setting of the kernel, as it stands and as it is proposed."""

    path: str
    current: str
    proposed: str
    rollback: str = Field(description="The value that takes the change back: the one that was read.")


class KnobEvidence(Model):
    """One number that made the rule fire."""

    metric: str
    value: float
    unit: str
    figure: Figure | None = Field(description="Null where it is no figure of a window, such as the bits of a setting.")


class KnobFiles(Model):
    """The changes as files, built from known settings and checked values alone; null where a form does not apply."""

    sysctl: str | None = Field(description="For /etc/sysctl.d.")
    tmpfiles: str | None = Field(description="For /etc/tmpfiles.d.")
    systemd: str | None = Field(description="A unit for settings in debugfs.")
    ansible: str
    commands: str
    rollback_commands: str


class KnobAdvice(Model):
    """One piece of advice. Nothing is changed on a host by this service."""

    rule: str = Field(description="F1 to F12 of docs/method/knobs.md, or `limits` or `capacity`: no kernel settings.")
    title: str
    changes: list[KnobChange]
    evidence: list[KnobEvidence]
    effect: str
    effect_figure: Figure | None = Field(description="The expected effect where a number can be stood behind.")
    risk: str
    verify: str
    note: str | None
    files: KnobFiles
    advice_id: str | None = Field(description="The stored card of this advice.")


class WaitingAdvice(Model):
    """Advice that holds only once an earlier piece is in force."""

    advice: KnobAdvice
    why: str


class UnknownRule(Model):
    """A rule that could not be judged, and what it lacks."""

    rule: str
    missing: list[str]


class KnobLeadingFigures(Model):
    """The two figures that people act on."""

    hot_outside_dram_bytes: Figure
    cold_in_dram_bytes: Figure


class SubtractedMemory(Model):
    """Memory that no setting moves."""

    what: str
    bytes: float | None
    why: str


class KnobState(Model):
    """A setting beside those of hosts that run the same services on the same kernel."""

    path: str
    current: str | None
    group_norm: str | None = Field(description="What more than half of the group has.")
    group_hosts: int
    differs: bool | None


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
