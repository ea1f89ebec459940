"""Blocks of sampled pages: what pages did, joined over hours and over the process groups of a host."""

import numpy as np
import pytest

from tierscope.domain.curve.page_samples import (
    GroupSample,
    HostSample,
    PageCounts,
    SampledBlock,
    count_block,
    join_blocks,
    join_groups,
)
from tierscope.domain.curve.sample_blocks import SampledPages

MINUTE_NS = 60 * 10**9
HOUR_US = 3600 * 10**6


def block(ids: list[int], *, first: list[int], last: list[int], observed: list[bool]) -> SampledPages:
    """Each page is loaded 3 times and stored to once in each interval in which it is resident."""
    k, m = len(observed), len(ids)
    rows = [(t, p) for t in range(k) for p in range(m) if first[p] <= t <= last[p]]
    return SampledPages(
        before_end_ns=np.arange(k - 1, -1, -1) * MINUTE_NS,
        observed=np.array(observed),
        page_ids=np.array(ids),
        kinds=np.ones(m, np.int64),
        page_sizes_bytes=np.full(m, 4096),
        first_interval=np.array(first),
        last_interval=np.array(last),
        row_interval=np.array([t for t, _ in rows]),
        row_page=np.array([p for _, p in rows]),
        row_loads=np.full(len(rows), 3),
        row_stores=np.full(len(rows), 1),
    )


def counts(some: SampledPages, *, end_us: int = HOUR_US, loads_only: bool = False) -> PageCounts:
    return count_block(some, end_us=end_us, interval_ns=MINUTE_NS, loads_only=loads_only)


def test_a_block_is_counted_by_parity_of_the_epoch_and_residency() -> None:
    some = block([5, 9], first=[0, 2], last=[3, 2], observed=[True, True, True, False])
    found = counts(some)
    # The intervals end in minutes 57 to 60; the last one was missed.
    assert found.interval_numbers.tolist() == [57, 58, 59]
    assert found.resident_intervals.tolist() == [3, 1]
    assert found.halves.tolist() == [[4.0, 8.0], [0.0, 4.0]]
    assert counts(some, loads_only=True).halves.tolist() == [[3.0, 6.0], [0.0, 3.0]]


def test_blocks_join_by_page_and_samples_are_scaled_by_their_period() -> None:
    one = counts(block([5, 9], first=[0, 0], last=[1, 1], observed=[True, True]))
    two = counts(block([9, 7], first=[0, 0], last=[1, 1], observed=[True, True]), end_us=2 * HOUR_US)
    joined = join_blocks([SampledBlock(one, 1.0, 10.0), SampledBlock(two, 1.0, 100.0)])
    assert joined.counts.page_ids.tolist() == [5, 7, 9]
    assert joined.counts.resident_intervals.tolist() == [2, 2, 4]
    assert joined.counts.halves.sum(axis=1).tolist() == [80.0, 800.0, 880.0]
    assert joined.samples.tolist() == [8.0, 8.0, 16.0]
    assert len(joined.counts.interval_numbers) == 4


def test_at_a_lower_rate_only_pages_that_it_selects_stay() -> None:
    # Hashes are unsigned: the signed -1 is the highest of all.
    high, low = -1, 2**60
    whole = counts(block([high, low], first=[0, 0], last=[1, 1], observed=[True, True]))
    thin = counts(block([low], first=[0], last=[1], observed=[True, True]), end_us=2 * HOUR_US)
    joined = join_blocks([SampledBlock(whole, 1.0, 1.0), SampledBlock(thin, 0.25, 1.0)])
    assert (joined.sampled_ratio, joined.counts.page_ids.tolist()) == (0.25, [low])
    with pytest.raises(ValueError, match="no block"):
        join_blocks([])


def group(ids: list[int], *, last: list[int], ratio: float = 0.5) -> GroupSample:
    observed = [True] * 4
    return join_blocks(
        [SampledBlock(counts(block(ids, first=[0] * len(ids), last=last, observed=observed)), ratio, 1.0)]
    )


def test_pages_occupy_their_size_for_the_time_they_were_resident() -> None:
    groups = [group([1, 2], last=[3, 0]), group([3], last=[1], ratio=0.25)]
    host = join_groups(groups, stay_resident=False)
    assert host.bytes.tolist() == [4096.0, 1024.0, 2048.0]
    assert host.weights.tolist() == [2.0, 2.0, 4.0]
    assert host.bytes_by_kind()[1] == 2 * 4096 + 2 * 1024 + 4 * 2048
    assert join_groups(groups, stay_resident=True).bytes.tolist() == [4096.0] * 3


def test_unseen_traffic_is_the_share_of_samples_on_pages_with_one() -> None:
    samples = np.array([1.0, 1.0, 8.0])
    host = HostSample(np.ones(3, np.int8), np.ones(3), np.zeros((3, 2)), samples, np.ones(3), 4)
    assert host.unseen_ratio() == pytest.approx(0.2)
    assert host.pick_kind("file").n_pages == 0
    assert host.pick_kind("anon").n_samples == 10
