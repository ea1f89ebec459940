"""Verdicts where the share of slow accesses was measured, and what measures it."""

import numpy as np
import pytest

from factories.made_ledgers import EXCHANGE, QUIET, SLOW_PAGES, made
from fixtures.draws import drawn
from tierscope.domain.ledger import COLUMN_INDEX, Context, Tiers, judge
from tierscope.domain.ledger.machine import read_machine
from tierscope.domain.ledger.plan import plan_host, plan_service
from tierscope.domain.ledger.slow_course import slow_course
from tierscope.domain.ledger.words import Outcome

UNLIMITED = 65536.0


def traffic(slow_share: float) -> dict[str, int]:
    """A GiB a minute at all memory, a share of it at slow memory."""
    slow = int(slow_share * 2**30)
    return {"fast_traffic_bytes": 2**30 - slow, "slow_traffic_bytes": slow}


def moves(*, promoted: int = 0, demoted: int = 0, candidates: int = 0) -> dict[str, int]:
    """Pages moved in each of ten minutes; 4 a minute of 20,000 are none."""
    amounts = {"promoted_pages": promoted, "demoted_pages": demoted, "promotion_candidates_pages": candidates}
    return {**QUIET, **amounts}


@pytest.mark.parametrize(
    ("slow_share", "flows", "word"),
    [
        (0.05, moves(), "healthy"),
        (0.05, moves(demoted=10), "harmless_demotion"),
        (0.05, moves(promoted=10, demoted=10, candidates=10), "following_phases"),
        (0.40, moves(), "stalled"),
        (0.40, moves(promoted=10, candidates=10), "stalled"),
        (0.25, moves(promoted=10, candidates=10), "stalled"),
        (0.40, moves(promoted=200, demoted=200, candidates=200), "futile_ping_pong"),
        (0.25, moves(promoted=200, demoted=200, candidates=200), "futile_ping_pong"),
        # All that the top tier holds is exchanged, and few accesses are slow for that.
        (0.25, moves(promoted=1200, demoted=1200, candidates=1200), "following_phases"),
        (0.40, moves(promoted=1200, demoted=1200, candidates=1200), "futile_ping_pong"),
        (0.40, moves(promoted=1, candidates=100), "promotion_failing"),
    ],
)
def test_slow_accesses_decide_good_or_bad_and_flows_say_why(
    slow_share: float, flows: dict[str, int], word: str
) -> None:
    context = Context(balancing=2, promote_limit_mib_per_s=UNLIMITED)
    found = judge(made({**flows, **traffic(slow_share)}, n=10), context)
    assert found.word == word
    assert found.evidence[0].name == "slow_share_of_memory_traffic"
    assert found.evidence[0].value == pytest.approx(slow_share)


@pytest.mark.parametrize(
    ("shares", "word"),
    [
        # It ends a tenth lower: promotion gains.
        ((0.5, 0.5, 0.5, 0.5, 0.5, 0.45, 0.45, 0.45, 0.4, 0.38), "following_phases"),
        ((0.5, 0.5, 0.5, 0.5, 0.5, 0.45, 0.45, 0.45, 0.45, 0.42), "stalled"),
        # It rises for good.
        ((0.2, 0.2, 0.2, 0.2, 0.2, 0.3, 0.3, 0.35, 0.35, 0.35), "stalled"),
        # It comes and goes: far below chance (a half), and about there.
        ((0.2, 0.3, 0.4, 0.3, 0.2, 0.2, 0.3, 0.4, 0.3, 0.2), "following_phases"),
        ((0.4, 0.5, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.5, 0.4), "futile_ping_pong"),
        # Not by a tenth.
        ((0.2, 0.25, 0.28, 0.25, 0.2, 0.2, 0.25, 0.28, 0.25, 0.2), "stalled"),
    ],
)
@pytest.mark.parametrize("keys", [("fast_traffic_bytes", "slow_traffic_bytes"), ("fast_loads", "slow_loads")])
def test_the_course_of_slow_accesses_tells_what_promotions_buy(
    shares: tuple[float, ...], word: str, keys: tuple[str, str]
) -> None:
    ledger = made(moves(promoted=10, candidates=10), n=10)
    for key, parts in zip(keys, ([1 - share for share in shares], shares), strict=True):
        ledger.present[:, COLUMN_INDEX[key]] = True
        ledger.values[:, COLUMN_INDEX[key]] = [round(1000 * part) for part in parts]
    assert judge(ledger, Context(balancing=2)).word == word
    for key in ("promoted_pages", "promotion_candidates_pages"):
        ledger.values[:, COLUMN_INDEX[key]] = 0
    assert judge(ledger, Context(balancing=2)).word == "stalled"


def test_an_exchange_that_begins_is_not_called_following_while_few_accesses_were_slow_before_it() -> None:
    flows = moves(promoted=1200, demoted=1200, candidates=1200)
    course = [0.0] * 4 + [0.4] * 6
    ledger = made({**flows, "slow_traffic_bytes": [int(1000 * share) for share in course]}, n=10)
    ledger.present[:, COLUMN_INDEX["fast_traffic_bytes"]] = True
    ledger.values[:, COLUMN_INDEX["fast_traffic_bytes"]] = [int(1000 * (1 - share)) for share in course]
    found = judge(ledger, Context(balancing=2, promote_limit_mib_per_s=UNLIMITED))
    assert found.word == "futile_ping_pong"
    assert "rises" in found.explanation


@pytest.mark.rates
def test_few_sampled_loads_whose_share_stands_have_no_course() -> None:
    rng = np.random.default_rng(3)
    changed = 0
    count = drawn(1000)
    for _ in range(count):
        loads = int(rng.integers(20, 1000))
        slow = rng.binomial(loads, 0.4, 10)
        ledger = made(moves(), n=10)
        for key, amounts in (("slow_loads", slow), ("fast_loads", loads - slow)):
            ledger.present[:, COLUMN_INDEX[key]] = True
            ledger.values[:, COLUMN_INDEX[key]] = amounts
        course = slow_course(ledger)
        changed += course is not None and (course.comes_and_goes or course.falls)
    assert changed <= 0.01 * count


@pytest.mark.parametrize(
    ("slow_share", "slow_pages", "word"),
    [(0.09, SLOW_PAGES, "following_phases"), (0.09, SLOW_PAGES // 10, "futile_ping_pong")],
)
def test_moves_that_place_pages_far_better_than_chance_are_not_called_futile(
    slow_share: float, slow_pages: int, word: str
) -> None:
    ledger = made({**EXCHANGE, **traffic(slow_share)}, slow_pages=slow_pages)
    assert judge(ledger, Context()).word == word


@pytest.mark.parametrize("balancing", [0, 1, 2, None])
@pytest.mark.parametrize("promoted", [0, 5, 300])
@pytest.mark.parametrize("slow_pages", [0, 100, SLOW_PAGES])
def test_many_slow_accesses_are_never_called_fine(balancing: int | None, promoted: int, slow_pages: int) -> None:
    ledger = made({**moves(promoted=promoted, demoted=promoted), **traffic(0.3)}, n=10, slow_pages=slow_pages)
    assert judge(ledger, Context(balancing=balancing)).word not in ("fits", "healthy", "harmless_demotion", "not_known")


def test_spilled_memory_that_nobody_uses_is_healthy() -> None:
    assert judge(made({**QUIET, **traffic(0.4)}), Context(balancing=0)).word == "spill"
    assert judge(made({**QUIET, **traffic(0.01)}), Context(balancing=0)).word == "healthy"


def test_sampled_accesses_come_before_bytes() -> None:
    ledger = made({**QUIET, **traffic(0.01)})
    assert judge(ledger, Context(balancing=2, outcome=Outcome(0.4, "sampled_loads"))).word == "stalled"


@pytest.mark.parametrize("factor", [10, 100])
def test_more_memory_beside_the_same_slow_accesses_does_not_make_them_fine(factor: int) -> None:
    flows = {**moves(promoted=200, demoted=200, candidates=250), **traffic(0.4)}
    ledger = made(flows, n=10)
    ledger.values[:, COLUMN_INDEX["top_resident_bytes"]] *= factor
    ledger.values[:, COLUMN_INDEX["slow_resident_bytes"]] *= factor
    assert judge(ledger, Context(balancing=2)).word in ("futile_ping_pong", "stalled")


def test_what_the_scanner_did_not_go_over_is_not_known() -> None:
    quiet = {**QUIET, "hint_faults": 20, "pte_updates": 20}
    found = judge(made(quiet, n=20), Context(balancing=2))
    assert (found.word, found.runner_up) == ("not_known", None)
    assert "4% of the slow memory" in found.explanation
    assert judge(made({**quiet, "pte_updates": 600, "hint_faults": 600}, n=20), Context(balancing=2)).word == "healthy"


def test_bytes_at_memory_are_told_apart_by_node_and_device() -> None:
    nodes = [f"node:{node}|uncore|{what}_bytes" for node in (0, 1) for what in ("read", "write")]
    device = "host|cxl_pmu|read_bytes[cxl_pmu_mem0.0]"

    def places(keys: list[str], slow: frozenset[int]) -> list[tuple[int, ...]]:
        plan = plan_host(keys, Tiers(frozenset({0}), known=True, slow_nodes=slow), page_bytes=4096)
        return [plan.columns[COLUMN_INDEX[key]].plus for key in ("fast_traffic_bytes", "slow_traffic_bytes")]

    assert places(nodes, frozenset({1})) == [(0, 1), (2, 3)]
    assert places([*nodes[:2], device], frozenset({2})) == [(0, 1), (2,)]
    # Controllers that do not see the slow memory measure no share.
    assert places(nodes[:2], frozenset({1})) == [(), ()]
    assert places(nodes, frozenset()) == [(), ()]


@pytest.mark.parametrize(
    ("fast", "slow", "slow_pages", "word"),
    [
        (150, 50, SLOW_PAGES, "stalled"),
        (190, 10, SLOW_PAGES, "healthy"),
        # Too few to tell, or from a processor that may not tell slow memory apart: bytes decide.
        (100, 99, SLOW_PAGES, "healthy"),
        (1000, 0, SLOW_PAGES, "healthy"),
        (1000, 0, 0, "fits"),
    ],
)
def test_sampled_loads_of_a_service_come_before_the_bytes_of_its_host(
    fast: int, slow: int, slow_pages: int, word: str
) -> None:
    ledger = made({**moves(), **traffic(0.01)}, n=10, slow_pages=slow_pages)
    for key, amount in (("fast_loads", fast), ("slow_loads", slow)):
        ledger.present[:, COLUMN_INDEX[key]] = True
        ledger.values[0, COLUMN_INDEX[key]] = amount
    found = judge(ledger, Context(balancing=2))
    assert found.word == word
    sampled = fast + slow >= 200 and (slow > 0 or slow_pages == 0)
    assert found.evidence[0].name == f"slow_share_of_{'sampled_loads' if sampled else 'memory_traffic'}"


@pytest.mark.parametrize(
    ("slow_share", "word", "confidence"),
    [(0.4, "one_tier", "certain"), (0.05, "healthy", "certain"), (None, "one_tier", "possible")],
)
def test_memory_without_processors_in_the_tier_of_dram_is_named_unless_few_use_it(
    slow_share: float | None, word: str, confidence: str
) -> None:
    nodes = [
        {"id": 0, "cpulist": "0-31", "tier_class": "dram", "memory_bytes": 2**30},
        {"id": 1, "cpulist": "", "memory_bytes": 2**30},
    ]
    together = [{"rank": 4, "nodes": [0, 1]}]
    apart = [{"rank": 4, "nodes": [0]}, {"rank": 961, "nodes": [1]}]
    found = judge(
        made({**moves(), **({} if slow_share is None else traffic(slow_share))}, n=10),
        read_machine({"nodes": nodes, "tiers": together, "page_size_bytes": 4096}).context(limit_events=None),
    )
    assert (found.word, found.confidence) == (word, confidence)
    assert not read_machine({"nodes": nodes, "tiers": apart}).context(limit_events=None).one_tier


@pytest.mark.parametrize("slow_share", [0.4, None])
@pytest.mark.parametrize(
    ("room_ratio", "demoted", "failed", "word"),
    [
        (1.02, 0, 0, "slow_tier_full"),
        (1.5, 0, 0, "promotion_failing"),
        (1.02, 50, 0, "promotion_failing"),
        # What the kernel keeps free of a small tier: moves that fail tell.
        (1.1, 0, 0, "promotion_failing"),
        (1.1, 0, 5, "slow_tier_full"),
        (1.5, 0, 5, "promotion_failing"),
        (1.1, 50, 150, "slow_tier_full"),
        (1.1, 50, 100, "promotion_failing"),
    ],
)
def test_nothing_is_promoted_where_the_slow_tier_has_no_room_for_what_would_go_down(
    slow_share: float | None, room_ratio: float, demoted: int, failed: int, word: str
) -> None:
    flows = {
        **moves(promoted=1, demoted=demoted, candidates=100),
        "hint_faults": 200,
        "pte_updates": 400,
        "migrate_fail_pages": failed,
    }
    context = Context(
        balancing=2,
        demotion=True,
        promote_limit_mib_per_s=UNLIMITED,
        slow_bytes=room_ratio * SLOW_PAGES * 4096,
    )
    found = judge(made({**flows, **({} if slow_share is None else traffic(slow_share))}, n=10), context)
    assert found.word == word


@pytest.mark.parametrize(
    ("room_ratio", "failed", "word"), [(1.1, 20, "slow_tier_full"), (1.1, 0, "stalled"), (1.5, 20, "stalled")]
)
def test_a_full_slow_tier_comes_before_a_scanner_that_rests(room_ratio: float, failed: int, word: str) -> None:
    context = Context(balancing=2, demotion=True, slow_bytes=room_ratio * SLOW_PAGES * 4096)
    found = judge(made({**moves(), "migrate_fail_pages": failed, **traffic(0.4)}, n=10), context)
    assert found.word == word


@pytest.mark.parametrize(
    ("room_ratio", "demoted", "demotion", "skipped"),
    [(1.02, 0, True, True), (1.5, 0, True, False), (1.02, 5000, True, False), (1.02, 0, False, False)],
)
def test_swap_past_a_full_slow_tier_is_told(room_ratio: float, demoted: int, *, demotion: bool, skipped: bool) -> None:
    flows = {**moves(demoted=demoted), "swap_in_pages": 5000, "swap_out_pages": 5000}
    context = Context(balancing=2, demotion=demotion, slow_bytes=room_ratio * SLOW_PAGES * 4096)
    found = judge(made(flows, n=10), context)
    assert found.word == "swap_pressure"
    assert ("skips demotion" in found.explanation) == skipped
    assert ("slow_tier_full" in {sign.name for sign in found.evidence}) == skipped


def test_loads_are_told_apart_by_what_served_them() -> None:
    scope = "service:host/shop"
    keys = [f"{scope}|served_loads|loads_{what}" for what in ("cache", "cxl", "dram_local", "dram_remote", "pmem")]

    def served(nodes: list[dict[str, object]]) -> list[set[str]]:
        plan = plan_service(keys, [scope], read_machine({"nodes": nodes}).tiers)
        columns = [plan.columns[COLUMN_INDEX[key]] for key in ("fast_loads", "slow_loads")]
        assert all(column.trust in ("sampled", "not_supported") for column in columns)
        return [{keys[place].rsplit("_", 1)[1] for place in column.plus} for column in columns]

    near, far = {"id": 0, "cpulist": "0-31", "tier_class": "dram"}, {"id": 1, "cpulist": "", "tier_class": "cxl"}
    assert served([near, far]) == [{"local"}, {"cxl", "pmem", "remote"}]
    assert served([near, {**near, "id": 2}, far]) == [{"local", "remote"}, {"cxl", "pmem"}]
    assert served([near]) == [set(), set()]


def test_node_without_processors_is_slow_whatever_its_tier() -> None:
    nodes = [{"id": 0, "cpulist": "0-31", "tier_class": "dram"}, {"id": 1, "cpulist": "", "tier_class": "dram"}]
    tiers = read_machine({"nodes": nodes}).tiers
    assert tiers.top_nodes == {0, 1}
    assert tiers.slow_nodes == {1}
    both = [{**node, "cpulist": "0-31"} for node in nodes]
    assert read_machine({"nodes": both}).tiers.slow_nodes == frozenset()
