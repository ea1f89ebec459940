"""What is not measured passes no check: a verdict without some of its inputs is never worse, nor surer."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.packing import unpack
from corpus.score import read_context, read_ledgers
from corpus.truth import hides_armed
from domain.test_verdicts import BALANCING, LIMITS_MIB_PER_S, UNLIMITED, VERDICTS, counters
from factories.kernel_lab import load
from factories.made_ledgers import EXCHANGE, QUIET, made
from fixtures.draws import drawn
from tierscope.domain.ledger import COLUMN_INDEX, Context, Ledger, Tiers, Verdict, judge, plan_host
from tierscope.domain.ledger.columns import LOADS, TRAFFIC
from tierscope.domain.ledger.measured import GROUPS
from tierscope.domain.ledger.rules import BY_COUNTERS, PRESSURE
from tierscope.domain.ledger.told import is_fault

CORPUS = sorted((Path(__file__).parents[2] / "tests/data/kernel-corpus").glob("*.tar.zst"))
OUTCOMES = (*LOADS, *TRAFFIC)
COLUMNS = (
    *dict.fromkeys(column for group in GROUPS for column in group.inputs),
    "limit_reclaimed_pages",
    "demoted_kswapd_pages",
    "demoted_direct_pages",
    "demoted_proactive_pages",
    "direct_scan_pages",
    "direct_reclaim_stalls",
    "migrate_fail_pages",
    "refault_anon_pages",
    "allocation_spill",
    "reclaim_scanned_pages",
    "reclaim_passed_over_pages",
    "huge_pte_updates",
)
SETTINGS = ("balancing", "demotion", "promote_limit_mib_per_s", "limit_events", "slow_bytes", "has_slow_tier")
INPUTS = (*COLUMNS, *SETTINGS, "slow accesses")
SURE = {"possible": 0, "likely": 1, "certain": 2}


@dataclass(frozen=True)
class Host:
    name: str
    ledger: Ledger
    context: Context

    def verdict(self, without: Iterable[str] = ()) -> Verdict:
        """Its verdict where some inputs were not measured."""
        names = set(without)
        if "slow accesses" in names:
            names |= set(OUTCOMES)
        present = self.ledger.present.copy()
        places = [COLUMN_INDEX[name] for name in names if name in COLUMN_INDEX]
        present[:, places] = False
        values = np.where(present, self.ledger.values, 0)
        gone: dict[str, Any] = {name: None for name in names if name in SETTINGS}
        return judge(replace(self.ledger, values=values, present=present), replace(self.context, **gone))


def breach(host: Host, without: tuple[str, ...], whole: Callable[[bool], Verdict]) -> str | None:
    """What is wrong with an answer that lacks some inputs, beside that of all; None where nothing is."""
    found = host.verdict(without)
    full = whole("slow accesses" not in without)
    if found.word == "not_known":
        wrong = found.runner_up is not None and not is_fault(found.runner_up)
    elif full.word == "not_known":
        wrong = True
    else:
        # A fault that is not seen any more is at most possibly none.
        passed = is_fault(full.word) and not is_fault(found.word) and found.confidence != "possible"
        worse = is_fault(found.word) and not is_fault(full.word)
        wrong = passed or worse or SURE[found.confidence] > SURE[full.confidence]
    said = f"{found.word} ({found.confidence}, {found.runner_up}), all: {full.word} ({full.confidence})"
    return f"{host.name} without {', '.join(without)}: {said}" if wrong else None


def breaches(host: Host, subsets: Iterable[tuple[str, ...]]) -> list[str]:
    """All that is wrong with answers of a host; slow accesses overrule counters, so that those are judged alone too."""
    told: Mapping[bool, Verdict] = {True: host.verdict(), False: host.verdict(["slow accesses"])}
    return [text for subset in subsets if (text := breach(host, subset, told.__getitem__)) is not None]


def subsets_of(seed: int, *, pairs: bool) -> list[tuple[str, ...]]:
    """All single inputs, with `pairs` all pairs too, and drawn subsets of any size."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, len(INPUTS), drawn(80))
    some = [tuple(rng.choice(INPUTS, size, replace=False).tolist()) for size in sizes]
    return [*((name,) for name in INPUTS), *(combinations(INPUTS, 2) if pairs else ()), *some]


@cache
def lab_host(name: str) -> Host:
    limit = LIMITS_MIB_PER_S.get(name, UNLIMITED)
    return Host(
        name,
        counters(name).ledger(),
        Context(promote_limit_mib_per_s=limit, balancing=BALANCING.get(name, 2), demotion=True, has_slow_tier=True),
    )


@pytest.mark.parametrize("name", VERDICTS)
def test_no_recording_gets_worse_or_surer_without_inputs(name: str) -> None:
    assert breaches(lab_host(name), subsets_of(7, pairs=True)) == []


@pytest.mark.parametrize("part", range(8))
def test_no_recording_of_the_corpus_gets_worse_or_surer_without_inputs(part: int) -> None:
    paths = CORPUS[part::8]
    assert paths
    wrong: list[str] = []
    for number, path in enumerate(paths):
        name = path.name.removesuffix(".tar.zst")
        files = unpack(path)
        measured = read_ledgers(files, hides=hides_armed(name.partition("-")[0]))[1]
        host = Host(name, measured, replace(read_context(files), has_slow_tier=True))
        wrong += breaches(host, subsets_of(100 * part + number, pairs=False))
    assert wrong == []


FLOWS = st.fixed_dictionaries(
    {
        "promoted_pages": st.sampled_from([0, 1, 20, 200, 1200]),
        "demoted_pages": st.sampled_from([0, 1, 20, 200, 1200]),
        "promotion_candidates_pages": st.sampled_from([0, 1, 25, 90, 250, 900]),
        "hint_faults": st.sampled_from([0, 20, 100, 500]),
        "pte_updates": st.sampled_from([0, 20, 500]),
        "reclaim_scanned_pages": st.sampled_from([0, 400, 4000]),
        "reclaim_passed_over_pages": st.sampled_from([0, 200, 4000]),
        "migrate_fail_pages": st.sampled_from([0, 30, 300]),
        "swap_in_pages": st.sampled_from([0, 0, 50]),
        "swap_out_pages": st.sampled_from([0, 0, 50]),
        "refault_anon_pages": st.sampled_from([0, 50]),
        "reclaimed_pages": st.sampled_from([0, 200, 400]),
        "limit_reclaimed_pages": st.sampled_from([0, 0, 100]),
        "demoted_direct_pages": st.sampled_from([0, 0, 100]),
        "direct_scan_pages": st.sampled_from([0, 500]),
        "direct_reclaim_stalls": st.sampled_from([0, 5]),
    }
)
CONTEXTS = st.builds(
    Context,
    balancing=st.sampled_from([0, 1, 2, 3, None]),
    demotion=st.sampled_from([True, False, None]),
    promote_limit_mib_per_s=st.sampled_from([0.01, 1.0, 65536.0, None]),
    limit_events=st.sampled_from([None, 0, 3]),
    slow_bytes=st.sampled_from([None, 10_200 * 4096.0, 20_000 * 4096.0]),
    has_slow_tier=st.sampled_from([True, None]),
    one_tier=st.booleans(),
)


@settings(max_examples=drawn(300), deadline=None)
@given(
    FLOWS,
    CONTEXTS,
    st.sampled_from([None, 0.02, 0.15, 0.4]),
    st.sampled_from([1.0, 0.3]),
    st.sets(st.sampled_from(INPUTS), min_size=1),
)
def test_no_made_host_gets_worse_or_surer_without_inputs(
    flows: dict[str, int], context: Context, slow_share: float | None, evenness: float, without: set[str]
) -> None:
    waves = np.where(np.arange(60) % 12 < 6, 1.0, evenness)
    columns = {key: (amount * waves).astype(int) for key, amount in flows.items()}
    if slow_share is not None:
        slow = (slow_share * 2**30 * waves).astype(int)
        columns |= {"slow_traffic_bytes": slow, "fast_traffic_bytes": 2**30 - slow}
    # What comes back from swap is a refault.
    columns["refault_anon_pages"] = np.maximum(columns["refault_anon_pages"], columns["swap_in_pages"])
    host = Host("made", made({**columns, "demoted_proactive_pages": 0}), context)
    assert breaches(host, [tuple(sorted(without))]) == []


@pytest.mark.parametrize("moves", [(30, 36), (3600, 3600)])
def test_moves_between_tiers_whose_sizes_nobody_sends_are_no_ping_pong(moves: tuple[int, int]) -> None:
    """Half a page a second on a host of 256 GiB, and sixty: how much of it that is cannot be told."""
    up, down = moves
    host = Host("sent", made({**EXCHANGE, "promoted_pages": up, "demoted_pages": down}), Context())
    found = host.verdict(("top_resident_bytes", "slow_resident_bytes"))
    assert (found.word, found.runner_up) == ("not_known", None)
    assert "how much memory is resident on each tier" in found.explanation


def test_moves_that_nobody_counts_are_not_none() -> None:
    for lacking in (("promoted_pages", "demoted_pages"), ("promoted_pages",), ("demoted_pages",)):
        found = Host("sent", made(QUIET), Context(balancing=2)).verdict(lacking)
        assert found.word == "not_known"
        assert "how many pages move between tiers" in found.explanation


def test_one_tier_alone_has_no_moves_to_count() -> None:
    host = Host("small", made(QUIET, slow_pages=0), Context(has_slow_tier=False))
    lacking = ("promoted_pages", "demoted_pages", "pte_updates", "slow_resident_bytes")
    found = host.verdict(lacking)
    assert (found.word, found.confidence) == ("fits", "certain")
    assert host.verdict((*lacking, "reclaimed_pages")).confidence == "possible"
    assert host.verdict((*lacking, "swap_in_pages", "refault_anon_pages")).word == "not_known"


def test_each_rule_names_the_words_that_it_tells_and_what_it_needs() -> None:
    rules = (*PRESSURE, *BY_COUNTERS)
    assert all(each.words for each in rules)
    # All but the tier that the inventory tells need numbers.
    assert [each.needs for each in rules].count(()) == 1


@pytest.mark.parametrize(
    ("missing", "column"),
    [
        ("node:0|", "top_resident_bytes"),
        ("node:2|", "slow_resident_bytes"),
        ("host|vmstat|pgsteal_kswapd", "limit_reclaimed_pages"),
    ],
)
def test_sum_of_which_a_part_is_not_sent_is_no_sum(missing: str, column: str) -> None:
    tiers = Tiers(frozenset({0}), known=True, slow_nodes=frozenset({1, 2}))
    recorded = load("04-pingpong")[1]
    keys = [*recorded, *(key.replace("node:1", "node:2") for key in recorded if key.startswith("node:1|"))]
    kept = [key for key in keys if not key.startswith(missing)]
    assert len(kept) < len(keys)
    supported = [
        bool(plan_host(some, tiers, page_bytes=4096).columns[COLUMN_INDEX[column]].plus) for some in (keys, kept)
    ]
    assert supported == [True, False]
