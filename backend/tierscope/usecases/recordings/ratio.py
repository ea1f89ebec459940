"""Ratio advice for a recorded page trace, by the engine that advises services, without a database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.figures import Window
from tierscope.domain.knobs.facts import NUMA_BALANCING, Host
from tierscope.domain.knobs.policy import policy_of_host
from tierscope.domain.ratio import Seen
from tierscope.domain.ratio.memory import HostKind
from tierscope.domain.simulate import Costs, of_recording
from tierscope.domain.simulate.replay import INTERVAL_SECONDS
from tierscope.domain.simulate.sweep_replay import Conditions, HostTrace, replay_run
from tierscope.domain.slowdown import ShareOnSlow
from tierscope.storage.curve.page_traces import read_page_trace
from tierscope.usecases.curve.pages import NoCurve
from tierscope.usecases.ratio.answer import answer_kinds
from tierscope.usecases.ratio.answers import Ratio, RatioStep
from tierscope.usecases.ratio.hardware import unknown_hardware
from tierscope.usecases.ratio.heat import PEAK_QUANTILE, heat_of_trace
from tierscope.usecases.ratio.inputs import RatioInputs, RatioQuery
from tierscope.usecases.ratio.overlap import no_jaccard
from tierscope.usecases.ratio.placement import PlacementFacts, assume_replay, interpolate_shares
from tierscope.usecases.ratio.service_class import no_latency
from tierscope.usecases.recordings.replay import reading_page_traces
from tierscope.usecases.simulate.placements import SHARES, WARM_UP_RATIO

if TYPE_CHECKING:
    from tierscope.domain.simulate.trace import SimulationTrace

Ints = npt.NDArray[np.int64]
METHOD = "trace"
_UNTIERED = Host(knobs={NUMA_BALANCING: "0"}, has_slow_tier=False)
"""The host of the trace: what it is like is not recorded."""
_OF_SERVICES = "--service"
"""In commands of next steps that a recording has no use for."""
_NO_ACCESSES = "The trace has no accesses after the policy has found its state."
_NO_LOADS = "A page trace tells nothing of the service's own latency."


def recommend_recording(path: Path, asked: RatioQuery, *, now: datetime) -> Ratio:
    """Which DRAM share keeps a loss target, from every page of a trace under the policy that untiered hosts would get.

    The trace is taken to end when the file was last changed: it has no time of its own.

    Raises:
        Unprocessable: the file is no page trace; the message names the row.
        ConfigurationError: the compiled core is not built.
    """
    with reading_page_traces():
        recording = read_page_trace(path)
        trace = of_recording(recording)
    interval_s = recording.interval_seconds or INTERVAL_SECONDS
    end = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    window = Window(end - timedelta(seconds=interval_s * recording.intervals), end)
    interval, _, page, _, _ = recording.rows()
    resident = recording.resident_pages.reshape(recording.intervals, -1).sum(axis=1)
    required, hot = (
        peak * recording.page_size_bytes
        for peak in (_peak(resident), _peak(_hot_pages(interval, page, recording.intervals)))
    )
    known = RatioInputs(
        service_id="",
        origin="import",
        window=window,
        kind=HostKind(None, None, None),
        n_hosts=1,
        heat=heat_of_trace(required, hot, n_intervals=recording.intervals, window=window),
        jaccard=no_jaccard(window),
        hardware=unknown_hardware(window),
        placement=_place(trace, recording.page_size_bytes, interval_s, window),
        points=(),
        latency=no_latency(window, _NO_LOADS),
    )
    answer = answer_kinds([known], asked, now=now)
    return replace(answer, next_steps=tuple(map(_without_service, answer.next_steps)))


def _without_service(step: RatioStep) -> RatioStep:
    return replace(step, command=None) if _OF_SERVICES in (step.command or "") else step


def _peak(values: Ints) -> float:
    return float(np.quantile(values, PEAK_QUANTILE)) if len(values) else 0.0


def _hot_pages(interval: Ints, page: Ints, intervals: int) -> Ints:
    """Pages that were accessed within two intervals, at the end of each [intervals]."""
    order = np.argsort(interval, kind="stable")
    parts = np.split(page[order], np.searchsorted(interval[order], np.arange(1, intervals)))
    return np.array([len(np.union1d(parts[max(at - 1, 0)], parts[at])) for at in range(intervals)], np.int64)


def _place(trace: "SimulationTrace", page_bytes: int, interval_s: float, window: Window) -> PlacementFacts | NoCurve:
    """The share on slow memory by replay of all pages: exact for this trace, so that what it did not see is open."""
    policy = policy_of_host(_UNTIERED)
    warm_up = int(trace.intervals * WARM_UP_RATIO)
    whole = HostTrace.of_whole(trace, page_bytes=page_bytes)
    conditions = Conditions(Costs(), interval_s=interval_s, warm_up_intervals=warm_up)
    shares: list[tuple[float, ShareOnSlow]] = []
    for share in SHARES:
        away = replay_run([whole], policy.at(share), conditions).away
        if away is None:
            return NoCurve("not_enough_data", _NO_ACCESSES)
        shares.append((share, away))
    length = window.end - window.start
    return PlacementFacts(
        source=f"simulated:{policy.policy}",
        why=f"all pages of the trace replayed under {policy.label}: {policy.why}",
        grounding=f"A all pages replayed under {policy.label}",
        at=interpolate_shares(shares),
        seen=Seen(start=window.start, days=length / timedelta(days=1), n_hosts=1, gaps_ratio=0.0, coverage=None),
        n_hosts=1,
        n_samples=trace.pages,
        n_intervals=trace.intervals,
        method=METHOD,
        assumptions=assume_replay(policy.label, warm_up),
    )
