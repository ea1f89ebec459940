"""What an answer about the DRAM:CXL ratio holds; attributes are those of the API's models."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Grade, Origin, Window
from tierscope.domain.knobs.policy import PolicyFrom
from tierscope.domain.ratio import Answer, Constraint, RatioGrade
from tierscope.domain.ratio.parts import PartName

Doubt = Literal["slowdown", "latency", "share_on_slow", "placement", "hours", "days", "hosts"]
StepName = Literal["page_samples", "replay", "ab_test", "bench", "bandwidth", "hosts", "time", "gaps", "coverage"]


@dataclass(frozen=True, slots=True)
class NamedFigure:
    """A figure with the name of what it tells."""

    metric: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class ServiceClass:
    """What limits the service; `name` None where that is not known, and why."""

    name: Annotated[Literal["latency", "bandwidth", "mixed", "insensitive"] | None, Described("Null: not known.")]
    grade: Annotated[
        Grade | None,
        Described("`good` by a bench under load, `partial` without, `early` where ends or hosts differ; null: none."),
    ]
    why: str
    microsecond_service: Annotated[bool | None, Described("Whether p99 latency is below 1 ms; null: not collected.")]
    figures: tuple[NamedFigure, ...]


@dataclass(frozen=True, slots=True)
class RatioCandidate:
    """One DRAM:CXL ratio, judged. Bytes are those of one host, the median one."""

    name: Annotated[str, Described("DRAM:CXL, such as `2:1`.")]
    dram_ratio: Annotated[float, Described("DRAM's share of the total.")]
    dram_bytes: float | None
    slow_bytes: float | None
    share_on_slow: Annotated[Figure, Described("Share of memory accesses that slow memory serves.")]
    share_on_slow_best_static: Annotated[
        Figure | None, Described("The same with the densest pages in DRAM, beside a simulated placement; else null.")
    ]
    loss_median: Figure
    loss_upper: Annotated[Figure, Described("Loss of throughput that is not exceeded, one-sided 95 %.")]
    holds_hot: Annotated[bool | None, Described("Whether DRAM holds 1.1 times the hot bytes; null: not known.")]
    bandwidth_ok: Annotated[bool | None, Described("Whether both tiers deliver the demand; null: not measured.")]
    kept: Annotated[bool, Described("Whether it keeps the target with 95 % confidence.")]
    why_not: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RatioSweep:
    """Losses over all DRAM shares; lower and upper ones hold with the level of the answer, each by itself."""

    dram_ratio: tuple[float, ...]
    share_on_slow: tuple[float, ...]
    loss_lower: tuple[float, ...]
    loss_median: tuple[float, ...]
    loss_upper: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RatioPosterior:
    """Belief about the slowdown at the share `at_share` of accesses on slow memory: mean and variance of ln a."""

    mean_ln_a: float
    variance: float
    exponent: Annotated[float, Described("The mean of both lines.")]
    linear_weight: Annotated[float, Described("How likely the exponent 1 is against 1.5, 0..1.")]
    rho: Annotated[float, Described("Loaded latency of slow memory over that of DRAM.")]
    at_share: float
    level: float
    points_used: int
    formula: str


@dataclass(frozen=True, slots=True)
class RatioPoint:
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


@dataclass(frozen=True, slots=True)
class RatioAssumption:
    """What was taken to be so and not measured; `grounding` as of figures."""

    name: str
    value: float | str
    unit: str
    grounding: str
    why: str


@dataclass(frozen=True, slots=True)
class RatioSensitivity:
    """Which ratio would be chosen at both ends of an assumption's range; None = all DRAM."""

    name: str
    low: float
    high: float
    chosen_low: str | None
    chosen_high: str | None


@dataclass(frozen=True, slots=True)
class RatioEnds:
    """Between which DRAM shares the ratio lies that keeps the target. Names are those of candidates; null: all DRAM.

    `safe` keeps it with 95 % confidence, `likely` with even odds; below `plausible` it is broken with 95 % confidence.
    """

    safe: str | None
    likely: str | None
    plausible: str | None
    safe_dram_ratio: float
    likely_dram_ratio: float
    plausible_dram_ratio: float


@dataclass(frozen=True, slots=True)
class RatioPart:
    """A part of the DRAM that the answer names, of one host."""

    name: PartName
    bytes: Annotated[float | None, Described("Null: not measured. Negative: memory that may be on slow memory.")]
    lo_bytes: Annotated[float | None, Described("Null: without an interval.")]
    hi_bytes: float | None
    why: Annotated[str, Described("Where it is from, or why it is not measured.")]


@dataclass(frozen=True, slots=True)
class RatioParts:
    """What the DRAM of the advised ratio, else of the likeliest one, is made of; the parts add up to `dram_bytes`.

    `lo_bytes` and `hi_bytes` are the DRAM of the plausible and of the safe end.
    """

    name: Annotated[str, Described("The ratio, such as `2:1`.")]
    dram_ratio: float
    dram_bytes: float
    lo_bytes: float
    hi_bytes: float
    lo_name: str
    hi_name: str
    parts: tuple[RatioPart, ...]
    days: Annotated[float, Described("Days of page samples so far.")]
    days_needed: float
    established_at: Annotated[
        datetime | None, Described("When samples have lasted long enough to establish it; null where it is.")
    ]


@dataclass(frozen=True, slots=True)
class RatioNarrowing:
    """Between which DRAM shares the answer would lie after a step alone, if it finds what is expected today."""

    plausible_dram_ratio: float
    safe_dram_ratio: float
    narrowed_ratio: Annotated[float, Described("Part of the width of today that goes away; negative: it widens.")]


@dataclass(frozen=True, slots=True)
class RatioStep:
    """Something that firms the answer up, and when it can have done so."""

    what: Annotated[StepName, Described("`page_samples` turns a refusal into an answer.")]
    text: str
    command: Annotated[str | None, Described("To run; null where waiting is enough.")]
    by: Annotated[datetime | None, Described("When it is there at the earliest; null: when you do it.")]
    raises_to: Annotated[RatioGrade | None, Described("The grade that it is needed for; null: it narrows the answer.")]
    narrows: Annotated[RatioNarrowing | None, Described("Null: what it finds cannot be foretold.")] = None


@dataclass(frozen=True, slots=True)
class RatioUncertainty:
    """A source of doubt about the loss at the likeliest ratio: its part of the variance of ln odds."""

    source: Annotated[Doubt, Described("`hours`, `days` and `hosts` are those that were not seen.")]
    variance_ratio: float
    why: str


@dataclass(frozen=True, slots=True)
class RatioOfKind:
    """The answer for one kind of host. Sizes in bytes, null where inventories do not say; `chosen` null: none."""

    cpu_model: str | None
    dram_bytes: float | None
    slow_bytes: float | None
    n_hosts: int
    headline: Annotated[
        bool,
        Described("Whether the whole answer is of this kind: of those with page samples the one with the most hosts."),
    ]
    answer: Answer
    grade: RatioGrade | None
    sentence: str
    chosen: str | None
    range: RatioEnds | None


@dataclass(frozen=True, slots=True)
class RatioLeadingFigures:
    """The two figures people act on."""

    hot_outside_dram_bytes: Figure
    cold_in_dram_bytes: Figure


@dataclass(frozen=True, slots=True)
class Subtracted:
    """Memory that no tier move can change; `bytes` None where that is not known."""

    what: str
    bytes: float | None
    why: str


@dataclass(frozen=True, slots=True)
class InterleaveWeights:
    """Weights DRAM:CXL that suit the bandwidth of both, and the factor that a bound service could gain."""

    dram_weight: int
    slow_weight: int
    share_on_slow: float
    gain_bound: Annotated[float, Described("Most that a bandwidth-bound service could gain, as a factor.")]


@dataclass(frozen=True, slots=True)
class RatioPlacement:
    """Which placement the shares are of: `best_static`, or `simulated:<policy>` with the best static one `beside`.

    `chosen_beside`: the ratio that would be advised with that one, None for none.
    """

    source: Annotated[str, Described("`best_static`, or `simulated:<policy>`: sampled pages replayed.")]
    why: str
    made_at: Annotated[datetime | None, Described("When the replay was made.")]
    n_hosts: int
    beside: Annotated[str | None, Described("`best_static` where the placement is a simulated one.")]
    chosen_beside: Annotated[str | None, Described("The ratio that would be advised with that one; null = none.")]
    policy: Annotated[str | None, Described("Name of the replayed policy; null where none was replayed.")] = None
    policy_from: Annotated[
        PolicyFrom | None,
        Described("`configured` by the hosts' settings, `asked` for by the caller, `assumed` by default; null: none."),
    ] = None


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio of DRAM to CXL memory that keeps a target, and what that rests on."""

    service_id: str
    origin: Origin
    window: Window
    sentence: str
    service_class: ServiceClass
    loss_target: float
    hold_hot: bool
    growth: float
    headroom_ratio: float
    answer: Answer
    grade: Annotated[RatioGrade | None, Described("By days and hosts of page samples; null where refused.")]
    scope: Annotated[str, Described("What was seen, and what was not.")]
    refused: Annotated[tuple[str, ...], Described("Why nothing can be said; empty unless refused.")]
    range: Annotated[RatioEnds | None, Described("Null where refused.")]
    dram_needed: Annotated[
        Figure | None,
        Described(
            "Smallest share of the memory in DRAM that keeps the target, sold or not, in steps of 1 %: at even odds, "
            "and from the plausible to the safe end. Null where refused."
        ),
    ]
    parts: Annotated[
        RatioParts | None, Described("Of the DRAM that is named; null where none is, or the memory is not known.")
    ]
    binding: Annotated[tuple[Constraint, ...], Described("What keeps the next smaller DRAM share from being safe.")]
    uncertainty: Annotated[tuple[RatioUncertainty, ...], Described("The greatest first; empty where refused.")]
    next_steps: Annotated[
        tuple[RatioStep, ...],
        Described("What would firm the answer up; what cannot be foretold first, then the widest narrowing."),
    ]
    kinds: Annotated[
        tuple[RatioOfKind, ...],
        Described("Of each kind of host, the one with the most hosts first.", as_of="inventory"),
    ]
    placement: Annotated[RatioPlacement | None, Described("Null where there are no page samples.")]
    chosen: Annotated[RatioCandidate | None, Described("Null unless `answer` is `ratio`.")]
    candidates: Annotated[tuple[RatioCandidate, ...], Described("From most DRAM to least; empty where refused.")]
    sweep: RatioSweep | None
    posterior: RatioPosterior | None
    points: Annotated[tuple[RatioPoint, ...], Described("Own measurements of the service.", as_of="now")]
    evidence: tuple[NamedFigure, ...]
    assumptions: tuple[RatioAssumption, ...]
    sensitivity: tuple[RatioSensitivity, ...]
    leading: RatioLeadingFigures
    subtracted: tuple[Subtracted, ...]
    interleave: InterleaveWeights | None
    alternatives: Annotated[tuple[str, ...], Described("Names of other ratios that keep the target.")]
    expires_at: datetime | None
    notes: tuple[str, ...]
