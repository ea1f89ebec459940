"""Facts of rules: what is read from an inventory and counters, and what stays unknown."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from tierscope.domain.knobs import Facts, Heat, advise
from tierscope.domain.knobs.facts import DEMOTION, INTERLEAVE, NUMA_BALANCING, RATE_LIMIT, Host
from tierscope.domain.knobs.gather import classify_host, gather
from tierscope.domain.knobs.levels import Levels, Samples, wanted_keys
from tierscope.domain.knobs.machine import list_subtracted, read_host, read_knobs
from tierscope.domain.knobs.shapes import Advice
from tierscope.domain.ledger import COLUMN_KEYS, Ledger, Verdict
from tierscope.domain.ratio.memory_bound import MemoryBound, middle_bound

MIB = 1 << 20
PAGE = 4096


def inventory(**more: object) -> dict[str, Any]:
    return {
        "page_size_bytes": PAGE,
        "nodes": [
            {"id": 0, "memory_bytes": 1000 * MIB, "cpulist": "0-3", "tier_class": "dram"},
            {"id": 1, "memory_bytes": 1000 * MIB, "cpulist": "4-7", "tier_class": "dram"},
            {"id": 2, "memory_bytes": 4000 * MIB, "cpulist": "", "tier_class": "cxl"},
        ],
        "tiers": [{"rank": 0, "nodes": [0, 1]}, {"rank": 1, "nodes": [2]}],
        "knobs": [
            {"path": NUMA_BALANCING, "value": "2\n"},
            {"path": DEMOTION, "value": None, "unavailable": "permission denied"},
            {"path": RATE_LIMIT, "value": None, "unavailable": "this kernel has no such setting"},
            {"path": "/sys/kernel/mm/transparent_hugepage/enabled", "value": "always [madvise] never"},
        ],
        **more,
    }


def samples(columns: Mapping[str, Sequence[int]], step_s: float = 60.0) -> Samples:
    n = len(next(iter(columns.values())))
    values = np.array(list(columns.values()), np.int64).T
    times = step_s * np.arange(float(n))
    return Samples(times, np.zeros(n, np.int64), tuple(columns), values, np.ones(values.shape, bool))


def ledger(columns: Mapping[str, Sequence[int]], step_s: float = 60.0) -> Ledger:
    n = len(next(iter(columns.values())))
    values = np.zeros((n, len(COLUMN_KEYS)), np.int64)
    present = np.zeros(values.shape, bool)
    for key, rows in columns.items():
        values[:, COLUMN_KEYS.index(key)] = rows
        present[:, COLUMN_KEYS.index(key)] = True
    return Ledger(step_s * np.arange(1.0, n + 1), np.full(n, step_s), values, present, np.zeros(n, np.int8))


def test_settings_are_read_as_they_are_written_and_absent_ones_left_out() -> None:
    assert read_knobs(inventory()) == {
        NUMA_BALANCING: "2",
        DEMOTION: None,
        "/sys/kernel/mm/transparent_hugepage/enabled": "madvise",
    }
    host = read_host(inventory())
    assert (host.sockets, host.slow_nodes, host.has_slow_tier) == (2, (2,), True)
    assert (host.dram_bytes, host.slow_bytes) == (2000 * MIB, 4000 * MIB)
    assert host.is_on(DEMOTION) is None
    assert host.unreadable(DEMOTION, RATE_LIMIT) == (f"the value of {DEMOTION}",)


@pytest.mark.parametrize("value", ["", "nan", "1e5", "1_000", "-1", "2; reboot", "99999999999"])
def test_what_is_no_whole_number_is_no_value(value: str) -> None:
    assert Host({NUMA_BALANCING: value}, has_slow_tier=True).number(NUMA_BALANCING) is None


def test_a_host_that_does_not_rank_its_nodes_has_no_slow_tier() -> None:
    body = inventory(tiers=[{"rank": 0, "nodes": [0, 1, 2]}])
    assert not read_host(body).has_slow_tier
    assert not read_host(None).has_slow_tier
    assert advise(Facts(read_host(None))).advice == ()


def test_a_measured_bandwidth_goes_before_a_stated_one() -> None:
    body = inventory()
    for node in body["nodes"]:
        node |= {"read_bandwidth_mib_per_s": 1000, "write_bandwidth_mib_per_s": 500}
    stated = read_host(body)
    assert stated.dram_gb_per_s == pytest.approx(2 * 1000 * MIB / 1e9)
    assert not stated.bandwidth_measured
    assert stated.bandwidth_note is not None
    body["benches"] = [{"memory_node": 2, "cpu_node": 0, "figures": [{"name": "write_bandwidth", "median": 22e9}]}]
    measured = read_host(body)
    assert (measured.slow_write_gb_per_s, measured.bandwidth_note) == (22.0, None)


def test_unmovable_memory_of_dram_alone_is_taken_off() -> None:
    rows = [
        {"node": 0, "hugetlb_bytes": 100, "mlocked_bytes": 10, "pinned_pages": 1},
        {"node": 2, "hugetlb_bytes": 5000, "mlocked_bytes": None, "pinned_pages": None},
    ]
    found = {row.what: row.bytes for row in list_subtracted(inventory(unmovable=rows))}
    assert found == {"hugetlb": 100, "mlock": 10, "pinned": PAGE, "memory policies and cpusets": None}
    assert read_host(inventory(unmovable=rows)).unmovable_bytes == 110 + PAGE


def test_levels_are_those_of_the_steady_part() -> None:
    free = [500 * MIB] * 3 + [20 * MIB] * 7
    taken = samples(
        {
            **{f"node:{node}|meminfo|MemFree": free for node in (0, 1)},
            "node:2|meminfo|MemFree": [100 * MIB] * 10,
            "host|meminfo|MemFree": [1] * 10,
            "zone:0/Normal|zoneinfo|high": [1000] * 10,
            "zone:0/Normal|zoneinfo|promo": [2000] * 10,
            "zone:2/Movable|zoneinfo|high": [9000] * 10,
        }
    )
    host = Levels(taken, 60.0 * np.arange(3.0, 10.0), read_host(inventory())).fill(read_host(inventory()))
    assert host.dram_free_bytes == 40 * MIB
    assert host.slow_free_bytes == 100 * MIB
    assert host.dram_watermark_bytes == 2000 * PAGE
    assert host.dram_is_full is True
    assert host.slow_has_room is False
    assert "host|meminfo|MemFree" not in [key for key in taken.keys if key.startswith("node:")]
    assert set(wanted_keys(taken.keys)) == set(taken.keys)


def test_samples_of_one_moment_tell_no_rate() -> None:
    columns = {
        **{f"node:{node}|meminfo|MemFree": [1] * 6 for node in (0, 1, 2)},
        **{f"node:{node}|numastat|{name}": [7] * 6 for node in (0, 1) for name in ("numa_hit", "numa_foreign")},
        **{f"node:{node}|vmstat|pgpromote_success": [9] * 6 for node in (0, 1)},
    }
    facts = gather(inventory(), samples(columns, step_s=0.0), ledger({"promoted_pages": [0] * 5}, step_s=0.0), None)
    assert facts.flows.spilled_pages_per_s is None
    assert facts.flows.allocation_p99_bytes_per_s is None
    assert facts.host.limited_nodes == 2


def test_spill_of_one_half_is_a_service_that_fills_up() -> None:
    def spilled(foreign: Sequence[int]) -> float | None:
        hit = list(range(0, 600_000, 30_000))
        columns = {f"node:{node}|numastat|numa_hit": hit for node in (0, 1)}
        columns |= {f"node:{node}|numastat|numa_foreign": list(foreign) for node in (0, 1)}
        columns |= {f"node:{node}|meminfo|MemFree": [MIB] * 20 for node in (0, 1)}
        still = ledger({"promoted_pages": [0] * 19})
        return gather(inventory(), samples(columns), still, None).flows.spilled_pages_per_s

    assert spilled([min(i, 5) * 600 for i in range(20)]) == 0
    assert spilled([i * 600 for i in range(20)]) == pytest.approx(2 * 600 / 60)


def test_flows_that_no_counter_tells_stay_unknown() -> None:
    flows = gather(inventory(), None, ledger({"promoted_pages": [60] * 10}), None).flows
    assert flows.promoted_pages_per_s == 1
    assert (flows.demoted_pages_per_s, flows.spilled_pages_per_s, flows.ping_pong) == (None, None, None)
    assert (flows.swap_used_ratio, flows.hot_share_of_slow) == (None, None)


def test_ping_pong_is_measured_where_the_kernel_marks_pages() -> None:
    columns = {"promotion_candidates_pages": [1000] * 10, "promoted_pages": [10**6] * 10, "demoted_pages": [10**6] * 10}
    verdict = Verdict("healthy", "", "likely")
    assert (
        gather(inventory(), None, ledger({**columns, "candidates_demoted": [150] * 10}), verdict).flows.ping_pong
        == "warn"
    )
    assert (
        gather(inventory(), None, ledger({**columns, "candidates_demoted": [20] * 10}), verdict).flows.ping_pong == "ok"
    )
    futile = Verdict("futile_ping_pong", "", "likely")
    assert gather(inventory(), None, ledger(columns, step_s=10), futile).flows.ping_pong == "warn"
    assert gather(inventory(), None, ledger(columns, step_s=60), futile).flows.ping_pong == "crit"


def test_candidates_are_held_against_the_limit_up_to_the_end() -> None:
    body = inventory()
    body["knobs"][2] = {"path": RATE_LIMIT, "value": "1"}
    limit_pages = 2 * MIB // PAGE * 60  # of both nodes with processors
    rows = [limit_pages // 2] * 20 + [3 * limit_pages] * 40
    flows = gather(body, None, ledger({"promotion_candidates_pages": rows}), None).flows
    assert flows.candidates_steady_minutes == pytest.approx(40)
    level = gather(body, None, ledger({"promotion_candidates_pages": [limit_pages] * 60}), None).flows
    assert level.candidates_steady_minutes == 0


def bench(node: int) -> dict[str, Any]:
    points = [(1e9, 100.0), (50e9, 120.0), (90e9, 200.0), (100e9, 400.0)]
    return {
        "cpu_node": node,
        "memory_node": node,
        "figures": [{"name": "read_bandwidth", "median": 100e9}],
        "loaded": [{"bandwidth_bytes_per_s": rate, "latency_ns": latency} for rate, latency in points],
    }


@pytest.mark.parametrize(("share", "named"), [(0.9, "bandwidth"), (0.6, "mixed"), (0.2, "latency")])
def test_a_host_is_bound_by_bandwidth_if_much_flows_and_latency_has_risen(share: float, named: str) -> None:
    flow = [int(i * 60 * share * 100e9) for i in range(10)]
    taken = samples({f"node:{node}|resctrl|mbm_total_bytes": flow for node in (0, 1)})
    found = classify_host(inventory(benches=[bench(0), bench(1)]), taken)
    assert (found.name, found.grade) == (named, "good")
    assert found.utilisation_p95 == pytest.approx(share, abs=0.001)
    assert found.low == pytest.approx(share, abs=0.001)
    assert found.high == pytest.approx(share, abs=0.001)
    assert "(resctrl)" in found.reason


def flowing(share: float, **others: list[int]) -> Samples:
    """Ten minutes in which two nodes move this share of 100 GB/s each."""
    flow = [int(i * 60 * share * 100e9) for i in range(10)]
    return samples(
        {
            **{f"node:{node}|uncore|read_bytes": flow for node in (0, 1)},
            **{f"node:{node}|uncore|write_bytes": [0] * 10 for node in (0, 1)},
            **others,
        }
    )


def stalls(share: float) -> dict[str, list[int]]:
    """Cycles of ten minutes, of which this share waits for memory."""
    return {
        "host|memory_stall|cycles": [i * 10**9 for i in range(10)],
        "host|memory_stall|stall_cycles": [int(i * 10**9 * share) for i in range(10)],
    }


def stated(gib_per_s: float = 100e9 / 2**30) -> dict[str, Any]:
    """An inventory whose firmware states the bandwidth of the top nodes."""
    body = inventory()
    for node in body["nodes"]:
        if node["id"] in (0, 1):
            node["read_bandwidth_mib_per_s"] = gib_per_s * 1024
    return body


@pytest.mark.parametrize(
    ("share", "waits", "named"),
    [(0.9, 0.5, "bandwidth"), (0.9, 0.2, "mixed"), (0.9, None, "mixed"), (0.2, 0.5, "latency")],
)
def test_without_a_bench_firmware_and_stalls_tell_with_a_lower_grade(
    share: float, waits: float | None, named: str
) -> None:
    found = classify_host(stated(), flowing(share, **({} if waits is None else stalls(waits))))
    assert (found.name, found.grade) == (named, "partial")
    assert "that firmware states at the 95th percentile (uncore)" in found.reason
    assert ("are known" in found.reason) == (waits is None)


def test_what_cannot_be_told_says_what_is_missing() -> None:
    nothing = classify_host(inventory(benches=[bench(0), bench(1)]), samples({"x": [1, 2]}))
    assert (nothing.name, nothing.grade) == (None, None)
    assert "no counter of bandwidth" in nothing.reason
    no_capacity = classify_host(inventory(benches=[bench(0)]), flowing(0.9))
    assert no_capacity.name is None
    assert "tierscope-agent bench" in no_capacity.reason
    idle = classify_host(inventory(), samples(stalls(0.05)))
    assert (idle.name, idle.grade) == ("insensitive", "partial")
    waiting = classify_host(inventory(), samples(stalls(0.4)))
    assert waiting.name is None
    assert "40% of the cycles wait for memory" in waiting.reason


def test_a_peak_that_few_intervals_saw_is_an_early_answer() -> None:
    rates = [0.3, 0.3, 0.3, 0.3, 0.95, 0.3, 0.3, 0.3, 0.3]
    total = [0, *(int(sum(rates[: i + 1]) * 60 * 100e9) for i in range(9))]
    taken = samples({f"node:{node}|resctrl|mbm_total_bytes": total for node in (0, 1)})
    found = classify_host(inventory(benches=[bench(0), bench(1)]), taken)
    assert found.grade == "early"
    assert found.low is not None
    assert found.high is not None
    assert found.low == pytest.approx(0.3)
    assert found.high == pytest.approx(0.95)


def test_what_flows_at_cxl_devices_is_taken_off_what_caches_count() -> None:
    total = [int(i * 60 * 0.9 * 100e9) for i in range(10)]
    far = [int(i * 60 * 40e9) for i in range(10)]
    columns = {f"node:{node}|resctrl|mbm_total_bytes": total for node in (0, 1)}
    columns["host|cxl_pmu|read_bytes[cxl_pmu_mem0.0]"] = far
    columns["host|cxl_pmu|write_bytes[cxl_pmu_mem0.0]"] = [0] * 10
    body = inventory(benches=[bench(0), bench(1), {**bench(2), "cpu_node": 0, "loaded": []}])
    found = classify_host(body, samples(columns))
    assert (found.name, found.grade) == ("bandwidth", "good")
    assert found.utilisation_p95 == pytest.approx(0.7, abs=0.001)
    assert found.slow is not None
    assert found.slow.p95 == pytest.approx(0.4, abs=0.001)
    assert found.slow.low <= found.slow.p95 <= found.slow.high
    assert "(resctrl less cxl_pmu)" in found.reason
    alone = classify_host(body, samples({key: rows for key, rows in columns.items() if "cxl_pmu" in key}))
    assert alone.name is None, "what CXL devices move says nothing of DRAM"
    assert alone.slow == found.slow


def test_a_bench_without_load_goes_before_what_firmware_states() -> None:
    figures = [
        {"name": "read_bandwidth", "median": 50e9},
        {"name": "mixed_bandwidth", "median": 1e12, "disturbed": True},
    ]
    body = stated() | {"benches": [{"cpu_node": n, "memory_node": n, "figures": figures} for n in (0, 1)]}
    found = classify_host(body, flowing(0.45))
    assert (found.name, found.grade) == ("mixed", "partial")
    assert found.utilisation_p95 == pytest.approx(0.9, abs=0.001)


def test_of_several_hosts_the_one_in_the_middle_speaks() -> None:
    def host(share: float | None) -> MemoryBound:
        if share is None:
            return classify_host(inventory(), samples({"x": [1, 2]}))
        return classify_host(inventory(benches=[bench(0), bench(1)]), flowing(share))

    alike = middle_bound([host(0.9), host(0.95), host(0.92)])
    assert (alike.name, alike.grade) == ("bandwidth", "good")
    assert alike.utilisation_p95 == pytest.approx(0.92, abs=0.001)
    assert "3 of 3 hosts are of this class" in alike.reason
    apart = middle_bound([host(0.1), host(0.95), host(None), host(0.92)])
    assert (apart.name, apart.grade) == ("bandwidth", "early")
    assert "2 of 3 hosts are of this class, 1 more cannot tell" in apart.reason
    assert "no counter of bandwidth" in middle_bound([host(None), host(None)]).reason
    assert middle_bound([host(0.9)]) == host(0.9)


def test_a_known_loss_tells_hosts_that_do_not_care_from_those_that_wait() -> None:
    idle, busy = (classify_host(inventory(benches=[bench(0), bench(1)]), flowing(share)) for share in (0.2, 0.9))
    assert idle.given_loss(0.005).name == "insensitive"
    assert idle.given_loss(0.05).name == idle.given_loss(None).name == "latency"
    assert busy.given_loss(0.005).name == "bandwidth"


def test_a_host_whose_dram_is_used_up_gets_interleave_weights_with_their_evidence() -> None:
    body = inventory(benches=[bench(0), bench(1)])
    body["knobs"] += [{"path": f"{INTERLEAVE}/node{node}", "value": "1"} for node in (0, 1, 2)]
    body["benches"].append(
        {"memory_node": 2, "cpu_node": 0, "figures": [{"name": "read_bandwidth", "median": 50e9}], "loaded": []}
    )

    def advised(share: float) -> Advice | None:
        given = advise(gather(body, flowing(share), ledger({"promoted_pages": [0] * 10}), None))
        return next((advice for advice in given.advice if advice.rule == "F9"), None)

    found = advised(0.95)
    assert found is not None
    assert [change.proposed for change in found.changes] == ["2", "2"]
    evidence = {item.metric: item.value for item in found.evidence}
    assert evidence["DRAM bandwidth in use, 95th percentile"] == pytest.approx(0.95, abs=0.001)
    assert "grade: good" in (found.note or "")
    assert advised(0.2) is None
    silent = advise(gather(body, samples({"x": [1, 2]}), ledger({"promoted_pages": [0] * 10}), None))
    assert any(item.rule == "F9" and "no counter of bandwidth" in item.missing[0] for item in silent.unknown)


def test_weights_are_those_of_single_nodes() -> None:
    body = inventory()
    body["knobs"] += [{"path": f"{INTERLEAVE}/node{node}", "value": "1"} for node in (0, 1, 2)]
    body["benches"] = [
        {"memory_node": node, "cpu_node": 0, "figures": [{"name": "read_bandwidth", "median": rate}]}
        for node, rate in ((0, 200e9), (1, 200e9), (2, 50e9))
    ]
    given = advise(Facts(read_host(body), heat=Heat(bound=MemoryBound("bandwidth", "good", "DRAM runs at 95%"))))
    assert [(change.path[-1], change.proposed) for change in given.advice[0].changes] == [
        ("0", "4"),
        ("1", "4"),
    ]
    effect = given.advice[0].effect_size
    assert effect is not None
    assert effect.value == pytest.approx(450 / 400)


def test_file_cache_below_that_nobody_maps_is_what_is_neither_shared_nor_mapped() -> None:
    below = {"AnonPages": 100, "FilePages": 300, "Shmem": 40, "Mapped": 60, "MemFree": 600}
    columns = {f"node:2|meminfo|{name}": [mib * MIB] * 3 for name, mib in below.items()}
    assert set(wanted_keys(tuple(columns))) == set(columns)
    taken, steady = samples(columns), ledger({"promoted_pages": [0, 0]}).times_s
    levels = Levels(taken, steady, read_host(inventory()))
    found = levels.add(Facts(read_host(inventory())).flows, ledger({"promoted_pages": [0, 0]}))
    assert (found.slow_shared_ratio, found.slow_cache_ratio) == (0.1, 0.5)
    del columns["node:2|meminfo|Mapped"]
    unknown = Levels(samples(columns), steady, read_host(inventory()))
    assert unknown.add(Facts(read_host(inventory())).flows, ledger({"promoted_pages": [0, 0]})).slow_cache_ratio is None


def test_a_setting_that_was_another_as_the_window_began_is_told() -> None:
    still = ledger({"promoted_pages": [0] * 5})
    before = inventory()
    before["knobs"][0] = {"path": NUMA_BALANCING, "value": "0\n"}
    assert gather(inventory(), None, still, None, before=before).unsettled == {NUMA_BALANCING}
    same: tuple[dict[str, Any] | None, ...] = (inventory(), None, {"knobs": []})
    for body in same:
        assert gather(inventory(), None, still, None, before=body).unsettled == frozenset()
