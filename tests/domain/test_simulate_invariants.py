"""What holds for every trace, policy and machine, through the Python face of the simulator."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tierscope.domain.simulate import (
    POLICY_NAMES,
    WORKLOADS,
    Machine,
    Outcome,
    PolicyName,
    TraceColumns,
    compile_trace,
    make_policy,
    make_workload,
    replay,
    split_machine,
)
from tierscope.domain.simulate.machine import SwapDevice

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")


@st.composite
def traces(draw: st.DrawFn) -> TraceColumns:
    """A few pages of any kind and size, born and gone at any time, with some accesses while they live."""
    intervals, pages = draw(st.integers(2, 12)), draw(st.integers(1, 30))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    ends = np.sort(random.integers(0, intervals, (2, pages)), axis=0)
    touched = random.random((intervals, pages)) < draw(st.floats(0.05, 0.9))
    at = np.arange(intervals)[:, None]
    interval, page = np.nonzero(touched & (ends[0] <= at) & (at <= ends[1]))
    return TraceColumns(
        intervals=intervals,
        kinds=random.integers(0, 3, pages),
        units=random.choice([1, 1, 1, 4], pages),
        first=ends[0],
        last=ends[1],
        row_interval=interval,
        row_page=page,
        row_accesses=random.integers(1, 300, len(page)),
        row_written=random.random(len(page)) < 0.3,
    )


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Any sizes, with swap or without, scanned often or seldom."""
    dram, slow = draw(st.integers(1, 40)), draw(st.integers(0, 60))
    swap: SwapDevice | None = draw(st.sampled_from((None, "ssd", "zns")))
    scan_pass_s = draw(st.sampled_from([None, 30.0, 150.0]))
    factor = draw(st.sampled_from([0, 10, 500]))
    return Machine(
        dram,
        slow,
        swap=swap,
        swap_pages=draw(st.integers(0, 40)),
        scan_pass_s=scan_pass_s,
        watermark_scale_factor=factor,
    )


POLICIES = st.sampled_from(POLICY_NAMES)
SEEDS = st.one_of(st.none(), st.integers(0, 1000))


def resident_units(columns: TraceColumns) -> list[int]:
    """Base pages of the pages that live in each interval."""
    at = np.arange(columns.intervals)[:, None]
    there = (columns.first <= at) & (at <= columns.last)
    return [int(columns.units[row].sum()) for row in there]


@settings(max_examples=300, deadline=None)
@given(traces(), POLICIES, machines(), SEEDS)
def test_memory_is_conserved_and_no_tier_holds_more_than_it_has(
    columns: TraceColumns, name: PolicyName, machine: Machine, seed: int | None
) -> None:
    outcome = replay(compile_trace(columns), make_policy(name), machine, seed=seed)
    figures = outcome.figures
    assert figures.accesses.sum() == columns.row_accesses.sum()
    if name == "oracle":
        return
    used = figures.used.sum(axis=2)
    away = figures.others["away"] + figures.others["nowhere"]
    assert (used.sum(axis=1) + away).tolist() == resident_units(columns)
    assert (used[:, 1] <= outcome.machine.slow_pages).all()
    if name != "all_dram":
        assert (used[:, 0] <= outcome.machine.dram_pages).all()
        assert (used[:, 0] + figures.others["dram_free"] == outcome.machine.dram_pages).all()
    assert (figures.others["swap_used"] <= max(outcome.machine.swap_pages, 0)).all()
    # What went up and down is what changed DRAM beside births, deaths and evictions: the core checks it, and stops.
    assert (figures.promoted >= 0).all()
    assert (figures.demoted >= 0).all()


@settings(max_examples=300, deadline=None)
@given(traces(), POLICIES, machines(), SEEDS)
def test_no_policy_serves_more_than_the_oracle_and_all_dram_serves_everything(
    columns: TraceColumns, name: PolicyName, machine: Machine, seed: int | None
) -> None:
    trace = compile_trace(columns)
    served = replay(trace, make_policy(name), machine, seed=seed).figures.accesses[:, :, 0].sum(axis=1)
    if name == "all_dram":
        assert served.sum() == columns.row_accesses.sum()
    else:
        # The bound counts a large page that fits in part, in part; as a policy it is rounded.
        assert (served <= trace.oracle(machine.dram_pages) + 0.5 + 1e-9).all()


@settings(max_examples=200, deadline=None)
@given(traces(), st.integers(1, 40), st.integers(0, 40))
def test_more_dram_never_hurts_the_oracle(columns: TraceColumns, dram: int, more: int) -> None:
    trace = compile_trace(columns)
    assert (trace.oracle(dram) <= trace.oracle(dram + more) + 1e-9).all()
    assert trace.oracle(2**40).sum() == pytest.approx(columns.row_accesses.sum())


@settings(max_examples=60, deadline=None)
@given(traces(), machines(), SEEDS)
def test_one_seed_gives_one_result_on_one_and_on_two_threads(
    columns: TraceColumns, machine: Machine, seed: int | None
) -> None:
    trace = compile_trace(columns)

    def run(name: PolicyName) -> Outcome:
        return replay(trace, make_policy(name), machine, seed=seed)

    alone = [run(name) for name in POLICY_NAMES]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(run, POLICY_NAMES))
    for one, other in zip(alone, together, strict=True):
        assert (one.figures.accesses == other.figures.accesses).all()
        assert (one.figures.promoted == other.figures.promoted).all()
        assert (one.figures.used == other.figures.used).all()
        for key, values in one.figures.others.items():
            assert (values == other.figures.others[key]).all(), key


@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads_are_the_same_for_a_seed_and_keep_every_policy_below_the_oracle(name: str) -> None:
    trace, again = (make_workload(name, seed=4, pages=2_000, intervals=30) for _ in range(2))
    other = make_workload(name, seed=5, pages=2_000, intervals=30)
    machine = split_machine(trace.peak_units, 0.4)
    assert (trace.oracle(500) == again.oracle(500)).all()
    if name != "scan":  # what a scan touches is not drawn
        assert trace.accesses != other.accesses
    for policy in POLICY_NAMES:
        served = replay(trace, make_policy(policy), machine).figures.accesses[:, :, 0].sum(axis=1)
        if policy not in ("all_dram", "oracle"):
            assert (served <= trace.oracle(machine.dram_pages) + 1e-6).all(), policy


@pytest.mark.parametrize(
    ("name", "pages", "intervals", "seed", "cause"),
    [
        ("web9", 100, 10, 0, "there is no workload 'web9'"),
        ("web1", 0, 10, 0, "at least one page"),
        ("web1", 100, 0, 0, "at least one page and one interval"),
        ("web1", 100, 10, -1, "a seed of 0 or more"),
        ("zipf", 10**9, 10, 0, "more than 50000000"),
    ],
)
def test_workloads_that_cannot_be_are_refused(name: str, pages: int, intervals: int, seed: int, cause: str) -> None:
    with pytest.raises(ValueError, match=cause):
        make_workload(name, seed=seed, pages=pages, intervals=intervals)
