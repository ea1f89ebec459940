"""How often the product's verdicts on the recordings are right, against their truth."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from corpus.packing import unpack
from corpus.truth import read_log
from factories.kernel_lab import counters_of
from tierscope.domain.ledger import COLUMN_INDEX, Context, Ledger, Tiers, build_ledger, judge
from tierscope.domain.ledger.plan import plan_host

PROMOTES = 2
UNLIMITED_MIB_PER_S = 65536.0
_EDGE_S = 1.5
"""Snapshots and the load's log are a second apart."""
_FINE = frozenset({"fits", "healthy", "harmless_demotion"})
_BAD = frozenset({"futile_ping_pong", "stalled", "promotion_failing", "limiter_bound", "spill", "swap_pressure"})
RIGHT: Mapping[str, frozenset[str]] = {
    "good": _FINE | {"following_phases"},
    "following": frozenset({"following_phases"}),
    "improving": frozenset({"following_phases"}),
    "chasing": frozenset({"futile_ping_pong"}),
    "standing": _BAD,
    "worsening": _BAD,
}
"""Which words are right of a state of the truth. Docs: docs/method/verdicts.md."""
NOT_KNOWN = "not_known"


@dataclass(frozen=True, slots=True)
class Told:
    """One interval: its truth and what was said, with slow accesses `measured` or from counters alone.

    `slow_access_ratio` is the truth's, 0 to 1.
    """

    recording: str
    measured: bool
    state: str
    slow_access_ratio: float
    word: str

    @property
    def is_right(self) -> bool:
        """Whether the word is one of those that are right."""
        return self.word in RIGHT[self.state]

    @property
    def is_fine(self) -> bool:
        """Whether it was said that nothing is wrong."""
        return self.word in _FINE


def read_ledgers(path: Path) -> tuple[Ledger, Ledger]:
    """The host's ledger of a packed recording, node 0 is DRAM: without accesses, and with them by what served them."""
    files = unpack(path)
    times_s, keys, values, present = counters_of(files)
    tiers = Tiers(frozenset({0}), known=True, slow_nodes=frozenset({1}))
    plan = plan_host(keys, tiers, page_bytes=4096)
    ledger = build_ledger(times_s, np.zeros(len(times_s), np.int64), values, present, plan)
    return ledger, _with_accesses(ledger, read_log(files["workload.log"]))


def _with_accesses(ledger: Ledger, seconds: Sequence[Mapping[str, float]]) -> Ledger:
    """The same with the columns of sampled loads from the load's log, where it has a second of the interval."""
    values, present = ledger.values.copy(), ledger.present.copy()
    rows = [(row["ts"], row["ops_s"], row["slow_frac"]) for row in seconds if "slow_frac" in row]
    at_s, accesses, slow = (np.array(column) for column in zip(*rows, strict=True))
    place = np.searchsorted(ledger.times_s, at_s)
    inside = (place < len(ledger)) & (at_s > (ledger.times_s - ledger.dt_seconds)[np.minimum(place, len(ledger) - 1)])
    for key, amounts in (("slow_loads", accesses * slow), ("fast_loads", accesses * (1.0 - slow))):
        column = COLUMN_INDEX[key]
        sums = np.bincount(place[inside], weights=amounts[inside], minlength=len(ledger))
        values[:, column] = np.rint(sums)
        present[:, column] = np.bincount(place[inside], minlength=len(ledger)) > 0
    return replace(ledger, values=values, present=present)


def judge_corpus(directory: Path) -> Iterator[Told]:
    """Judge each interval of each recording that has a state, with the share of slow accesses and without."""
    recordings: dict[str, Any] = json.loads((directory / "truth.json").read_text(encoding="utf-8"))["recordings"]
    for name, intervals in sorted(recordings.items()):
        ledgers = read_ledgers(directory / f"{name}.tar.zst")
        begins_s = ledgers[0].times_s - ledgers[0].dt_seconds
        for interval in intervals:
            if interval["state"] is None or interval["slow_access_ratio"] is None:
                continue
            inside = (begins_s >= interval["begin_s"] - _EDGE_S) & (ledgers[0].times_s <= interval["end_s"] + _EDGE_S)
            slow = float(interval["slow_access_ratio"])
            context = Context(balancing=PROMOTES, promote_limit_mib_per_s=UNLIMITED_MIB_PER_S)
            for measured, ledger in zip((False, True), ledgers, strict=True):
                word = judge(ledger.rows(inside), context).word
                yield Told(name, measured, interval["state"], slow, word)


def describe(directory: Path) -> str:
    """The scores in words: with and without the share of slow accesses, by kernel, and what was told of each state."""
    lines, every = [], list(judge_corpus(directory))
    for measured in (True, False):
        told = [one for one in every if one.measured == measured]
        lines.append(f"{'slow accesses measured' if measured else 'counters alone'}: {len(told)} intervals")
        for kernel in sorted({one.recording.partition("-")[0] for one in told}):
            own = [one for one in told if one.recording.startswith(f"{kernel}-")]
            known = [one for one in own if one.word != NOT_KNOWN]
            right = sum(one.is_right for one in known)
            lines.append(f"  {kernel}: {right} of {len(known)} right, {len(own) - len(known)} not known")
        never = sum(one.is_fine for one in told if one.slow_access_ratio >= 0.3)
        lines.append(f"  fine with 30 % slow accesses: {never}")
        counts = Counter((one.state, one.word) for one in told)
        lines += [f"  {state} -> {word}: {count}" for (state, word), count in sorted(counts.items())]
    return "\n".join(lines)
