"""Figures of hardware samplers: what they saw of loads and stores, and how much of the touched memory that tells."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, Interval, Window, absent
from tierscope.domain.heat.classes import WINDOWS
from tierscope.domain.heat.rows import Method
from tierscope.domain.heat.sampler import Events, Sampled, TouchedBytes, read_samples
from tierscope.domain.heat.unseen import COVERAGE_LOWER, LEVEL, MIN_SAMPLES
from tierscope.storage.base.binary import from_us
from tierscope.storage.heat.rows import read_rows

_DEFINITION = "heat.touched_bytes/1"
_FEW = (
    f"Too few samples for a claim: {MIN_SAMPLES} per page kind and size, and a coverage of"
    f" {COVERAGE_LOWER:.0%}, are needed."
)
_LOWER = "a lower bound: the samples cover too little of the traffic for an upper one"


@dataclass(frozen=True, slots=True)
class TouchedWindow:
    """Memory touched within w intervals by loads, pages without a sample included: an interval, a lower bound, or none.

    `coverage`: share of the load traffic that goes to pages with samples.
    """

    intervals: int
    coverage: Figure
    touched_bytes: Figure


@dataclass(frozen=True, slots=True)
class Sampling:
    """What hardware samplers (pebs, ibs, spe) saw in the newest 10 intervals. Loads and stores are never added."""

    loads: Figure
    stores: Figure
    load_events: Figure
    store_events: Figure
    windows: tuple[TouchedWindow, ...]


def read_sampling(
    session: ReadSession, service_id: int, method: Method | None, newest_us: Mapping[int, int], window: Window
) -> Sampled | None:
    """The newest intervals of hosts that sample in hardware; None for other methods, or without single intervals.

    `newest_us`: when the newest interval of each host ended, or a little later.
    """
    if method is None or not method.is_sampler or not newest_us:
        return None
    span = timedelta(microseconds=method.interval_ns / 1000 * (WINDOWS[-1] + 1))
    found = []
    for host_id, end_us in newest_us.items():
        end = min(from_us(end_us), window.end)
        rows = read_rows(session, service_id, end - span, end, [host_id]).get(host_id, [])
        found.append([row for row in rows if row.method == method])
    return read_samples(found)


def view_sampling(sampled: Sampled | None, method: Method | None, window: Window, n_hosts: int) -> Sampling | None:
    """Its figures; None where the method does not sample in hardware."""
    if method is None or not method.is_sampler:
        return None
    base = Figure(_DEFINITION, "ok", 0.0, "bytes", method=method.family, window=window, n_hosts=n_hosts, grounding="L")
    if sampled is None:
        reason = "Single intervals of this window are not kept any more: choose a newer one."
        names = (("loads", "samples"), ("stores", "samples"), ("load_events", "events"), ("store_events", "events"))
        gone = [absent(f"samples.{name}/1", unit, "not_collected", reason, window=window) for name, unit in names]
        return Sampling(gone[0], gone[1], gone[2], gone[3], ())
    return Sampling(
        _samples(base, "samples.loads/1", sampled.loads),
        _samples(base, "samples.stores/1", sampled.stores),
        _events(base, "samples.load_events/1", sampled.loads),
        _events(base, "samples.store_events/1", sampled.stores),
        tuple(_touched(base, item) for item in sampled.windows),
    )


def _samples(base: Figure, definition: str, found: Events) -> Figure:
    return replace(base, definition=definition, value=float(found.samples), unit="samples", n_samples=found.samples)


def _events(base: Figure, definition: str, found: Events) -> Figure:
    interval = Interval(found.lo, found.hi, LEVEL, "confidence")
    return replace(
        base, definition=definition, value=found.events, unit="events", interval=interval, n_samples=found.samples
    )


def _touched(base: Figure, found: TouchedBytes) -> TouchedWindow:
    if found.coverage is None:
        coverage = absent("samples.coverage/1", "ratio", "not_enough_data", _FEW, window=base.window)
    else:
        coverage = replace(
            base, definition="samples.coverage/1", value=found.coverage, unit="ratio", n_samples=found.samples
        )
    figure = replace(base, n_samples=found.samples, coverage=found.coverage)
    if found.claim == "insufficient":
        figure = replace(figure, status="not_enough_data", value=None, reason=_FEW)
    elif found.claim == "lower_bound":
        figure = replace(figure, value=found.lo, grade="partial", warnings=(_LOWER,))
    else:
        interval = Interval(found.lo, found.hi, LEVEL, "confidence")
        figure = replace(figure, value=found.value, interval=interval, grade="good")
    return TouchedWindow(found.intervals, coverage, figure)
