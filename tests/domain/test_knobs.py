"""Setting advice: the worked examples of the method, one host for each rule, and none for healthy hosts."""

from dataclasses import replace

import pytest

from tierscope.domain.knobs import Advice, Change, Facts, Flows, Heat, Host, advise, render_files, rollback_of
from tierscope.domain.knobs.facts import (
    DEMOTE_SCALE,
    DEMOTION,
    HOT_THRESHOLD,
    INTERLEAVE,
    NUMA_BALANCING,
    RATE_LIMIT,
    SCAN_PERIOD_MAX,
    SCAN_PERIOD_MIN,
    SCAN_SIZE,
    SWAPPINESS,
    WATERMARK_SCALE,
    ZONE_RECLAIM,
)
from tierscope.domain.knobs.rules_headroom import watermark_factor
from tierscope.domain.knobs.rules_moves import promotion_limit
from tierscope.domain.ledger import Word
from tierscope.domain.ratio.memory_bound import MemoryBound

GIB = float(1 << 30)
KNOBS: dict[str, str | None] = {
    NUMA_BALANCING: "2",
    DEMOTION: "true",
    WATERMARK_SCALE: "10",
    RATE_LIMIT: "65536",
    HOT_THRESHOLD: "1000",
    SCAN_PERIOD_MIN: "1000",
    SCAN_PERIOD_MAX: "60000",
    SCAN_SIZE: "256",
    SWAPPINESS: "60",
    ZONE_RECLAIM: "0",
    f"{INTERLEAVE}/node0": "1",
    f"{INTERLEAVE}/node1": "1",
}
HOST = Host(
    knobs=KNOBS,
    has_slow_tier=True,
    slow_nodes=(1,),
    dram_bytes=256 * GIB,
    dram_managed_bytes=256 * GIB,
    dram_free_bytes=1 * GIB,
    slow_bytes=256 * GIB,
    slow_free_bytes=100 * GIB,
    dram_gb_per_s=200,
    slow_gb_per_s=50,
    slow_write_gb_per_s=22,
    page_bytes=4096,
)
HEALTHY = Facts(HOST, Flows(ping_pong="ok"), Heat(served_now=0.9, served_best=0.95))


def with_knobs(facts: Facts, **changed: str) -> Facts:
    paths = {
        "mode": NUMA_BALANCING,
        "demotion": DEMOTION,
        "zone": ZONE_RECLAIM,
        "tpp": DEMOTE_SCALE,
        "limit": RATE_LIMIT,
    }
    knobs = {**facts.host.knobs, **{paths[name]: value for name, value in changed.items()}}
    return replace(facts, host=replace(facts.host, knobs=knobs))


def with_flows(facts: Facts, **changed: float | str | None) -> Facts:
    return replace(facts, flows=replace(facts.flows, **changed))  # type: ignore[arg-type]  # fields by name


def with_heat(facts: Facts, **changed: float | MemoryBound) -> Facts:
    return replace(facts, heat=replace(facts.heat, **changed))  # type: ignore[arg-type]  # fields by name


BOUND = with_flows(with_knobs(HEALTHY, limit="500"), candidate_pages_per_s=1e6, candidates_steady_minutes=40)
CASES = {
    "F1": (with_knobs(HEALTHY, mode="0"), {NUMA_BALANCING: "2"}),
    "F2": (with_flows(with_knobs(HEALTHY, demotion="false"), swapped_out_pages_per_s=50), {DEMOTION: "1"}),
    "F3": (
        with_flows(HEALTHY, spilled_pages_per_s=100, allocation_p99_bytes_per_s=2 * GIB),
        {WATERMARK_SCALE: "79"},
    ),
    "F3b": (
        with_heat(with_flows(with_knobs(HEALTHY, tpp="200"), spilled_pages_per_s=9), cold_in_dram_bytes=40 * GIB),
        {DEMOTE_SCALE: "400"},
    ),
    "F4": (with_flows(HEALTHY, ping_pong="warn", useful_promotion_p95_mb_per_s=12), {RATE_LIMIT: "48"}),
    "F5": (BOUND, {HOT_THRESHOLD: "500"}),
    "F6": (with_flows(HEALTHY, hint_fault_cpu_ratio=0.03), {SCAN_PERIOD_MIN: "2000", SCAN_SIZE: "128"}),
    "F7": (with_heat(HEALTHY, density_anon=2.0, density_file=0.3, file_share_of_dram=0.4), {}),
    "F8": (with_heat(HEALTHY, cold_anon_share=0.6, cold_file_share=0.2, hot_anon_share=0.3), {SWAPPINESS: "100"}),
    "F9": (
        with_heat(HEALTHY, bound=MemoryBound("bandwidth", "good", "DRAM runs at 95%")),
        {f"{INTERLEAVE}/node0": "4"},
    ),
    "F10": (with_flows(with_knobs(HEALTHY, zone="1"), local_reclaim_failed_per_s=20), {ZONE_RECLAIM: "0"}),
    "F11": (with_flows(HEALTHY, swap_used_ratio=0.7), {}),
}


def test_formulas_of_the_worked_examples() -> None:
    assert watermark_factor(2 * GIB, 256 * GIB) == 79
    assert promotion_limit(22, 12) == 48
    assert (watermark_factor(0, GIB), watermark_factor(GIB, GIB)) == (10, 200)


@pytest.mark.parametrize("rule", CASES)
def test_each_misconfigured_host_gets_exactly_the_rule_that_fits(rule: str) -> None:
    facts, proposed = CASES[rule]
    given = advise(facts)
    assert [advice.rule for advice in given.advice] == [rule]
    assert {change.path: change.proposed for change in given.advice[0].changes} == proposed
    assert given.advice[0].evidence


def test_a_healthy_host_gets_none() -> None:
    assert advise(HEALTHY).advice == ()
    assert advise(Facts(replace(HOST, has_slow_tier=False))).advice == ()


def test_a_setting_that_the_host_lacks_is_never_proposed() -> None:
    bare = replace(HOST, knobs={})
    for facts, _ in CASES.values():
        for advice in advise(replace(facts, host=bare)).advice:
            assert advice.changes == ()


def test_the_limit_goes_before_headroom_and_threshold() -> None:
    both = with_flows(BOUND, ping_pong="crit", spilled_pages_per_s=100, allocation_p99_bytes_per_s=2 * GIB)
    given = advise(both)
    assert [advice.rule for advice in given.advice] == ["F4"]
    assert [advice.rule for advice, _ in given.waiting] == ["F3", "F5"]


def test_few_candidates_raise_the_threshold_and_an_unbound_limit_says_nothing() -> None:
    few = with_flows(BOUND, candidate_pages_per_s=1e3)
    assert advise(few).advice[0].changes[0].proposed == "2000"
    assert advise(with_knobs(BOUND, limit="65536")).advice == ()


@pytest.mark.parametrize(("candidates", "threshold"), [(1e6, "240"), (1e3, "3000")])
def test_a_threshold_beyond_its_range_is_never_moved_the_other_way(candidates: float, threshold: str) -> None:
    facts = with_flows(BOUND, candidate_pages_per_s=candidates)
    host = replace(facts.host, knobs={**facts.host.knobs, HOT_THRESHOLD: threshold})
    assert advise(replace(facts, host=host)).advice == ()


def test_hot_memory_outside_dram_that_is_hardly_accessed_gets_no_advice() -> None:
    """Bytes at the memory controllers say that one access in a hundred is slow."""
    for rule in ("F1", "F5", "F8"):
        facts = with_flows(CASES[rule][0], slow_access_ratio=0.01)
        for known in (facts, replace(facts, heat=Heat())):
            given = advise(known)
            assert given.advice == ()
            assert given.nothing_to_do is not None
            assert given.nothing_to_do.evidence[0].value == 0.01


@pytest.mark.parametrize(("mode", "proposed"), [("0", "2"), ("1", "3")])
def test_classic_balancing_stays_as_it_is_on_one_node_and_on_two(mode: str, proposed: str) -> None:
    for sockets in (1, 2):
        host = with_knobs(replace(HEALTHY, host=replace(HOST, sockets=sockets)), mode=mode)
        assert advise(host).advice[0].changes[0].proposed == proposed


def test_a_new_hot_set_that_comes_late_scans_faster() -> None:
    late = advise(with_flows(HEALTHY, promotion_lag_seconds=600)).advice[0]
    assert [(change.path, change.proposed) for change in late.changes] == [
        (SCAN_SIZE, "512"),
        (SCAN_PERIOD_MAX, "30000"),
    ]


def evenly_hot(**heat: float) -> Facts:
    """A host of 16 processors, of whose 200 GiB of hot memory 100 lie outside DRAM, which could take ten more."""
    bound = MemoryBound("insensitive", "partial", "6% of the cycles wait for memory", stall_ratio=0.06)
    placed = {"hot_outside_dram_bytes": 100 * GIB, "cold_in_dram_bytes": 10 * GIB, "served_now": 0.5}
    facts = with_heat(with_knobs(HEALTHY, mode="0"), **{**placed, "served_best": 0.55, **heat}, bound=bound)
    return with_flows(replace(facts, host=replace(facts.host, cpus=16)), slow_access_ratio=0.5)


def test_promotion_is_withheld_where_it_would_exchange_hot_memory_for_hot_memory() -> None:
    given = advise(evenly_hot())
    assert "F1" not in [advice.rule for advice in given.advice]
    assert [one.rule for one in given.withheld] == ["F1"]
    # Nine tenths of the hot memory fit into DRAM: what waits for slow memory is worth the moves.
    assert advise(evenly_hot(cold_in_dram_bytes=90 * GIB, served_best=0.95)).advice[0].rule == "F1"
    # A limit takes most of the cost away, and it comes first; processors that wait long are worth the rest.
    waiting = MemoryBound("latency", "good", "half of the cycles wait for memory", stall_ratio=0.5)
    limited = with_knobs(with_heat(evenly_hot(served_best=0.6), bound=waiting), limit="20")
    assert [change.path for change in advise(limited).advice[0].changes] == [NUMA_BALANCING]
    open_ = advise(with_knobs(limited, limit="65536")).advice[0].changes
    assert [(change.path, change.proposed) for change in open_] == [(RATE_LIMIT, "20"), (NUMA_BALANCING, "2")]


def test_the_effect_of_promotion_ends_where_dram_holds_hot_memory_alone() -> None:
    for most, end in ((None, 0.95), (0.98, 0.98)):
        effect = advise(replace(CASES["F1"][0], heat=replace(HEALTHY.heat, served_most=most))).advice[0].effect_size
        assert effect is not None
        assert (effect.lo, effect.hi) == (0.9, end)


def test_promotion_is_given_where_its_cost_or_its_gain_is_not_known() -> None:
    for facts in (
        with_flows(evenly_hot(), slow_access_ratio=None),
        replace(evenly_hot(), host=replace(evenly_hot().host, cpus=None)),
        replace(evenly_hot(), heat=replace(evenly_hot().heat, bound=None)),
    ):
        assert "PageRank" in advise(facts).advice[0].risk


def test_demotion_against_swapping_comes_without_promotion_that_would_exchange_hot_memory() -> None:
    swapping = with_flows(with_knobs(evenly_hot(), demotion="false"), swapped_out_pages_per_s=50)
    assert [change.path for change in advise(swapping).advice[0].changes] == [DEMOTION]
    fits = with_heat(swapping, cold_in_dram_bytes=90 * GIB, served_best=0.95)
    assert [change.path for change in advise(fits).advice[0].changes] == [DEMOTION, NUMA_BALANCING]


def test_which_kind_is_demoted_first_is_no_matter_where_nothing_is_demoted() -> None:
    facts, _ = CASES["F8"]
    assert advise(with_flows(facts, demoted_pages_per_s=100.0)).advice == ()
    assert advise(with_flows(facts, demoted_pages_per_s=1000.0)).advice[0].rule == "F8"


def test_files_hold_each_change_in_its_place() -> None:
    advice = [CASES[rule][0] for rule in ("F4", "F2", "F6")]
    files = render_files([advise(facts).advice[0] for facts in advice])
    assert files.sysctl == "kernel.numa_balancing_promote_rate_limit_MBps = 48\n"
    assert files.tmpfiles == f"w {DEMOTION} - - - - 1\n"
    assert files.systemd is not None
    assert f"echo 2000 > {SCAN_PERIOD_MIN}" in files.systemd
    assert files.commands.count("echo") == 4
    assert files.ansible.count("- name: Set ") == 4
    assert render_files([]).sysctl is None


def test_text_from_a_host_never_reaches_a_file() -> None:
    def bad(path: str, value: str) -> Advice:
        change = Change(path, "0", value)
        return Advice("F1", "t", (change,), (), "e", "r", "v")

    for path, value in ((NUMA_BALANCING, "2; reboot"), ("/proc/sys/vm/x\nvm.y", "1"), (NUMA_BALANCING, "")):
        with pytest.raises(ValueError, match="no rule proposes"):
            render_files([bad(path, value)])


def test_a_rollback_restores_what_was_read() -> None:
    back = rollback_of(advise(CASES["F1"][0]).advice[0])
    assert [(change.path, change.current, change.proposed) for change in back.changes] == [(NUMA_BALANCING, "2", "0")]
    assert render_files([back]).sysctl == "kernel.numa_balancing = 0\n"


def rules_of(facts: Facts) -> list[str]:
    return [advice.rule for advice in advise(facts).advice]


NO_HEAT = replace(HEALTHY, heat=Heat())


def test_without_heat_counters_decide_and_what_lacks_is_named() -> None:
    off = with_flows(with_knobs(NO_HEAT, mode="0"), slow_ratio=0.5, slow_anon_ratio=0.5)
    assert rules_of(replace(off, verdict="spill")) == ["F1"]
    assert rules_of(replace(off, verdict="swap_pressure")) == []
    little = replace(with_flows(off, slow_anon_ratio=0.1), verdict="spill")
    assert rules_of(little) == []
    assert "F1" in {unknown.rule for unknown in advise(little).unknown}
    assert advise(little).nothing_to_do is None


def test_promotion_and_the_demotion_that_makes_its_room_are_one_change_with_demotion_first() -> None:
    both = with_flows(with_knobs(NO_HEAT, mode="1", demotion="false"), slow_ratio=0.5, slow_anon_ratio=0.5)
    swapping = replace(with_flows(both, swapped_out_pages_per_s=9), verdict="swap_pressure")
    for facts, rule in ((replace(both, verdict="spill"), "F1"), (swapping, "F2")):
        given = advise(facts)
        assert given.waiting == ()
        (piece,) = given.advice
        assert (piece.rule, piece.rules) == (rule, ("F2", "F1"))
        assert [(change.path, change.proposed) for change in piece.changes] == [(DEMOTION, "1"), (NUMA_BALANCING, "3")]
        back = render_files([piece]).rollback_commands.splitlines()
        assert back == [f"echo 1 > {NUMA_BALANCING}", f"echo false > {DEMOTION}"]
        assert "no harm" not in f"{piece.note} {piece.risk}"


def test_half_a_change_is_not_given_where_the_other_half_cannot_be_read() -> None:
    locked = replace(HOST, knobs={**KNOBS, NUMA_BALANCING: "0", DEMOTION: None})
    given = advise(replace(HEALTHY, host=locked))
    assert given.advice == ()
    assert ("F1", (f"the value of {DEMOTION}",)) in [(one.rule, one.missing) for one in given.unknown]


def test_a_kernel_without_the_other_half_is_told_what_half_does() -> None:
    without = {path: value for path, value in KNOBS.items() if path != DEMOTION}
    (piece,) = advise(replace(HEALTHY, host=replace(HOST, knobs={**without, NUMA_BALANCING: "0"}))).advice
    assert [change.path for change in piece.changes] == [NUMA_BALANCING]
    assert "wakes kswapd" in piece.risk


def test_the_factor_of_tpp_waits_for_the_promotion_that_it_works_with() -> None:
    cold = with_heat(with_flows(with_knobs(HEALTHY, tpp="200"), spilled_pages_per_s=9), cold_in_dram_bytes=40 * GIB)
    given = advise(with_knobs(cold, mode="0"))
    assert [advice.rule for advice in given.advice] == ["F1"]
    assert [(advice.rule, "bit 2" in why) for advice, why in given.waiting] == [("F3b", True)]


def test_refused_promotions_want_demotion_first_and_headroom_then() -> None:
    refused = with_flows(NO_HEAT, candidate_pages_per_s=900, promoted_pages_per_s=10)
    refused = replace(refused, verdict="promotion_failing")
    assert rules_of(with_knobs(refused, demotion="false")) == ["F2"]
    assert rules_of(refused) == ["F3"]


@pytest.mark.parametrize(("hot", "rules"), [(0.2, ["F4"]), (0.9, []), (None, [])])
def test_a_limit_is_raised_only_where_it_holds_back_few_hot_pages(hot: float | None, rules: list[str]) -> None:
    flows = replace(NO_HEAT.flows, hot_share_of_slow=hot, candidate_pages_per_s=500, promoted_pages_per_s=9)
    bound = with_knobs(replace(NO_HEAT, flows=flows, verdict="limiter_bound"), limit="2")
    given = advise(bound)
    assert [advice.rule for advice in given.advice] == rules
    assert (given.nothing_to_do is not None) == (hot == 0.9)
    assert ("F4" in {unknown.rule for unknown in given.unknown}) == (hot is None)
    if rules:
        assert given.advice[0].changes[0].proposed == "2200"
        blind = replace(bound, host=replace(bound.host, slow_write_gb_per_s=None))
        assert rules_of(blind) == []


def test_a_lowered_limit_binds() -> None:
    vain = with_flows(HEALTHY, ping_pong="crit", promoted_pages_per_s=2560)
    assert advise(vain).advice[0].changes[0].proposed == "5"
    slow = with_flows(HEALTHY, ping_pong="crit", promoted_pages_per_s=300)
    assert advise(slow).advice[0].changes[0].proposed == "1"
    fast = with_flows(HEALTHY, ping_pong="crit", promoted_pages_per_s=256_000)
    assert advise(fast).advice[0].changes[0].proposed == "20"


def test_a_limit_holds_for_each_dram_node_and_none_is_set_that_does_not_bind() -> None:
    vain = with_flows(HEALTHY, ping_pong="crit", promoted_pages_per_s=1400)

    def limit(nodes: int) -> Advice:
        host = replace(HOST, sockets=nodes, top_nodes=tuple(range(nodes)), slow_nodes=(9,), slow_write_gb_per_s=None)
        return advise(replace(vain, host=host)).advice[0]

    assert [change.proposed for change in limit(1).changes] == ["2"]
    two = limit(2)
    assert [change.proposed for change in two.changes] == ["1"]
    assert two.effect_size is not None
    assert two.effect_size.hi == 2 * (1 << 20)
    assert "each destination node" in two.risk
    eight = limit(8)
    assert eight.changes == ()
    assert eight.effect_size is None
    assert "8 take promotions" in (eight.note or "")


def test_the_threshold_is_held_against_what_the_limit_lets_pass_on_all_nodes() -> None:
    over = with_flows(BOUND, candidate_pages_per_s=2 * 500 * 256)
    assert advise(over).advice[0].changes[0].proposed == "500"
    eight = replace(over, host=replace(over.host, promotion_nodes=8))
    assert advise(eight).advice[0].changes[0].proposed == "2000"


def test_a_raised_limit_comes_with_the_room_that_it_needs() -> None:
    flows = replace(NO_HEAT.flows, hot_share_of_slow=0.2, candidate_pages_per_s=500, promoted_pages_per_s=9)
    bound = with_knobs(replace(NO_HEAT, flows=flows, verdict="limiter_bound"), limit="2")
    late = with_flows(bound, allocation_stalls_per_s=4, direct_demoted_ratio=0.4, spilled_pages_per_s=9)
    (piece,) = advise(late).advice
    assert (piece.rule, piece.rules) == ("F4", ("F3", "F4"))
    assert [change.path for change in piece.changes] == [WATERMARK_SCALE, RATE_LIMIT]


def test_headroom_is_not_made_by_swapping() -> None:
    spilling = with_flows(HEALTHY, spilled_pages_per_s=100, allocation_p99_bytes_per_s=2 * GIB)
    assert rules_of(with_knobs(spilling, demotion="false")) == []
    assert rules_of(replace(spilling, host=replace(HOST, slow_free_bytes=GIB))) == []


def test_swappiness_follows_refaults_where_heat_is_not_known() -> None:
    thrashing = with_flows(
        NO_HEAT, refaulted_file_pages_per_s=6000, refaulted_anon_pages_per_s=5, file_ratio_of_dram=0.3
    )
    assert advise(thrashing).advice[0].changes[0].proposed == "100"
    other = with_flows(NO_HEAT, refaulted_file_pages_per_s=5, refaulted_anon_pages_per_s=6000, file_ratio_of_dram=0.3)
    assert advise(other).advice[0].changes[0].proposed == "40"
    assert rules_of(with_flows(other, file_ratio_of_dram=0.1)) == []
    assert rules_of(with_flows(other, refaulted_file_pages_per_s=5000)) == []
    # The same memory in pages of another size is a sixteenth of the pages; of an unknown size it is nothing.
    large = replace(thrashing, host=replace(thrashing.host, page_bytes=65536))
    fewer = with_flows(large, refaulted_file_pages_per_s=375, refaulted_anon_pages_per_s=0.3, file_ratio_of_dram=0.3)
    assert rules_of(fewer) == rules_of(thrashing)
    assert rules_of(replace(thrashing, host=replace(thrashing.host, page_bytes=None))) == []


def test_full_tiers_want_memory_unless_swap_wants_room_first() -> None:
    full = replace(NO_HEAT, host=replace(HOST, slow_free_bytes=GIB), verdict="swap_pressure")
    full = with_flows(full, swapped_out_pages_per_s=90, swapped_in_pages_per_s=50)
    assert rules_of(full) == ["capacity"]
    assert rules_of(with_flows(full, swap_used_ratio=0.6)) == ["F11"]
    assert advise(full).advice[0].changes == ()


def test_limits_are_named_and_nothing_is_proposed() -> None:
    limited = with_flows(NO_HEAT, limit_reclaimed_ratio=0.8, limit_events=12, direct_demoted_ratio=0.6)
    given = advise(replace(limited, verdict="limit_reclaim"))
    assert [(advice.rule, advice.changes) for advice in given.advice] == [("limits", ())]


def test_too_few_candidates_are_a_fault_only_with_hot_memory_outside() -> None:
    few = with_flows(BOUND, candidate_pages_per_s=1e3)
    unknown = advise(replace(few, heat=Heat()))
    assert unknown.advice == ()
    assert "F5" in {rule.rule for rule in unknown.unknown}
    short = advise(with_flows(BOUND, candidates_steady_minutes=5))
    assert short.advice == ()
    assert "30 minutes" in next(rule for rule in short.unknown if rule.rule == "F5").missing[0]


def test_settings_that_cannot_be_read_are_unknown_and_odd_ones_left_alone() -> None:
    locked = replace(HEALTHY, host=replace(HOST, knobs={**KNOBS, ZONE_RECLAIM: None, RATE_LIMIT: None}))
    assert {"F4", "F10"} <= {rule.rule for rule in advise(locked).unknown}
    odd = with_flows(with_knobs(HEALTHY, demotion="[sic] reboot"), swapped_out_pages_per_s=50)
    assert rules_of(odd) == []


@pytest.mark.parametrize("word", ["fits", "healthy", "harmless_demotion", "following_phases"])
def test_a_verdict_that_asks_for_nothing_is_said_to_do_so(word: Word) -> None:
    given = advise(replace(NO_HEAT, verdict=word))
    assert given.advice == ()
    assert given.nothing_to_do is not None
    assert given.nothing_to_do.rule == "F12"
    assert given.nothing_to_do.evidence


def test_promotion_promises_no_more_than_a_policy_is_known_to_reach() -> None:
    effect = advise(with_knobs(HEALTHY, mode="0")).advice[0].effect_size
    assert effect is not None
    assert (effect.lo, effect.hi) == (0.9, 0.95)
    assert effect.lo < effect.value < effect.hi, "the best static placement is a bound, not what is expected"


def test_heat_without_gain_leaves_all_but_harm() -> None:
    close = with_heat(HEALTHY, served_now=0.94, cold_anon_share=0.6, cold_file_share=0.2)
    given = advise(close)
    assert given.advice == ()
    assert given.nothing_to_do is not None
    assert [found.value for found in given.nothing_to_do.evidence] == [pytest.approx(0.01)]
    assert rules_of(with_knobs(close, limit="0")) == []
    assert rules_of(with_flows(close, ping_pong="crit", promoted_pages_per_s=2560)) == ["F4"]
    kept = with_heat(HEALTHY, loss_upper=0.008, loss_target=0.01, cold_anon_share=0.6, cold_file_share=0.2)
    assert advise(kept).nothing_to_do is not None


def test_spilled_memory_with_promotion_on_wants_demotion_and_then_a_scanner_that_looks() -> None:
    spilled = replace(with_flows(NO_HEAT, slow_ratio=0.5, slow_anon_ratio=0.5), verdict="spill")
    assert rules_of(with_knobs(spilled, demotion="false")) == ["F2"]
    assert rules_of(spilled) == ["F6"]


def test_a_limit_of_nothing_forbids_what_is_switched_on() -> None:
    locked = replace(with_knobs(NO_HEAT, limit="0"), verdict="healthy")
    assert advise(locked).advice[0].changes[0].proposed == "2200"
    blind = replace(locked, host=replace(locked.host, slow_write_gb_per_s=None))
    assert advise(blind).advice[0].changes[0].proposed == "200"
    assert rules_of(replace(locked, verdict="fits")) == []


@pytest.mark.parametrize("value", ["0", "1"])
def test_swappiness_of_next_to_nothing_keeps_anon_in_a_full_dram(value: str) -> None:
    kept = replace(HOST, knobs={**KNOBS, SWAPPINESS: value})
    assert advise(replace(NO_HEAT, host=kept)).advice[0].changes[0].proposed == "60"
    assert rules_of(replace(NO_HEAT, host=replace(kept, dram_free_bytes=200 * GIB))) == []
    off = with_knobs(replace(NO_HEAT, host=kept), demotion="false")
    (piece,) = advise(with_flows(off, swapped_out_pages_per_s=50)).advice
    assert (piece.rule, f"vm.swappiness {value}" in (piece.note or "")) == ("F2", True)


def test_swappiness_is_not_raised_where_what_it_takes_can_only_go_to_swap() -> None:
    colder = with_heat(HEALTHY, cold_anon_share=0.6, cold_file_share=0.2)
    full = replace(colder, host=replace(HOST, slow_free_bytes=GIB))
    assert "F8" not in rules_of(full)
    blind = replace(colder, host=replace(HOST, slow_free_bytes=None))
    assert "F8" not in rules_of(blind)
    assert "F8" in {rule.rule for rule in advise(blind).unknown}


def test_local_reclaim_is_left_alone_without_a_sign_of_harm_and_comes_last() -> None:
    kept = replace(with_knobs(NO_HEAT, zone="7"), verdict="healthy")
    assert rules_of(kept) == []
    assert advise(kept).nothing_to_do is not None
    assert [one.rule for one in advise(kept).withheld] == ["F10"]
    stalled = with_flows(kept, allocation_stalls_per_s=2.0, direct_demoted_ratio=0.5)
    assert rules_of(stalled) == ["F3", "F10"]
    dropping = with_flows(with_knobs(kept, demotion="false"), refaulted_file_pages_per_s=9)
    assert rules_of(dropping) == ["F2", "F10"]
