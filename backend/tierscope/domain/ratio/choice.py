"""The class of a service by what memory limits it, and the smallest DRAM share that keeps its loss target."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from tierscope.domain.slowdown.posterior import ShareOnSlow

ServiceClass = Literal["latency", "bandwidth", "mixed", "insensitive"]

RATIOS: tuple[tuple[str, float], ...] = (
    ("8:1", 8 / 9),
    ("4:1", 4 / 5),
    ("2:1", 2 / 3),
    ("1:1", 1 / 2),
    ("1:2", 1 / 3),
    ("1:4", 1 / 5),
)
"""DRAM:CXL and the share of DRAM in the total."""
SWEEP: tuple[float, ...] = tuple(round(0.15 + 0.01 * step, 2) for step in range(81))
"""DRAM shares of the continuous sweep."""
HEADROOM = 0.02
"""Part of DRAM kept free for demotion and growth [A]."""
HOT_MARGIN = 1.1
BANDWIDTH_UTILISATION = 0.70
LATENCY_UTILISATION = 0.50
LOADED_RATIO = 1.5
INSENSITIVE_LOSS = 0.01
COVERAGE_MIN = 0.8
GAPS_MAX = 0.10
JACCARD_MIN = 0.4
STALLS_MAX = 0.30
STRICT_LOSS = 0.01
WEEK_DAYS = 7.0


def classify_service(
    *, dram_utilisation_p95: float, loaded_over_idle: float, upper_loss_at_even: float
) -> ServiceClass:
    """What limits the service. Utilisation is of achievable bandwidth; the loss is the upper one at 1:1.

    Saturating early is not by itself evidence of being bound by bandwidth: the loaded latency must have risen too.
    """
    if dram_utilisation_p95 >= BANDWIDTH_UTILISATION and loaded_over_idle >= LOADED_RATIO:
        return "bandwidth"
    if dram_utilisation_p95 < LATENCY_UTILISATION:
        return "insensitive" if upper_loss_at_even <= INSENSITIVE_LOSS else "latency"
    return "mixed"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One DRAM share with its losses. `share` is monotone: no smaller DRAM share has a smaller one.

    `holds_hot` None where the bytes are not known, `bandwidth_loss` None where bandwidth is not.
    """

    name: str
    dram_share: float
    share: ShareOnSlow
    loss_median: float
    loss_upper: float
    holds_hot: bool | None
    bandwidth_loss: float | None

    @property
    def bandwidth_ok(self) -> bool | None:
        """Whether both tiers deliver the demand; None where that is not known."""
        return None if self.bandwidth_loss is None else self.bandwidth_loss <= 0.0

    def faults(self, loss_target: float, *, stressed: bool) -> tuple[str, ...]:
        """Why it is not kept; empty where it keeps the target and, unless that is given up, holds the hot bytes."""
        reasons = (
            (
                self.loss_upper > loss_target,
                f"a loss of up to {self.loss_upper:.1%} cannot be ruled out; {loss_target:.1%} is wanted",
            ),
            (self.bandwidth_ok is False, "the two tiers together do not deliver the bandwidth at this share"),
            (
                self.holds_hot is False and not stressed,
                f"DRAM would hold less than {HOT_MARGIN} times the memory that is hot within 2 minutes",
            ),
        )
        return tuple(text for applies, text in reasons if applies)


@dataclass(frozen=True, slots=True)
class Choice:
    """All candidates from most DRAM to least, and the smallest that is kept; None means all DRAM."""

    candidates: tuple[Candidate, ...]
    chosen: Candidate | None


@dataclass(frozen=True, slots=True)
class Demand:
    """What the choice must keep. Bytes are of one host, None where not known.

    `loss_target`: largest loss wanted, margin already taken off. `stressed`: accept less DRAM than 1.1 times the hot
    bytes. `bandwidth_loss`: loss by bandwidth alone at a share of accesses on slow memory, None where not known.
    """

    loss_target: float
    required_bytes: float | None
    hot_bytes: float | None
    stressed: bool = False
    bandwidth_loss: Callable[[float], float | None] = lambda _share: None

    def holds_hot(self, dram_share: float) -> bool | None:
        """Whether DRAM of this share holds the hot bytes with the margin."""
        if self.required_bytes is None or self.hot_bytes is None:
            return None
        return dram_share * self.required_bytes >= HOT_MARGIN * self.hot_bytes


Placement = Callable[[float], ShareOnSlow]
"""Share of accesses on slow memory at a DRAM share: by best static placement, later by a simulated policy."""


class Slowdown(Protocol):
    """Losses at a share of accesses on slow memory."""

    def loss_median(self, share: ShareOnSlow) -> float:
        """The median loss."""

    def loss_upper(self, share: ShareOnSlow) -> float:
        """The loss that is not exceeded at the level of the answer."""


def judge(
    shares: Sequence[tuple[str, float]], placement: Placement, belief: Slowdown, demand: Demand
) -> tuple[Candidate, ...]:
    """Judge names and DRAM shares of the total, from most DRAM to least (headroom is taken off by `placement`)."""
    ordered = sorted(shares, key=lambda named: -named[1])
    found = [placement(share) for _, share in ordered]
    values, los, his = (
        np.maximum.accumulate([getattr(share, name) for share in found]).tolist() for name in ("value", "lo", "hi")
    )
    candidates = []
    for i, (name, dram_share) in enumerate(ordered):
        share = ShareOnSlow(values[i], los[i], his[i], found[i].level)
        by_bandwidth = demand.bandwidth_loss(share.value)
        candidates.append(
            Candidate(
                name=name,
                dram_share=dram_share,
                share=share,
                loss_median=max(belief.loss_median(share), by_bandwidth or 0.0),
                loss_upper=max(belief.loss_upper(share), by_bandwidth or 0.0),
                holds_hot=demand.holds_hot(dram_share),
                bandwidth_loss=by_bandwidth,
            )
        )
    return tuple(candidates)


def choose(shares: Sequence[tuple[str, float]], placement: Placement, belief: Slowdown, demand: Demand) -> Choice:
    """Pick the smallest DRAM share whose upper loss keeps the target."""
    candidates = judge(shares, placement, belief, demand)
    kept = [candidate for candidate in candidates if not candidate.faults(demand.loss_target, stressed=demand.stressed)]
    return Choice(candidates, kept[-1] if kept else None)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about a service when its ratio is asked for. None = not measured.

    `heat_missing`: what its heat and page samples lack for a claim about the service.
    """

    heat_missing: tuple[str, ...]
    coverage: float | None
    gaps_ratio: float
    jaccard: float | None
    memory_stall_share: float | None
    bandwidth_known: bool
    rho_measured: bool
    one_sku: bool
    days: float


def refusals(evidence: Evidence, *, loss_target: float) -> tuple[str, ...]:
    """Why no ratio can be advised; each reason says what is missing. Empty when there is enough."""
    reasons = [
        *((True, missing) for missing in evidence.heat_missing),
        (
            evidence.coverage is not None and evidence.coverage < COVERAGE_MIN,
            f"samples cover less than {COVERAGE_MIN:.0%} of the traffic",
        ),
        (evidence.gaps_ratio > GAPS_MAX, f"more than {GAPS_MAX:.0%} of the intervals are missing"),
        (
            evidence.jaccard is not None and evidence.jaccard < JACCARD_MIN,
            "the hot set moves too much: its overlap is below 0.4",
        ),
        (
            not evidence.bandwidth_known
            and evidence.memory_stall_share is not None
            and evidence.memory_stall_share > STALLS_MAX,
            "processors stall on memory and the service's bandwidth is not measured",
        ),
        (
            not evidence.rho_measured and loss_target <= STRICT_LOSS,
            "a loss target of 1 % or less needs the measured latencies of both tiers: run `tierscope-agent bench`",
        ),
        (not evidence.one_sku, "the hosts differ in hardware: choose one kind of host"),
        (evidence.days < WEEK_DAYS, "less than a full week was observed"),
    ]
    return tuple(reason for applies, reason in reasons if applies)
