"""DRAM:CXL ratio advice of a service, with everything it rests on."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from tierscope.api.base.answers import From, To, answer
from tierscope.api.base.figures import Figure, Model, Window
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Origin
from tierscope.usecases.ratio.reads import RatioReads


class NamedFigure(Model):
    """A figure with the name of what it tells."""

    metric: str
    figure: Figure


class ServiceClass(Model):
    """What limits the service."""

    name: Literal["latency", "bandwidth", "mixed", "insensitive"] | None = Field(description="Null: not known.")
    why: str
    microsecond_service: bool | None = Field(description="Whether p99 latency is below 1 ms; null: not collected.")
    figures: list[NamedFigure]


class RatioCandidate(Model):
    """One DRAM:CXL ratio, judged. Bytes are those of one host, the median one."""

    name: str = Field(description="DRAM:CXL, such as `2:1`.")
    dram_ratio: float = Field(description="DRAM's share of the total.")
    dram_bytes: float | None
    slow_bytes: float | None
    share_on_slow: Figure = Field(description="Share of memory accesses that slow memory serves.")
    share_on_slow_best_static: Figure | None = Field(
        description="The same with the densest pages in DRAM, beside a simulated placement; else null."
    )
    loss_median: Figure
    loss_upper: Figure = Field(description="Loss of throughput that is not exceeded, one-sided 95 %.")
    holds_hot: bool | None = Field(description="Whether DRAM holds 1.1 times the hot bytes; null: not known.")
    bandwidth_ok: bool | None = Field(description="Whether both tiers deliver the demand; null: not measured.")
    kept: bool
    why_not: list[str]


class RatioSweep(Model):
    """Losses over all DRAM shares."""

    dram_ratio: list[float]
    share_on_slow: list[float]
    loss_median: list[float]
    loss_upper: list[float]


class RatioPosterior(Model):
    """Belief about the slowdown at one share of accesses on slow memory: ln a is normal."""

    mean_ln_a: float
    variance: float
    exponent: float
    rho: float = Field(description="Loaded latency of slow memory over that of DRAM.")
    at_share: float
    level: float
    points_used: int
    formula: str


class RatioPoint(Model):
    """A measurement of the owner: loss at a share of accesses on slow memory."""

    id: str | None
    source: Literal["ab_test", "prediction"]
    share_on_slow: float
    loss: float
    loss_standard_error: float
    used: bool
    why_not: str | None
    measured_at: datetime
    author: str
    note: str


class RatioAssumption(Model):
    """What was taken to be so and not measured."""

    name: str
    value: float | str
    unit: str
    grounding: str
    why: str


class RatioSensitivity(Model):
    """Which ratio would be chosen at both ends of an assumption's range; null = all DRAM."""

    name: str
    low: float
    high: float
    chosen_low: str | None
    chosen_high: str | None


class RatioLeadingFigures(Model):
    """The two figures people act on."""

    hot_outside_dram_bytes: Figure
    cold_in_dram_bytes: Figure


class Subtracted(Model):
    """Memory that no tier move can change."""

    what: str
    bytes: float | None
    why: str


class InterleaveWeights(Model):
    """Weights DRAM:CXL that suit the bandwidth of both."""

    dram_weight: int
    slow_weight: int
    share_on_slow: float
    gain_bound: float = Field(description="Most that a bandwidth-bound service could gain, as a factor.")


class RatioPlacement(Model):
    """Which placement the shares are of."""

    source: str = Field(description="`best_static`, or `simulated:<policy>`: sampled pages replayed.")
    why: str
    made_at: datetime | None = Field(description="When the replay was made.")
    n_hosts: int
    beside: str | None = Field(description="`best_static` where the placement is a simulated one.")
    chosen_beside: str | None = Field(description="The ratio that would be advised with that one; null = none.")


class Ratio(Model):
    """Answer of /v1/services/{id}/ratio."""

    service_id: str
    origin: Origin
    window: Window
    sentence: str
    service_class: ServiceClass
    loss_target: float
    stressed: bool
    growth: float
    headroom_ratio: float
    answer: Literal["ratio", "all_dram", "refused"]
    refused: list[str] = Field(description="Why no ratio is advised; each says what is missing.")
    placement: RatioPlacement | None = Field(description="Null where there are no page samples.")
    chosen: RatioCandidate | None
    candidates: list[RatioCandidate] = Field(description="From most DRAM to least; empty where refused.")
    sweep: RatioSweep | None
    posterior: RatioPosterior | None
    points: list[RatioPoint]
    evidence: list[NamedFigure]
    assumptions: list[RatioAssumption]
    sensitivity: list[RatioSensitivity]
    leading: RatioLeadingFigures
    subtracted: list[Subtracted]
    interleave: InterleaveWeights | None
    alternatives: list[str] = Field(description="Names of other ratios that keep the target.")
    expires_at: datetime | None
    notes: list[str]


router = APIRouter(
    prefix="/v1/services/{service_id}/ratio", tags=["ratio"], dependencies=[Depends(requires("read:fleet"))]
)

Reads = Annotated[RatioReads, Depends(use(lambda held: held.ratio))]


@router.get("", response_model=Ratio, summary="How small DRAM can be at a stated loss")
def read_ratio(
    request: Request,
    reads: Reads,
    service_id: str,
    loss_target: Annotated[float, Query(gt=0, le=0.5, description="Largest loss of throughput wanted.")] = 0.05,
    stressed: Annotated[bool, Query(description="Accept less DRAM than the hot bytes.")] = False,  # noqa: FBT002 - a query
    growth: Annotated[float, Query(ge=0, le=0.5, description="Growth of memory that DRAM must bear.")] = 0.0,
    from_: From = None,
    to: To = None,
) -> Response:
    """Judge every DRAM:CXL ratio and advise the smallest one that keeps the target; a week of data is read at least."""
    view = reads.service(service_id, loss_target=loss_target, stressed=stressed, growth=growth, from_=from_, to=to)
    return answer(request, Ratio, view)
