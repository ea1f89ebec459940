"""Verdicts on recordings of real kernels, and that nothing which does not change the truth changes the verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from factories.kernel_lab import load
from factories.made_ledgers import EXCHANGE, QUIET, made
from tierscope.domain.ledger import COLUMN_INDEX, Context, Ledger, Tiers, build_ledger, judge
from tierscope.domain.ledger.evidence import gather
from tierscope.domain.ledger.machine import read_machine
from tierscope.domain.ledger.plan import plan_host, plan_service

TIERS = Tiers(frozenset({0}), known=True)
MIB = 2**20
VERDICTS = {
    "01-baseline-fits": "fits",
    "02-default-spill": "spill",
    "03-tiering-steady": "healthy",
    "04-pingpong": "futile_ping_pong",
    "05-ratelimited": "limiter_bound",
    "07b-phase-fastscan": "following_phases",
    "08-swap": "swap_pressure",
    "10-cxl-real": "healthy",
    "12-kernel-6.1": "futile_ping_pong",
    "15-mixed-reclaim": "limit_reclaim",
    "21-phases-slow-scan": "stalled",
    "22-phases-7.2": "following_phases",
    "23-huge-pages-exchange": "futile_ping_pong",
    "24-balancing-mode-1": "spill",
    "25-demotion-off": "promotion_failing",
    "26-reclaim-7.2": "limit_reclaim",
}
LIMITS_MIB_PER_S = {"05-ratelimited": 2.0}
BALANCING = {"24-balancing-mode-1": 1}
"""Where counters alone do not tell: a host that promotes, on which no page is hot, counts the same."""
UNLIMITED = 65536.0
FEWER_COUNTERS = ("cgroup:", "pressure", "meminfo", "numastat", "khugepaged", "node:0|vmstat|pg", "_nrl", "huge_pte")


@dataclass(frozen=True)
class Counters:
    """Snapshots of a recording: times in seconds [n], keys [k], values and presence [n, k]."""

    times_s: np.ndarray
    keys: tuple[str, ...]
    values: np.ndarray
    present: np.ndarray

    def ledger(self, *, service: bool = False) -> Ledger:
        """The host's ledger, or that of the load's cgroup."""
        plan = (
            plan_service(self.keys, ["cgroup:/load"], TIERS)
            if service
            else plan_host(self.keys, TIERS, page_bytes=4096)
        )
        boots = np.zeros(len(self.times_s), np.int64)
        return build_ledger(self.times_s, boots, self.values, self.present, plan)

    def rows(self, rows: slice) -> Counters:
        return replace(self, times_s=self.times_s[rows], values=self.values[rows], present=self.present[rows])

    def stretched(self, factor: float) -> Counters:
        """The same on a machine that is slower by a factor."""
        return replace(self, times_s=self.times_s[0] + (self.times_s - self.times_s[0]) * factor)

    def times(self, factor: int) -> Counters:
        """The same on a machine that is larger by a factor."""
        return replace(self, values=self.values * factor)

    def without(self, parts: tuple[str, ...]) -> Counters:
        """The same on a kernel without counters whose key has one of these parts in it."""
        kept = [place for place, key in enumerate(self.keys) if not any(part in key for part in parts)]
        keys = tuple(self.keys[place] for place in kept)
        return replace(self, keys=keys, values=self.values[:, kept], present=self.present[:, kept])


@cache
def counters(name: str) -> Counters:
    """What the ledger of a host is made of; the rest is left out, that transformations are quick."""
    times_s, keys, values, present = load(name)
    plan = plan_host(keys, TIERS, page_bytes=4096)
    used = sorted({place for column in plan.columns for place in (*column.plus, *column.minus)})
    return Counters(times_s, tuple(keys[place] for place in used), values[:, used], present[:, used])


@cache
def filled(name: str) -> slice:
    """The snapshots from the end of the fill to the last with all memory in use."""
    ledger = counters(name).ledger()
    resident = np.nan_to_num(ledger.column("top_resident_bytes")) + np.nan_to_num(ledger.column("slow_resident_bytes"))
    full = np.flatnonzero(resident >= 0.95 * resident.max())
    return slice(int(full[0]) + 1, int(full[-1]) + 2)


def part(name: str, *, last: bool) -> Counters:
    """The first or the last 60 % of a recording after its fill."""
    whole = filled(name)
    length = int(0.6 * (whole.stop - whole.start))
    start = whole.stop - length if last else whole.start
    return counters(name).rows(slice(start, start + length))


def context(name: str, *, rate: float = 1.0) -> Context:
    """What the recorded host states; its limit goes with its speed and size."""
    limit = LIMITS_MIB_PER_S.get(name)
    return Context(promote_limit_mib_per_s=UNLIMITED if limit is None else limit * rate, balancing=BALANCING.get(name))


@pytest.mark.parametrize("name", VERDICTS)
def test_recorded_host_gets_its_verdict(name: str) -> None:
    verdict = judge(counters(name).ledger(), context(name))
    assert verdict.word == VERDICTS[name]
    assert verdict.explanation
    assert verdict.evidence
    assert all(np.isfinite(sign.value) for sign in (*verdict.evidence, *verdict.against))


@pytest.mark.parametrize("name", VERDICTS)
def test_verdict_needs_no_stated_limit(name: str) -> None:
    assert judge(counters(name).ledger(), Context(balancing=BALANCING.get(name))).word == VERDICTS[name]


@pytest.mark.parametrize("name", VERDICTS)
def test_part_of_a_recording_gets_the_verdict_of_the_whole(name: str) -> None:
    verdicts = [judge(part(name, last=last).ledger(), context(name)) for last in (False, True)]
    # In part of one the scanner went over less than all slow memory: what it did not see is not known.
    unseen = {"not_known"} if VERDICTS[name] == "healthy" else set()
    assert {found.word for found in verdicts} - unseen <= {VERDICTS[name]}


@pytest.mark.parametrize("every", [2, 5])
@pytest.mark.parametrize("name", VERDICTS)
def test_verdict_does_not_depend_on_the_distance_of_snapshots(name: str, every: int) -> None:
    assert judge(counters(name).rows(slice(None, None, every)).ledger(), context(name)).word == VERDICTS[name]


@pytest.mark.parametrize("factor", [30.0, 1 / 30])
@pytest.mark.parametrize("name", VERDICTS)
def test_verdict_does_not_depend_on_the_speed_of_the_machine(name: str, factor: float) -> None:
    found = judge(counters(name).stretched(factor).ledger(), context(name, rate=1 / factor))
    assert found.word == VERDICTS[name]


@pytest.mark.parametrize("factor", [4, 100])
@pytest.mark.parametrize("name", VERDICTS)
def test_verdict_does_not_depend_on_the_size_of_the_machine(name: str, factor: int) -> None:
    assert judge(counters(name).times(factor).ledger(), context(name, rate=factor)).word == VERDICTS[name]


@pytest.mark.parametrize("name", VERDICTS)
def test_verdict_does_without_what_older_kernels_lack(name: str) -> None:
    assert judge(counters(name).without(FEWER_COUNTERS).ledger(), context(name)).word == VERDICTS[name]


def test_ledger_without_the_effort_of_reclaim_is_judged_by_its_hot_share() -> None:
    for name in ("04-pingpong", "07b-phase-fastscan", "22-phases-7.2"):
        found = judge(counters(name).without(("pgscan", "pgrefill")).ledger(), context(name))
        assert found.word == VERDICTS[name]
        assert "reclaim_effort" not in {sign.name for sign in found.evidence}


def test_faults_on_huge_pages_count_as_many_pages() -> None:
    """Recording 23: 512 candidates for each fault, and all that the scanner armed is in use."""
    seen = gather(counters("23-huge-pages-exchange").ledger(), Context()).looked
    assert seen is not None
    assert seen.huge
    assert seen.candidates > 100 * seen.hint_faults
    assert seen.hot_share == pytest.approx(0.99, abs=0.02)


def test_cgroup_without_counters_of_moves_is_not_judged() -> None:
    times_s, keys, values, present = load("12-kernel-6.1")
    assert judge(Counters(times_s, keys, values, present).ledger(service=True)).word == "not_known"


def test_steady_exchange_that_changes_nothing_is_futile_and_names_the_runner_up() -> None:
    found = judge(made(EXCHANGE))
    assert (found.word, found.runner_up, found.confidence) == ("futile_ping_pong", "following_phases", "likely")
    assert {sign.name: sign.value for sign in found.evidence} == {
        "turnover_of_top_tier": pytest.approx(1.2),
        "hot_share_of_touched_slow_pages": pytest.approx(0.5),
        "hot_outside_over_top_tier": pytest.approx(0.5),
        "hot_share_spread": pytest.approx(0.0),
        "reclaim_effort": pytest.approx(3.0),
        "time_without_promotions": 0.0,
    }


def test_hot_share_that_comes_and_goes_follows_phases_unless_the_top_tier_is_all_in_use() -> None:
    waves = np.where(np.arange(60) % 12 < 6, 400, 100)
    following: dict[str, npt.ArrayLike] = {**EXCHANGE, "promotion_candidates_pages": waves}
    assert judge(made(following)).word == "following_phases"
    assert judge(made({**following, "reclaim_passed_over_pages": 2000})).word == "futile_ping_pong"


def test_hot_share_that_only_falls_is_converging() -> None:
    falling = np.linspace(450, 100, 60).astype(int)
    found = judge(made({**EXCHANGE, "promotion_candidates_pages": falling}))
    assert (found.word, found.runner_up) == ("not_known", "futile_ping_pong")


def test_refusals_of_a_top_tier_all_in_use_are_an_exchange_in_vain() -> None:
    few = {"promoted_pages": 60, "demoted_pages": 60, "reclaim_scanned_pages": 100, "reclaim_passed_over_pages": 100}
    refused = {**EXCHANGE, "promotion_candidates_pages": 450, **few}
    unlimited = Context(promote_limit_mib_per_s=UNLIMITED)
    assert judge(made(refused), unlimited).word == "promotion_failing"
    assert judge(made({**refused, "reclaim_passed_over_pages": 2000}), unlimited).word == "futile_ping_pong"


def test_throughput_that_rises_with_the_moves_makes_them_healthy() -> None:
    rising = np.linspace(100.0, 140.0, 60)
    assert judge(made(EXCHANGE), Context(throughput=rising)).word == "healthy"
    assert judge(made(EXCHANGE), Context(throughput=np.full(60, 100.0))).word == "futile_ping_pong"


def test_few_hot_pages_outside_are_healthy_until_they_were_promoted_over_and_over() -> None:
    few = {**EXCHANGE, "promoted_pages": 25, "demoted_pages": 25, "promotion_candidates_pages": 30}
    assert judge(made(few)).word == "healthy"
    many = {**EXCHANGE, "promotion_candidates_pages": 40}
    assert judge(made(many)).word == "futile_ping_pong"


def test_limit_decides_only_where_candidates_reach_it() -> None:
    refused = {**EXCHANGE, "promoted_pages": 20, "demoted_pages": 20}
    per_minute_mib = 250 * 4096 / MIB
    assert judge(made(refused), Context(promote_limit_mib_per_s=per_minute_mib / 60)).word == "limiter_bound"
    found = judge(made(refused), Context(promote_limit_mib_per_s=1000.0))
    assert found.word == "promotion_failing"
    unknown = judge(made(refused))
    assert (unknown.word, unknown.confidence) == ("limiter_bound", "possible")


def test_limit_holds_for_each_node_that_takes_promotions() -> None:
    refused = {**EXCHANGE, "promoted_pages": 20, "demoted_pages": 20}
    # All nodes together get what one node's limit lets through.
    one = 250 * 4096 / MIB / 60
    for nodes, word, confidence in (
        (1, "limiter_bound", "likely"),
        (3, "limiter_bound", "likely"),
        (8, None, "possible"),
    ):
        found = judge(made(refused), Context(promote_limit_mib_per_s=one, promotion_nodes=nodes))
        assert (found.word, found.confidence) == (word or "promotion_failing", confidence)
        over = next(sign.value for sign in found.evidence if sign.name == "candidates_over_limit")
        assert over == pytest.approx(1 / nodes)
    assert (
        "for each of 3 nodes"
        in judge(made(refused), Context(promote_limit_mib_per_s=one, promotion_nodes=3)).explanation
    )


def test_inventory_says_how_many_nodes_have_the_limit_for_themselves() -> None:
    def body(cpus: str) -> dict[str, object]:
        dram = [{"id": node, "cpulist": cpus and f"{node}", "memory_bytes": 2**30} for node in range(8)]
        return {
            "nodes": [*dram, {"id": 8, "cpulist": "", "memory_bytes": 2**30}],
            "tiers": [{"rank": 4, "nodes": list(range(8))}, {"rank": 22, "nodes": [8]}],
        }

    assert read_machine(body("some")).context(None).promotion_nodes == 8
    # Prometheus sends no lists of processors.
    assert read_machine(body("")).context(None).promotion_nodes == 8
    assert (
        read_machine({"nodes": [{"id": 0, "cpulist": "0", "memory_bytes": 2**30}]}).context(None).promotion_nodes == 1
    )


@pytest.mark.parametrize("balancing", [0, 1, 2, None])
@pytest.mark.parametrize(("up", "down"), [(50 * 4096, 0), (50 * 4096, 50 * 4096), (0, 0), (500 * 4096, 500 * 4096)])
def test_what_damon_moves_is_tiering(up: int, down: int, balancing: int | None) -> None:
    damon = {**QUIET, "damon_promoted_bytes": up, "damon_demoted_bytes": down}
    found = judge(made(damon), Context(balancing=balancing))
    assert (found.word, found.runner_up) in (("not_known", None), ("not_known", "futile_ping_pong"))
    assert "nothing brings" not in found.explanation
    measured = {**damon, "fast_traffic_bytes": 2**29, "slow_traffic_bytes": 2**29}
    found = judge(made(measured), Context(balancing=balancing))
    assert found.word in ("stalled", "futile_ping_pong")
    assert "nothing brings" not in found.explanation
    measured = {**damon, "fast_traffic_bytes": 2**29, "slow_traffic_bytes": 2**20}
    wanted = "healthy" if not down else "following_phases"
    assert judge(made(measured), Context(balancing=balancing)).word == wanted


def test_refused_candidates_are_no_limit_where_nothing_at_all_gets_through() -> None:
    assert judge(made({**EXCHANGE, "promoted_pages": 0, "demoted_pages": 0})).word == "promotion_failing"
    lets_through_250 = Context(promote_limit_mib_per_s=250 * 4096 / MIB / 60)
    for promoted, word in ((0, "promotion_failing"), (2, "promotion_failing"), (3, "limiter_bound")):
        found = judge(made({**EXCHANGE, "promoted_pages": promoted, "demoted_pages": promoted}), lets_through_250)
        assert found.word == word


def test_failing_moves_are_named_before_a_limit() -> None:
    failing = {**EXCHANGE, "promoted_pages": 20, "demoted_pages": 20, "migrate_fail_pages": 230}
    assert judge(made(failing), Context(promote_limit_mib_per_s=0.01)).word == "promotion_failing"


def test_pauses_with_hot_pages_outside_are_stalled_and_without_them_healthy() -> None:
    bursts = np.where(np.arange(60) % 10 < 2, 2, 0)
    paused = {key: amount * bursts for key, amount in EXCHANGE.items()}
    assert judge(made(paused)).word == "stalled"
    few = {**paused, "promotion_candidates_pages": 30 * bursts, "promoted_pages": 25 * bursts}
    assert judge(made(few)).word == "healthy"


def test_hot_pages_that_become_fewer_are_not_stalled() -> None:
    bursts = np.where(np.arange(60) % 10 < 2, 2, 0)
    paused = {key: amount * bursts for key, amount in EXCHANGE.items()}
    fewer = np.where(np.arange(60) < 30, 300, 20) * bursts
    found = judge(made({**paused, "promotion_candidates_pages": fewer, "promoted_pages": fewer // 2}))
    assert (found.word, found.runner_up) == ("not_known", "stalled")


def test_demotions_that_nobody_wants_back_are_harmless_with_refaults_of_files_beside() -> None:
    looked = {"hint_faults": 400, "pte_updates": 400}
    flood = {**QUIET, **looked, "demoted_pages": 500, "refault_file_pages": 300, "refault_anon_pages": 0}
    found = judge(made(flood))
    assert found.word == "harmless_demotion"
    assert [sign.name for sign in found.against] == ["refaulted_file"]
    assert judge(made({**flood, "refault_anon_pages": 50})).word == "healthy"


def test_host_that_looks_but_never_considers_a_page_spills() -> None:
    looking = {**QUIET, "hint_faults": 400, "pte_updates": 400}
    # Without the setting it may as well be that no page is hot.
    assert (judge(made(looking)).word, judge(made(looking)).runner_up) == ("not_known", "spill")
    assert judge(made(looking), Context(balancing=1)).confidence == "certain"
    doubted = judge(made(looking), Context(balancing=1, doubts=("/proc/sys/kernel/numa_balancing: cut off",)))
    assert (doubted.word, doubted.confidence) == (judge(made(looking), Context(balancing=1)).word, "likely")
    assert "numa_balancing: cut off" in doubted.explanation
    assert judge(made({**looking, "promotion_candidates_pages": 1}), Context(balancing=2)).word == "healthy"


def test_where_the_setting_promotes_faults_without_a_candidate_are_pages_that_are_not_hot() -> None:
    looking = {**QUIET, "hint_faults": 200, "pte_updates": 200}
    assert judge(made(looking), Context(balancing=2)).word == "healthy"
    # Marks of an earlier pass are hit while the scanner rests.
    assert judge(made({**looking, "pte_updates": 0}), Context(balancing=2)).word == "stalled"


def test_tiering_that_tried_nothing_is_stalled_and_tiering_that_is_off_spills() -> None:
    assert judge(made(QUIET), Context(balancing=2)).word == "stalled"
    assert judge(made(QUIET), Context(balancing=0)).word == "spill"
    assert judge(made(QUIET)).word == "spill"
    assert judge(made(QUIET, slow_pages=0)).word == "fits"


def test_unmapped_file_cache_on_the_slower_tier_is_not_a_scanner_asleep() -> None:
    found = judge(made(QUIET), Context(balancing=2, slow_file_share=0.99))
    assert (found.word, found.runner_up) == ("not_known", "spill")
    assert judge(made(QUIET), Context(balancing=2, slow_file_share=0.5)).word == "stalled"


def test_nothing_moving_and_unknown_tiers_is_not_enough() -> None:
    ledger = made(QUIET)
    ledger.present[:, [COLUMN_INDEX["top_resident_bytes"], COLUMN_INDEX["slow_resident_bytes"]]] = False
    assert judge(ledger).word == "not_known"


def test_swap_by_a_limit_is_the_limits_doing() -> None:
    swapping = {**QUIET, "swap_in_pages": 50, "swap_out_pages": 50, "reclaimed_pages": 100}
    assert judge(made(swapping)).word == "swap_pressure"
    found = judge(made({**swapping, "limit_reclaimed_pages": 90}))
    assert (found.word, found.runner_up) == ("limit_reclaim", "swap_pressure")


def test_direct_demotions_are_a_limits_doing_only_where_nobody_stalled() -> None:
    direct = {**QUIET, "demoted_pages": 100, "demoted_direct_pages": 100, "reclaimed_pages": 100}
    direct |= {"direct_scan_pages": 150, "hint_faults": 400, "pte_updates": 400}
    assert judge(made({**direct, "direct_reclaim_stalls": 0})).word == "limit_reclaim"
    assert judge(made({**direct, "direct_reclaim_stalls": 40})).word == "harmless_demotion"


def test_four_intervals_are_too_few() -> None:
    assert judge(made(EXCHANGE, n=4)).word == "not_known"
    assert judge(made(EXCHANGE, n=5)).word == "futile_ping_pong"
