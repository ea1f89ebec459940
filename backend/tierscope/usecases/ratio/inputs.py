"""What an answer about a ratio is made from, and what is asked of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tierscope.domain.base.figures import Figure, Origin, Window
from tierscope.domain.ratio import (
    HEADROOM,
    RATIOS,
    SWEEP,
    Candidate,
    Choice,
    Demand,
    Placement,
    choose_among,
    judge,
    total_sd,
    unseen_sd,
)
from tierscope.domain.ratio.memory import HostKind
from tierscope.domain.slowdown import EXPONENTS, Belief, Device, LoadedBelief, Point, bandwidth_loss, believe
from tierscope.storage.slowdown.points import SlowdownPointItem
from tierscope.usecases.curve.pages import NoCurve
from tierscope.usecases.ratio.hardware import HardwareFacts
from tierscope.usecases.ratio.heat import HeatFacts
from tierscope.usecases.ratio.placement import PlacementFacts

_GIGA = 1e9


@dataclass(frozen=True, slots=True)
class RatioInputs:
    """What is known of a service on its `n_hosts` hosts of one kind.

    `judged`: candidates by what they were judged under, filled as they are: losses are the same whatever the target is.
    """

    service_id: str
    origin: Origin
    window: Window
    kind: HostKind
    n_hosts: int
    heat: HeatFacts
    jaccard: Figure
    hardware: HardwareFacts
    placement: PlacementFacts | NoCurve
    points: tuple[SlowdownPointItem, ...]
    latency: Figure
    judged: dict[str, tuple[Candidate, ...]] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class RatioQuery:
    """What the caller wants: largest loss, whether DRAM must hold the hot bytes, growth that DRAM must bear.

    `device`: the slow memory to judge; None for that of the hosts.
    """

    loss_target: float
    hold_hot: bool
    growth: float
    device: Device | None = None

    @property
    def headroom(self) -> float:
        """Share of DRAM that is kept free: for demotion, and for growth."""
        return 1.0 - (1.0 - HEADROOM) / (1.0 + self.growth)


@dataclass(frozen=True, slots=True)
class Case:
    """The parts of one judgement: change one of them and choose again. `rho` is assumed unless `rho_measured`.

    `points` are the owner's; `predicted` is what the hosts' memory stalls say of slow memory alone, None where nobody
    counts them. `reads_per_cpu_s`: lines read for each second of processor time on DRAM alone; None where not counted.
    """

    known: RatioInputs
    asked: RatioQuery
    placement: PlacementFacts
    points: tuple[Point, ...]
    predicted: Point | None
    rho: float
    rho_measured: bool
    reads_per_cpu_s: float | None = None
    exponents: tuple[float, ...] = EXPONENTS

    @property
    def belief(self) -> Belief:
        """What is believed of the slowdown."""
        points = self.points if self.predicted is None else (*self.points, self.predicted)
        device = self.asked.device
        return believe(
            self.rho,
            log_sd=0.0 if device is None else device.log_sd,
            points=points,
            exponents=self.exponents,
            measured=self.rho_measured or device is not None,
        )

    @property
    def slowdown(self) -> LoadedBelief:
        """The same under the load that the hosts have, as far as it is known."""
        memory, demand = self.known.hardware.memory, self.known.hardware.demand.value
        gb_per_s = None if demand is None else demand / _GIGA
        return LoadedBelief(self.belief, self.rho, memory.dram, memory.slow, gb_per_s, self.reads_per_cpu_s)

    @property
    def at(self) -> Placement:
        """Share on slow memory by DRAM share, widened for what was not seen."""
        return self.placement.for_ratio(self.asked.headroom)

    @property
    def demand(self) -> Demand:
        """What the choice must keep."""
        return Demand(
            loss_target=self.asked.loss_target,
            required_bytes=self.known.heat.required.value,
            hot_bytes=self.known.heat.hot.value,
            hold_hot=self.asked.hold_hot,
            bandwidth_loss=self._bandwidth_loss,
        )

    def choose(self) -> Choice:
        """The choice among ratios."""
        return self._choose("ratios", RATIOS)

    def choose_share(self) -> Choice:
        """The choice among all DRAM shares of the sweep."""
        return self._choose("sweep", [(f"{share:.2f}", share) for share in SWEEP])

    def _choose(self, name: str, shares: Sequence[tuple[str, float]]) -> Choice:
        placement, asked = self.placement, self.asked
        under: tuple[Any, ...] = (name, placement.source, placement.are_bounds, total_sd(unseen_sd(placement.seen)))
        under += (asked.growth, asked.device, self.points, self.predicted, self.rho, self.rho_measured, self.exponents)
        key, demand = repr(under), self.demand
        found = self.known.judged.get(key)
        if found is None:
            found = self.known.judged[key] = judge(shares, self.at, self.slowdown, demand)
        return choose_among(found, demand)

    def grown(self, growth: float) -> "Case":
        """The same with another growth."""
        return replace(self, asked=replace(self.asked, growth=growth))

    def _bandwidth_loss(self, share: float) -> float | None:
        memory, demand = self.known.hardware.memory, self.known.hardware.demand.value
        if memory.dram is None or memory.slow is None or demand is None:
            return None
        return bandwidth_loss(memory.dram.bandwidth_gb_per_s, memory.slow.bandwidth_gb_per_s, demand / _GIGA, share)
