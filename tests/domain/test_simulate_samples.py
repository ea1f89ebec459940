"""Replays of a sample of pages, or of events, against replays of the whole trace: real traces, real policies."""

import itertools
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from fixtures.elsewhere import long
from fixtures.page_traces import TRACES
from tierscope.domain.curve.sample_blocks import SampledPages
from tierscope.domain.simulate import Costs, PolicyName, TraceColumns, of_page_trace
from tierscope.domain.simulate.sampled import LEAD_INTERVALS, RatedBlock, join_sampled
from tierscope.domain.simulate.sweep import SweepRun
from tierscope.domain.simulate.sweep_replay import Conditions, HostTrace, RunOutcome, replay_run
from tierscope.storage.curve.page_traces import read_recorded

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")

pytestmark = pytest.mark.slow
TRACED = ("sqlite.miss", pytest.param("redis-zipf.miss", marks=long))
"""Accesses that missed the caches, as hardware samples them: no page takes a large part of them."""
MINUTE_NS = 60_000_000_000
BLOCK = 10
POLICIES: tuple[PolicyName, ...] = ("first_touch", "interleave", "tpp", "hot_page_selection", "autotiering")
DRAM_RATIOS = (0.3, 0.6)


def recorded(name: str) -> TraceColumns:
    return of_page_trace(read_recorded(TRACES / f"{name}.parquet").trace)


def sample(columns: TraceColumns, *, ratio: float, period: int = 1) -> list[RatedBlock]:
    """Blocks as an agent sends them: pages by hash, one event in `period`."""
    random = np.random.default_rng(5)
    hashes = random.integers(0, 2**64, len(columns.kinds), np.uint64)
    kept = np.flatnonzero(hashes.astype(np.float64) < ratio * 2.0**64)
    loads = columns.row_accesses if period == 1 else random.binomial(columns.row_accesses, 1 / period)
    blocks = []
    for begin in range(0, columns.intervals, BLOCK):
        end = min(begin + BLOCK, columns.intervals)
        there = kept[columns.first[kept] < end]
        rows = (columns.row_interval >= begin) & (columns.row_interval < end) & (loads > 0)
        rows &= np.isin(columns.row_page, there)
        if not len(there):
            continue
        pages = SampledPages(
            before_end_ns=np.arange(end - begin - 1, -1, -1) * MINUTE_NS,
            observed=np.ones(end - begin, np.bool_),
            page_ids=hashes[there].view(np.int64),
            kinds=columns.kinds[there] + 1,
            page_sizes_bytes=np.full(len(there), 4096),
            first_interval=np.maximum(columns.first[there] - begin, 0),
            last_interval=np.full(len(there), end - begin - 1),
            row_interval=columns.row_interval[rows] - begin,
            row_page=np.searchsorted(there, columns.row_page[rows]),
            row_loads=loads[rows],
            row_stores=np.zeros(int(rows.sum()), np.int64),
        )
        blocks.append(RatedBlock("all", end * 60_000_000, ratio, float(period), pages))
    return blocks


def host(columns: TraceColumns, *, ratio: float = 1.0, period: int = 1) -> HostTrace:
    joined = join_sampled(sample(columns, ratio=ratio, period=period), interval_ns=MINUTE_NS)
    return HostTrace.of_sample(joined, lead_intervals=LEAD_INTERVALS)


def outcomes(trace: HostTrace) -> list[RunOutcome]:
    runs = (
        SweepRun(0, policy, ratio, {}, searched=False) for policy, ratio in itertools.product(POLICIES, DRAM_RATIOS)
    )
    return [replay_run([trace], run, Conditions(Costs())) for run in runs]


def local(found: Sequence[RunOutcome]) -> npt.NDArray[np.float64]:
    return np.array([outcome.totals.local_ratio for outcome in found], np.float64)


@cache
def whole(name: str) -> tuple[RunOutcome, ...]:
    """Replays of all pages and events."""
    return tuple(outcomes(host(recorded(name))))


@pytest.mark.parametrize("name", TRACED)
@pytest.mark.parametrize("ratio", [0.5, 0.125])
def test_sampled_pages_give_the_share_of_all_pages_within_three_points(name: str, ratio: float) -> None:
    sampled = outcomes(host(recorded(name), ratio=ratio))
    assert np.abs(local(whole(name)) - local(sampled)).max() < 0.03
    # Totals stand for all pages, not for those of the sample.
    for full, part in zip(whole(name), sampled, strict=True):
        assert part.totals.accesses == pytest.approx(full.totals.accesses, rel=0.1)
        if full.totals.promoted_pages > 10_000:
            assert part.totals.promoted_pages == pytest.approx(full.totals.promoted_pages, rel=0.1)


@pytest.mark.parametrize("name", TRACED)
def test_the_interval_of_a_sampled_share_holds_that_of_all_pages(name: str) -> None:
    away = 1.0 - local(whole(name))
    found = [outcome.away for outcome in outcomes(host(recorded(name), ratio=0.25))]
    held = [share is not None and share.lo <= value <= share.hi for share, value in zip(found, away, strict=True)]
    assert sum(held) >= 9, list(zip(found, away, strict=True))


@pytest.mark.parametrize("name", TRACED)
def test_sampled_events_are_scaled_to_all_of_them(name: str) -> None:
    """Hot-page selection counts accesses against its threshold, which a scaled count meets by chance: 6 points."""
    sampled = outcomes(host(recorded(name), period=4))
    for full, part in zip(whole(name), sampled, strict=True):
        assert part.totals.accesses == pytest.approx(full.totals.accesses, rel=0.02)
        most = 0.06 if full.hosts[0].outcome.policy.name == "hot_page_selection" else 0.03
        assert full.totals.local_ratio == pytest.approx(part.totals.local_ratio, abs=most)
