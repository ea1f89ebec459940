"""Presets of the papers' workloads: the registry, YCSB's definitions, and the model of threads."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.domain.simulate import SERVICES, WORKLOADS, find_workload, workload_columns
from tierscope.domain.simulate.request_workloads import REQUEST_PATTERNS, YCSB, Pattern, make_requests
from tierscope.domain.simulate.workloads import PATTERNS, zipfian
from tierscope.domain.slowdown.thread_rate import Tiers, thread_rate

PAGES, INTERVALS = 1000, 20


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_of_the_registry_can_be_made_and_says_where_it_is_from(name: str) -> None:
    columns = workload_columns(name.replace("_", "-").upper(), seed=3, pages=PAGES, intervals=INTERVALS)
    assert len(columns.kinds) >= PAGES * 0.9
    assert columns.row_interval.max() == INTERVALS - 1
    assert (np.diff(columns.row_interval) >= 0).all()
    assert WORKLOADS[name].source.startswith("synthetic; ")


def test_every_generator_is_in_the_registry() -> None:
    assert {*SERVICES, *PATTERNS, *REQUEST_PATTERNS} <= set(WORKLOADS)
    with pytest.raises(ValueError, match="there is no workload 'ycsb-g': choose one of web1"):
        find_workload("ycsb-g")


@pytest.mark.parametrize("name", REQUEST_PATTERNS)
def test_one_seed_gives_one_trace(name: Pattern) -> None:
    one, same, other = (make_requests(name, pages=PAGES, intervals=INTERVALS, seed=seed) for seed in (1, 1, 2))
    assert (one.row_accesses == same.row_accesses).all()
    assert len(one.row_page) != len(other.row_page) or (one.row_accesses != other.row_accesses).any()


def test_ycsb_has_the_mixes_of_its_workload_files() -> None:
    for mix in YCSB.values():
        assert math.isclose(mix.read + mix.update + mix.insert + mix.scan + mix.read_modify_write, 1.0)
    assert YCSB["ycsb_a"].written_ratio == 0.5
    assert YCSB["ycsb_b"].written_ratio == pytest.approx(0.05)
    assert YCSB["ycsb_c"].written_ratio == 0.0
    # Half of the operations read and write one record: of three accesses one writes.
    assert YCSB["ycsb_f"].written_ratio == pytest.approx(1 / 3)


def accesses(name: Pattern, at: int = INTERVALS - 1) -> np.ndarray:
    trace = make_requests(name, pages=PAGES, intervals=INTERVALS, seed=5)
    chosen = trace.row_interval == at
    return np.bincount(trace.row_page[chosen], weights=trace.row_accesses[chosen], minlength=PAGES)


def test_zipfian_is_scattered_and_latest_follows_the_newest_pages() -> None:
    shares = zipfian(4 * PAGES)
    assert shares[0] / shares[9] == pytest.approx(10**0.99)
    hottest = np.argsort(accesses("ycsb_a"))[::-1][:50]
    assert 0.25 < hottest.mean() / PAGES < 0.75
    early, late = (np.average(np.arange(PAGES), weights=accesses("ycsb_d", at)) for at in (0, INTERVALS - 1))
    assert late > early + 0.15 * PAGES
    assert accesses("ycsb_d", 0)[PAGES - PAGES // 10 :].sum() == 0


def test_scans_spread_over_more_pages_than_single_records_do() -> None:
    def busiest(name: Pattern) -> float:
        found = np.sort(accesses(name))[::-1]
        return float(found[: PAGES // 20].sum() / found.sum())

    assert busiest("ycsb_e") < busiest("ycsb_c") - 0.1


rates = st.floats(0.0, 1.0)


@given(threads=st.integers(1, 64), slow=rates, memory=rates)
def test_a_slower_tier_never_helps_threads_that_leave_bandwidth_to_spare(
    threads: int, slow: float, memory: float
) -> None:
    tiers = Tiers(latency_ratio=2.0, saturating_threads=math.inf, bandwidth_ratio=0.5)
    rate = thread_rate(threads, slow, memory_ratio=memory, tiers=tiers)
    assert threads / 2 <= rate <= threads


def test_bandwidth_of_a_second_tier_adds_to_that_of_a_saturated_one() -> None:
    tiers = Tiers(latency_ratio=1.0, saturating_threads=24.0, bandwidth_ratio=0.25)
    assert thread_rate(40, 0.0, memory_ratio=0.6, tiers=tiers) == 24.0
    assert thread_rate(40, 0.2, memory_ratio=0.6, tiers=tiers) == pytest.approx(30.0)
    # More than its share of the bandwidth chokes the slower tier.
    assert thread_rate(40, 0.5, memory_ratio=0.6, tiers=tiers) == pytest.approx(12.0)


@pytest.mark.parametrize(("threads", "slow", "memory"), [(0, 0.5, 0.5), (1, 1.1, 0.5), (1, 0.5, -0.1)])
def test_shares_and_threads_that_cannot_be_are_refused(threads: float, slow: float, memory: float) -> None:
    with pytest.raises(ValueError, match="at least one thread"):
        thread_rate(threads, slow, memory_ratio=memory, tiers=Tiers(2.0, 24.0, 0.3))
    with pytest.raises(ValueError, match="latency_ratio must be above 0"):
        Tiers(0.0, 24.0, 0.3)
