"""The state of ping-pong and the verdict of each new interval, as of its end: what the host's page shows then."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from tierscope.core.database import WriteTransaction
from tierscope.domain.alerts.inputs import Judged, state_number, verdict_number
from tierscope.domain.counters import nominal_step
from tierscope.domain.figures import Window
from tierscope.domain.host_facts import read_facts
from tierscope.domain.tier_moves import Ledger, concatenate
from tierscope.domain.tier_moves.flows import cut
from tierscope.domain.tier_moves.machine import read_machine
from tierscope.domain.tier_moves.states import (
    Beside,
    Judgement,
    follow_judged,
    follow_measured,
    judge_rows,
    no_more,
    scale_spans,
    some_rows,
)
from tierscope.domain.tier_moves.verdict import Verdict
from tierscope.storage.subjects import hosts_by_id
from tierscope.storage.tier_moves import read_ledger, recorded_seconds
from tierscope.usecases.ping_pong_beside import BesideReads
from tierscope.usecases.recent_moves import RECENT_ROWS, judge_recent

LEAD = timedelta(hours=2)
"""How long before the new intervals the fold of states begins: as long as that of the host's page."""
MANY = 240
"""More new intervals than these were loaded at once: of them every tenth is given a verdict."""
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
    states = _states(transaction, host_id, inventory, rows, now=now, measured=measured)
    return Judged(
        ping_pong=np.array([states[at] for at in place.tolist()]), verdict=_verdicts(inventory, rows, place.tolist())
    )


def _states(
    transaction: WriteTransaction,
    host_id: int,
    inventory: Mapping[str, Any] | None,
    rows: Ledger,
    *,
    now: datetime,
    measured: bool,
) -> list[float]:
    machine = read_machine(inventory)
    if measured:
        return [state_number(state) for state in follow_measured(rows, machine.top_bytes).states]
    known: list[Beside] = []

    def beside() -> Beside:
        if not known:
            window = Window(
                datetime.fromtimestamp(float(rows.times_s[0] - rows.dt_seconds[0]), UTC),
                datetime.fromtimestamp(float(rows.times_s[-1]), UTC),
            )
            hosts = hosts_by_id(transaction, [host_id])
            found = BesideReads.read(transaction, hosts, None, window, now=now)
            known.append(found.at_rows(host_id, rows) if hosts else no_more(len(rows.times_s)))
        return known[0]

    def judge_window(first: int, end: int) -> Judgement:
        limits = some_rows(rows, first, end).total("limit_events")
        return judge_rows(rows, machine.context(limits), beside(), first, end)

    recorded = recorded_seconds(transaction, [host_id]).get(host_id, 0.0)
    spans = scale_spans(recorded, nominal_step(rows.times_s))
    return [state_number(state) for state in follow_judged(rows, spans, judge_window).states]


def _verdicts(inventory: Mapping[str, Any] | None, rows: Ledger, places: list[int]) -> np.ndarray[Any, np.dtype[Any]]:
    """Verdicts on the newest hour before the end of each interval."""
    facts = read_facts(inventory)
    every = _SPARSE if len(places) > MANY else 1
    found = np.full(len(places), np.nan)
    verdict: Verdict | None = None
    for number, place in enumerate(places):
        if verdict is None or number % every == every - 1 or number == len(places) - 1:
            newest = cut(rows, _newest(len(rows.times_s), place))
            verdict = judge_recent(newest, facts)
        found[number] = verdict_number(verdict.word)
    return found


def _newest(count: int, place: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    at = np.arange(count)
    return np.asarray((at <= place) & (at > place - RECENT_ROWS))
