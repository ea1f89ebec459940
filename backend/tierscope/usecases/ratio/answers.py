"""What an answer about the DRAM:CXL ratio holds; attributes are those of the API's models."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tierscope.domain.base.figures import Figure, Window

Answer = Literal["ratio", "all_dram", "refused"]


@dataclass(frozen=True, slots=True)
class NamedFigure:
    """A figure with the name of what it tells."""

    metric: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class ServiceClassView:
    """What limits the service; `name` None where that is not known, and why."""

    name: str | None
    why: str
    microsecond_service: bool | None
    figures: tuple[NamedFigure, ...]


@dataclass(frozen=True, slots=True)
class CandidateView:
    """One DRAM:CXL ratio, judged. Bytes are those of one host, the median one."""

    name: str
    dram_ratio: float
    dram_bytes: float | None
    slow_bytes: float | None
    share_on_slow: Figure
    share_on_slow_best_static: Figure | None
    loss_median: Figure
    loss_upper: Figure
    holds_hot: bool | None
    bandwidth_ok: bool | None
    kept: bool
    why_not: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SweepView:
    """Losses over all DRAM shares; the upper ones hold with the level of the answer."""

    dram_ratio: tuple[float, ...]
    share_on_slow: tuple[float, ...]
    loss_median: tuple[float, ...]
    loss_upper: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PosteriorView:
    """Belief about the slowdown at the share `at_share` of accesses on slow memory: ln a is normal."""

    mean_ln_a: float
    variance: float
    exponent: float
    rho: float
    at_share: float
    level: float
    points_used: int
    formula: str


@dataclass(frozen=True, slots=True)
class PointView:
    """A measurement of the owner. `id` None where it is none of theirs."""

    id: str | None
    source: str
    share_on_slow: float
    loss: float
    loss_standard_error: float
    used: bool
    why_not: str | None
    measured_at: datetime
    author: str
    note: str


@dataclass(frozen=True, slots=True)
class AssumptionView:
    """What was taken to be so and not measured; `grounding` as of figures."""

    name: str
    value: float | str
    unit: str
    grounding: str
    why: str


@dataclass(frozen=True, slots=True)
class SensitivityView:
    """Which ratio would be chosen at both ends of an assumption's range; None = all DRAM."""

    name: str
    low: float
    high: float
    chosen_low: str | None
    chosen_high: str | None


@dataclass(frozen=True, slots=True)
class LeadingView:
    """The two figures people act on."""

    hot_outside_dram_bytes: Figure
    cold_in_dram_bytes: Figure


@dataclass(frozen=True, slots=True)
class SubtractedView:
    """Memory that no tier move can change; `bytes` None where that is not known."""

    what: str
    bytes: float | None
    why: str


@dataclass(frozen=True, slots=True)
class InterleaveView:
    """Weights DRAM:CXL that suit the bandwidth of both, and the factor that a bound service could gain."""

    dram_weight: int
    slow_weight: int
    share_on_slow: float
    gain_bound: float


@dataclass(frozen=True, slots=True)
class PlacementView:
    """Which placement the shares are of: `best_static`, or `simulated:<policy>` with the best static one `beside`.

    `chosen_beside`: the ratio that would be advised with that one, None for none.
    """

    source: str
    why: str
    made_at: datetime | None
    n_hosts: int
    beside: str | None
    chosen_beside: str | None


@dataclass(frozen=True, slots=True)
class RatioView:
    """The answer of the route."""

    service_id: str
    origin: str
    window: Window
    sentence: str
    service_class: ServiceClassView
    loss_target: float
    stressed: bool
    growth: float
    headroom_ratio: float
    answer: Answer
    refused: tuple[str, ...]
    placement: PlacementView | None
    chosen: CandidateView | None
    candidates: tuple[CandidateView, ...]
    sweep: SweepView | None
    posterior: PosteriorView | None
    points: tuple[PointView, ...]
    evidence: tuple[NamedFigure, ...]
    assumptions: tuple[AssumptionView, ...]
    sensitivity: tuple[SensitivityView, ...]
    leading: LeadingView
    subtracted: tuple[SubtractedView, ...]
    interleave: InterleaveView | None
    alternatives: tuple[str, ...]
    expires_at: datetime | None
    notes: tuple[str, ...]
