"""How often the shipped alert rules are right on the recordings, against their truth.

A snapshot stands for a minute, at the rates that were recorded, so that rules have the time that they ask for; sizes
are those of the emulated machine.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from corpus.packing import unpack
from corpus.score import read_context, read_ledgers
from corpus.truth import hides_armed, intervals
from factories.kernel_lab import counters_of
from tierscope.domain.alerts.inputs import moved_columns, verdict_number
from tierscope.domain.alerts.machine import LEVEL_NAMES
from tierscope.domain.alerts.rule_tests import judge as follow_rule
from tierscope.domain.alerts.rules import Rule, require_rule
from tierscope.domain.ledger import COLUMN_KEYS, COLUMNS, Context, Ledger, judge
from tierscope.usecases.alerts.rules import shipped_rules

Floats = npt.NDArray[np.float64]
FINE = frozenset({"good", "following", "improving"})
"""States of the truth that call for nobody: few accesses are slow, or promotion follows or gains."""
MINUTE_S = 60.0
_MOST_ROWS = 60
_FIRING = LEVEL_NAMES.index("firing")
_GAUGES = {
    "top_free_bytes": "node:0|meminfo|MemFree",
    "top_capacity_bytes": "node:0|meminfo|MemTotal",
    "memory_total_bytes": "host|meminfo|MemTotal",
    "memory_available_bytes": "host|meminfo|MemAvailable",
    "swap_total_bytes": "host|meminfo|SwapTotal",
    "swap_free_bytes": "host|meminfo|SwapFree",
}


@dataclass(frozen=True, slots=True)
class Fired:
    """A rule that fired on a recording: the state of the truth that held for most of the time in which it did."""

    rule: str
    recording: str
    state: str

    @property
    def is_right(self) -> bool:
        return self.state not in FINE


@dataclass(frozen=True, slots=True)
class Recorded:
    """What rules see of a recording: the state of the truth in each minute, None where it has none, and the series."""

    name: str
    states: Sequence[str | None]
    series: Mapping[str, Floats]


def read_recording(files: Mapping[str, str], name: str) -> Recorded:
    """An unpacked recording as rules see it."""
    hides = hides_armed(name.partition("-")[0])
    ledger = read_ledgers(files, hides=hides)[0]
    states = _states(ledger, files, hides=hides)
    return Recorded(name, states, _series(ledger, files, read_context(files)))


def watch(recorded: Recorded, rules: Sequence[Rule]) -> Iterator[Fired]:
    """The rules that fire on a recording while its truth has a state."""
    for rule in rules:
        levels = follow_rule(require_rule(rule), {"host": recorded.series})[0]
        during = Counter(
            state for state, level in zip(recorded.states, levels, strict=True) if level == _FIRING and state
        )
        if during:
            yield Fired(rule.name, recorded.name, during.most_common(1)[0][0])


def _states(ledger: Ledger, files: Mapping[str, str], *, hides: bool) -> list[str | None]:
    found: list[str | None] = [None] * len(ledger)
    for truth in intervals(files["workload.log"], hides_armed=hides):
        for row in np.flatnonzero((ledger.times_s > truth.begin_s) & (ledger.times_s <= truth.end_s)).tolist():
            found[row] = truth.state
    return found


def _series(ledger: Ledger, files: Mapping[str, str], context: Context) -> dict[str, Floats]:
    """The stored series of rules that a recording has: amounts of a minute, states, and the verdict of each minute."""
    found = {
        column.key: ledger.column(key) * (1.0 if column.gauge else MINUTE_S / ledger.dt_seconds)
        for key, column in zip(COLUMN_KEYS, COLUMNS, strict=True)
    }
    _, keys, values, present = counters_of(files)
    for name, key in _GAUGES.items():
        if key in keys:
            place = keys.index(key)
            found[name] = np.where(present[1:, place], values[1:, place].astype(np.float64), np.nan)
    moved = moved_columns(ledger, context.page_bytes)
    found |= {name: values * MINUTE_S / ledger.dt_seconds for name, values in moved.items()}
    words = [
        judge(ledger.rows(slice(max(end - _MOST_ROWS, 0), end)), context).word for end in range(1, len(ledger) + 1)
    ]
    found["verdict"] = np.array([verdict_number(word) for word in words])
    return {name: amounts for name, amounts in found.items() if np.isfinite(amounts).any()}


def describe_alerts(directory: Path) -> str:
    """The table of docs/method/alerts.md: on how many recordings each rule fired, on which states, or why on none."""
    host_rules = [rule for rule in shipped_rules() if rule.scope.kind == "host"]
    fired: list[Fired] = []
    given: set[str] = set()
    for path in sorted(directory.glob("*.tar.zst")):
        recorded = read_recording(unpack(path), path.name.removesuffix(".tar.zst"))
        fired.extend(watch(recorded, host_rules))
        given |= recorded.series.keys()
    lines = ["| Rule | Fired on | Right | While |", "|---|---|---|---|"]
    for rule in shipped_rules():
        own = [one for one in fired if one.rule == rule.name]
        n_right = sum(one.is_right for one in own)
        right = f"{n_right} ({n_right / len(own):.0%})" if own else "-"
        during = ", ".join(f"{state} {count}" for state, count in Counter(one.state for one in own).most_common())
        lines.append(f"| `{rule.name}` | {len(own)} | {right} | {during or _why_silent(rule, given)} |")
    return "\n".join(lines)


def _why_silent(rule: Rule, given: AbstractSet[str]) -> str:
    """Why a rule fired on no recording: what it needs that none has, or that none got there."""
    if rule.scope.kind != "host":
        return "not judged: recordings have no services"
    lacking = sorted(require_rule(rule).inputs - given)
    return f"not judged: no `{'`, `'.join(lacking)}`" if lacking else "no recording got there"
