"""How often the product's verdicts on the recordings are right, against their truth."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from corpus.packing import unpack
from corpus.truth import FULL_RATIO, INTERVAL_S, IntervalTruth, hides_armed, intervals, read_log, slow_ratios
from factories.kernel_lab import counters_of
from tierscope.domain.ledger import COLUMN_INDEX, Context, Ledger, Tiers, Verdict, build_ledger, judge
from tierscope.domain.ledger.plan import plan_host
from validation.corpus import is_left_out
from validation.recordings import is_one_tier

_PROMOTE_LIMIT = "proc/sys/kernel/numa_balancing_promote_rate_limit_MBps"
_NODE_SIZE = re.compile(r"MemTotal:\s+(\d+) kB")
_EDGE_S = 1.5
"""Snapshots and the load's log are a second apart."""
_DESCRIBED_EVERY_S = 1
_DRAWS = 2000
_SEED = 1
_FINE = frozenset({"fits", "healthy", "harmless_demotion"})
_BAD = frozenset({"futile_ping_pong", "stalled", "promotion_failing", "limiter_bound", "spill", "swap_pressure"})
FULL = "slow_tier_full"
RIGHT: Mapping[str, frozenset[str]] = {
    "good": _FINE | {"following_phases"},
    "following": frozenset({"following_phases"}),
    "improving": frozenset({"following_phases"}),
    "chasing": frozenset({"futile_ping_pong"}),
    "standing": _BAD,
    "worsening": _BAD,
    "full": frozenset({FULL}),
    "limited": frozenset({"limiter_bound"}),
    "spilled": frozenset({"spill"}),
    "swapping": frozenset({"swap_pressure"}),
}
"""Which words are right of a state of the truth. Docs: docs/method/verdict-rules.md."""
NOT_KNOWN = "not_known"


@dataclass(frozen=True, slots=True)
class Told:
    """One interval: its truth and what was said, with slow accesses `measured` or from counters alone.

    `slow_access_ratio` is the truth's, 0 to 1, and `is_slow_node_full` too.
    """

    recording: str
    measured: bool
    state: str
    slow_access_ratio: float
    word: str
    confidence: str
    is_slow_node_full: bool
    has_one_tier: bool

    @property
    def is_known(self) -> bool:
        return self.word != NOT_KNOWN

    @property
    def is_right(self) -> bool:
        """Whether the word is one of those that are right; `slow_tier_full` is one of a bad state of a full node.

        Where nodes are in one tier nothing moves, and any state but `good` has that cause.
        """
        if self.has_one_tier and self.state != "good":
            return self.word == "one_tier"
        if self.word == FULL and self.is_slow_node_full and self.state in ("standing", "worsening"):
            return True
        return self.word in RIGHT[self.state]

    @property
    def is_fine(self) -> bool:
        """Whether it was said that nothing is wrong."""
        return self.word in _FINE

    @property
    def is_left_out(self) -> bool:
        """Whether the rules were made without this recording."""
        return is_left_out(self.recording)


def read_context(files: Mapping[str, str]) -> Context:
    """What the inventory of an unpacked recording's guest would say beside its counters: settings, sizes of nodes."""
    snapshot = max((path.partition("/")[0] for path in files if path[0].isdigit()), key=int)
    size = _NODE_SIZE.search(files[f"{snapshot}/sys/devices/system/node/node1/meminfo"])
    assert size is not None
    demotion = files[f"{snapshot}/sys/kernel/mm/numa/demotion_enabled"].strip()
    return Context(
        balancing=int(files[f"{snapshot}/proc/sys/kernel/numa_balancing"]),
        demotion=demotion == "true",
        slow_bytes=int(size[1]) * 1024.0,
        promote_limit_mib_per_s=float(files[f"{snapshot}/{_PROMOTE_LIMIT}"]),
        one_tier=is_one_tier(files),
    )


def read_ledgers(files: Mapping[str, str], *, hides: bool) -> tuple[Ledger, Ledger]:
    """The ledger of an unpacked recording, without accesses, and with them by what served them. Node 0 is DRAM.

    `hides`: its kernel hides armed pages, as `hides_armed` says.
    """
    times_s, keys, values, present = counters_of(files)
    tiers = Tiers(frozenset({0}), known=True, slow_nodes=frozenset({1}))
    plan = plan_host(keys, tiers, page_bytes=4096)
    ledger = build_ledger(times_s, np.zeros(len(times_s), np.int64), values, present, plan)
    rows = read_log(files["workload.log"])
    slow = slow_ratios(rows, hides_armed=hides)
    seconds = [(row["ts"], row["ops_s"], ratio) for row, ratio in zip(rows, slow, strict=True) if ratio is not None]
    return ledger, _with_accesses(ledger, seconds)


def _with_accesses(ledger: Ledger, seconds: Sequence[tuple[float, float, float]]) -> Ledger:
    """The same with the columns of sampled loads from the load's log, where it has a second of the interval.

    `seconds`: Unix time, accesses, and the share of them that was slow.
    """
    values, present = ledger.values.copy(), ledger.present.copy()
    at_s, accesses, slow = (np.array(column) for column in zip(*seconds, strict=True))
    place = np.searchsorted(ledger.times_s, at_s)
    inside = (place < len(ledger)) & (at_s > (ledger.times_s - ledger.dt_seconds)[np.minimum(place, len(ledger) - 1)])
    for key, amounts in (("slow_loads", accesses * slow), ("fast_loads", accesses * (1.0 - slow))):
        column = COLUMN_INDEX[key]
        sums = np.bincount(place[inside], weights=amounts[inside], minlength=len(ledger))
        values[:, column] = np.rint(sums)
        present[:, column] = np.bincount(place[inside], minlength=len(ledger)) > 0
    return replace(ledger, values=values, present=present)


def judge_corpus(directory: Path, *, every_s: int, only: str = "*") -> Iterator[Told]:
    """Judge intervals of each recording that have a state, with the share of slow accesses and without.

    `only`: a pattern of names of recordings.
    An interval begins every `every_s` seconds; at `INTERVAL_S` they are those of the truth as it is stored.
    """
    for path in sorted(directory.glob(f"{only}.tar.zst")):
        files = unpack(path)
        name = path.name.removesuffix(".tar.zst")
        hides = hides_armed(name.partition("-")[0])
        ledgers, context = read_ledgers(files, hides=hides), read_context(files)
        for first in range(0, INTERVAL_S, every_s):
            for truth in intervals(files["workload.log"], skipped_s=first, hides_armed=hides):
                yield from _judge_interval(name, truth, ledgers, context)


def _judge_interval(
    name: str, truth: IntervalTruth, ledgers: tuple[Ledger, Ledger], context: Context
) -> Iterator[Told]:
    if truth.state is None or truth.slow_access_ratio is None:
        return
    begins_s = ledgers[0].times_s - ledgers[0].dt_seconds
    inside = (begins_s >= truth.begin_s - _EDGE_S) & (ledgers[0].times_s <= truth.end_s + _EDGE_S)
    for measured, ledger in zip((False, True), ledgers, strict=True):
        found: Verdict = judge(ledger.rows(inside), context)
        full = (truth.slow_used_ratio or 0.0) >= FULL_RATIO
        yield Told(
            name, measured, truth.state, truth.slow_access_ratio, found.word, found.confidence, full, context.one_tier
        )


def right_ratio(told: Sequence[Told]) -> tuple[float, float, float]:
    """The share that is right of what was told, with its 95 % interval over recordings drawn at random."""
    names = sorted({one.recording for one in told})
    place = {name: number for number, name in enumerate(names)}
    right, known = np.zeros(len(names)), np.zeros(len(names))
    for one in told:
        if one.is_known:
            known[place[one.recording]] += 1
            right[place[one.recording]] += one.is_right
    drawn = np.random.default_rng(_SEED).integers(0, len(names), (_DRAWS, len(names)))
    ratios = right[drawn].sum(axis=1) / np.maximum(known[drawn].sum(axis=1), 1)
    low, high = np.percentile(ratios, [2.5, 97.5])
    return float(right.sum() / max(known.sum(), 1)), float(low), float(high)


def describe(directory: Path) -> str:
    """The scores in words: of recordings left out and of the others, by word of certainty, and by state."""
    every = list(judge_corpus(directory, every_s=_DESCRIBED_EVERY_S))
    lines = [f"intervals of {INTERVAL_S} s, one every {_DESCRIBED_EVERY_S} s"]
    for measured in (True, False):
        lines.append("slow accesses measured" if measured else "counters alone")
        own = [one for one in every if one.measured == measured]
        left_out = [one for one in own if one.is_left_out]
        lines += [
            f"  left out: {_score(left_out)}",
            f"  developed on: {_score([one for one in own if not one.is_left_out])}",
            *_of_certainty(left_out),
        ]
        never = sum(one.is_fine for one in own if one.slow_access_ratio >= 0.3)
        lines.append(f"  fine with 30 % slow accesses: {never} of {len(own)}")
        counts = Counter((one.state, one.word) for one in left_out)
        lines += [f"  left out: {state} -> {word}: {count}" for (state, word), count in sorted(counts.items())]
    return "\n".join(lines)


def _score(told: Sequence[Told]) -> str:
    known = [one for one in told if one.is_known]
    ratio, low, high = right_ratio(told)
    right = sum(one.is_right for one in known)
    return (
        f"{right} of {len(known)} right ({ratio:.1%}, {low:.0%} to {high:.0%}), {len(told) - len(known)} not known, "
        f"{len({one.recording for one in told})} recordings"
    )


def _of_certainty(told: Sequence[Told]) -> list[str]:
    words = sorted({one.confidence for one in told if one.is_known})
    return [
        f"  left out, {word}: {_score([one for one in told if one.is_known and one.confidence == word])}"
        for word in words
    ]
