"""Hosts with the history of their tier moves: ledger, states, and what else tells whether the moves pay."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from tierscope.core.cache import Cache
from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Window
from tierscope.domain.counters.monotonic import nominal_step
from tierscope.domain.ledger import COLUMN_INDEX, Context, Ledger
from tierscope.domain.ledger.states import (
    JUDGE_EVERY,
    Beside,
    Followed,
    Judgement,
    Spans,
    follow_judged,
    follow_measured,
    judge_rows,
    judge_with_host,
    scale_spans,
)
from tierscope.storage.base.subjects import SubjectHost, SubjectService, newest_inventories
from tierscope.storage.ledger.rows import recorded_seconds, sum_flows
from tierscope.usecases.ledger.gathered import read_gathered
from tierscope.usecases.ledger.ping_pong_beside import BesideReads
from tierscope.usecases.ledger.sources import HostLedger, read_ledgers

Floats = npt.NDArray[np.float64]
LEAD = timedelta(hours=2)
"""How long before the window the fold begins, so that its first state is the one that a longer window would have."""
MAX_HOSTS = 10
MAX_ROWS = 40_000
"""Intervals of hosts that one answer reads; longer windows are read on fewer hosts."""
MAX_JUDGED = 800
"""Windows that one answer judges; where there are more, fewer of them are."""
_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class HostHistory:
    """One host. `part` holds its rows of the window, `states` and `whys` belong to all its `rows`, lead-in included."""

    part: HostLedger
    inventory: Mapping[str, Any] | None
    rows: Ledger
    spans: Spans
    followed: Followed
    newest: Judgement | None
    throughput: Floats

    @property
    def measures(self) -> bool:
        """Whether the kernel itself tells ping-pong."""
        return self.part.plan.dialect == "tpp"


def busiest(
    session: ReadSession, service: SubjectService, hosts: Sequence[SubjectHost], window: Window, *, own: bool
) -> list[SubjectHost]:
    """As many hosts as one answer reads: those that moved most pages, by what the ledger has of the window.

    `own`: by what the service's own control groups moved, else by whole hosts.
    """
    most = max(min(MAX_HOSTS, int(MAX_ROWS * _MINUTE_S / window.seconds)), 1)
    if len(hosts) <= most:
        return list(hosts)
    moved = _moved(session, service, hosts, window, own=own)
    return sorted(hosts, key=lambda host: -moved.get(host.id, 0))[:most]


def _moved(
    session: ReadSession, service: SubjectService, hosts: Sequence[SubjectHost], window: Window, *, own: bool
) -> dict[int, int]:
    """Pages that each host moved: of whole hours where workers have summed them, else row by row."""
    keys = ("promoted_pages", "demoted_pages")
    gathered = read_gathered(session, service.id, window)
    if gathered is None:
        ids, scope = [host.id for host in hosts], service.id if own else 0
        flows = sum_flows(session, keys, window.start, window.end, service_id=scope, host_ids=ids)
        return {flow.host_id: sum(flow.sums[key] or 0 for key in keys) for flow in flows}
    if gathered.own != own:
        return {}
    totals = np.sum([gathered.totals.sums[COLUMN_INDEX[key]] for key in keys], axis=0)
    return dict(zip(gathered.totals.host_ids.tolist(), totals.tolist(), strict=True))


def read_histories(
    session: ReadSession,
    hosts: Sequence[SubjectHost],
    window: Window,
    service: SubjectService | None,
    *,
    now: datetime,
    whole_hosts: bool,
) -> list[HostHistory]:
    """Histories of whole hosts, or of a service's control groups on them unless `whole_hosts`."""
    wide = Window(window.start - LEAD, window.end)
    own = read_ledgers(session, hosts, wide, None if whole_hosts else service)
    around: Mapping[int, HostLedger] = {}
    if service is not None and not whole_hosts:
        own = [part for part in own if part.counts]
        around = {part.host.id: part for part in read_ledgers(session, [part.host for part in own], wide)}
    ids = [part.host.id for part in own]
    coarser = _coarser(sum(len(part.ledger.times_s) for part in own))
    recorded = recorded_seconds(session, ids)
    inventories = newest_inventories(session, ids, window.end)
    beside = BesideReads.read(session, [part.host for part in own], service, wide, now=now)
    return [
        _history(
            _subject(part, around.get(part.host.id), inventories.get(part.host.id)),
            beside,
            recorded.get(part.host.id, 0.0),
            window,
            coarser,
        )
        for part in own
        if len(part.ledger.times_s)
    ]


@dataclass(frozen=True, slots=True)
class _Subject:
    """A ledger with that of its whole host, where it is a service's, and the host's inventory."""

    part: HostLedger
    around: HostLedger | None
    inventory: Mapping[str, Any] | None

    def context(self, rows: Ledger, throughput: Floats | None) -> Context:
        """What is known beside some rows of the ledger."""
        known = throughput is not None and np.isfinite(throughput).any()
        context = self.part.machine.context(rows.total("limit_events"))
        return replace(context, throughput=throughput if known else None)


def _subject(part: HostLedger, around: HostLedger | None, inventory: Mapping[str, Any] | None) -> _Subject:
    return _Subject(part, around, inventory)


def _coarser(rows: int) -> int:
    """The power of two by which fewer windows are judged, so that all rows together stay within `MAX_JUDGED`."""
    factor = 1
    while rows / (JUDGE_EVERY * factor) > MAX_JUDGED:
        factor *= 2
    return factor


def _history(subject: _Subject, beside: BesideReads, recorded_s: float, window: Window, coarser: int) -> HostHistory:
    part, around = subject.part, subject.around
    rows = part.ledger
    known = beside.at_rows(part.host.id, rows)
    spans = scale_spans(recorded_s, nominal_step(rows.times_s), coarser=coarser)

    limits = None if around is None else subject.context(around.ledger, None)

    def judge_window(first: int, end: int) -> Judgement:
        return around_it(first, end, judge_rows(rows, context(first, end), known, first, end))

    def context(first: int, end: int) -> Context:
        return subject.context(rows.rows(slice(first, end)), known.throughput[first:end])

    def around_it(first: int, end: int, found: Judgement) -> Judgement:
        if around is None or limits is None:
            return found
        return judge_with_host(found, rows.rows(slice(first, end)), around.ledger, limits)

    if part.plan.dialect == "tpp":
        followed = follow_measured(rows, part.machine.top_bytes, part.machine.page_bytes)
    else:
        followed = follow_judged(rows, spans, _remember(subject, known, judge_window))
    inside = np.flatnonzero(rows.times_s > window.start.timestamp())
    first, end = (int(inside[0]), len(rows.times_s)) if len(inside) else (0, 0)
    return HostHistory(
        part=replace(part, ledger=rows.rows(slice(first, end)), around=None if around is None else around.ledger),
        inventory=subject.inventory,
        rows=rows,
        spans=spans,
        followed=followed,
        newest=judge_window(max(end - spans.rows, 0), end) if end else None,
        throughput=known.throughput[first:end],
    )


_kept: Cache[bytes, Judgement] = Cache(20_000)
"""Judgements by a digest of all that they are made of: a polled page judges only what is new."""


def _remember(
    subject: _Subject, known: Beside, judge_window: Callable[[int, int], Judgement]
) -> Callable[[int, int], Judgement]:
    """`judge_window` that looks first whether the same rows were judged before."""
    rows, around = subject.part.ledger, subject.around
    scalars = replace(subject.context(rows, None), limit_events=None)

    def remembered(first: int, end: int) -> Judgement:
        parts = [repr(scalars).encode(), *_bytes_of(rows, first, end)]
        parts += [known.throughput[first:end].tobytes(), known.hot_top_ratio[first:end].tobytes()]
        if around is not None:
            host = around.ledger
            start = rows.times_s[first] - rows.dt_seconds[first]
            near = np.searchsorted(host.times_s, [start, rows.times_s[end - 1]], side="right")
            parts += _bytes_of(host, int(near[0]), int(near[1]))
        digest = hashlib.blake2b(b"|".join(parts), digest_size=16).digest()
        found = _kept.get(digest)
        if found is None:
            found = judge_window(first, end)
            _kept.put(digest, found)
        return found

    return remembered


def _bytes_of(ledger: Ledger, first: int, end: int) -> list[bytes]:
    part = slice(first, end)
    return [ledger.values[part].tobytes(), ledger.present[part].tobytes(), ledger.dt_seconds[part].tobytes()]
