"""Hazards of the charters: each can be judged, kernels end them, and they silence or qualify advice."""

from dataclasses import replace

import pytest

from tierscope.domain._generated.advice import CHARTERS, HAZARDS
from tierscope.domain.knobs import Facts, Flows, Heat, Host, advise
from tierscope.domain.knobs.advice import RULES
from tierscope.domain.knobs.facts import (
    DEMOTION,
    HOT_THRESHOLD,
    KEPT_CPUS,
    KSM_RUN,
    LRU_GEN,
    MEMMAP_ON_MEMORY,
    MIN_TTL,
    NUMA_BALANCING,
    RATE_LIMIT,
    SCAN_PERIOD_MAX,
    SCAN_PERIOD_MIN,
    SCAN_SIZE,
    SWAPPINESS,
    ZSWAP,
    SwapDrive,
)
from tierscope.domain.knobs.hazards import is_there
from tierscope.domain.knobs.machine import list_subtracted, read_host
from tierscope.domain.knobs.policy import policy_of_host

GIB = float(1 << 30)
OFF: dict[str, str | None] = {NUMA_BALANCING: "0", DEMOTION: "false", SWAPPINESS: "60", LRU_GEN: "0x0007", MIN_TTL: "0"}
HOST = Host(
    knobs=OFF,
    has_slow_tier=True,
    slow_nodes=(1,),
    dram_bytes=256 * GIB,
    dram_free_bytes=1 * GIB,
    slow_bytes=256 * GIB,
    slow_free_bytes=100 * GIB,
    page_bytes=4096,
    kernel_release="6.8.0-45-generic",
    slow_classes=("cxl",),
    agent_told=True,
    processes_seen=True,
)
SPILL = Facts(HOST, Flows(slow_ratio=0.5, slow_anon_ratio=0.5), Heat(), "spill")


def on(facts: Facts, **changed: object) -> Facts:
    return replace(facts, host=replace(facts.host, **changed))  # type: ignore[arg-type]  # fields by name


def with_knobs(facts: Facts, knobs: dict[str, str | None]) -> Facts:
    return on(facts, knobs={**facts.host.knobs, **knobs})


def risk_of(facts: Facts) -> str:
    (piece,) = advise(facts).advice
    assert piece.rules == ("F2", "F1")
    return piece.risk


def test_every_hazard_can_be_judged_and_every_rule_has_a_charter() -> None:
    for name in HAZARDS:
        assert is_there(name, SPILL) in (True, False, None)
    assert set(RULES) | {"capacity", "F12", "zswap", "metadata"} == set(CHARTERS)


def test_who_hangs_without_an_oom_killer_is_told_so() -> None:
    assert HAZARDS["mglru-no-swap"].says in risk_of(SPILL)
    assert "kills a program" in risk_of(SPILL), "what the protection costs"
    assert "This host is one of them" in risk_of(SPILL)
    later = risk_of(on(SPILL, kernel_release="7.2.6"))
    assert HAZARDS["mglru-no-swap"].says in later
    assert "This host is one of them" not in later
    full = on(SPILL, swap_drives=(SwapDrive("/dev/sda2", "partition", 0.99),))
    assert "min_ttl_ms" in risk_of(full)


@pytest.mark.parametrize(
    "safe",
    [
        with_knobs(SPILL, {MIN_TTL: "1000"}),
        with_knobs(SPILL, {LRU_GEN: "0x0000"}),
        on(SPILL, swap_drives=(SwapDrive("/dev/sda2", "partition", 0.2),)),
        on(SPILL, kernel_release="5.19.17"),
        on(SPILL, knobs={NUMA_BALANCING: "0", DEMOTION: "false"}),
    ],
)
def test_who_does_not_hang_is_not_told_so(safe: Facts) -> None:
    assert "min_ttl_ms" not in risk_of(safe)


def test_a_kernel_with_features_brought_back_hangs_and_what_nobody_listed_is_not_known_to_be_absent() -> None:
    assert "This host is one of them" in risk_of(on(SPILL, kernel_release="5.14.0-427.13.1.el9_4.x86_64"))
    few = on(SPILL, knobs={NUMA_BALANCING: "0", DEMOTION: "false"}, agent_told=False)
    assert HAZARDS["mglru-no-swap"].says in risk_of(few)
    assert "This host is one of them" not in risk_of(few)
    assert is_there("zswap-placement", few) is None
    assert advise(few).notices == ()


def test_services_that_would_leave_their_cpuset_are_named() -> None:
    bars = "cpusets keep services away from the slower node 1: shop/db"
    for release in ("6.8.0", "6.15.4", "6.16.0", ""):
        assert bars in risk_of(on(SPILL, barring=bars, kernel_release=release))
    assert HAZARDS["strict-cpuset"].says not in risk_of(SPILL)
    assert HAZARDS["strict-cpuset"].says in risk_of(on(SPILL, processes_seen=False))
    assert "membind" in risk_of(SPILL)


def test_early_kernels_that_demote_from_one_node_to_each_are_told_so() -> None:
    says = HAZARDS["one-source-each"].says
    sockets = on(SPILL, top_nodes=(0, 1), slow_nodes=(2,))
    for release, is_told in (("5.19.17", True), ("6.0.9", True), ("6.1.0", False), ("5.14.0-70.el9.x86_64", True)):
        assert (says in risk_of(on(sockets, kernel_release=release))) == is_told, release
    assert says not in risk_of(on(SPILL, kernel_release="5.19.17")), "one node to one"
    assert says not in risk_of(on(sockets, slow_nodes=(2, 3), kernel_release="5.19.17"))


def test_a_mover_in_user_space_is_named_beside_what_it_competes_with() -> None:
    mover = "memtierd (process 7) may move pages between nodes: the kernel counts them nowhere"
    assert mover in risk_of(on(SPILL, mover=mover))
    says = HAZARDS["user-space-mover"].says
    assert says in risk_of(on(SPILL, processes_seen=False)), "whose processes nobody listed"
    assert says not in risk_of(SPILL)
    assert read_host({"findings": [{"id": "user-space-mover", "cause": mover}]}).mover == mover


def test_who_is_bound_by_a_memory_policy_is_named_and_what_was_not_seen_is_said() -> None:
    bound = "memory policies bind services to nodes without the slower node 1: db"
    says = HAZARDS["membind"].says
    assert f"{says} Here {bound}." in risk_of(on(SPILL, bound=bound))
    assert "none is bound so" in risk_of(on(SPILL, policies_seen=True))
    assert "none is bound so" not in risk_of(SPILL)
    told = {"findings": [{"id": "membind", "cause": bound}], "services": [{"name": "db"}]}
    knobs = [{"path": LRU_GEN, "value": "0x0000"}]
    assert read_host(told | {"knobs": knobs}).bound == bound
    assert read_host(told | {"knobs": knobs}).policies_seen
    assert not read_host(told | {"knobs": knobs, "tree": "sos 4.12"}).policies_seen
    assert bound[1:] in list_subtracted(told)[-1].why


def test_who_switches_demotion_on_while_kswapd_sleeps_is_told_to_wake_it() -> None:
    assert "memory.reclaim" in risk_of(on(SPILL, gave_up=True))
    assert "memory.reclaim" not in risk_of(SPILL)
    assert "memory.reclaim" in risk_of(on(SPILL, gave_up=True, kernel_release="6.17.13"))
    for awake in ("6.18.2", "7.2.12"):
        assert "memory.reclaim" not in risk_of(on(SPILL, gave_up=True, kernel_release=awake)), awake
    assert "memory.reclaim" in risk_of(on(SPILL, agent_told=False))
    assert read_host({"findings": [{"id": "kswapd-gave-up", "cause": "kswapd gave up on node 0"}]}).gave_up


def test_damon_that_tiers_keeps_the_other_mover_out() -> None:
    both = advise(on(SPILL, damon_promotes=True, damon_demotes=True))
    assert both.advice == ()
    assert {one.rule: "DAMON moves" in one.why for one in both.withheld} == {"F1": True, "F2": True}
    assert len({one.why for one in both.withheld}) == 2
    swapping = replace(SPILL, flows=Flows(swapped_out_pages_per_s=50), verdict="swap_pressure")
    assert [one.rule for one in advise(on(swapping, damon_promotes=True, damon_demotes=True)).withheld] == ["F2"]
    up_alone = advise(on(swapping, damon_promotes=True))
    assert [(piece.rule, len(piece.changes)) for piece in up_alone.advice] == [("F2", 1)]
    down_alone = advise(on(SPILL, damon_demotes=True))
    assert [(piece.rule, len(piece.changes)) for piece in down_alone.advice] == [("F1", 1)]


def test_the_node_that_damon_moves_hot_pages_to_says_whether_it_promotes() -> None:
    nodes = [
        {"id": number, "memory_bytes": 1 << 30, "cpulist": cpus, "tier_class": name}
        for number, cpus, name in ((0, "0-3", "dram"), (1, "", "cxl"))
    ]
    tiers = [{"kernel_number": 4, "rank": 0, "nodes": [0]}, {"kernel_number": 22, "rank": 1, "nodes": [1]}]
    for words, ways in (
        ("migrate_hot to node 0", (True, False, False)),
        ("migrate_cold to node 1", (False, True, False)),
        ("migrate_hot to node 1", (False, False, True)),
        ("migrate_hot to several nodes", (False, False, True)),
        ("migrate_hot", (True, False, False)),
    ):
        finding = {"id": "damon-in-use", "cause": f"DAMON is in use: kdamond 0 (vaddr, {words}). Its kernel threads"}
        host = read_host({"nodes": nodes, "tiers": tiers, "findings": [finding]})
        assert (host.damon_promotes, host.damon_demotes, host.damon_spreads) == ways, words
    older = [{"path": "/sys/module/mtier/parameters/enable", "value": "Y"}]
    assert read_host({"knobs": older}).damon_promotes, "the first name of the module"
    held = {one.rule: one.why for one in advise(on(SPILL, damon_spreads=True)).withheld}
    assert held["F1"] == HAZARDS["damon-spreads"].says
    swapping = replace(SPILL, flows=Flows(swapped_out_pages_per_s=50), verdict="swap_pressure")
    assert [one.charters for one in advise(on(swapping, damon_spreads=True)).advice] == [("F2",)]


def test_a_host_that_damon_tiers_is_replayed_as_one_that_moves_pages() -> None:
    assert policy_of_host(HOST).policy == "first_touch"
    damon = policy_of_host(replace(HOST, damon_promotes=True, damon_demotes=True))
    assert damon.policy == "hot_page_selection_auto"
    assert "DAMON" in damon.why
    assert not policy_of_host(replace(HOST, damon_demotes=True)).promotes


def test_schemes_of_damon_and_cpusets_are_read_from_what_the_agent_found() -> None:
    cause = "DAMON is in use: kdamond 0 (paddr, migrate_hot); kdamond 1 (paddr, migrate_cold). Its kernel threads"
    findings = [
        {"id": "damon-in-use", "cause": cause},
        {"id": "cpuset-bars-slow-tier", "cause": "cpusets keep services away from the slower node 1: db"},
    ]
    knobs = [{"path": LRU_GEN, "value": None, "unavailable": "this kernel has no such setting"}]
    host = read_host({"findings": findings, "knobs": knobs, "services": [{"name": "db"}], "kernel_release": "6.12"})
    assert (host.damon_promotes, host.damon_demotes) == (True, True)
    assert (host.agent_told, host.processes_seen) == (True, True)
    scraped = read_host({"knobs": [{"path": SWAPPINESS, "value": "60"}], "services": [{"name": "db"}]})
    assert (scraped.agent_told, scraped.processes_seen) == (False, False)
    assert "db" in (host.barring or "")
    watching = read_host(
        {"findings": [{"id": "damon-in-use", "cause": "DAMON is in use: kdamond 0 (vaddr, watches)."}]}
    )
    assert (watching.damon_promotes, watching.damon_demotes) == (False, False)


def test_memory_below_dram_that_is_faster_is_no_place_to_demote_to() -> None:
    for name in ("hbm", "gpu"):
        given = advise(on(SPILL, slow_classes=(name,)))
        assert given.advice == ()
        assert given.withheld[0].why == HAZARDS["faster-memory-below"].says
    assert advise(on(SPILL, slow_classes=("unknown",))).advice


def test_a_full_slower_tier_forbids_the_pair_and_only_qualifies_promotion() -> None:
    full = on(SPILL, slow_free_bytes=GIB)
    assert advise(full).advice == ()
    assert [one.rule for one in advise(full).withheld] == ["F1"]
    (piece,) = advise(with_knobs(full, {DEMOTION: "true"})).advice
    assert piece.rule == "F1"
    assert HAZARDS["slow-tier-full"].says in piece.risk


def test_shared_memory_below_is_not_scanned_faster_but_named() -> None:
    tiered = with_knobs(SPILL, {NUMA_BALANCING: "2", DEMOTION: "true"})
    heap = replace(tiered, flows=replace(tiered.flows, slow_shared_ratio=0.8))
    given = advise(heap)
    assert [piece.rule for piece in given.advice] == ["shared"]
    assert given.advice[0].changes == ()


def test_zswap_below_its_kernel_and_a_very_large_tier_are_told_beside_advice() -> None:
    def notices(facts: Facts) -> list[str]:
        return [notice.rule for notice in advise(facts).notices]

    zswap = with_knobs(SPILL, {ZSWAP: "Y"})
    assert notices(zswap) == ["zswap"]
    assert notices(on(zswap, kernel_release="6.16.1")) == []
    assert notices(with_knobs(SPILL, {ZSWAP: "N"})) == []
    assert notices(on(zswap, has_slow_tier=False)) == []
    zram = on(SPILL, swap_drives=(SwapDrive("/dev/zram0", "partition", 0.2),))
    assert notices(zram) == ["zswap"], "both compress into memory of one allocator"
    assert notices(on(zram, kernel_release="6.16.1")) == []
    large = on(SPILL, slow_bytes=32 * 256 * GIB, slow_free_bytes=31 * 256 * GIB)
    (notice,) = advise(large).notices
    assert notice.rule == "metadata"
    assert [found.value for found in notice.evidence] == [pytest.approx(32), pytest.approx(128 * GIB)]
    assert notices(on(large, has_slow_tier=False)) == ["metadata"], "a kernel without tiers"
    in_dram = "Up to 50% of DRAM"
    assert (notice.note or "").startswith(in_dram)
    device = "/sys/bus/dax/devices/dax0.0/memmap_on_memory"
    for parameter, of_device, stays in (("Y", "0", False), ("force", "1", True), ("N", "1", False), ("Y", None, False)):
        told = with_knobs(large, {MEMMAP_ON_MEMORY: parameter, device: of_device})
        (notice,) = advise(told).notices
        assert (in_dram not in (notice.note or "")) is stays, (parameter, of_device)
    assert notices(SPILL) == []


def test_zram_named_as_a_partition_has_no_cut_off() -> None:
    full = Facts(
        Host({}, has_slow_tier=False, swap_drives=(SwapDrive("/dev/block/zram0", "partition", 0.65),)),
        Flows(swap_used_ratio=0.65),
    )
    assert advise(full).advice == ()
    disk = replace(full, host=replace(full.host, swap_drives=(SwapDrive("/dev/sda2", "partition", 0.65),)))
    assert [piece.rule for piece in advise(disk).advice] == ["F11"]


TIERED = with_knobs(SPILL, {NUMA_BALANCING: "2", DEMOTION: "true", RATE_LIMIT: "168", HOT_THRESHOLD: "500"})


@pytest.mark.parametrize(("slow_accesses", "rules"), [(0.2, []), (0.4, ["F4"]), (None, ["F4"])])
def test_a_limit_stays_where_promotion_keeps_slow_accesses_far_below_chance(
    slow_accesses: float | None, rules: list[str]
) -> None:
    """Pages that go to and fro may pay all the same: half of the memory is slow, and less of the accesses is."""
    flows = Flows(ping_pong="crit", promoted_pages_per_s=23_500, slow_ratio=0.55, slow_access_ratio=slow_accesses)
    given = advise(replace(TIERED, flows=flows, verdict="futile_ping_pong"))
    assert [advice.rule for advice in given.advice if advice.rule == "F4"] == rules
    assert ("promotion keeps it so" in " ".join(held.why for held in given.withheld)) == (not rules)


def test_a_threshold_stays_where_promotion_follows_a_hot_set_that_moves() -> None:
    flows = Flows(candidate_pages_per_s=1e3, candidates_steady_minutes=40)
    few = replace(TIERED, flows=flows, heat=Heat(served_now=0.9, served_best=1.0))
    fired = {
        verdict: [advice.rule for advice in advise(replace(few, verdict=verdict)).advice]
        for verdict in ("stalled", "following_phases")
    }
    assert "F5" in fired["stalled"]
    assert "F5" not in fired["following_phases"]


def test_a_kernel_without_the_tiering_mode_demotes_alone_and_is_not_told_to_write_what_it_refuses() -> None:
    old = on(SPILL, kernel_release="5.15.0-91-generic", swap_drives=(SwapDrive("/dev/sda2", "partition", 0.2),))
    swaps = replace(old, flows=replace(old.flows, swapped_out_pages_per_s=900.0))
    (piece,) = advise(swaps).advice
    assert (piece.charters, [change.path for change in piece.changes]) == (("F2",), [DEMOTION])
    assert "this kernel has no setting of F1" in piece.risk
    assert {one.rule: one.why for one in advise(swaps).withheld} == {"F1": HAZARDS["no-tiering-mode"].says}
    for told in (
        on(swaps, kernel_release="5.18.0"),
        on(swaps, kernel_release="5.14.0-162.6.1.el9_1.x86_64"),
        with_knobs(swaps, {RATE_LIMIT: "65536"}),
    ):
        assert [one.charters for one in advise(told).advice] == [("F2", "F1")]


def test_a_kernel_without_numa_balancing_is_not_told_to_demote_what_would_not_come_back() -> None:
    cause = "there is a slower memory tier, and the kernel is built without NUMA balancing, which promotes"
    cannot = read_host({"findings": [{"id": "promotion-off", "cause": cause}]}).cannot_promote
    assert not read_host({"findings": [{"id": "promotion-off", "cause": "kernel.numa_balancing is 1"}]}).cannot_promote
    without = {path: value for path, value in OFF.items() if path != NUMA_BALANCING}
    swapping = replace(SPILL, flows=Flows(swapped_out_pages_per_s=900.0), verdict="swap_pressure")
    real_time = on(swapping, knobs=without, cannot_promote=cannot)
    assert advise(real_time).advice == ()
    assert {one.rule: one.why for one in advise(real_time).withheld} == {"F2": HAZARDS["no-balancing"].says}
    assert [one.charters for one in advise(on(real_time, damon_promotes=True)).advice] == [("F2",)]


def test_processors_kept_for_few_tasks_and_merged_pages_are_named_beside_promotion() -> None:
    for knobs, hazard in (
        ({KEPT_CPUS[0]: "2-31"}, "isolated-cpus"),
        ({KEPT_CPUS[1]: "4-7"}, "isolated-cpus"),
        ({KSM_RUN: "1"}, "ksm"),
    ):
        assert HAZARDS[hazard].says in risk_of(with_knobs(SPILL, dict(knobs)))
    quiet = risk_of(with_knobs(SPILL, {KEPT_CPUS[0]: "", KEPT_CPUS[1]: "(null)", KSM_RUN: "0"}))
    assert HAZARDS["isolated-cpus"].says not in quiet
    assert HAZARDS["ksm"].says not in quiet


def test_a_kernel_that_promotes_without_a_limit_is_told_so() -> None:
    says = HAZARDS["no-promotion-limit"].says
    for release, is_told in (("5.19.17", True), ("6.0.9", True), ("6.1.0", False)):
        assert (says in risk_of(on(SPILL, kernel_release=release))) == is_told, release
    backported = with_knobs(on(SPILL, kernel_release="5.14.0-427.13.1.el9_4.x86_64"), {RATE_LIMIT: "65536"})
    assert says not in risk_of(backported)


def test_multi_size_huge_pages_that_balancing_passes_over_are_named() -> None:
    says = HAZARDS["large-folios"].says
    thp = "/sys/kernel/mm/transparent_hugepage"
    for small, of_all, release, is_told in (
        ("always", "never", "6.8.0-45-generic", True),
        ("inherit", "madvise", "6.8.0-45-generic", True),
        ("inherit", "never", "6.8.0-45-generic", False),
        ("never", "always", "6.8.0-45-generic", False),
        ("always", "always", "6.10.2", False),
    ):
        sizes = {f"{thp}/hugepages-64kB/enabled": small, f"{thp}/hugepages-2048kB/enabled": "always"}
        host = with_knobs(on(SPILL, kernel_release=release), {**sizes, f"{thp}/enabled": of_all})
        assert (says in risk_of(host)) == is_told, (small, of_all, release)


def test_a_gpu_that_waits_for_hint_faults_is_named_beside_promotion() -> None:
    cause = "GPUs here are driven by amdgpu, which follows the mappings of programs"
    host = read_host({"findings": [{"id": "gpu-driver", "cause": cause}]})
    assert f"{HAZARDS['gpu-driver'].says} Here {cause}." in risk_of(on(SPILL, gpus=host.gpus))
    assert HAZARDS["gpu-driver"].says not in risk_of(SPILL)
    assert HAZARDS["gpu-driver"].says in risk_of(on(SPILL, agent_told=False)), "a sender that tells of no GPUs"


def test_what_damon_pages_out_is_said_not_to_be_demoted() -> None:
    for cause in (
        "DAMON is in use: kdamond 0 (paddr, pageout). Its kernel threads",
        "DAMON is in use: module damon_reclaim. Its kernel threads",
    ):
        host = read_host({"findings": [{"id": "damon-in-use", "cause": cause}]})
        assert host.pages_out
        assert HAZARDS["damon-pages-out"].says in risk_of(on(SPILL, pages_out=host.pages_out))
    assert HAZARDS["damon-pages-out"].says not in risk_of(SPILL)


def test_policies_of_every_kind_are_named_as_passed_over() -> None:
    placed = "memory policies keep NUMA balancing from the memory of services: db (interleave:0-1)"
    bound = "memory policies bind services to nodes without the slower node 1: web"
    found = [{"id": "policy-passed-over", "cause": placed}, {"id": "membind", "cause": bound}]
    host = read_host({"findings": found})
    assert host.bound == f"{bound} and {placed}"
    assert placed in risk_of(on(SPILL, bound=host.bound))
    assert "passes over pages of every policy" in HAZARDS["membind"].says


def test_a_unit_that_prefers_the_slow_tier_is_said_to_keep_its_anon_memory_there() -> None:
    heat = Heat(density_anon=2.0, density_file=0.3, file_share_of_dram=0.4)
    (piece,) = (one for one in advise(replace(SPILL, heat=heat)).advice if one.rule == "F7")
    assert "NUMAPolicy=" in (piece.note or "")
    assert "NUMA balancing passes over" in piece.risk


def test_groups_that_keep_their_own_swappiness_are_named() -> None:
    keeps_anon = with_knobs(SPILL, {NUMA_BALANCING: "2", DEMOTION: "true", SWAPPINESS: "1", SCAN_SIZE: None})
    for version, is_told in (("v1", True), ("hybrid", True), ("v2", False), ("", True)):
        (piece,) = (one for one in advise(on(keeps_anon, cgroup_version=version)).advice if one.rule == "F8")
        assert (HAZARDS["group-swappiness"].says in piece.risk) == is_told, version
    assert read_host({"cgroup_version": "hybrid"}).cgroup_version == "hybrid"


def test_no_pace_of_the_scanner_reaches_file_cache_that_nobody_maps() -> None:
    pace = {SCAN_PERIOD_MIN: "1000", SCAN_PERIOD_MAX: "60000", SCAN_SIZE: "256"}
    stalled = with_knobs(SPILL, {NUMA_BALANCING: "2", DEMOTION: "true", **pace})
    assert [one.rule for one in advise(stalled).advice] == ["F6"]
    cache = replace(stalled, flows=replace(stalled.flows, slow_cache_ratio=0.7))
    assert advise(cache).advice == ()
    assert {one.rule: one.why for one in advise(cache).withheld} == {"F6": HAZARDS["unmapped-cache"].says}
    dear = replace(cache, flows=replace(cache.flows, hint_fault_cpu_ratio=0.05))
    assert [one.rule for one in advise(dear).advice] == ["F6"], "a slower scanner helps whatever lies below"


def test_what_keeps_demotion_from_hanging_the_host_comes_before_it() -> None:
    (piece,) = advise(SPILL).advice
    assert (piece.note or "").startswith(f"Before it: `echo 1000 > {MIN_TTL}`")
    for safe in (
        with_knobs(SPILL, {MIN_TTL: "1000"}),
        with_knobs(SPILL, {LRU_GEN: "0x0000"}),
        on(SPILL, swap_drives=(SwapDrive("/dev/sda2", "partition", 0.2),)),
        on(SPILL, kernel_release="7.2.6"),
    ):
        (piece,) = advise(safe).advice
        assert "Before it" not in (piece.note or "")


def test_memory_below_of_which_nothing_tells_whether_it_is_slower_is_said_to_decide() -> None:
    says = HAZARDS["faster-memory-below"].says
    for classes, is_told in ((("cxl",), False), (("pmem", "dram"), False), (("unknown",), True), (("cxl", ""), True)):
        risk = risk_of(on(SPILL, slow_classes=classes))
        assert (says in risk) == is_told, classes
        assert ("is not known, and decides" in risk) == is_told
    assert advise(on(SPILL, slow_classes=("unknown", "hbm"))).advice == ()
