"""Ratio advice for a recorded page trace, by the engine that advises services, without a database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.figures import Window
from tierscope.domain.curve.page_traces import count_active
from tierscope.domain.heat.classes import CLASSES
from tierscope.domain.knobs.facts import NUMA_BALANCING, Host
from tierscope.domain.knobs.policy import policy_of_host
from tierscope.domain.ratio import Seen
from tierscope.domain.ratio.memory import HostKind
from tierscope.domain.simulate import of_recording
from tierscope.domain.simulate.replay import INTERVAL_SECONDS
from tierscope.domain.simulate.sweep_replay import HostTrace
from tierscope.storage.curve.page_traces import count_rows, read_page_trace
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
from tierscope.usecases.simulate.placements import WARM_UP_RATIO, replay_shares

if TYPE_CHECKING:
    from tierscope.domain.simulate.trace import SimulationTrace

Ints = npt.NDArray[np.int64]
METHOD = "trace"
_HOT_INTERVALS = 2
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
        trace, counted = of_recording(recording), count_active(count_rows(recording).trace)
    interval_s = recording.interval_seconds or INTERVAL_SECONDS
    end = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    window = Window(end - timedelta(seconds=interval_s * recording.intervals), end)
    hot_pages = counted.classes(_HOT_INTERVALS)[:, CLASSES.index("hot")]
    required, hot = (_peak(pages) * recording.page_size_bytes for pages in (counted.resident, hot_pages))
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


def _peak(pages: Ints) -> float:
    """95th percentile over the intervals of pages [t, kinds]."""
    return float(np.quantile(pages.sum(axis=1), PEAK_QUANTILE)) if len(pages) else 0.0


def _place(trace: "SimulationTrace", page_bytes: int, interval_s: float, window: Window) -> PlacementFacts | NoCurve:
    """The share on slow memory by replay of all pages: exact for this trace, so that what it did not see is open."""
    policy = policy_of_host(_UNTIERED)
    warm_up = int(trace.intervals * WARM_UP_RATIO)
    whole = HostTrace.of_whole(trace, page_bytes=page_bytes)
    shares = replay_shares([whole], policy, interval_s=interval_s, warm_up_intervals=warm_up)
    if shares is None:
        return NoCurve("not_enough_data", _NO_ACCESSES)
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
        counts=True,
        assumptions=assume_replay(policy.label, warm_up),
    )
