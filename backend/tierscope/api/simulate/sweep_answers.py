"""The shapes of answers about sweeps."""

from typing import Literal

from pydantic import Field

from tierscope.api.base.figures import Model

Status = Literal["queued", "running", "done", "failed", "cancelled"]
Simulated = Literal["simulated"]


class HeatBand(Model):
    """A band of pages of one kind, in order of first use."""

    label: str
    kind: Literal["anon", "file", "tmpfs"]
    pages: int


class SweepHeat(Model):
    """Heat of the trace: log2 of 1 + accesses by band and column; null where no page of the band was there."""

    sweep_id: str
    origin: Simulated
    rows: list[HeatBand]
    interval: list[int] = Field(description="The first interval of each column, from 0.")
    accesses: list[list[float | None]]
    log2: Literal[True]
    host_name: str | None = Field(description="The host that is shown, of several.")
    reason: str | None = Field(description="Why there is none yet.")
