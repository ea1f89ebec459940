"""The arithmetic of one metric of an experiment: means of hosts, placebo, power, effect, and what is said of it."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tierscope.domain.experiments import (
    MIN_CANARY,
    MIN_CONTROL,
    Arm,
    Design,
    Effect,
    HostMeans,
    HostSeries,
    correlate,
    detectable_effect,
    host_means,
    is_positive,
    measure_effect,
    measure_factor,
    no_less_than_nothing,
    on_log_scale,
    planned_hosts_per_arm,
    split_before,
    trends_are_parallel,
)
from tierscope.usecases.experiments.views import Power, Trends

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MIN_HOSTS = 2
BALANCED = 0.25
"""Named arms whose means before the change differ by less than this many standard deviations count as alike."""
MIN_REPORTING = 0.8


@dataclass(frozen=True)
class Comparison:
    """One metric over the hosts of both arms. `canary` [h] marks the rows of the canary hosts.

    `racks` [h] are the hosts' labels of that name, None where they have none. `covariate` [h]: what else changed on the
    hosts in the window, None where nothing did that can be told from the change.
    """

    series: HostSeries
    canary: Bools
    design: Design
    drawn: bool
    seed: int
    racks: tuple[str | None, ...]
    covariate: Floats | None = None

    @property
    def racks_are_arms(self) -> bool:
        """Whether hosts share racks, and no rack has hosts of both arms."""
        arms: dict[str | None, set[bool]] = {}
        for rack, canary in zip(self.racks, self.canary.tolist(), strict=True):
            arms.setdefault(rack, set()).add(canary)
        return None not in arms and len(arms) < len(self.racks) and all(len(found) == 1 for found in arms.values())

    @cached_property
    def means(self) -> HostMeans:
        """Means of hosts before and after."""
        return host_means(self.series, self.design)

    @cached_property
    def halves(self) -> HostMeans:
        """Means of hosts in the two halves of the window before."""
        return host_means(self.series, split_before(self.series, self.design))

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """Canary and control hosts with means before and after."""
        known = self.means.known
        return int((known & self.canary).sum()), int((known & ~self.canary).sum())

    @cached_property
    def adjusted(self) -> bool:
        """Whether the value before is a regressor: arms drawn at random, or alike before the change."""
        if self.drawn:
            return True
        arms = _arms(self.means, self.canary)
        if arms is None:
            return False
        arms = _scaled(arms)
        spread = math.sqrt((float(np.var(arms[0].before)) + float(np.var(arms[1].before))) / 2)
        return spread > 0 and abs(float(arms[0].before.mean() - arms[1].before.mean())) <= BALANCED * spread

    @cached_property
    def effect(self) -> Effect | None:
        """The effect in the metric's unit, as a factor where all is above zero; None where an arm has one host."""
        arms = _arms(self.means, self.canary)
        if arms is None:
            return None
        measure = measure_factor if is_positive(*arms) else measure_effect
        found = measure(*arms, adjusted=self.adjusted, seed=self.seed, covariate=self._covariate_of_arms())
        return found if found.logarithmic else no_less_than_nothing(found, arms[0])

    def _covariate_of_arms(self) -> Floats | None:
        """The covariate of the hosts with both means, those of the canary arm first."""
        if self.covariate is None:
            return None
        known = self.means.known
        return np.concatenate([self.covariate[known & self.canary], self.covariate[known & ~self.canary]])

    @cached_property
    def baseline(self) -> float | None:
        """What the canary hosts would have had without the change, on average."""
        arms = _arms(self.means, self.canary)
        return None if arms is None or self.effect is None else float(arms[0].after.mean()) - self.effect.value

    @cached_property
    def trends(self) -> Trends:
        """The placebo."""
        arms = _arms(self.halves, self.canary)
        if arms is None:
            return Trends(None, None, "There is too little data before the change to compare trends.")
        arms = _scaled(arms)
        effect = measure_effect(*arms, adjusted=self.drawn, seed=self.seed)
        parallel = trends_are_parallel(*arms, drawn=self.drawn, seed=self.seed)
        why = None if parallel else "The arms parted before the change already."
        return Trends(parallel, effect.p_value, why)

    def power(self, margin_ratio: float) -> Power:
        """What arms of these sizes can find, from the spread of hosts before the change."""
        known = self.halves.known
        first, second = self.halves.before[known], self.halves.after[known]
        if len(second) < MIN_HOSTS:
            return Power(None, None, None, "There is too little data before the change.")
        correlation = correlate(first, second)
        sd, level = spread_of(second, self.canary[known]), abs(float(second.mean()))
        sizes = int((known & self.canary).sum()), int((known & ~self.canary).sum())
        if not sd > 0 or level == 0 or min(sizes) == 0:
            return Power(None, None, correlation, "The hosts do not differ, or one arm is empty.")
        needed = planned_hosts_per_arm(sd, margin_ratio * level, correlation=correlation or 0.0)
        found = detectable_effect(sd, *sizes, correlation=correlation or 0.0) / level
        return Power(needed, found, correlation, None)

    def refusal(self) -> str | None:
        """Why no verdict can be given at all; None where one can."""
        canary, control = self.sizes
        if canary < MIN_CANARY:
            return f"{canary} canary hosts have data before and after the change; {MIN_CANARY} are needed."
        if control < MIN_CONTROL:
            return f"{control} control hosts have data before and after the change; {MIN_CONTROL} are needed."
        for name, count, arm in (("canary", canary, self.canary), ("control", control, ~self.canary)):
            if count < MIN_REPORTING * int(arm.sum()):
                return f"Only {count} of {int(arm.sum())} {name} hosts have data: those that are missing may differ."
        if self.racks_are_arms:
            return "The arms are whole racks: what racks have in common cannot be told from the change. Mix them."
        if self.trends.parallel is None:
            return self.trends.why
        if not self.trends.parallel:
            return f"The arms parted before the change already (placebo p = {self.trends.p_value or 0:.3g})."
        return None


def spread_of(values: Floats, canary: Bools) -> float:
    """Standard deviation of hosts about the mean of their arm."""
    inside = [values[canary == arm] for arm in (True, False)]
    squares = sum(float(((part - part.mean()) ** 2).sum()) for part in inside if len(part))
    freedom = len(values) - sum(len(part) > 0 for part in inside)
    return math.sqrt(squares / freedom) if freedom > 0 else 0.0


def _scaled(arms: tuple[Arm, Arm]) -> tuple[Arm, Arm]:
    """Arms on the scale on which they are compared."""
    return (on_log_scale(arms[0]), on_log_scale(arms[1])) if is_positive(*arms) else arms


def _arms(means: HostMeans, canary: Bools) -> tuple[Arm, Arm] | None:
    """Canary and control hosts with both means; None where an arm has fewer than two."""
    picks = [means.known & canary, means.known & ~canary]
    if min(int(pick.sum()) for pick in picks) < MIN_HOSTS:
        return None
    first, second = (Arm(means.before[pick], means.after[pick]) for pick in picks)
    return first, second
