"""What heat alone says of anon against file: access density, and the loss of moving all of one kind to slow memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, Interval, Window, absent
from tierscope.domain.heat import estimate_median, judge_enough
from tierscope.domain.heat.rows import HeatSeries, Method
from tierscope.domain.sensitivity.estimate import Kind, density_index
from tierscope.domain.slowdown import REFERENCE_RHO, ShareOnSlow, believe, physical_loss
from tierscope.domain.slowdown.loss import PREDICTION_STANDARD_ERROR, normal_quantile
from tierscope.storage.base.subjects import SubjectHost, newest_inventories
from tierscope.storage.heat.sums import read_loads
from tierscope.usecases.base.hardware import read_hardware
from tierscope.usecases.counters.service_lines import read_service_lines
from tierscope.usecases.heat.columns import read_host_heat
from tierscope.usecases.heat.reads import choose_method
from tierscope.usecases.heat.sources import LIVE_KEPT

KINDS: tuple[Kind, ...] = ("anon", "file")
GROUNDING = "heat-based; A slowdown model of docs/method/ratio.md"
PRIOR_LEVEL = 0.90
_NO_HEAT = "No heat of both anon and file memory was measured in the window."
_TOUCHES = (
    "accessed bits tell touched memory per interval, not accesses: a page touched once counts as much as a busy one"
)
_STALL = ("memory_stall", "stall_cycles"), ("memory_stall", "cycles")


@dataclass(frozen=True, slots=True)
class MovingLoss:
    """What moving all memory of one kind to the slow tier would cost, from heat."""

    kind: Kind
    share_of_accesses: Figure
    loss: Figure


@dataclass(frozen=True, slots=True)
class HeatIndex:
    """The index: above zero a byte of anon is accessed more often than a byte of file."""

    log2_density_anon_file: Figure
    moving: tuple[MovingLoss, ...]


@dataclass(frozen=True, slots=True)
class HeatMix:
    """What is known of a service's accesses by kind, (anon, file) per host; `stall` and `rho` None where unknown."""

    method: Method | None
    accesses: tuple[tuple[float, float], ...]
    bytes: tuple[tuple[float, float], ...]
    n_intervals: int
    stall: float | None
    rho: float | None


def read_heat_mix(
    session: ReadSession, service_id: int, hosts: Sequence[SubjectHost], window: Window, *, now: datetime
) -> HeatMix:
    """Accesses and bytes of anon and of file on each host; tmpfs counts as file."""
    ids = [host.id for host in hosts]
    found = read_host_heat(session, service_id, ids, window, now=now)
    method = choose_method(found, None)
    if method is None:
        return HeatMix(None, (), (), 0, None, None)
    series = found[method]
    sampled: Mapping[int, tuple[float, float]] | None = None
    if method.is_sampler:
        sampled = read_loads(session, service_id, ids, method, max(window.start, now - LIVE_KEPT), window.end)
    accesses, sizes = [], []
    for host_id, part in sorted(series.items()):
        taken = _touches(part) if sampled is None else sampled.get(host_id, (0.0, 0.0))
        size = _by_kind(part, part.folded.resident.sum(axis=0).astype(np.float64))
        if density_index(taken, size) is not None:
            accesses.append(taken)
            sizes.append(size)
    longest = max(int(part.n_intervals.sum()) for part in series.values())
    stall = _read_stall(session, hosts, window, now=now)
    return HeatMix(method, tuple(accesses), tuple(sizes), longest, stall, _read_rho(session, ids, window))


def view_heat_index(mix: HeatMix, window: Window) -> HeatIndex:
    """The index and the cost of moving either kind, with what they rest on."""
    name = "sensitivity.log2_density_anon_file/1"
    family = None if mix.method is None else mix.method.family
    if not mix.accesses:
        nothing = absent(name, "log2", "not_collected", _NO_HEAT, window=window, method=family)
        return HeatIndex(nothing, tuple(_no_moving(kind, window, family) for kind in KINDS))
    pairs = list(zip(mix.accesses, mix.bytes, strict=True))
    indices = [found[2] for found in (density_index(*pair) for pair in pairs) if found is not None]
    index = _over_hosts(name, "log2", indices, mix, window)
    moving = []
    for place, kind in enumerate(KINDS):
        shares = [taken[place] / sum(taken) for taken in mix.accesses]
        share = _over_hosts("sensitivity.share_of_accesses/1", "ratio", shares, mix, window)
        moving.append(MovingLoss(kind, share, _loss(share, mix, window)))
    return HeatIndex(index, tuple(moving))


def _loss(share: Figure, mix: HeatMix, window: Window) -> Figure:
    """The physical form where the stall share is measured: the prior is optimistic for moving a whole kind."""
    assert share.value is not None
    rho = mix.rho if mix.rho is not None else REFERENCE_RHO
    measured = "measured" if mix.rho is not None else "assumed: measure it with the agent's bench"
    latency = f"slow memory at {rho:.2f} times the latency of DRAM ({measured})"
    if mix.stall is not None:
        value = physical_loss(mix.stall, share.value, rho)
        bounds = (share.value, share.value) if share.interval is None else (share.interval.lo, share.interval.hi)
        lo, hi = (physical_loss(mix.stall, bound, rho) for bound in bounds)
        # Nine of ten losses predicted from core counters lie within this of the measured ones (CAMP).
        error = normal_quantile((1 + PRIOR_LEVEL) / 2) * PREDICTION_STANDARD_ERROR
        interval = Interval(max(lo - error, 0.0), min(hi + error, 1.0), PRIOR_LEVEL, "confidence")
        basis = f"physical form: {mix.stall:.0%} of the hosts' cycles wait for memory"
    else:
        belief = believe(mix.rho)
        moved = ShareOnSlow.exactly(share.value)
        value = belief.loss_median(moved)
        interval = Interval(belief.loss_lower(moved), belief.loss_upper(moved), PRIOR_LEVEL, "confidence")
        basis = "slowdown model without measurements of the service: published services, placed memory and even access"
    return Figure(
        "sensitivity.moving_loss_ratio/1",
        "ok",
        value,
        "ratio",
        method=share.method,
        window=window,
        interval=interval,
        n_hosts=share.n_hosts,
        n_intervals=share.n_intervals,
        grade=share.grade,
        grounding=GROUNDING,
        warnings=(basis, latency, *share.warnings),
    )


def _over_hosts(name: str, unit: str, values: Sequence[float], mix: HeatMix, window: Window) -> Figure:
    estimate = estimate_median(list(values))
    interval = None
    if estimate.lo is not None and estimate.hi is not None:
        interval = Interval(estimate.lo, estimate.hi, estimate.level, "confidence")
    assert mix.method is not None
    enough = judge_enough(
        n_hosts=len(values), n_intervals=mix.n_intervals, coverage=1.0, history=mix.n_intervals, needed_history=1
    )
    warnings = enough.warnings if mix.method.is_sampler else (_TOUCHES, *enough.warnings)
    return Figure(
        name,
        "ok",
        estimate.value,
        unit,
        method=mix.method.family,
        window=window,
        interval=interval,
        n_hosts=len(values),
        n_intervals=mix.n_intervals,
        grade=enough.grade or "early",
        grounding=GROUNDING,
        warnings=warnings,
    )


def _no_moving(kind: Kind, window: Window, method: str | None) -> MovingLoss:
    def nothing(name: str) -> Figure:
        return absent(name, "ratio", "not_collected", _NO_HEAT, window=window, method=method)

    return MovingLoss(kind, nothing("sensitivity.share_of_accesses/1"), nothing("sensitivity.moving_loss_ratio/1"))


def _touches(series: HeatSeries) -> tuple[float, float]:
    """Bytes active per interval, summed over intervals."""
    return _by_kind(series, series.folded.lo[..., 0].sum(axis=0).astype(np.float64))


def _by_kind(series: HeatSeries, by_group: np.ndarray) -> tuple[float, float]:
    anon = np.array([kind == "anon" for kind in series.kinds], bool)
    return float(by_group[anon].sum()), float(by_group[~anon].sum())


def _read_stall(session: ReadSession, hosts: Sequence[SubjectHost], window: Window, *, now: datetime) -> float | None:
    """Share of cycles that wait for memory, the median over hosts that measure it."""
    lines = read_service_lines(
        session, hosts, ("host",), lambda source, _: source == "memory_stall", window, now=now, max_points=500
    )
    shares = []
    for part in lines:
        waited, all_ = (part.per_s.get(name) for name in _STALL)
        if waited is not None and all_ is not None and np.nansum(all_) > 0:
            known = np.isfinite(waited) & np.isfinite(all_)
            shares.append(float(waited[known].sum() / all_[known].sum()))
    return float(np.median(shares)) if shares else None


def _read_rho(session: ReadSession, host_ids: Sequence[int], window: Window) -> float | None:
    """Latency of slow memory against DRAM as the hosts' benches measured it, the median over hosts."""
    found = []
    for body in newest_inventories(session, host_ids, window.end).values():
        by_node: dict[int, float] = {}
        for bench in read_hardware(body).benches:
            for figure in bench.figures:
                if figure.name == "idle_latency":
                    best = min(figure.median, by_node.get(bench.memory_node, figure.median))
                    by_node[bench.memory_node] = best
        if len(by_node) > 1 and min(by_node.values()) > 0:
            found.append(max(by_node.values()) / min(by_node.values()))
    return float(np.median(found)) if found else None
