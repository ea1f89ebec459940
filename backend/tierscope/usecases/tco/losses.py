"""Where the loss of a host is from, and what memory its work needs: stated, advised for a service, or simulated."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from tierscope.core import generations
from tierscope.core.cache import StoredCache
from tierscope.core.errors import BadRequest, NotFound
from tierscope.domain.base.figures import Figure
from tierscope.domain.simulate import (
    WORKLOAD_SEED,
    WORKLOADS,
    Costs,
    PolicyName,
    estimate_loss,
    find_workload,
    make_policy,
    make_workload,
    replay,
    split_machine,
)
from tierscope.domain.simulate import Loss as SimulatedLoss
from tierscope.domain.slowdown import device_presets
from tierscope.domain.tco.scenario import GIB, HIGHEST_LOSS, UPPER_QUANTILE, LogOdds, Loss, Range
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import service_named
from tierscope.usecases.ratio.answers import Ratio, RatioSweep
from tierscope.usecases.ratio.reads import RatioReads
from tierscope.usecases.simulate.reads import SweepReads
from tierscope.usecases.simulate.views import SweepRun
from tierscope.usecases.slowdown.devices import find_device, settings_of
from tierscope.usecases.tco.answers import LossSource, MemoryFit, MemoryNeed, MissingInput, Spread
from tierscope.usecases.tco.scenario_documents import (
    HostDocument,
    NumberLoss,
    NumberNeed,
    ScenarioDocument,
    ServiceLoss,
    SweepLoss,
    WorkloadLoss,
)

HOT_HEADROOM = 1.1
"""DRAM is to hold so many times the hot bytes, as ratio advice has it."""
ADVICE_SECONDS = 300.0
"""How long advice that was read is used again: sliders ask many times a second, and advice changes by the day."""
MOST_KEPT = 64
SHARE_TOLERANCE = 0.02
"""DRAM shares of a run and of a host that differ by no more are taken to be the same."""
LEAST_LOSS = 1e-6
"""Smaller lower bounds are taken as this one: none at all has no logarithm."""
_ALL_DRAM = 1.0
_LOSS_TARGET = 0.05


@dataclass(frozen=True, slots=True)
class FoundLoss:
    """A loss with where it is from."""

    loss: Loss
    view: LossSource


class ServiceFacts:
    """What the installation knows: ratio advice of services (kept for some minutes), and runs of sweeps."""

    def __init__(self, context: ReadContext, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._context = context
        self._kept: StoredCache[tuple[str, str | None], Ratio] = StoredCache(
            MOST_KEPT, lifetime_seconds=ADVICE_SECONDS, clock=monotonic
        )

    def run(self, sweep_id: str, run_id: str) -> SweepRun:
        """A finished run of a sweep.

        Raises:
            NotFound: there is no such sweep, or no such run is finished.
        """
        return SweepReads(self._context).run(sweep_id, run_id)

    def know(self, view: Ratio) -> None:
        """Take the advice of a service that was just made."""
        self._kept.put((view.service_id, None), view, generation=generations.current())

    def advice(self, service: str, device: str | None = None) -> Ratio:
        """The advice with its sweep over DRAM shares, beside `device` in place of the slow memory of its hosts.

        Raises:
            NotFound: there is no such service.
            BadRequest: there is no such device.
        """
        kept = self._kept.get((service, device))
        if kept is not None:
            return kept
        generation = generations.current()
        beside = find_device(device)
        found = service_named(self._context.database, service)
        view = RatioReads(self._context).service(
            found, loss_target=_LOSS_TARGET, hold_hot=False, growth=0.0, from_=None, to=None, device=beside
        )
        self._kept.put((service, device), view, generation=generation)
        return view


def find_loss(path: str, host: HostDocument, facts: ServiceFacts | None) -> FoundLoss | MissingInput:
    """The loss of a host. `facts` None where there is no database to ask."""
    if isinstance(host.loss, NumberLoss):
        return _stated(host.loss)
    if isinstance(host.loss, WorkloadLoss):
        return _replayed(path, host, host.loss)
    if facts is None:
        why = "it is to come from what the service knows, and there is no database here"
        return _missing(path, host, why, "State it as a number.")
    if isinstance(host.loss, ServiceLoss):
        return _advised(path, host, host.loss, facts)
    return _simulated(path, host, host.loss, facts)


def _stated(loss: NumberLoss) -> FoundLoss:
    low = loss.value if loss.low is None else loss.low
    high = loss.value if loss.high is None else loss.high
    spread: Spread = "certain" if low == high else "triangular"
    view = LossSource("number", loss.value, low, high, spread, "stated in the scenario", simulated=False)
    return FoundLoss(Range(loss.value, low, high), view)


def _advised(path: str, host: HostDocument, asked: ServiceLoss, facts: ServiceFacts) -> FoundLoss | MissingInput:
    share = dram_share(host) if asked.dram_ratio is None else asked.dram_ratio
    if share >= _ALL_DRAM:
        view = LossSource("service", 0.0, 0.0, 0.0, "certain", "all memory is DRAM: nothing is lost", simulated=False)
        return FoundLoss(Range.exactly(0.0), view)
    try:
        advice = facts.advice(asked.service, asked.device)
    except (NotFound, BadRequest) as error:
        return _missing(path, host, error.detail, error.next_step)
    if advice.sweep is None:
        why = f"no advice for {asked.service}: {'; '.join(advice.refused)}"
        return _missing(path, host, why, f"{advice.next_steps[0].text} Or state the loss as a number.")
    shares = advice.sweep.dram_ratio
    if not min(shares) <= share <= max(shares):
        why = f"advice reaches from {min(shares):.0%} to {max(shares):.0%} of the memory in DRAM, not {share:.1%}"
        return _missing(path, host, why, "State the loss as a number, or another DRAM share.")
    loss = advised_loss(advice.sweep, share)
    source = (
        f"{advice.grade} ratio advice for {asked.service} at {share:.1%} of the memory in DRAM,"
        f" posterior of the loss{_beside(asked.device)}"
    )
    spread: Spread = "log_normal_odds" if isinstance(loss, LogOdds) and not loss.is_certain else "certain"
    simulated = advice.origin == "simulated"
    return FoundLoss(loss, LossSource("service", loss.value, loss.low, loss.high, spread, source, simulated=simulated))


def _simulated(path: str, host: HostDocument, asked: SweepLoss, facts: ServiceFacts) -> FoundLoss | MissingInput:
    try:
        run = facts.run(asked.sweep_id, asked.run_id)
    except NotFound as error:
        return _missing(path, host, error.detail, error.next_step)
    if run.loss.value is None:
        why = f"the run has no loss: {run.loss.reason}"
        return _missing(path, host, why, "Take another run, or state the loss as a number.")
    upper = run.loss.value if run.loss.interval is None else run.loss.interval.hi
    source = f"simulated: {run.label} with {run.dram_ratio:.0%} of the memory in DRAM, a run of sweep {asked.sweep_id}"
    if abs(run.dram_ratio - dram_share(host)) > SHARE_TOLERANCE:
        source += f"; this host has {dram_share(host):.0%} of its memory in DRAM"
    return _of_replay("sweep", run.loss.value, upper, source)


def _replayed(path: str, host: HostDocument, asked: WorkloadLoss) -> FoundLoss | MissingInput:
    share = dram_share(host)
    if share >= _ALL_DRAM:
        return _of_replay("workload", 0.0, 0.0, "all memory is DRAM: nothing is lost")
    try:
        name, policy = find_workload(asked.workload), make_policy(asked.policy).name
        lost = _replay(name, policy, share, asked.device)
    except BadRequest as error:
        return _missing(path, host, error.detail, error.next_step)
    except ValueError as error:
        return _missing(path, host, str(error), "`tierscope simulate --workload list` prints the workloads.")
    except RuntimeError as error:
        return _missing(path, host, str(error), "Run `make simcore`, or state the loss as a number.")
    if lost is None:
        why = f"pages of {name} fault in from swap or disk under {policy}"
        return _missing(path, host, why, "Take a policy without swap, or state the loss as a number.")
    source = f"simulated: {WORKLOADS[name].label} under {policy} with {share:.1%} of the memory in DRAM"
    source += _beside(asked.device)
    return _of_replay("workload", lost.median, lost.median if lost.hi is None else lost.hi, source)


@lru_cache(maxsize=MOST_KEPT)
def _replay(workload: str, policy: PolicyName, dram_ratio: float, device: str | None) -> SimulatedLoss | None:
    """The loss that `tierscope simulate --workload` gives. Kept, for sliders ask many times a second."""
    trace = make_workload(workload, seed=WORKLOAD_SEED)
    machine = split_machine(trace.peak_units, dram_ratio)
    beside = find_device(device)
    return estimate_loss(
        replay(trace, make_policy(policy), machine).totals(), Costs(**({} if beside is None else settings_of(beside)))
    )


def _beside(device: str | None) -> str:
    return "" if device is None else f", slow memory: {device_presets()[device].label}"


def _of_replay(kind: Literal["sweep", "workload"], median: float, upper: float, source: str) -> FoundLoss:
    loss = believed(None, median, upper)
    spread: Spread = "log_normal_odds" if isinstance(loss, LogOdds) and not loss.is_certain else "certain"
    return FoundLoss(loss, LossSource(kind, loss.value, loss.low, loss.high, spread, source, simulated=True))


def advised_loss(sweep: RatioSweep, share: float) -> Loss:
    """What ratio advice believes of the loss at a DRAM share within its sweep."""
    order = np.argsort(sweep.dram_ratio)
    at = np.asarray(sweep.dram_ratio)[order]
    ends = (sweep.loss_lower, sweep.loss_median, sweep.loss_upper)
    lower, median, upper = (float(np.interp(share, at, np.asarray(end)[order])) for end in ends)
    return believed(lower, median, upper)


def believed(lower: float | None, median: float, upper: float) -> Loss:
    """The odds, log-normal on each side of their median, that have these one-sided 95 % bounds.

    Without a lower bound both sides are alike. A loss of zero is certain.
    """
    if not 0.0 < median < HIGHEST_LOSS:
        return Range.exactly(min(max(median, 0.0), HIGHEST_LOSS))
    middle = _log_odds(median)
    above = (_log_odds(min(max(upper, median), HIGHEST_LOSS)) - middle) / UPPER_QUANTILE
    if lower is None:
        return LogOdds(median, above, above)
    least = min(max(lower, LEAST_LOSS), median)
    return LogOdds(median, (middle - _log_odds(least)) / UPPER_QUANTILE, above)


def _log_odds(loss: float) -> float:
    return math.log(loss / (1.0 - loss))


def dram_share(host: HostDocument) -> float:
    """DRAM's share of the memory that instructions can reach."""
    slow = sum(tier.gb for tier in (host.cxl, host.ddr4_reused) if tier)
    return host.dram_gb / (host.dram_gb + slow) if host.dram_gb + slow else _ALL_DRAM


def find_need(document: ScenarioDocument, facts: ServiceFacts | None) -> MemoryNeed | str | None:
    """What the work needs on one host; why that is not known; None where nobody asked."""
    need = document.memory
    if need is None:
        return None
    if isinstance(need, NumberNeed):
        hot = None if need.hot_gb is None else need.hot_gb * GIB
        return MemoryNeed(
            "stated in the scenario",
            _stated_bytes("tco.required_bytes/1", need.required_gb * GIB),
            _stated_bytes("tco.hot_bytes/1", hot),
        )
    if facts is None:
        return f"What {need.service} needs is not known here: there is no database."
    try:
        advice = facts.advice(need.service)
    except NotFound as error:
        return f"{error.detail[0].upper()}{error.detail[1:]}: what it needs is not known."
    figures = {named.metric: named.figure for named in advice.evidence}
    source = f"measured on the median host of {need.service}, 95th percentile over the window"
    return MemoryNeed(source, figures["required_bytes_per_host"], figures["hot_bytes_per_host"])


def judge_fit(memory: MemoryNeed | None, *, memory_gb: float, dram_gb: float) -> MemoryFit | None:
    """Whether a host holds what the work needs."""
    if memory is None:
        return None
    required, hot = memory.required_bytes.value, memory.hot_bytes.value
    return MemoryFit(
        None if required is None else memory_gb * GIB >= required,
        None if hot is None else dram_gb * GIB >= HOT_HEADROOM * hot,
    )


def _stated_bytes(definition: str, value: float | None) -> Figure:
    if value is None:
        return Figure(definition, "not_collected", None, "bytes", reason="the scenario does not say")
    return Figure(definition, "ok", value, "bytes", grounding="owner")


def _missing(path: str, host: HostDocument, why: str, next_step: str) -> MissingInput:
    return MissingInput(f"loss of {host.name}", f"{path}.loss", why, next_step, ())
