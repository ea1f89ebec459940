"""The ledger: totals, resets, dialects, trust, and verdicts on recordings of real kernels."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from factories.kernel_lab import load
from tierscope.domain.counters.monotonic import Cause, differences
from tierscope.domain.counters.packing import Block, empty_block
from tierscope.domain.ledger import (
    COLUMN_INDEX,
    Context,
    Ledger,
    Tiers,
    block_ledger,
    build_ledger,
    find_dialect,
    judge,
    plan_host,
    plan_service,
)
from tierscope.domain.ledger.machine import read_machine
from tierscope.domain.ledger.stacked import block_ledgers

TIERS = Tiers(frozenset({0}), known=True)
RECORDED_VERDICTS = {
    "01-baseline-fits": {"fits"},
    "02-default-spill": {"spill"},
    "03-tiering-steady": {"healthy"},
    "04-pingpong": {"futile_ping_pong"},
    "05-ratelimited": {"limiter_bound"},
    "07b-phase-fastscan": {"following_phases"},
    "08-swap": {"swap_pressure"},
    "10-cxl-real": {"healthy", "fits"},
    "12-kernel-6.1": {"futile_ping_pong"},
    "15-mixed-reclaim": {"limit_reclaim"},
}


def ledger_of(name: str, *, stretch: float = 1.0, service: bool = False) -> Ledger:
    times, keys, values, present = load(name)
    times = times[0] + (times - times[0]) * stretch
    plan = plan_service(keys, ["cgroup:/load"], TIERS) if service else plan_host(keys, TIERS, page_bytes=4096)
    boots = np.zeros(len(times), np.int64)
    return build_ledger(times, boots, values, present, plan)


@pytest.mark.parametrize("name", sorted(RECORDED_VERDICTS))
def test_recorded_host_gets_its_verdict(name: str) -> None:
    assert judge(ledger_of(name), Context(dram_bytes=768 * 2**20)).word in RECORDED_VERDICTS[name]


@pytest.mark.parametrize("name", sorted(RECORDED_VERDICTS))
def test_verdict_does_not_depend_on_the_length_of_an_interval(name: str) -> None:
    assert judge(ledger_of(name, stretch=30.0)).word == judge(ledger_of(name)).word


@pytest.mark.parametrize("name", sorted(RECORDED_VERDICTS))
def test_totals_are_last_minus_first(name: str) -> None:
    _, keys, values, _ = load(name)
    ledger = ledger_of(name)
    for column, counter in (("promoted_pages", "pgpromote_success"), ("pte_updates", "numa_pte_updates")):
        place = keys.index(f"host|vmstat|{counter}")
        assert ledger.total(column) == values[-1, place] - values[0, place]
    demoted = [i for i, key in enumerate(keys) if key.startswith("host|vmstat|pgdemote_")]
    assert ledger.total("demoted_pages") == int((values[-1, demoted] - values[0, demoted]).sum())


def recorded_block(name: str, seed: int) -> Block:
    """Some samples of a recording, with holes in time, values that were not read, and two reboots."""
    times, keys, values, present = load(name)
    rng = np.random.default_rng(seed)
    kept = np.flatnonzero(rng.random(len(times)) < 0.8)
    present = present[kept] & (rng.random((len(kept), len(keys))) < 0.99)
    boots = np.arange(len(kept)) * 3 // len(kept)
    none = np.zeros(len(kept), np.int64)
    return Block(np.rint(times[kept] * 1e6).astype(np.int64), boots, none, none, tuple(keys), values[kept], present)


def test_ledgers_that_are_made_together_are_those_of_each_block() -> None:
    blocks = [recorded_block(name, seed) for seed in (1, 2) for name in sorted(RECORDED_VERDICTS)]
    blocks += [empty_block(blocks[0].keys), blocks[0].rows(slice(1))]
    machine = read_machine(None)
    parts = [(block, machine.pick(block.keys, scope)) for block in blocks for scope in (None, "cgroup:/load")]
    after_s = float(np.median(np.concatenate([block.times_us for block in blocks]))) / 1e6
    made = block_ledgers(parts, after_s=after_s)
    assert len({picked.likeness for _, picked in parts}) < len(parts) / 2
    assert 0 < sum(map(len, made)) < sum(len(block) for block, _ in parts)
    for (block, picked), found in zip(parts, made, strict=True):
        wanted = block_ledger(block, picked.plan, after_s=after_s)
        for name in ("times_s", "dt_seconds", "values", "present", "cause"):
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)


def test_true_reclaim_is_what_went_to_swap() -> None:
    ledger = ledger_of("08-swap")
    swapped, evicted = ledger.total("swap_out_pages"), ledger.total("reclaimed_true_pages")
    assert swapped is not None
    assert evicted == pytest.approx(swapped, rel=0.001)


def test_reclaim_for_limits_is_told_from_reclaim_for_the_host() -> None:
    assert ledger_of("04-pingpong").total("limit_reclaimed_pages") == pytest.approx(0, abs=100)
    assert (ledger_of("15-mixed-reclaim").total("limit_reclaimed_pages") or 0) > 100_000


def test_old_kernel_has_no_khugepaged_demotions_and_no_service_ledger() -> None:
    host, service = ledger_of("12-kernel-6.1"), ledger_of("12-kernel-6.1", service=True)
    assert host.total("demoted_khugepaged_pages") is None
    assert host.total("demoted_pages") == 36857
    assert service.total("promoted_pages") is None
    assert judge(service).word == "not_known"


def test_service_ledger_counts_its_own_cgroup() -> None:
    assert ledger_of("04-pingpong", service=True).total("promoted_pages") == pytest.approx(258_633, rel=0.001)


def test_dialect_is_found_by_names() -> None:
    tpp = ["host|vmstat|pgpromote_candidate_demoted", "host|vmstat|pgdemote_anon"]
    assert find_dialect(tpp)[0] == "tpp"
    assert find_dialect(["host|vmstat|pgfault"])[0] == "none"
    assert find_dialect(load("12-kernel-6.1")[1])[1] == (
        "mainline: no pgdemote_khugepaged, demotions for the whole host only"
    )


def test_tpp_columns_come_from_tpp_counters() -> None:
    names = ["pgpromote_anon", "pgpromote_file", "pgdemote_anon", "pgdemote_file", "pgpromote_candidate"]
    keys = sorted(f"host|vmstat|{name}" for name in [*names, "pgpromote_candidate_demoted"])
    values = np.array([[0] * 6, [1, 2, 3, 4, 5, 6]], np.int64)
    plan = plan_host(keys, TIERS, page_bytes=4096)
    ledger = build_ledger(np.array([0.0, 60.0]), np.zeros(2, np.int64), values, np.ones((2, 6), bool), plan)
    by_name = dict(zip(keys, (1, 2, 3, 4, 5, 6), strict=True))
    assert (
        ledger.total("promoted_pages") == by_name["host|vmstat|pgpromote_anon"] + by_name["host|vmstat|pgpromote_file"]
    )
    assert ledger.total("candidates_demoted") == by_name["host|vmstat|pgpromote_candidate_demoted"]
    assert plan.columns[COLUMN_INDEX["promotion_candidates_pages"]].trust == "partial"
    assert plan.columns[COLUMN_INDEX["promoted_pages"]].trust == "bound"


DAMON_COLUMNS = ("damon_promoted_bytes", "damon_demoted_bytes", "damon_paged_out_bytes")


def test_moves_of_damon_have_the_direction_of_the_node_that_they_go_to() -> None:
    keys = [
        f"host|damos|sz_applied[{scheme}]"
        for scheme in (
            "k0.c0.s0.migrate_hot.N0",
            "k0.c0.s1.migrate_cold.N1",
            "k1.c0.s0.migrate_cold.N2",
            "k1.c0.s1.pageout",
            "k1.c0.s2.lru_prio",
            "k1.c0.s3.migrate_hot",
        )
    ]
    keys.append("host|damos|sz_tried[k0.c0.s0.migrate_hot.N0]")

    def places(tiers: Tiers) -> list[tuple[int, ...]]:
        plan = plan_host(keys, tiers, page_bytes=4096)
        return [plan.columns[COLUMN_INDEX[key]].plus for key in DAMON_COLUMNS]

    assert places(TIERS) == [(0,), (1, 2), (3,)]
    # A scheme that moves memory to several nodes, or a host that keeps its tiers to itself, has no direction.
    assert places(Tiers(frozenset({0, 1, 2}), known=False)) == [(), (), (3,)]
    trusts = [plan_host(keys, TIERS, page_bytes=4096).columns[COLUMN_INDEX[key]].trust for key in DAMON_COLUMNS]
    assert trusts == ["bound", "bound", "partial"]
    service = plan_service(keys, ["cgroup:/a"], TIERS)
    assert all(service.columns[COLUMN_INDEX[key]].trust == "not_supported" for key in DAMON_COLUMNS)


def test_a_kernel_thread_that_starts_anew_loses_one_step_and_stale_statistics_are_no_zero() -> None:
    keys = ["host|damos|sz_applied[k0.c0.s0.migrate_cold.N1]"]
    plan = plan_host(keys, TIERS, page_bytes=4096)
    values = np.array([[100], [300], [50], [80], [0], [90]], np.int64)
    present = np.array([[True], [True], [True], [True], [False], [True]])
    times = np.array([0.0, 60.0, 120.0, 180.0, 240.0, 300.0])
    ledger = build_ledger(times, np.zeros(6, np.int64), values, present, plan)
    place = COLUMN_INDEX["damon_demoted_bytes"]
    assert ledger.present[:, place].tolist() == [True, False, True, False, False]
    assert ledger.total("damon_demoted_bytes") == 230


@pytest.mark.parametrize("page_bytes", [4096, 65536])
def test_resident_memory_counts_pages_of_the_hosts_own_size(page_bytes: int) -> None:
    keys = [f"node:0|vmstat|{name}" for name in ("nr_active_anon", "nr_inactive_file")]
    machine = read_machine({"nodes": [{"id": 0}, {"id": 1}], "tiers": [{"rank": 0, "nodes": [0]}]})
    values = np.array([[0, 0], [3, 4]], np.int64)
    plan = replace(machine, page_bytes=page_bytes).plan(keys)
    ledger = build_ledger(np.array([0.0, 60.0]), np.zeros(2, np.int64), values, np.ones((2, 2), bool), plan)
    assert ledger.total("top_resident_bytes") == 7 * page_bytes


def test_too_short_a_window_is_not_judged() -> None:
    times, keys, values, present = load("04-pingpong")
    few = slice(0, 4)
    plan = plan_host(keys, TIERS, page_bytes=4096)
    ledger = build_ledger(times[few], np.zeros(4, np.int64), values[few], present[few], plan)
    assert judge(ledger).word == "not_known"


def step(
    values: list[int], *, boots: list[int] | None = None, times: list[float] | None = None
) -> tuple[list[int], list[int]]:
    n = len(values)
    found = differences(
        np.array(times or [60.0 * i for i in range(n)]),
        np.array(boots or [0] * n),
        np.array([[value] for value in values]),
        np.ones((n, 1), bool),
        nominal_s=60.0,
    )
    return found.delta[:, 0].tolist(), found.cause[:, 0].tolist()


def test_reboot_makes_the_step_absent_even_when_the_value_grew() -> None:
    assert step([5, 9, 100], boots=[1, 1, 2]) == ([4, 0], [Cause.NONE, Cause.REBOOT])


def test_a_decrease_within_a_boot_is_absent_not_negative() -> None:
    assert step([5, 3, 4]) == ([0, 1], [Cause.WENT_BACKWARDS, Cause.NONE])


def test_a_gap_keeps_its_difference_and_is_flagged() -> None:
    found = differences(
        np.array([0.0, 60.0, 600.0]),
        np.zeros(3, np.int64),
        np.array([[1], [2], [9]]),
        np.ones((3, 1), bool),
        nominal_s=60.0,
    )
    assert found.delta[:, 0].tolist() == [1, 7]
    assert found.gap.tolist() == [False, True]


def test_a_missing_value_is_absent_with_its_cause() -> None:
    found = differences(
        np.array([0.0, 60.0, 120.0]),
        np.zeros(3, np.int64),
        np.array([[1], [0], [9]]),
        np.array([[True], [False], [True]]),
        nominal_s=60.0,
    )
    assert not found.ok.any()
    assert found.cause[:, 0].tolist() == [Cause.MISSING, Cause.MISSING]


@given(npst.arrays(np.int64, st.tuples(st.integers(2, 40), st.integers(1, 4)), elements=st.integers(0, 2**40)))
def test_without_resets_differences_sum_to_last_minus_first(steps: np.ndarray) -> None:
    values = np.cumsum(steps, axis=0)
    n = len(values)
    found = differences(
        60.0 * np.arange(float(n)), np.zeros(n, np.int64), values, np.ones(values.shape, bool), nominal_s=60.0
    )
    assert (found.delta.sum(axis=0) == values[-1] - values[0]).all()


@given(
    npst.arrays(np.int64, st.tuples(st.integers(2, 40), st.just(2)), elements=st.integers(0, 2**62)),
    st.data(),
)
def test_differences_are_never_negative_and_absent_ones_are_zero_with_a_cause(
    values: np.ndarray, data: st.DataObject
) -> None:
    n = len(values)
    boots = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    present = data.draw(npst.arrays(bool, values.shape))
    found = differences(60.0 * np.arange(float(n)), boots, values, present, nominal_s=60.0)
    assert (found.delta >= 0).all()
    assert (found.delta[~found.ok] == 0).all()
    assert (found.cause[found.ok] == Cause.NONE).all()
    assert (found.cause[~found.ok] != Cause.NONE).all()
