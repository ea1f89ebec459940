"""The class of a service by what memory limits it, and which DRAM shares surely or likely keep its loss target."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from tierscope.domain.slowdown.posterior import ShareOnSlow

ServiceClass = Literal["latency", "bandwidth", "mixed", "insensitive"]
Constraint = Literal["loss", "bandwidth", "hot_bytes"]
Answer = Literal["ratio", "range", "all_dram", "refused"]
"""One ratio; between which ratios; no ratio keeps the target; no data says anything."""

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
STALLS_MAX = 0.30
"""Share of cycles waiting for memory up to which bandwidth does not limit a service."""


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
class Fault:
    """A constraint that a ratio breaks, or that cannot be checked, in words."""

    constraint: Constraint
    text: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """One DRAM share with its losses. `share` is monotone: no smaller DRAM share has a smaller one.

    `holds_hot` None where the bytes are not known, `bandwidth_loss` None where bandwidth is not.
    """

    name: str
    dram_share: float
    share: ShareOnSlow
    loss_lower: float
    loss_median: float
    loss_upper: float
    holds_hot: bool | None
    bandwidth_loss: float | None

    @property
    def bandwidth_ok(self) -> bool | None:
        """Whether both tiers deliver the demand; None where that is not known."""
        return None if self.bandwidth_loss is None else self.bandwidth_loss <= 0.0

    def faults(self, demand: "Demand") -> tuple[Fault, ...]:
        """Why it is not surely kept; empty where it is. What was not measured holds no rule that was asked for."""
        target = demand.loss_target
        reasons = (
            (
                self.loss_upper > target,
                Fault("loss", f"a loss of up to {self.loss_upper:.1%} cannot be ruled out; {target:.1%} is wanted"),
            ),
            (
                self.bandwidth_ok is False,
                Fault("bandwidth", "the two tiers together do not deliver the bandwidth at this share"),
            ),
            (
                demand.hold_hot and self.holds_hot is False,
                Fault("hot_bytes", f"DRAM would hold less than {HOT_MARGIN} times the memory hot within 2 minutes"),
            ),
            (
                demand.hold_hot and self.holds_hot is None,
                Fault("hot_bytes", "how much memory is hot within 2 minutes is not measured"),
            ),
        )
        return tuple(fault for applies, fault in reasons if applies)

    def may_keep(self, demand: "Demand", loss: float) -> bool:
        """Whether it is kept where this loss is the true one."""
        held = not demand.hold_hot or self.holds_hot is not False
        return loss <= demand.loss_target and self.bandwidth_ok is not False and held


@dataclass(frozen=True, slots=True)
class Choice:
    """All candidates from most DRAM to least, and the smallest that is kept surely, likely, and perhaps.

    None means all DRAM. `binding`: what keeps the next smaller one than the safe one from being safe too; empty where
    the smallest of all is safe.
    """

    candidates: tuple[Candidate, ...]
    safe: Candidate | None
    likely: Candidate | None
    plausible: Candidate | None
    binding: tuple[Constraint, ...]

    @property
    def dram_shares(self) -> tuple[float, float, float]:
        """Of the safe, the likely and the plausible one; 1 is all DRAM."""
        safe, likely, plausible = (
            1.0 if end is None else end.dram_share for end in (self.safe, self.likely, self.plausible)
        )
        return safe, likely, plausible


@dataclass(frozen=True, slots=True)
class Demand:
    """What the choice must keep. Bytes are of one host, None where not known.

    `loss_target`: largest loss wanted, margin already taken off. `hold_hot`: DRAM must hold 1.1 times the hot bytes.
    `bandwidth_loss`: loss by bandwidth alone at a share of accesses on slow memory, None where not known.
    """

    loss_target: float
    required_bytes: float | None
    hot_bytes: float | None
    hold_hot: bool = False
    bandwidth_loss: Callable[[float], float | None] = lambda _share: None

    def holds_hot(self, dram_share: float) -> bool | None:
        """Whether DRAM of this share holds the hot bytes with the margin."""
        if self.required_bytes is None or self.hot_bytes is None:
            return None
        return dram_share * self.required_bytes >= HOT_MARGIN * self.hot_bytes


Placement = Callable[[float], ShareOnSlow]
"""Share of accesses on slow memory at a DRAM share: of a simulated policy, or bounds from the best static placement."""


class Slowdown(Protocol):
    """Losses at a share of accesses on slow memory."""

    def loss_lower(self, share: ShareOnSlow) -> float:
        """The loss that is exceeded at the level of the answer."""

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
        least, median, most = belief.loss_lower(share), belief.loss_median(share), belief.loss_upper(share)
        candidates.append(
            Candidate(
                name=name,
                dram_share=dram_share,
                share=share,
                loss_lower=max(min(least, median), by_bandwidth or 0.0),
                loss_median=max(median, by_bandwidth or 0.0),
                loss_upper=max(most, median, by_bandwidth or 0.0),
                holds_hot=demand.holds_hot(dram_share),
                bandwidth_loss=by_bandwidth,
            )
        )
    return tuple(candidates)


def choose(shares: Sequence[tuple[str, float]], placement: Placement, belief: Slowdown, demand: Demand) -> Choice:
    """The smallest DRAM shares whose upper, median and lower loss keep the target."""
    return choose_among(judge(shares, placement, belief, demand), demand)


def choose_among(candidates: tuple[Candidate, ...], demand: Demand) -> Choice:
    """The same of candidates that are judged already."""
    safe = [candidate for candidate in candidates if not candidate.faults(demand)]
    place = candidates.index(safe[-1]) + 1 if safe else 0
    after = candidates[place] if place < len(candidates) else None
    return Choice(
        candidates=candidates,
        safe=safe[-1] if safe else None,
        likely=_smallest(candidates, demand, "loss_median"),
        plausible=_smallest(candidates, demand, "loss_lower"),
        binding=() if after is None else tuple(dict.fromkeys(fault.constraint for fault in after.faults(demand))),
    )


def _smallest(candidates: Sequence[Candidate], demand: Demand, loss: str) -> Candidate | None:
    """The smallest DRAM share that is kept if this loss is the true one."""
    kept = [candidate for candidate in candidates if candidate.may_keep(demand, getattr(candidate, loss))]
    return kept[-1] if kept else None


def settle(choice: Choice, *, replayed: bool, measured: bool, bandwidth_checked: bool) -> Answer:
    """What may be said: one ratio, or a range.

    One ratio needs a replayed placement (a static one gives bounds), a measurement of the service's own loss, and that
    bandwidth was checked. All DRAM is the answer where not even the lower loss of any ratio keeps the target.
    """
    if choice.plausible is None:
        return "all_dram"
    if replayed and measured and bandwidth_checked:
        return "all_dram" if choice.safe is None else "ratio"
    return "range"
