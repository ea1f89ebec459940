"""The simulator through its Python face: worked examples, settings, machines, traces, costs."""

from pathlib import Path

import numpy as np
import pytest

from tierscope.domain.curve.sample_blocks import SampledPages
from tierscope.domain.simulate import (
    POLICIES,
    POLICY_NAMES,
    Costs,
    Machine,
    SettingsError,
    TimedSample,
    TraceColumns,
    compile_trace,
    estimate_loss,
    make_policy,
    of_page_trace,
    of_recording,
    of_sampled_pages,
    parse_settings,
    replay,
    split_machine,
    stall_time,
)
from tierscope.domain.slowdown import Belief, ShareOnSlow
from tierscope.storage.curve.page_traces import read_page_trace, read_recorded

core = pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")

TRACES = Path(__file__).parents[1] / "data" / "page-traces"
C, D, A, B = range(4)
EXAMPLE_ROWS = [
    *((0, page, 10) for page in (C, D, A, B)),
    (1, A, 50),
    (1, B, 30),
    (1, C, 5),
    (2, A, 50),
    (2, B, 30),
    (3, A, 50),
    (3, B, 30),
    (3, D, 5),
]


def columns(rows: list[tuple[int, int, int]], kinds: list[int], intervals: int) -> TraceColumns:
    """A trace whose pages are all resident from their first row on."""
    table = np.array(rows, np.int64)
    first = [min(row[0] for row in rows if row[1] == page) for page in range(len(kinds))]
    return TraceColumns(
        intervals=intervals,
        kinds=np.array(kinds, np.int64),
        units=np.ones(len(kinds), np.int64),
        first=np.array(first, np.int64),
        last=np.full(len(kinds), intervals - 1, np.int64),
        row_interval=table[:, 0],
        row_page=table[:, 1],
        row_accesses=table[:, 2],
        row_written=np.zeros(len(table), np.bool_),
    )


EXAMPLE = columns(EXAMPLE_ROWS, [1, 1, 0, 0], 4)
SMALL = Machine(2, 4, watermark_scale_factor=0)
TPP_AT_ONCE = {"demote_scale_factor": 1}


@pytest.mark.parametrize(
    ("policy", "settings", "served", "moved"),
    [
        ("first_touch", {}, [20, 5, 0, 5], 0),
        ("numa_balancing", {}, [20, 5, 0, 5], 0),
        ("interleave", {}, [20, 55, 50, 50], 0),
        ("tpp", TPP_AT_ONCE, [20, 5, 0, 80], 2),
        ("tpp_type_aware", TPP_AT_ONCE, [20, 80, 80, 80], 0),
        ("hot_page_selection", {"hot_threshold_ms": 1000}, [20, 5, 0, 5], 0),
        ("hot_page_selection", {"hot_threshold_ms": 2000}, [20, 5, 80, 80], 2),
        (
            "hot_page_selection",
            {"hot_threshold_ms": 2000, "numa_balancing_promote_rate_limit_MBps": 4096 / 60 / 2**20},
            [20, 5, 50, 80],
            2,
        ),
        ("oracle", {}, [20, 80, 80, 80], 0),
    ],
)
def test_policies_serve_what_the_worked_example_says(
    policy: str, settings: dict[str, float], served: list[int], moved: int
) -> None:
    outcome = replay(compile_trace(EXAMPLE), make_policy(policy, settings), SMALL)
    totals = outcome.totals()
    assert outcome.figures.accesses.sum(axis=1)[:, 0].tolist() == served
    assert (totals.promoted_pages, totals.demoted_pages) == (moved, moved)
    assert totals.accesses == 290
    assert totals.local_ratio == pytest.approx(sum(served) / 290, rel=1e-12)


@pytest.mark.parametrize("trace", ["sqlite", "sqlite.miss"])
def test_recordings_replay_the_same_from_the_file_and_from_its_columns(trace: str) -> None:
    path = TRACES / f"{trace}.parquet"
    fast, slow = of_recording(read_page_trace(path)), compile_trace(of_page_trace(read_recorded(path).trace))
    assert (fast.pages, fast.touched, fast.accesses, fast.peak_units) == (
        slow.pages,
        slow.touched,
        slow.accesses,
        slow.peak_units,
    )
    machine = split_machine(fast.peak_units, 0.5)
    for name in POLICY_NAMES:
        outcome = replay(fast, make_policy(name), machine)
        totals = outcome.totals()
        assert totals.accesses == pytest.approx(fast.accesses, rel=1e-9), name
        assert totals.local_ratio is not None
        if outcome.policy.kind.swap is None:
            served = outcome.figures.accesses.sum(axis=1)[:, 0]
            bound = fast.oracle(machine.dram_pages) if name != "all_dram" else served
            assert (served <= bound + 1e-6).all(), name
        # Which of two pages of one interval was born first may differ: it decides whose turn it is at interleaving, and
        # otherwise single moves.
        if outcome.policy.kind.loop != "interleave":
            other = replay(slow, make_policy(name), machine).totals()
            assert other.local_ratio == pytest.approx(totals.local_ratio, abs=0.02), name


def test_a_seed_gives_one_result_and_another_seed_another() -> None:
    trace = of_recording(read_page_trace(TRACES / "sqlite.miss.parquet"))
    machine, policy = (
        split_machine(trace.peak_units, 0.5),
        make_policy("hot-page-selection", {"hot_threshold_ms": 5000}),
    )
    first, again, other = (replay(trace, policy, machine, seed=seed) for seed in (1, 1, 2))
    assert (first.figures.promoted == again.figures.promoted).all()
    assert (first.figures.promoted != other.figures.promoted).any()


def test_settings_are_refused_by_name() -> None:
    with pytest.raises(SettingsError, match="there is no policy 'lru'"):
        make_policy("lru")
    with pytest.raises(SettingsError, match="tpp has no setting 'hot_threshold_ms'; it has: demote_scale_factor"):
        make_policy("tpp", {"hot_threshold_ms": 5})
    with pytest.raises(SettingsError, match="demote_scale_factor is 0; it can be 1 to 10000"):
        make_policy("tpp", {"demote_scale_factor": 0})
    assert parse_settings(["type_aware=on", "demote_scale_factor=400"]) == {"type_aware": 1, "demote_scale_factor": 400}
    for text, cause in [("on", "write key=value"), ("a=b", "is no number"), ("=1", "write key=value")]:
        with pytest.raises(SettingsError, match=cause):
            parse_settings([text])
    with pytest.raises(SettingsError, match="set twice"):
        parse_settings(["a=1", "a=2"])
    with pytest.raises(ValueError, match=r"DRAM share of 1\.5"):
        split_machine(100, 1.5)


def test_victims_are_found_by_the_lists_of_the_kernel_that_is_named() -> None:
    random = np.random.default_rng(5)
    rows = [
        (now, page, 1 + int(9 * random.random()))
        for now in range(60)
        for page in range(16)
        if now == 0 or random.random() < (0.8 if (page + now // 10) % 4 == 0 else 0.3)
    ]
    trace, machine = compile_trace(columns(rows, [0] * 16, 60)), Machine(8, 12, zone_watermarks=(1, 1, 4))
    moved = {}
    for lru in ("exact", "classic", "mglru"):
        switches = ["allocation_demotes=1", "promotion_needs_free=1", "continuous_kswapd=1", f"lru={lru}"]
        outcome = replay(trace, make_policy("hot_page_selection", parse_settings(switches)), machine, interval_s=1.0)
        moved[lru] = (outcome.figures.demoted.sum(), outcome.figures.accesses[:, 0].tolist())
    assert len({str(figures) for figures in moved.values()}) == 3
    with pytest.raises(SettingsError, match="lru is 3; it can be 0 to 2"):
        make_policy("hot_page_selection", {"lru": 3})
    with pytest.raises(SettingsError, match="lru is 'fifo', which is no number"):
        parse_settings(["lru=fifo"])


def test_a_recorded_scanner_is_followed_in_place_of_the_rule() -> None:
    rows = [(now, page, 9) for now in range(10) for page in range(16)]
    trace, machine = compile_trace(columns(rows, [0] * 16, 10)), Machine(8, 12)
    armed = [0, 0, 3, 0, 5, 0, 0, 0, 0, 0]
    found = replay(trace, make_policy("hot_page_selection"), machine, interval_s=1.0, armed_pages=armed)
    assert found.figures.others["hint_faults"].tolist() == armed


def test_every_setting_of_a_policy_reaches_its_loop() -> None:
    machine = Machine(100_000, 100_000, swap="ssd", swap_pages=10)
    for name in POLICY_NAMES:
        for setting in POLICIES[name].settings:
            changed = setting.highest if setting.default != setting.highest else setting.lowest
            plain, other = make_policy(name), make_policy(name, {setting.name: changed})
            before, after = (
                (
                    policy.loop_settings(machine, interval_s=60, fault_s=1e-4),
                    policy.equip(Machine(100, 100), 1000),
                )
                for policy in (plain, other)
            )
            assert before != after, f"{name}: {setting.name}"


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"row_interval": [1, 0]}, "row 2: its interval is before"),
        ({"row_page": [0, 7]}, "row 2: its page is not one of the pages"),
        ({"row_page": [0, -1]}, r"row_page\[1\] is -1"),
        ({"row_accesses": [1, 0]}, "row 2: it has no accesses"),
        ({"row_accesses": [1, 2**32]}, "row 2: 4294967296 accesses"),
        ({"row_accesses": [-5, 1]}, "row 1: -5 accesses"),
        ({"last": [0, 9]}, "page 1: it is resident after the last interval"),
        ({"kinds": [0, 5]}, "page 1: its kind is none of"),
        ({"units": [1, 0]}, "page 1: its size is 0"),
        ({"row_interval": [0, 0], "row_page": [0, 0]}, "row 2: a page is listed twice"),
    ],
)
def test_traces_that_cannot_be_are_refused_by_row_or_page(change: dict[str, list[int]], cause: str) -> None:
    given = {
        "kinds": [0, 0],
        "units": [1, 1],
        "first": [0, 0],
        "last": [1, 1],
        "row_interval": [0, 1],
        "row_page": [0, 1],
        "row_accesses": [1, 1],
        **change,
    }
    arrays = {name: np.array(values, np.int64) for name, values in given.items()}
    with pytest.raises(ValueError, match=cause):
        compile_trace(TraceColumns(intervals=2, row_written=np.zeros(2, np.bool_), **arrays))


def sample(ids: list[int], first: list[int], last: list[int], rows: list[tuple[int, int, int]]) -> SampledPages:
    """A block of three intervals of one minute."""
    table = np.array(rows, np.int64).reshape(-1, 3)
    return SampledPages(
        before_end_ns=np.array([2, 1, 0], np.int64) * 60_000_000_000,
        observed=np.array([True, False, True]),
        page_ids=np.array(ids, np.int64),
        kinds=np.ones(len(ids), np.int64),
        page_sizes_bytes=np.full(len(ids), 4096, np.int64),
        first_interval=np.array(first, np.int64),
        last_interval=np.array(last, np.int64),
        row_interval=table[:, 0],
        row_page=table[:, 1],
        row_loads=table[:, 2],
        row_stores=np.zeros(len(table), np.int64),
    )


def test_stored_samples_join_by_page() -> None:
    blocks = [
        TimedSample(102, sample([7, 9], [0, 0], [2, 1], [(0, 0, 2), (1, 1, 5), (2, 0, 1)])),
        TimedSample(105, sample([7, 8], [0, 2], [2, 2], [(0, 0, 3), (2, 1, 4)])),
    ]
    joined = of_sampled_pages(blocks, interval_ns=60_000_000_000)
    assert joined.intervals == 6
    # Pages 7, 8 and 9: from the first interval that has them to the last one.
    assert joined.first.tolist() == [0, 5, 0]
    assert joined.last.tolist() == [5, 5, 1]
    assert joined.row_interval.tolist() == [0, 2, 3, 5]
    assert joined.row_page.tolist() == [0, 0, 0, 1]
    assert joined.row_accesses.tolist() == [2, 1, 3, 4]
    outcome = replay(compile_trace(joined), make_policy("first-touch"), Machine(2, 2, watermark_scale_factor=0))
    assert outcome.totals().accesses == 10
    assert outcome.figures.used.sum(axis=(1, 2)).tolist() == [2, 2, 1, 1, 1, 2]
    with pytest.raises(ValueError, match="no page sample"):
        of_sampled_pages([], interval_ns=60_000_000_000)


def test_stall_adds_up_and_gives_a_loss_where_the_processor_time_is_known() -> None:
    totals = replay(compile_trace(EXAMPLE), make_policy("tpp", TPP_AT_ONCE), SMALL).totals()
    stall = stall_time(totals, Costs())
    # 185 slow accesses at 45 ns, 5 hint faults at 1 us, 4 moves at 3 us.
    assert stall.slow_accesses_s == pytest.approx(185 * 45e-9, rel=1e-9)
    assert stall.hint_faults_s == pytest.approx(totals.hint_faults * 1e-6, rel=1e-9)
    assert stall.tier_moves_s == pytest.approx(12e-6, rel=1e-9)
    loss = estimate_loss(totals, Costs(), cpu_seconds=stall.total_s)
    assert loss is not None
    assert loss.median == pytest.approx(0.5)
    assert (loss.lo, loss.hi, loss.method) == (None, None, "stall")
    prior = estimate_loss(totals, Costs())
    assert prior is not None
    assert prior.lo is not None
    assert prior.hi is not None
    assert prior.lo < prior.median < prior.hi
    outside = ShareOnSlow.exactly(185 / 290)
    belief = Belief()
    assert prior.median == belief.loss_median(outside)
    assert (prior.lo, prior.hi) == (belief.loss_lower(outside), belief.loss_upper(outside))
    with pytest.raises(ValueError, match="above 0 seconds"):
        estimate_loss(totals, Costs(), cpu_seconds=0)
    with pytest.raises(ValueError, match="slow_latency_ns must be at least"):
        Costs(slow_latency_ns=50)


def test_faults_from_swap_have_no_loss_without_the_processor_time() -> None:
    machine = Machine(2, 0, swap="ssd", swap_pages=10, watermark_scale_factor=0)
    totals = replay(compile_trace(EXAMPLE), make_policy("swap-ssd", {"swap_ratio": 10}), machine).totals()
    assert totals.major_faults > 0
    assert totals.swap_written_pages + totals.dropped_pages > 0
    assert estimate_loss(totals, Costs()) is None
    assert estimate_loss(totals, Costs(), cpu_seconds=1.0) is not None


def test_a_half_full_block_device_writes_clean_pages_again_and_a_zoned_one_does_not() -> None:
    """Two anon pages take turns in one page of DRAM, only read: the first eviction of each writes it."""
    rows = [(now, now % 2, 10) for now in range(20)]
    trace = compile_trace(columns(rows, [0, 0], 20))

    def written(policy: str, pages: int) -> int:
        machine = Machine(1, 0, swap_pages=pages, watermark_scale_factor=0)
        return replay(trace, make_policy(policy), machine).totals().swap_written_pages

    assert written("swap-ssd", 100) == 2
    assert written("swap-zns", 100) == 2
    assert written("swap-ssd", 2) > 10
    assert written("swap-zns", 2) == 2
