"""Ratio advice for a recorded page trace, by the engine that advises services, without a database."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.figures import Window
from tierscope.domain.curve.page_traces import count_active
from tierscope.domain.curve.sample_blocks import SampledPages
from tierscope.domain.heat.classes import CLASSES
from tierscope.domain.knobs.policy import policy_of_hosts
from tierscope.domain.ratio.memory import HostKind
from tierscope.domain.simulate import PolicyName
from tierscope.domain.simulate.replay import INTERVAL_SECONDS
from tierscope.domain.simulate.sampled import join_sampled
from tierscope.storage.curve.page_samples import SampleHead
from tierscope.storage.curve.page_traces import count_rows, read_page_trace, sample_recorded
from tierscope.usecases.curve.pages import NoCurve, scale_hosts
from tierscope.usecases.curve.sources import join_recorded
from tierscope.usecases.ratio.answer import answer_kinds
from tierscope.usecases.ratio.answers import Ratio, RatioStep
from tierscope.usecases.ratio.hardware import unknown_hardware
from tierscope.usecases.ratio.heat import PEAK_QUANTILE, heat_of_trace
from tierscope.usecases.ratio.inputs import RatioInputs, RatioQuery
from tierscope.usecases.ratio.overlap import no_jaccard
from tierscope.usecases.ratio.placement import PlacementFacts, place_by_density, place_by_replay
from tierscope.usecases.ratio.service_class import no_latency
from tierscope.usecases.recordings.replay import reading_page_traces
from tierscope.usecases.simulate.placements import (
    MAX_TOUCHED,
    SPAN,
    FoundPlacement,
    RunningPolicy,
    replay_sampled,
)
from tierscope.usecases.simulate.samples import NS, ChosenSamples, newest_blocks, rate_block

if TYPE_CHECKING:
    from tierscope.storage.curve.page_traces import PageTrace

Ints = npt.NDArray[np.int64]
_HOT_INTERVALS = 2
_SPAN_US = SPAN // timedelta(microseconds=1)
MICROSECONDS = 1_000_000
_OF_SERVICES = "--service"
"""In commands of next steps that a recording has no use for."""
_NO_ACCESSES = "The trace has no accesses after the policy has found its state."
_NO_LOADS = "A page trace tells nothing of the service's own latency."


def recommend_by_query(
    path: Path, asked: Sequence[RatioQuery], *, now: datetime, policy: PolicyName | None = None
) -> list[Ratio]:
    """Which DRAM share keeps a loss target, as `import page-trace` and the service's advice would have it, by query.

    `policy`: the one to replay under, since a trace does not tell of its host; None for the default. The trace is taken
    to end when the file was last changed: it has no time of its own.

    Raises:
        Unprocessable: the file is no page trace; the message names the row.
        ConfigurationError: the compiled core is not built.
    """
    with reading_page_traces():
        recording = read_page_trace(path)
        counted = count_active(count_rows(recording).trace)
    interval_s = recording.interval_seconds or INTERVAL_SECONDS
    end = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    window = Window(end - timedelta(seconds=interval_s * recording.intervals), end)
    hot_pages = counted.classes(_HOT_INTERVALS)[:, CLASSES.index("hot")]
    required, hot = (_peak(pages) * recording.page_size_bytes for pages in (counted.resident, hot_pages))
    with reading_page_traces():
        placement = _place(recording, path.stem, window, policy)
    known = RatioInputs(
        service_id="",
        origin="import",
        window=window,
        kind=HostKind(None, None, None),
        n_hosts=1,
        heat=heat_of_trace(required, hot, n_intervals=recording.intervals, window=window),
        jaccard=no_jaccard(window),
        hardware=unknown_hardware(window),
        placement=placement,
        points=(),
        latency=no_latency(window, _NO_LOADS),
    )
    answers = [answer_kinds([known], query, now=now) for query in asked]
    return [replace(answer, next_steps=tuple(map(_without_service, answer.next_steps))) for answer in answers]


def _without_service(step: RatioStep) -> RatioStep:
    return replace(step, command=None) if _OF_SERVICES in (step.command or "") else step


def _peak(pages: Ints) -> float:
    """95th percentile over the intervals of pages [t, kinds]."""
    return float(np.quantile(pages.sum(axis=1), PEAK_QUANTILE)) if len(pages) else 0.0


def _place(recording: "PageTrace", group: str, window: Window, asked: PolicyName | None) -> PlacementFacts | NoCurve:
    """As an import of the trace is judged: by the same sample of its pages, under the same policy."""
    blocks = _newest(recording, group, window)
    if not blocks:
        return NoCurve("not_enough_data", _NO_ACCESSES)
    heads = tuple(head for head, _ in blocks)
    chosen = ChosenSamples(heads[0].method, {0: heads}, counts=True, dropped_hosts=0, others=())
    pages = scale_hosts(join_recorded(blocks), {}, may_have_gaps=True)
    best = pages if isinstance(pages, NoCurve) else place_by_density(pages)
    lacking = chosen.missing()
    if isinstance(best, NoCurve) or lacking is not None:
        return best if isinstance(best, NoCurve) else NoCurve("not_enough_data", lacking or "")
    policy, _ = policy_of_hosts((), asked)
    sampled = join_sampled(
        [rate_block(head, some) for head, some in blocks], interval_ns=chosen.method.interval_ns, stay_resident=True
    )
    placement = replay_sampled([sampled], policy, chosen, window)
    if placement is None:
        return NoCurve("not_enough_data", _NO_ACCESSES)
    running = RunningPolicy(policy, 0, 0)
    return place_by_replay(FoundPlacement(running, placement, None, None), placement, best)


def _newest(recording: "PageTrace", group: str, window: Window) -> list[tuple[SampleHead, SampledPages]]:
    """The blocks that a replay of an imported trace takes: of its last day, and no more pages than one replay bears."""
    interval_ns = int((recording.interval_seconds or INTERVAL_SECONDS) * NS)
    end_us = int(window.end.timestamp() * MICROSECONDS)
    blocks = sample_recorded(recording, group, interval_ns=interval_ns, end_us=end_us)
    taken = set(newest_blocks([head for head, _ in blocks if head.end_us > end_us - _SPAN_US], MAX_TOUCHED))
    return [(head, pages) for head, pages in blocks if head in taken]
