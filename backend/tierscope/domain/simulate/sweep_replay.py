"""One run of a sweep: a policy on a machine of one DRAM share, over the traces of all its hosts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.page_size import MODEL_PAGE_BYTES
from tierscope.domain.curve.page_traces import KINDS
from tierscope.domain.simulate.claims import Claim, claim_replay, join_claims
from tierscope.domain.simulate.costs import Costs, Loss, Stall, estimate_loss, stall_time
from tierscope.domain.simulate.pooling import HostReplay, pool_totals, share_away
from tierscope.domain.simulate.replay import INTERVAL_SECONDS, Outcome, Totals, replay
from tierscope.domain.simulate.sampled import SampledTrace, random_groups
from tierscope.domain.simulate.swap_replay import DeviceUse, play_on_device
from tierscope.domain.simulate.sweep import SweepRun
from tierscope.domain.simulate.trace import compile_trace
from tierscope.domain.slowdown import ShareOnSlow

if TYPE_CHECKING:
    from tierscope_simcore import SimulationTrace

Floats = npt.NDArray[np.float64]

MAX_POINTS = 720
"""Most points of a stored series: intervals in a row become one beyond it."""


@dataclass(frozen=True, slots=True)
class HostTrace:
    """What is replayed of one host; `lead_intervals` come before the trace and count for nothing."""

    trace: "SimulationTrace"
    groups: tuple["SimulationTrace", ...]
    sampled_ratio: float
    unseen_ratio: float
    n_pages: int
    page_bytes: int
    lead_intervals: int

    @classmethod
    def of_sample(cls, sampled: SampledTrace, *, lead_intervals: int) -> "HostTrace":
        """Sampled pages, and random groups of them unless every page is there."""
        parts = random_groups(sampled.columns) if sampled.sampled_ratio < 1.0 else []
        groups = tuple(compile_trace(group) for group in parts if len(group.row_page))
        return cls(
            compile_trace(sampled.columns),
            groups,
            sampled.sampled_ratio,
            sampled.unseen_ratio,
            sampled.n_pages,
            MODEL_PAGE_BYTES,
            lead_intervals,
        )

    @classmethod
    def of_whole(cls, trace: "SimulationTrace", *, page_bytes: int = MODEL_PAGE_BYTES) -> "HostTrace":
        """A trace with every page."""
        return cls(trace, (), 1.0, 0.0, trace.pages, page_bytes, 0)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What all runs of a sweep share. `cpu_seconds`: processor time of all hosts over the trace, None if not known."""

    costs: Costs
    seed: int | None = None
    interval_s: float = INTERVAL_SECONDS
    warm_up_intervals: int = 0
    cpu_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """Figures of a run: those of the mean host, scaled up to all its pages. `away`: share outside DRAM.

    `claim`: what recorded kernels let one claim of it.
    `swap`: the policy's swap device under the traffic of the host that swaps most; None where nothing swaps.
    """

    hosts: tuple[HostReplay, ...]
    totals: Totals
    away: ShareOnSlow | None
    stall: Stall
    loss: Loss | None
    seconds: float
    claim: Claim
    swap: DeviceUse | None = None


def replay_run(
    traces: Sequence[HostTrace], run: SweepRun, conditions: Conditions, *, beat: Callable[[], None] = lambda: None
) -> RunOutcome:
    """Replay a run over all hosts. `beat` is called after each of them, and may raise to give up.

    Raises:
        ValueError: a setting or the machine cannot be, or no interval is left to count.
    """
    hosts = []
    for trace in traces:
        hosts.append(_replay_host(trace, run, conditions))
        beat()
    totals = pool_totals(hosts)
    away = share_away(hosts)
    seconds = float(np.mean([_counted(host) * conditions.interval_s for host in hosts]))
    per_host = conditions.cpu_seconds and conditions.cpu_seconds / len(hosts)
    loss = estimate_loss(totals, conditions.costs, cpu_seconds=per_host, away=away)
    busiest = max(hosts, key=lambda host: host.totals.swapped_out_pages * host.weight)
    swap = play_on_device(busiest.outcome)
    stall = stall_time(totals, conditions.costs)
    claim = join_claims([claim_replay(trace.trace, host.outcome) for trace, host in zip(traces, hosts, strict=True)])
    return RunOutcome(tuple(hosts), totals, away, stall, loss, seconds, claim, swap)


def _counted(host: HostReplay) -> int:
    return len(host.outcome.figures.promoted) - host.first_interval


def _replay_host(trace: HostTrace, run: SweepRun, conditions: Conditions) -> HostReplay:
    first = trace.lead_intervals + conditions.warm_up_intervals
    if first >= trace.trace.intervals:
        raise ValueError(
            f"the trace has {trace.trace.intervals - trace.lead_intervals} intervals; with"
            f" {conditions.warm_up_intervals} of warming up none is left to count"
        )
    outcome = _replay_part(trace.trace, run, conditions, trace.sampled_ratio, trace.page_bytes, with_swap=True)
    part_ratio = trace.sampled_ratio / max(len(trace.groups), 1)
    groups = [
        _replay_part(group, run, conditions, part_ratio, trace.page_bytes).totals(first) for group in trace.groups
    ]
    return HostReplay(
        outcome, outcome.totals(first), tuple(groups), first, trace.sampled_ratio, trace.n_pages, trace.unseen_ratio
    )


def _replay_part(
    trace: "SimulationTrace",
    run: SweepRun,
    conditions: Conditions,
    sampled_ratio: float,
    page_bytes: int,
    *,
    with_swap: bool = False,
) -> Outcome:
    machine = run.make_machine(trace.peak_units, sampled_ratio=sampled_ratio, page_bytes=page_bytes)
    return replay(
        trace,
        run.make_policy(),
        machine,
        interval_s=conditions.interval_s,
        seed=conditions.seed,
        fault_s=conditions.costs.fault_seconds,
        with_swap=with_swap,
    )


def oracle_ratio(traces: Sequence[HostTrace], dram_ratio: float) -> float | None:
    """Share of accesses that DRAM could serve at most, over all hosts; None without accesses."""
    served = every = 0.0
    for host in traces:
        dram = max(round(host.trace.peak_units * dram_ratio), 1)
        served += float(host.trace.oracle(dram).sum()) / host.sampled_ratio
        every += host.trace.accesses / host.sampled_ratio
    return min(served / every, 1.0) if every else None


OTHERS = {
    "ping_pong_pages": "round_trips_long",
    "dram_free_bytes": "dram_free",
    "swap_written_bytes": "swap_written",
    "failed_promotion_pages": "failed_promotions",
}
_BYTES = ("dram_free_bytes", "swap_written_bytes")


def run_series(outcome: RunOutcome, conditions: Conditions) -> dict[str, list[float | None]]:
    """Figures of intervals, of the mean host; intervals in a row are joined where there are too many.

    Pages and bytes of joined intervals are sums; free DRAM is their mean. Shares are None without accesses.
    """
    hosts = outcome.hosts
    leads = [host.first_interval - conditions.warm_up_intervals for host in hosts]
    intervals = max(len(host.outcome.figures.promoted) - lead for host, lead in zip(hosts, leads, strict=True))
    width = -(-intervals // MAX_POINTS)

    def add(pick: Callable[[Outcome], npt.NDArray[np.generic]], *, scaled: bool = True) -> Floats:
        total = np.zeros(-(-intervals // width) * width)
        for host, lead in zip(hosts, leads, strict=True):
            values = np.asarray(pick(host.outcome), np.float64)[lead:]
            total[: len(values)] += values * (host.weight if scaled else 1.0) / len(hosts)
        return np.asarray(total.reshape(-1, width).sum(axis=1), np.float64)

    page_bytes = hosts[0].outcome.machine.page_bytes
    present = add(lambda outcome: np.ones(len(outcome.figures.promoted)), scaled=False)
    accesses = [[add(lambda o, k=k, p=p: o.figures.accesses[:, k, p]) for p in range(3)] for k in range(len(KINDS))]  # type: ignore[misc]
    moved = {name: add(lambda o, name=name: getattr(o.figures, name).sum(axis=1)) for name in ("promoted", "demoted")}  # type: ignore[misc]
    out: dict[str, list[float | None]] = {
        "interval": [float(at * width) for at in range(len(present))],
        "local_ratio": _shares(sum(kind[0] for kind in accesses), sum(sum(kind) for kind in accesses)),
        "promoted_pages": _listed(moved["promoted"]),
        "demoted_pages": _listed(moved["demoted"]),
    }
    for at, kind in enumerate(KINDS):
        out[f"local_ratio_{kind}"] = _shares(accesses[at][0], sum(accesses[at]))
    for key, name in OTHERS.items():
        if name not in hosts[0].outcome.figures.others:
            out[key] = [None] * len(present)
            continue
        values = add(lambda o, name=name: o.figures.others[name]) * (page_bytes if key in _BYTES else 1)  # type: ignore[misc]
        if key == "dram_free_bytes":
            values = values / np.maximum(present, 1e-9)
        out[key] = _listed(values)
    seconds = present * conditions.interval_s
    rate = (moved["promoted"] + moved["demoted"]) * page_bytes / 1e6 / np.maximum(seconds, 1e-9)
    out["tier_move_mb_per_s"] = _listed(rate)
    if hosts[0].outcome.policy.kind.loop == "oracle":
        for kind in KINDS:
            out[f"local_ratio_{kind}"] = [None] * len(present)
    return out


def _listed(values: Floats) -> list[float | None]:
    return [round(value, 6) for value in values.tolist()]


def _shares(part: Floats | float, whole: Floats | float) -> list[float | None]:
    whole_ = np.asarray(whole)
    found = np.divide(np.asarray(part), whole_, out=np.full(whole_.shape, np.nan), where=whole_ > 0)
    return [round(value, 6) if np.isfinite(value) else None for value in found.tolist()]
