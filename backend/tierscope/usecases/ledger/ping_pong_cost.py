"""What tier moves cost, and whether pages should still be moved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from tierscope.domain._generated.advice import HAZARDS
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Interval, Window, absent
from tierscope.domain.base.page_size import NOT_KNOWN, bytes_of, sum_known
from tierscope.domain.ledger import cpu_core_ratio
from tierscope.domain.ledger.figures import PSI_SOME
from tierscope.domain.ledger.ping_pong import FAULT_SECONDS, MOVE_SECONDS, State
from tierscope.usecases.base.hardware import read_hardware
from tierscope.usecases.ledger.ping_pong import TIER_MOVE_BYTES, HostWaits
from tierscope.usecases.ledger.ping_pong_hosts import HostHistory

CPU_FLOOR = 0.01
"""Share of a core from which moves are worth stopping."""
BANDWIDTH_FLOOR = 0.01
PSI_FLOOR = 0.001
FITS_SHARE = 0.8
"""A working set of at most this share of DRAM may be bound to it."""
_FAULT_FACTOR = 3.0
"""Hint faults were measured between once and three times the assumed cost."""
_BANDWIDTHS = ("mixed_bandwidth", "read_bandwidth")
_HOST_PSI = (
    "The pressure of a whole host rises with kswapd's own demotion work, though nobody waits: see the services of this"
    " host."
)
_WHOLE_PSI = "The kernels keep no pressure of this service's own control groups."
_ASSUMED = (
    f"assumed: {MOVE_SECONDS * 1e6:g} us per 4 KiB of moved pages and {FAULT_SECONDS * 1e6:g} us per hint fault",
)


@dataclass(frozen=True, slots=True)
class MoveCost:
    """What tier moves cost over the window."""

    cpu_core_ratio: Annotated[Figure, Described("Cores: moved pages and hint faults at assumed costs.")]
    tier_move_bytes_per_s: Figure
    slow_bandwidth_ratio: Annotated[Figure, Described("Of the slow tier's measured bandwidth.")]
    psi_some_ratio: Annotated[Figure, Described("Of the service's own cgroups, never of the host.")]


@dataclass(frozen=True, slots=True)
class StopMoving:
    """Whether pages of the subject should no longer be moved. Nothing is applied."""

    advised: bool
    why: str
    how: str | None


def view_cost(parts: Sequence[HostHistory], window: Window, waits: HostWaits, *, own_groups: bool) -> MoveCost:
    """Costs of these hosts together; `own_groups`: their ledgers are those of a service's control groups.

    `waits`: of all hosts of the subject, where `parts` are some of them, so that its pressure has one value.
    """
    counting = [part for part in parts if _moved(part) is not None]
    seconds = max((part.part.ledger.seconds("promoted_pages") for part in counting), default=0.0)
    moved = sum_known(bytes_of(_moved(part), part.part.machine.page_bytes) for part in counting)
    if not counting or seconds <= 0 or moved is None:
        reason = NOT_KNOWN if counting and seconds > 0 else "No tier moves were counted in the window."
        return MoveCost(
            absent("tier_moves.cpu_core_ratio/1", "cores", "not_collected", reason, window=window),
            absent(TIER_MOVE_BYTES, "bytes_per_s", "not_collected", reason, window=window),
            absent("tier_moves.slow_bandwidth_ratio/1", "ratio", "not_collected", reason, window=window),
            _pressure(waits, own_groups=own_groups),
        )
    faults = sum(part.part.ledger.total("hint_faults") or 0 for part in counting)
    value = cpu_core_ratio(moved, faults, seconds)
    high = cpu_core_ratio(moved, round(faults * _FAULT_FACTOR), seconds)
    per_s = moved / seconds
    n = len(counting)
    return MoveCost(
        _figure(
            "tier_moves.cpu_core_ratio/1",
            "cores",
            value,
            window,
            n,
            interval=Interval(value, high, None, "range"),
            grounding="A",
            warnings=_ASSUMED,
        ),
        _figure(TIER_MOVE_BYTES, "bytes_per_s", per_s, window, n),
        _bandwidth(counting, per_s, window),
        _pressure(waits, own_groups=own_groups),
    )


def advise_stop(
    parts: Sequence[HostHistory], cost: MoveCost, state: State | None, lasted_s: float, needed_s: float, *, subject: str
) -> StopMoving:
    """Stop, where futile moves last and cost more than the floors. `subject`: "service" or "host"."""
    if state is None or state == "ok":
        return StopMoving(advised=False, why="Migrations are not known to be futile.", how=None)
    if lasted_s < needed_s:
        why = f"Futile migrations for {lasted_s:.0f} s so far; advice follows after {needed_s:.0f} s."
        return StopMoving(advised=False, why=why, how=None)
    if state == "warn" and not all(part.measures for part in parts):
        why = "Migration rates look futile; measured hot memory or throughput would confirm it."
        return StopMoving(advised=False, why=why, how=None)
    paid = _over_floor(cost)
    if not paid:
        return StopMoving(
            advised=False, why="Migrations bring no benefit, but cost less than the action threshold.", how=None
        )
    why = (
        f"Futile migrations for {lasted_s:.0f} s, at {', '.join(paid)}, while placement does not improve"
        f"{_throughput_text(parts)}."
    )
    return StopMoving(advised=True, why=why, how=_how(parts, subject))


def _over_floor(cost: MoveCost) -> list[str]:
    """The costs that reach their floor, in words."""
    named = (
        (cost.cpu_core_ratio, CPU_FLOOR, "{:.1%} of a core"),
        (cost.slow_bandwidth_ratio, BANDWIDTH_FLOOR, "{:.1%} of the slow tier's bandwidth"),
        (cost.psi_some_ratio, PSI_FLOOR, "{:.2%} of the time waiting for memory"),
    )
    return [
        text.format(figure.value) for figure, floor, text in named if figure.value is not None and figure.value >= floor
    ]


def _throughput_text(parts: Sequence[HostHistory]) -> str:
    return " and throughput does not rise" if any(np.isfinite(part.throughput).any() for part in parts) else ""


def _how(parts: Sequence[HostHistory], subject: str) -> str:
    limit = (
        "limit promotions with kernel.numa_balancing_promote_rate_limit_MBps (see the host's knob advice for the value)"
    )
    if subject == "host":
        return f"On the host: {limit}; or find the service behind it under its services and keep that one in place."
    dram = [part.part.machine.top_bytes for part in parts]
    resident = [_resident(part) for part in parts]
    fits = all(
        size is not None and bytes_ is not None and bytes_ <= FITS_SHARE * size
        for size, bytes_ in zip(dram, resident, strict=True)
    )
    return f"For this service: {keep_in_place(fits=fits)} On its hosts: {limit}. Nothing is applied by Tierscope."


def keep_in_place(*, fits: bool) -> str:
    """How the kernel keeps a service in DRAM that fits into it, or that does not, in whole sentences."""
    if fits:
        return (
            f"set cpuset.mems of the service to the DRAM nodes: all its memory fits into {FITS_SHARE:.0%} of them. "
            f"Setting it moves the memory once. {HAZARDS['strict-cpuset'].says}"
        )
    return (
        "set memory.low of the service to its hot bytes, which keeps reclaim and demotion away from them"
        " (best effort, and it protects total bytes, wherever they are)."
    )


def _resident(part: HostHistory) -> float | None:
    values = part.part.ledger.column("top_resident_bytes") + np.nan_to_num(
        part.part.ledger.column("slow_resident_bytes")
    )
    known = values[np.isfinite(values)]
    return float(known.max()) if len(known) else None


def _moved(part: HostHistory) -> int | None:
    promoted, demoted = part.part.ledger.total("promoted_pages"), part.part.ledger.total("demoted_pages")
    return None if promoted is None or demoted is None else promoted + demoted


def _bandwidth(parts: Sequence[HostHistory], bytes_per_s: float, window: Window) -> Figure:
    """Every move reads or writes the slow tier once."""
    name = "tier_moves.slow_bandwidth_ratio/1"
    found = [_slow_bandwidth(part) for part in parts]
    known = [value for value in found if value is not None]
    if len(known) < len(found):
        reason = "The slow tier's bandwidth is not measured on every host: run the agent's bench there."
        return absent(name, "ratio", "not_collected", reason, window=window, method="counters")
    return _figure(name, "ratio", bytes_per_s / sum(known), window, len(parts))


def _slow_bandwidth(part: HostHistory) -> float | None:
    """Measured bandwidth of all slow nodes together, in bytes per second."""
    by_node: dict[int, float] = {}
    for bench in read_hardware(part.inventory).benches:
        if bench.memory_node in part.part.machine.tiers.top_nodes:
            continue
        for wanted in _BANDWIDTHS:
            values = [figure.median for figure in bench.figures if figure.name == wanted]
            if values:
                by_node[bench.memory_node] = max([*values, by_node.get(bench.memory_node, 0.0)])
                break
    return sum(by_node.values()) or None


def _pressure(waits: HostWaits, *, own_groups: bool) -> Figure:
    """Time in which a task of the service's own control groups waited for memory, the mean over hosts."""
    name = PSI_SOME.definition
    if not own_groups:
        return absent(name, "ratio", "not_supported", _HOST_PSI, window=waits.window, method="counters")
    if not waits.shares:
        return absent(name, "ratio", "not_supported", _WHOLE_PSI, window=waits.window, method="counters")
    return _figure(name, "ratio", float(np.mean(waits.shares)), waits.window, len(waits.shares))


def _figure(
    name: str,
    unit: str,
    value: float,
    window: Window,
    n_hosts: int,
    *,
    interval: Interval | None = None,
    grounding: str = "L kernel text",
    warnings: tuple[str, ...] = (),
) -> Figure:
    return Figure(
        name,
        "ok",
        value,
        unit,
        method="counters",
        window=window,
        interval=interval,
        n_hosts=n_hosts,
        grade="good" if interval is None else "partial",
        grounding=grounding,
        warnings=warnings,
    )
