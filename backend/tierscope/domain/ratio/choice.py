"""The class of a service by what memory limits it, and the smallest DRAM share that keeps its loss target."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tierscope.domain.ratio.slowdown import Posterior

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
    """One DRAM share with its losses. `share_on_cxl` is monotone: no smaller DRAM share has a smaller one."""

    name: str
    dram_share: float
    share_on_cxl: float
    loss_median: float
    loss_upper: float
    holds_hot: bool
    bandwidth_ok: bool

    def is_kept(self, loss_target: float, *, stressed: bool) -> bool:
        """Whether it keeps the target, and, unless stressed memory is accepted, holds the hot bytes."""
        return self.loss_upper <= loss_target and self.bandwidth_ok and (stressed or self.holds_hot)


@dataclass(frozen=True, slots=True)
class Choice:
    """All candidates from most DRAM to least, and the smallest that is kept; None means all DRAM."""

    candidates: tuple[Candidate, ...]
    chosen: Candidate | None


def choose(
    shares: Sequence[tuple[str, float]],
    share_on_cxl: Callable[[float], float],
    posterior: Posterior,
    *,
    loss_target: float,
    required_bytes: float,
    hot_bytes: float,
    stressed: bool = False,
    bandwidth_ok: Callable[[float], bool] = lambda _share: True,
) -> Choice:
    """Pick the smallest DRAM share whose upper loss keeps the target.

    Args:
        shares: names and DRAM shares of the total to judge.
        share_on_cxl: share of accesses that CXL serves at a DRAM share (headroom taken off by the caller).
        posterior: belief about the slowdown.
        loss_target: largest loss wanted, margin already taken off.
        required_bytes: total memory needed (p95 forecast).
        hot_bytes: p95 of bytes active in 2 minutes; tier `safe` wants 1.1 times as much DRAM.
        stressed: accept less DRAM than the hot bytes.
        bandwidth_ok: whether both tiers deliver the demand at a share of accesses on CXL.
    """
    ordered = sorted(shares, key=lambda named: -named[1])
    on_cxl = np.maximum.accumulate([share_on_cxl(share) for _, share in ordered])
    candidates = tuple(
        Candidate(
            name=name,
            dram_share=share,
            share_on_cxl=float(served),
            loss_median=posterior.loss_median(float(served)),
            loss_upper=posterior.loss_upper(float(served)),
            holds_hot=share * required_bytes >= HOT_MARGIN * hot_bytes,
            bandwidth_ok=bandwidth_ok(float(served)),
        )
        for (name, share), served in zip(ordered, on_cxl, strict=True)
    )
    kept = [candidate for candidate in candidates if candidate.is_kept(loss_target, stressed=stressed)]
    return Choice(candidates, kept[-1] if kept else None)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about a service when its ratio is asked for. None = not measured."""

    enough_heat: bool
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
        (not evidence.enough_heat, "too little heat was measured for a claim about the service"),
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
