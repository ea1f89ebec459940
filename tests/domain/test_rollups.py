"""Rollups and packs: nothing is lost that they promise to keep."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tierscope.domain.base.buckets import HOUR_US, TEN_MINUTES_US, bucket_start
from tierscope.domain.counters.monotonic import differences
from tierscope.domain.counters.packing import Block, join_blocks, pack_block, unpack_block
from tierscope.domain.counters.rollups import OBSERVED_KEY, merge_rollups, roll_up, widen

MINUTE_US = 60_000_000


def block(
    values: np.ndarray, present: np.ndarray | None = None, *, boots: list[int] | None = None, start: int = 0
) -> Block:
    n, k = values.shape
    return Block(
        np.arange(start + 1, start + n + 1, dtype=np.int64) * MINUTE_US,
        np.array(boots or [7] * n, np.int64),
        np.full(n, -1, np.int64),
        np.zeros(n, np.int64),
        tuple(f"host|vmstat|k{i}" for i in range(k)),
        np.where(present, values, 0) if present is not None else values,
        present if present is not None else np.ones(values.shape, bool),
    )


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    n, k = draw(st.integers(2, 80)), draw(st.integers(1, 4))
    values = draw(npst.arrays(np.int64, (n, k), elements=st.integers(-(2**62), 2**62)))
    present = draw(npst.arrays(bool, (n, k)))
    boots = sorted(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    return block(values, present, boots=boots)


def test_an_interval_belongs_to_the_bucket_in_which_it_ends() -> None:
    assert bucket_start(TEN_MINUTES_US, TEN_MINUTES_US) == 0
    assert bucket_start(TEN_MINUTES_US + 1, TEN_MINUTES_US) == TEN_MINUTES_US


@given(blocks())
def test_pack_is_exact(original: Block) -> None:
    again = unpack_block(pack_block(original), original.keys)
    assert (again.values == original.values).all()
    assert (again.present == original.present).all()
    assert (again.times_us == original.times_us).all()
    assert (again.boots == original.boots).all()


@given(blocks())
def test_fine_buckets_sum_to_the_coarse_bucket(original: Block) -> None:
    small = Block(
        original.times_us,
        original.boots,
        original.boottimes_ns,
        original.flags,
        original.keys,
        np.abs(original.values) % 10**9,
        original.present,
    )
    counters = frozenset(small.keys[:1])
    fine = roll_up(small, counters, base_us=0, width_us=TEN_MINUTES_US, nominal_s=60.0)
    coarse = roll_up(small, counters, base_us=0, width_us=HOUR_US, nominal_s=60.0)
    merged = merge_rollups(fine, HOUR_US)
    for name in ("first", "last", "min", "max", "sum", "n"):
        np.testing.assert_array_equal(getattr(merged, name), getattr(coarse, name))


@given(blocks())
def test_sums_of_counters_are_the_sums_of_their_differences(original: Block) -> None:
    small = Block(
        original.times_us,
        original.boots,
        original.boottimes_ns,
        original.flags,
        original.keys,
        np.abs(original.values) % 10**9,
        original.present,
    )
    rolled = roll_up(small, frozenset(small.keys), base_us=0, width_us=HOUR_US, nominal_s=60.0)
    flow = differences(small.times_us / 1e6, small.boots, small.values, small.present, nominal_s=60.0)
    assert np.nan_to_num(rolled.sum[:, :-1]).sum(axis=0).tolist() == flow.delta.sum(axis=0).tolist()


def test_observed_seconds_leave_out_a_reboot() -> None:
    rolled = roll_up(
        block(np.arange(12).reshape(6, 2), boots=[1, 1, 1, 2, 2, 2]),
        frozenset(),
        base_us=0,
        width_us=HOUR_US,
        nominal_s=60.0,
    )
    assert rolled.keys[-1] == OBSERVED_KEY
    assert rolled.sum[0, -1] == 240


def test_blocks_of_other_layouts_join_over_all_keys_with_the_rest_missing() -> None:
    first, second = block(np.array([[1], [2]])), block(np.array([[3, 4]]), start=2)
    joined = join_blocks([first, second])
    assert joined.keys == ("host|vmstat|k0", "host|vmstat|k1")
    assert joined.values[:, 0].tolist() == [1, 2, 3]
    assert joined.present[:, 1].tolist() == [False, False, True]


def test_of_repeats_the_last_one_stored_wins() -> None:
    joined = join_blocks([block(np.array([[1], [2]])), block(np.array([[9]]), start=1)])
    assert joined.values[:, 0].tolist() == [1, 9]


def test_rollups_of_other_keys_widen_with_missing_values() -> None:
    first = roll_up(block(np.array([[1], [2]])), frozenset(), base_us=0, width_us=HOUR_US, nominal_s=60.0)
    second = roll_up(block(np.array([[3, 4]]), start=90), frozenset(), base_us=0, width_us=HOUR_US, nominal_s=60.0)
    wide = widen([second, first])
    assert wide.starts_us.tolist() == [0, HOUR_US]
    assert np.isnan(wide.sum[0, wide.keys.index("host|vmstat|k1")])
    assert wide.n[0, wide.keys.index("host|vmstat|k1")] == 0
