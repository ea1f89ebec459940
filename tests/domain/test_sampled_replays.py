"""Sampled pages as traces: joined and scaled as they were sampled, and shares whose intervals hold the truth."""

from dataclasses import replace

import numpy as np
import pytest

from fixtures.draws import drawn
from tierscope.domain.curve.sample_blocks import SampledPages
from tierscope.domain.knobs.facts import (
    DEMOTE_SCALE,
    DEMOTION,
    HOT_THRESHOLD,
    NUMA_BALANCING,
    RATE_LIMIT,
    WATERMARK_SCALE,
    Host,
)
from tierscope.domain.knobs.policy import (
    DEFAULT_POLICY,
    HostPolicy,
    askable_policies,
    policy_of_host,
    policy_of_hosts,
)
from tierscope.domain.simulate import (
    Costs,
    PolicyName,
    TraceColumns,
    compile_trace,
    make_policy,
    split_machine,
    workload_columns,
)
from tierscope.domain.simulate.sampled import LEAD_INTERVALS, RatedBlock, SampledTrace, join_sampled, take_pages
from tierscope.domain.simulate.sweep import SweepRun
from tierscope.domain.simulate.sweep_replay import Conditions, HostTrace, oracle_ratio, replay_run, run_series

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")

MINUTE_NS = 60_000_000_000
HOUR_US = 3_600_000_000


def block_of(
    accesses: list[list[int]],
    *,
    ids: list[int] | None = None,
    observed: list[bool] | None = None,
    group: str = "server",
    hour: int = 1,
    ratio: float = 0.5,
    events: float = 1.0,
) -> RatedBlock:
    """A block of minutes that ends with an hour; `accesses` by page and interval."""
    table = np.array(accesses)
    pages, k = table.shape
    interval, page = np.nonzero(table.T)
    sample = SampledPages(
        before_end_ns=np.arange(k)[::-1] * MINUTE_NS,
        observed=np.ones(k, np.bool_) if observed is None else np.array(observed),
        page_ids=np.arange(1, pages + 1) if ids is None else np.array(ids),
        kinds=np.ones(pages, np.int64),
        page_sizes_bytes=np.full(pages, 4096),
        first_interval=np.zeros(pages, np.int64),
        last_interval=np.full(pages, k - 1),
        row_interval=interval,
        row_page=page,
        row_loads=table[page, interval],
        row_stores=np.zeros(len(page), np.int64),
    )
    return RatedBlock(group, hour * HOUR_US, ratio, events, sample)


def test_blocks_of_hours_and_groups_join_to_one_trace_without_gaps() -> None:
    first = block_of([[1, 0], [2, 3]], hour=1)
    later = block_of([[5, 0], [0, 0]], hour=3, observed=[True, False])
    other = block_of([[7, 7]], hour=1, group="batch")
    found = join_sampled([first, later, other], interval_ns=MINUTE_NS)
    assert found.n_intervals == 3, "the hour between and the interval that was missed are cut out"
    assert found.columns.intervals == 3 + LEAD_INTERVALS
    assert found.n_pages == 3, "page 1 of another process group is another page"
    assert found.n_samples == 25
    assert found.columns.row_accesses.sum() == 25
    assert sorted(found.columns.row_interval.tolist()) == [1, 1, 1, 2, 2, 3]
    assert found.columns.first.tolist() == [0, 0, 0], "what is there at the beginning comes before it"


def test_the_lowest_rate_decides_which_pages_count_and_counts_are_scaled_to_events() -> None:
    ids = [1, 2**62 + 5]  # selected at a quarter, and at a half alone
    half = block_of([[3, 3], [3, 3]], ids=ids, ratio=0.5, events=100.0)
    quarter = block_of([[1, 1]], ids=ids[:1], ratio=0.25, hour=2, events=100.0)
    found = join_sampled([half, quarter], interval_ns=MINUTE_NS)
    assert (found.sampled_ratio, found.n_pages) == (0.25, 1)
    assert (found.n_samples, found.columns.row_accesses.tolist()) == (8, [300, 300, 100, 100])


def test_samplers_count_loads_and_idle_memory_fills_up_to_what_is_resident() -> None:
    block = block_of([[4, 0], [0, 1]], ratio=0.5)
    stores = replace(block.pages, row_stores=np.array([0, 9]), row_loads=np.array([4, 0]))
    found = join_sampled(
        [replace(block, pages=stores)],
        interval_ns=MINUTE_NS,
        loads_only=True,
        stay_resident=True,
        resident_bytes=[20 * 4096.0, 4 * 4096.0, 0.0],
    )
    assert found.columns.row_accesses.tolist() == [4]
    assert np.bincount(found.columns.kinds, minlength=3).tolist() == [10, 2, 0]
    assert found.n_pages == 2, "idle pages are none of the sample"
    with pytest.raises(ValueError, match="no page sample"):
        join_sampled([], interval_ns=MINUTE_NS)
    with pytest.raises(ValueError, match="none has accesses"):
        join_sampled([block_of([[1, 1]], observed=[False, False])], interval_ns=MINUTE_NS)


def hosts_of(count: int, pages: int) -> list[TraceColumns]:
    """Whole traces of hosts of one service: the same behaviour, other pages."""
    return [workload_columns("cache1", seed=seed, pages=pages, intervals=40) for seed in range(count)]


def sample_of(columns: TraceColumns, ratio: float, random: np.random.Generator) -> SampledTrace:
    """Pages drawn by chance, as a hash does."""
    kept = take_pages(columns, random.random(len(columns.kinds)) < ratio)
    order = random.permutation(len(kept.kinds))
    place = np.argsort(order)
    rows = np.lexsort((place[kept.row_page], kept.row_interval))
    shuffled = TraceColumns(
        kept.intervals,
        kept.kinds[order],
        kept.units[order],
        kept.first[order],
        kept.last[order],
        kept.row_interval[rows],
        place[kept.row_page][rows],
        kept.row_accesses[rows],
        kept.row_written[rows],
    )
    counts = int(kept.row_accesses.sum())
    return SampledTrace(shuffled, ratio, len(kept.kinds), counts, kept.intervals, 0.0, np.arange(kept.intervals))


CONDITIONS = Conditions(Costs(), warm_up_intervals=10)


@pytest.mark.rates
@pytest.mark.parametrize("policy", ["tpp", "first_touch"])
def test_intervals_of_sampled_shares_hold_the_truth_at_about_their_rate(policy: str) -> None:
    random = np.random.default_rng(5)
    whole = hosts_of(6, 20_000)
    run = SweepRun(0, make_policy(policy).name, 0.6, {}, searched=False)
    truths = [
        replay_run([HostTrace.of_whole(compile_trace(sample_of(one, 1.0, random).columns))], run, CONDITIONS).away
        for one in whole
    ]
    held = []
    for _ in range(drawn(20)):
        for columns, truth in zip(whole, truths, strict=True):
            assert truth is not None
            trace = HostTrace.of_sample(sample_of(columns, 0.1, random), lead_intervals=0)
            found = replay_run([trace], run, CONDITIONS).away
            assert found is not None
            assert found.lo < found.value < found.hi
            held.append(found.lo <= truth.value <= found.hi)
    assert 0.86 <= np.mean(held) <= 1.0, "stated: 95 %"


def with_heavy_page(columns: TraceColumns) -> TraceColumns:
    """The trace with a page that takes more accesses than all others together."""
    busiest = int(np.argmax(np.bincount(columns.row_page)))
    heavy = columns.row_page == busiest
    factor = 2 * int(columns.row_accesses.sum()) // int(columns.row_accesses[heavy].sum())
    return replace(columns, row_accesses=np.where(heavy, columns.row_accesses * factor, columns.row_accesses))


def test_with_every_page_in_the_sample_one_heavy_page_makes_no_share_unknown() -> None:
    random = np.random.default_rng(4)
    run = SweepRun(0, "tpp", 0.9, {}, searched=False)
    samples = [sample_of(with_heavy_page(columns), 1.0, random) for columns in hosts_of(3, 4_000)]
    traces = [HostTrace.of_sample(one, lead_intervals=0) for one in samples]
    assert all(trace.groups == () for trace in traces), "nothing was drawn"
    alone = replay_run(traces[:1], run, CONDITIONS).away
    assert alone is not None
    assert alone.lo == alone.value == alone.hi
    service = replay_run(traces, run, CONDITIONS).away
    assert service is not None
    assert 0.0 < service.lo < service.value < service.hi < 0.25
    tenth = [sample_of(with_heavy_page(columns), 0.1, random) for columns in hosts_of(3, 4_000)]
    drawn_share = replay_run([HostTrace.of_sample(one, lead_intervals=0) for one in tenth], run, CONDITIONS).away
    assert drawn_share is not None
    assert drawn_share.hi < 1.0


def test_hosts_that_differ_widen_the_interval_and_rates_are_scaled_up_to_all_pages() -> None:
    random = np.random.default_rng(1)
    alike = [sample_of(columns, 0.1, random) for columns in hosts_of(3, 20_000)]
    other = sample_of(workload_columns("scan", seed=0, pages=20_000, intervals=40), 0.1, random)
    run = SweepRun(0, "tpp", 0.6, {}, searched=False)
    traces = [HostTrace.of_sample(one, lead_intervals=0) for one in alike]
    near = replay_run(traces, run, CONDITIONS)
    far = replay_run([*traces[:2], HostTrace.of_sample(other, lead_intervals=0)], run, CONDITIONS)
    assert near.away is not None
    assert far.away is not None
    assert np.log(far.away.hi / far.away.value) > 2 * np.log(near.away.hi / near.away.value)
    whole = replay_run([HostTrace.of_whole(compile_trace(hosts_of(1, 20_000)[0]))], run, CONDITIONS)
    assert near.totals.accesses == pytest.approx(whole.totals.accesses, rel=0.2)
    assert near.totals.promoted_pages == pytest.approx(whole.totals.promoted_pages, rel=0.3)
    assert near.totals.tier_move_mb_per_s == pytest.approx(whole.totals.tier_move_mb_per_s, rel=0.3)
    assert near.loss is not None
    assert near.loss.lo is not None
    assert near.loss.hi is not None
    assert near.loss.lo < near.loss.median < near.loss.hi


def test_absolute_limits_are_scaled_with_the_sample() -> None:
    machine = replace(split_machine(1_000_000, 0.5), sampled_ratio=0.01)
    settings = make_policy("hot_page_selection").loop_settings(machine, interval_s=60, fault_s=1e-4)
    whole = make_policy("hot_page_selection").loop_settings(split_machine(1_000_000, 0.5), interval_s=60, fault_s=1e-4)
    assert settings["limit_units_per_s"] == pytest.approx(whole["limit_units_per_s"] / 100)
    assert settings["swap_fault_s"] == pytest.approx(whole["swap_fault_s"] * 100)
    assert machine.fast_path_pages == 500_000 // 16
    with pytest.raises(ValueError, match="sampled_ratio"):
        replace(machine, sampled_ratio=0.0)


def test_offloading_takes_the_same_part_of_a_small_sample_as_of_all_pages() -> None:
    run = SweepRun(0, "tmo", 0.9, {}, searched=False)
    columns = workload_columns("data_warehouse", seed=0, pages=40_000, intervals=60)
    random = np.random.default_rng(0)
    whole = replay_run([HostTrace.of_whole(compile_trace(columns))], run, Conditions(Costs())).totals
    part = HostTrace.of_sample(sample_of(columns, 0.003, random), lead_intervals=0)
    small = replay_run([replace(part, groups=())], run, Conditions(Costs())).totals
    assert whole.swapped_out_pages > 100
    assert small.swapped_out_pages == pytest.approx(whole.swapped_out_pages, rel=0.5)


def test_series_join_intervals_and_agree_with_totals() -> None:
    columns = workload_columns("phase_change", seed=2, pages=500, intervals=1500)
    run = SweepRun(0, "tpp", 0.5, {}, searched=False)
    conditions = Conditions(Costs())
    outcome = replay_run([HostTrace.of_whole(compile_trace(columns))], run, conditions)
    series = run_series(outcome, conditions)
    assert len(series["interval"]) == 500
    assert series["interval"][:3] == [0.0, 3.0, 6.0]
    assert {len(values) for values in series.values()} == {500}
    assert sum(value or 0.0 for value in series["promoted_pages"]) == outcome.totals.promoted_pages
    free = [value or 0.0 for value in series["dram_free_bytes"]]
    assert outcome.totals.mean_free_dram_pages is not None
    assert np.mean(free) == pytest.approx(outcome.totals.mean_free_dram_pages * 4096, rel=1e-6)
    moved = np.mean([value or 0.0 for value in series["tier_move_mb_per_s"]])
    assert moved == pytest.approx(outcome.totals.tier_move_mb_per_s, rel=1e-3)
    assert series["local_ratio_file"] == [None] * 500
    shares = [oracle_ratio([HostTrace.of_whole(compile_trace(columns))], share) for share in (0.1, 0.5, 1.0)]
    assert shares == sorted(shares, key=lambda share: share or 0.0)
    assert shares[-1] == 1.0
    with pytest.raises(ValueError, match="none is left to count"):
        replay_run([HostTrace.of_whole(compile_trace(columns))], run, replace(conditions, warm_up_intervals=1500))


@pytest.mark.parametrize(
    ("knobs", "policy", "settings"),
    [
        ({}, "hot_page_selection_auto", {"allocation_demotes": 1}),
        ({NUMA_BALANCING: None}, "hot_page_selection_auto", {"allocation_demotes": 1}),
        (
            {NUMA_BALANCING: "0", DEMOTION: "false", WATERMARK_SCALE: "40"},
            "first_touch",
            {"watermark_scale_factor": 40},
        ),
        ({NUMA_BALANCING: "1", DEMOTION: "true"}, "numa_balancing", {}),
        ({NUMA_BALANCING: "2", DEMOTION: "false"}, "numa_balancing", {}),
        ({NUMA_BALANCING: "2"}, "numa_balancing", {}),
        (
            {NUMA_BALANCING: "3", DEMOTION: "Y", HOT_THRESHOLD: "500", RATE_LIMIT: "100"},
            "hot_page_selection_auto",
            {"hot_threshold_ms": 500, "numa_balancing_promote_rate_limit_MBps": 100, "allocation_demotes": 1},
        ),
        (
            {NUMA_BALANCING: "0", DEMOTION: "1"},
            "hot_page_selection",
            {"numa_balancing_promote_rate_limit_MBps": 0, "allocation_demotes": 1},
        ),
    ],
)
def test_the_policy_of_a_host_follows_from_its_settings(
    knobs: dict[str, str | None], policy: str, settings: dict[str, float]
) -> None:
    found = policy_of_host(Host(knobs=knobs, has_slow_tier=True))
    assert (found.policy, dict(found.settings)) == (policy, settings)
    make_policy(found.policy, found.at(0.5).make_policy().settings)


def test_hosts_without_a_slower_tier_are_taken_to_be_set_up_for_one() -> None:
    found = policy_of_host(Host(knobs={NUMA_BALANCING: "1"}, has_slow_tier=False))
    assert (found.policy, dict(found.settings)) == ("hot_page_selection_auto", {"allocation_demotes": 1})
    assert "no slower tier yet" in found.why
    assert found.origin == "assumed"


@pytest.mark.parametrize("host", [Host(knobs={}, has_slow_tier=False), Host(knobs={}, has_slow_tier=True), None])
def test_what_nothing_is_known_of_gets_what_was_asked_for_else_one_default(host: Host | None) -> None:
    """A recording tells nothing of its host: whoever replays it, with a database or without, assumes the same."""
    hosts = [] if host is None else [host]
    assert policy_of_hosts(hosts)[0].policy == DEFAULT_POLICY
    asked, _ = policy_of_hosts(hosts, "tpp")
    assert (asked.policy, asked.origin) == ("tpp", "asked")
    set_up = Host(knobs={NUMA_BALANCING: "0"}, has_slow_tier=True)
    found, n = policy_of_hosts([*hosts, *hosts, set_up], "tpp")
    assert (found.policy, found.origin, n) == ("first_touch", "configured", 1), "settings say more than either"


@pytest.mark.parametrize("policy", askable_policies())
def test_every_policy_that_can_be_asked_for_replays(policy: PolicyName) -> None:
    asked, _ = policy_of_hosts((), policy)
    columns = workload_columns("web1", seed=0, pages=2000, intervals=12)
    run = replay_run([HostTrace.of_whole(compile_trace(columns))], asked.at(0.5), Conditions(Costs()))
    assert run.away is not None


def test_a_kernel_with_tpp_runs_it_and_most_hosts_decide() -> None:
    tpp = {NUMA_BALANCING: "2", DEMOTION: "true", DEMOTE_SCALE: "300"}
    one, other = Host(knobs=tpp, has_slow_tier=True, is_tpp=True), Host(knobs={}, has_slow_tier=False)
    assert dict(policy_of_host(one).settings) == {"demote_scale_factor": 300}
    assert policy_of_hosts([other, one, one]) == (policy_of_host(one), 2)
    assert policy_of_hosts([])[1] == 0


def test_traffic_that_no_sample_shows_is_on_slow_memory_as_far_as_pages_without_samples_are() -> None:
    whole = HostTrace.of_whole(compile_trace(workload_columns("web1", seed=0, pages=5000, intervals=40)))

    def upper(n_pages: int, dram_ratio: float) -> float:
        trace = replace(whole, unseen_ratio=0.2, n_pages=n_pages)
        away = replay_run([trace], SweepRun(0, "tpp", dram_ratio, {}, searched=False), Conditions(Costs())).away
        assert away is not None
        return away.hi - away.value

    for dram_ratio in (0.9, 0.3):
        all_of_it = upper(whole.trace.pages, dram_ratio)
        assert upper(0, dram_ratio) == pytest.approx(all_of_it * (1.0 - dram_ratio), rel=0.05)


@pytest.mark.parametrize(
    ("mode", "demotes", "exchanges"),
    [("2", "true", True), ("3", "true", True), ("2", "false", False), ("1", "false", False), ("0", "true", False)],
)
def test_only_who_moves_pages_both_ways_places_them_no_worse_than_chance(
    mode: str,
    demotes: str,
    exchanges: bool,  # noqa: FBT001 - the expected value
) -> None:
    found = policy_of_host(Host(knobs={NUMA_BALANCING: mode, DEMOTION: demotes}, has_slow_tier=True))
    assert found.exchanges is exchanges


def test_demotion_without_promotion_promotes_nothing() -> None:
    policy: HostPolicy = policy_of_host(Host(knobs={NUMA_BALANCING: "0", DEMOTION: "true"}, has_slow_tier=True))
    assert not policy.promotes
    columns = workload_columns("web1", seed=0, pages=5000, intervals=40)
    totals = replay_run([HostTrace.of_whole(compile_trace(columns))], policy.at(0.5), Conditions(Costs())).totals
    assert totals.promoted_pages == 0
    assert totals.demoted_pages > 0
