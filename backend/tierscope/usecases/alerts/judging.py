"""The state of ping-pong and the verdict of each new interval, as of its end: what the host's page shows then."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from tierscope.core.database import WriteTransaction
from tierscope.domain.alerts.frame import Floats
from tierscope.domain.alerts.inputs import Judged, state_number, verdict_number
from tierscope.domain.base.figures import Window
from tierscope.domain.counters.monotonic import nominal_step
from tierscope.domain.fleet.host_facts import HostFacts, read_facts
from tierscope.domain.ledger import Ledger, concatenate
from tierscope.domain.ledger.machine import Machine, read_machine
from tierscope.domain.ledger.ping_pong import State
from tierscope.domain.ledger.states import (
    Beside,
    Judgement,
    follow_judged,
    follow_measured,
    judge_rows,
    no_more,
    scale_spans,
)
from tierscope.domain.ledger.verdict import Verdict, Word
from tierscope.storage.base.subjects import hosts_by_id
from tierscope.storage.ledger.rows import read_ledger, recorded_seconds
from tierscope.usecases.ledger.ping_pong_beside import BesideReads
from tierscope.usecases.ledger.recent import RECENT_ROWS, judge_recent

LEAD = timedelta(hours=2)
"""How long before the new intervals the fold of states begins: as long as that of the host's page."""
MANY = 240
"""Of more new intervals than these, loaded at once, every tenth is judged, and those between two different verdicts."""
_SPARSE = 10


def judge_intervals(
    transaction: WriteTransaction,
    host_id: int,
    inventory: Mapping[str, Any] | None,
    fresh: Ledger,
    *,
    now: datetime,
    measured: bool,
) -> Judged:
    """Judge the new intervals of a host, with what its ledger holds before them."""
    start = datetime.fromtimestamp(float(fresh.times_s[0]), UTC) - LEAD
    end = datetime.fromtimestamp(float(fresh.times_s[-1]), UTC)
    stored = read_ledger(transaction, [host_id], 0, start, end)
    rows = stored[0].ledger if stored else concatenate([])
    place = np.searchsorted(rows.times_s, fresh.times_s - 1e-6)
    if not len(rows.times_s) or place[-1] >= len(rows.times_s):
        rows, place = fresh, np.arange(len(fresh.times_s))
    judge = IntervalJudge(transaction, host_id, read_machine(inventory), read_facts(inventory), now=now)
    return judge.judge(rows, place.tolist(), measured=measured)


Judgements = dict[tuple[float, float], Judgement]
"""Judged windows of a host by the ends of their first and last interval. Their rows must not have changed since."""


@dataclass(slots=True)
class IntervalJudge:
    """Judges intervals of one host. `known` may hold windows that were judged before, and is added to.

    `recorded_s`: how long the host has been recorded, None to look it up; `last_verdict`: on the newest interval.
    """

    transaction: WriteTransaction
    host_id: int
    machine: Machine
    facts: HostFacts
    now: datetime
    known: Judgements = field(default_factory=dict)
    recorded_s: float | None = None
    last_verdict: Verdict | None = None

    def judge(self, rows: Ledger, places: list[int], *, measured: bool) -> Judged:
        """Judge the intervals at `places` of a ledger that begins some time before them."""
        states = self._states(rows, measured=measured)
        return Judged(
            ping_pong=np.array([state_number(states[at]) for at in places]), verdict=self._verdicts(rows, places)
        )

    def _states(self, rows: Ledger, *, measured: bool) -> Sequence[State | None]:
        if measured:
            return follow_measured(rows, self.machine.top_bytes, self.machine.page_bytes).states
        found: list[Beside] = []

        def beside() -> Beside:
            if not found:
                found.append(self._beside(rows))
            return found[0]

        def judge_window(first: int, end: int) -> Judgement:
            key = (float(rows.times_s[first]), float(rows.times_s[end - 1]))
            if key not in self.known:
                limits = rows.rows(slice(first, end)).total("limit_events")
                self.known[key] = judge_rows(rows, self.machine.context(limits), beside, first, end)
            return self.known[key]

        if self.recorded_s is None:
            self.recorded_s = recorded_seconds(self.transaction, [self.host_id]).get(self.host_id, 0.0)
        spans = scale_spans(self.recorded_s, nominal_step(rows.times_s))
        return follow_judged(rows, spans, judge_window).states

    def _beside(self, rows: Ledger) -> Beside:
        window = Window(
            datetime.fromtimestamp(float(rows.times_s[0] - rows.dt_seconds[0]), UTC),
            datetime.fromtimestamp(float(rows.times_s[-1]), UTC),
        )
        hosts = hosts_by_id(self.transaction, [self.host_id])
        if not hosts:
            return no_more(len(rows.times_s))
        return BesideReads.read(self.transaction, hosts, None, window, now=self.now).at_rows(self.host_id, rows)

    def _verdicts(self, rows: Ledger, places: list[int]) -> Floats:
        """Verdicts on the newest hour before the end of each interval."""
        if not places:
            return np.zeros(0)
        judged: dict[int, Verdict] = {}

        def word_at(number: int) -> Word:
            newest = rows.rows(slice(max(places[number] + 1 - RECENT_ROWS, 0), places[number] + 1))
            judged[number] = judge_recent(newest, self.facts)
            return judged[number].word

        words = find_steps(len(places), _SPARSE if len(places) > MANY else 1, word_at)
        self.last_verdict = judged[len(places) - 1]
        return np.array([verdict_number(word) for word in words])


def find_steps(count: int, every: int, word_at: Callable[[int], Word]) -> list[Word]:
    """`count` words, of which every so many and the last are asked for, and by halves those between two that differ.

    Between two equal ones nothing is asked: what came and went there is not found.
    """
    looked_at = [*range(0, count - 1, every), count - 1]
    known = {place: word_at(place) for place in looked_at}
    pairs = list(pairwise(looked_at))
    while pairs:
        first, end = pairs.pop()
        middle = (first + end) // 2
        if middle == first:
            continue
        if known[first] == known[end]:
            known.update(dict.fromkeys(range(first + 1, end), known[first]))
            continue
        known[middle] = word_at(middle)
        pairs += [(first, middle), (middle, end)]
    return [known[place] for place in range(count)]
