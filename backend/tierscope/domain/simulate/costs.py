"""What a simulated placement costs: stall time, and the loss of throughput with its interval."""

from dataclasses import dataclass
from typing import Literal

from tierscope.domain.simulate.replay import Totals
from tierscope.domain.slowdown import (
    REFERENCE_RHO,
    SMALLEST_RHO,
    LoadedBelief,
    LoadedLatency,
    ShareOnSlow,
    Tier,
    bandwidth_loss,
    believe,
    loss_of,
)

_DRAM_NS = 100.0


_RATES = ("dram_gb_per_s", "slow_gb_per_s", "demand_gb_per_s")


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of single events [A]: measure them on the target.

    Latencies are those of idle memory; by default the slower tier's is what the published pairs of share and loss stand
    for. `exposed_ratio` (kappa) is the part of the slower tier's extra latency that the processor cannot hide.
    Bandwidths of both tiers and what the service moves with all memory in DRAM: 0 where they are not known, and the
    loss is that of latency alone.
    """

    dram_latency_ns: float = _DRAM_NS
    slow_latency_ns: float = _DRAM_NS * REFERENCE_RHO
    exposed_ratio: float = 0.5
    swap_fault_us: float = 80.0
    hint_fault_us: float = 1.0
    tier_move_us: float = 3.0
    dram_gb_per_s: float = 0.0
    slow_gb_per_s: float = 0.0
    demand_gb_per_s: float = 0.0

    def __post_init__(self) -> None:
        """Refuse costs that cannot be.

        Raises:
            ValueError: names the cost.
        """
        for name in self.__dataclass_fields__:
            if not 0.0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be 0 or more")
        if self.slow_latency_ns < self.dram_latency_ns:
            raise ValueError("slow_latency_ns must be at least dram_latency_ns")
        if 0 < sum(value > 0.0 for value in self._rates) < len(self._rates):
            raise ValueError(f"{', '.join(_RATES)} go together: say all three or none")

    @property
    def _rates(self) -> tuple[float, ...]:
        return tuple(getattr(self, name) for name in _RATES)

    @property
    def slowdown(self) -> LoadedBelief:
        """What is believed of a service without measurements of its own, beside slow memory of this device."""
        rho = max(self.slow_latency_ns / self.dram_latency_ns, SMALLEST_RHO) if self.dram_latency_ns else REFERENCE_RHO
        known = all(value > 0.0 for value in self._rates)
        return LoadedBelief(
            believe(rho),
            rho,
            Tier(self.dram_gb_per_s, LoadedLatency.default(self.dram_latency_ns)) if known else None,
            Tier(self.slow_gb_per_s, LoadedLatency.default(self.slow_latency_ns)) if known else None,
            self.demand_gb_per_s if known else None,
        )

    def lose_by_prior(self, away: ShareOnSlow) -> "Loss":
        """The loss at a share of accesses outside DRAM: by latency, or by bandwidth where that is more."""
        believed, least = self.slowdown, 0.0
        if all(value > 0.0 for value in self._rates):
            least = bandwidth_loss(self.dram_gb_per_s, self.slow_gb_per_s, self.demand_gb_per_s, away.value)
        return Loss(
            max(believed.loss_median(away), least),
            max(believed.loss_lower(away), least),
            max(believed.loss_upper(away), least),
            "prior",
        )

    @property
    def fault_seconds(self) -> float:
        """One fault from swap or disk."""
        return self.swap_fault_us * 1e-6


@dataclass(frozen=True, slots=True)
class Stall:
    """Seconds that the trace's accesses wait beyond DRAM, by cause."""

    slow_accesses_s: float
    faults_s: float
    hint_faults_s: float
    tier_moves_s: float

    @property
    def total_s(self) -> float:
        """All of it."""
        return self.slow_accesses_s + self.faults_s + self.hint_faults_s + self.tier_moves_s


def stall_time(totals: Totals, costs: Costs) -> Stall:
    """Stall of a whole replay. Tier moves are charged to the service, as if no other core did them: an upper bound."""
    extra_ns = (costs.slow_latency_ns - costs.dram_latency_ns) * costs.exposed_ratio
    return Stall(
        slow_accesses_s=totals.slow_accesses * extra_ns * 1e-9,
        faults_s=totals.major_faults * costs.fault_seconds,
        hint_faults_s=totals.hint_faults * costs.hint_fault_us * 1e-6,
        tier_moves_s=(totals.promoted_pages + totals.demoted_pages) * costs.tier_move_us * 1e-6,
    )


@dataclass(frozen=True, slots=True)
class Loss:
    """Loss of throughput against all DRAM.

    `stall`: from the stall time against a known processor time; no interval is claimed, the costs are assumptions.
    `prior`: from the share of accesses outside DRAM by the slowdown model, with its 90 % interval.
    """

    median: float
    lo: float | None
    hi: float | None
    method: Literal["stall", "prior"]


def estimate_loss(
    totals: Totals, costs: Costs, *, cpu_seconds: float | None = None, away: ShareOnSlow | None = None
) -> Loss | None:
    """Loss of a replay. The interval runs from the 5 % to the 95 % quantile.

    `away`: the share outside DRAM with its interval, where not every page was replayed.

    None without accesses, and where pages fault in from swap or disk and the processor time is not known: the slowdown
    model knows accesses to a slower tier, not faults that take a thousand times as long.

    Raises:
        ValueError: the processor time is not above 0.
    """
    if totals.local_ratio is None:
        return None
    if cpu_seconds is not None:
        if cpu_seconds <= 0:
            raise ValueError("the processor time must be above 0 seconds")
        stall = stall_time(totals, costs).total_s
        return Loss(loss_of(stall / cpu_seconds), None, None, "stall")
    if totals.away_accesses:
        return None
    return costs.lose_by_prior(away or ShareOnSlow.exactly(1.0 - totals.local_ratio))
