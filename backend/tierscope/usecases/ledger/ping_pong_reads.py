"""Reads of ping-pong: states over time, what the moves cost, and whether they should be stopped."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated

from tierscope.domain.base.axis import make_grid
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Origin, Series, TimeAxis, Window, absent
from tierscope.domain.counters.monotonic import nominal_step
from tierscope.domain.ledger.ping_pong import State
from tierscope.domain.ledger.states import JUDGE_EVERY, gravest
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import require_service_hosts, require_subject_host
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.ledger.answers import WHOLE_HOSTS
from tierscope.usecases.ledger.ping_pong import HostWaits, Kind, PingPong, describe_ping_pong, wait_shares
from tierscope.usecases.ledger.ping_pong_cost import MoveCost, StopMoving, advise_stop, view_cost
from tierscope.usecases.ledger.ping_pong_hosts import HostHistory, busiest, read_histories
from tierscope.usecases.ledger.ping_pong_series import view_series
from tierscope.usecases.ledger.ping_pong_spans import StateSpan, bucket_states, list_spans
from tierscope.usecases.ledger.reads import read_ping_pong

_NOT_FOLLOWED = (
    "No followed page was promoted, or none is followed: that takes an agent that may read page frames. Flows and"
    " residency are used instead."
)
_NO_COUNTERS = "No counters of tier moves were collected in the window."
_JUDGED = (
    "Moves are futile when traffic goes both ways while residency and throughput stand still; a moving hot set has the"
    " same flows."
)


@dataclass(frozen=True, slots=True)
class HostState:
    """One host's newest state, and the verdict on its newest intervals."""

    host_id: str
    host_name: str
    state: State | None
    verdict: str
    explanation: str


@dataclass(frozen=True, slots=True)
class PingPongHistory:
    """The answer of both routes."""

    subject: str
    origin: Origin
    window: Window
    kind: Kind
    state: Annotated[State | None, Described("At the window's end, the most severe of its hosts; null without data.")]
    ratio: Figure
    churn_pages_per_s: Figure
    churn_pages_per_s_per_gib: Figure
    axis: TimeAxis
    series: tuple[Series, ...]
    states: Annotated[tuple[State | None, ...], Described("The most severe state within each bucket; null in gaps.")]
    spans: Annotated[tuple[StateSpan, ...], Described("All stretches of warn and crit, the oldest first.")]
    hosts: tuple[HostState, ...]
    cost: MoveCost
    verdict: str
    explanation: str
    stop_moving: StopMoving
    missing: Annotated[Figure | None, Described("Why there is nothing to judge.")]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """What was read of a subject. `whole`: over all its hosts, where `parts` are some of them."""

    subject: str
    origin: Origin
    parts: Sequence[HostHistory]
    own_groups: bool
    is_service: bool
    notes: tuple[str, ...]
    whole: tuple[PingPong, HostWaits] | None = None


class PingPongReads(ContextUseCase):
    """Ping-pong of hosts and services."""

    def host(self, host_id: str, *, from_: str | None, to: str | None, max_points: int) -> PingPongHistory:
        """Ping-pong of one host.

        Raises:
            NotFound: no such host.
            BadRequest: the window cannot be read.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now)
        with self._context.database.read() as session:
            host = require_subject_host(session, host_id)
            parts = read_histories(session, [host], window, None, now=now, whole_hosts=True)
            found = _Found(
                subject=host_id,
                origin=host.origin,
                parts=parts,
                own_groups=False,
                is_service=False,
                notes=(),
            )
        return _view(found, window, max_points)

    def service(self, service_id: str, *, from_: str | None, to: str | None, max_points: int) -> PingPongHistory:
        """Ping-pong of a service: of its own control groups where hosts count them, else of its whole hosts.

        Raises:
            NotFound: no such service.
            BadRequest: the window cannot be read.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now)
        with self._context.database.read() as session:
            service, every = require_service_hosts(session, service_id)
            hosts = busiest(session, service, every, window, own=True)
            parts = read_histories(session, hosts, window, service, now=now, whole_hosts=False)
            own_groups = any(part.part.ledger.total("promoted_pages") is not None for part in parts)
            if not own_groups:
                hosts = busiest(session, service, every, window, own=False)
                parts = read_histories(session, hosts, window, service, now=now, whole_hosts=True)
            found = _Found(
                subject=service_id,
                origin=service.origin,
                parts=parts,
                own_groups=own_groups,
                is_service=True,
                notes=_host_notes(len(hosts), len(every), own_groups=own_groups, any_parts=bool(parts)),
                whole=None if len(hosts) == len(every) else read_ping_pong(session, service, every, window),
            )
        return _view(found, window, max_points)


def _host_notes(taken: int, every: int, *, own_groups: bool, any_parts: bool) -> tuple[str, ...]:
    notes = () if every <= taken else (f"The {taken} of {every} hosts that moved most pages in the window.",)
    return notes if own_groups or not any_parts else (*notes, WHOLE_HOSTS)


def _view(found: _Found, window: Window, max_points: int) -> PingPongHistory:
    parts = [part for part in found.parts if len(part.part.ledger.times_s)]
    steps = [nominal_step(part.rows.times_s) for part in parts]
    nominal_s = min(steps, default=60.0)
    grid = make_grid(window, interval_s=nominal_s, max_points=max_points)
    warnings = () if found.own_groups or not found.is_service or not parts else (WHOLE_HOSTS,)
    summary = describe_ping_pong([part.part for part in parts], window, warnings)
    whole, waits = found.whole or (summary, wait_shares([part.part.ledger for part in parts], window))
    cost = view_cost(parts, window, waits, own_groups=found.own_groups)
    states = [_last(part) for part in parts]
    state = gravest(states)
    spans = list_spans(parts, window)
    needed_s = max((part.spans.crit_seconds for part in parts), default=0.0)
    stop = advise_stop(
        [part for part, own in zip(parts, states, strict=True) if own not in (None, "ok")],
        cost,
        state,
        _lasted(spans, parts),
        needed_s,
        subject="service" if found.is_service else "host",
    )
    return PingPongHistory(
        subject=found.subject,
        origin=found.origin,
        window=window,
        kind=whole.kind,
        state=state,
        ratio=whole.ratio,
        churn_pages_per_s=whole.churn_pages_per_s,
        churn_pages_per_s_per_gib=whole.churn_pages_per_s_per_gib,
        axis=grid.axis(),
        series=view_series(parts, grid, kind=summary.kind, own_groups=found.own_groups),
        states=bucket_states(parts, grid),
        spans=spans,
        hosts=tuple(_host(part, own) for part, own in zip(parts, states, strict=True)),
        cost=cost,
        verdict=summary.verdict,
        explanation=summary.explanation,
        stop_moving=stop,
        missing=_missing(parts, summary.kind, summary.ratio, window),
        notes=(*found.notes, *_notes(parts, summary.kind)),
    )


def _notes(parts: Sequence[HostHistory], kind: Kind) -> tuple[str, ...]:
    if not parts:
        return ()
    every = max(part.spans.every for part in parts)
    coarse = (f"The window is long: one interval in {every} is judged.",) if every > JUDGE_EVERY else ()
    followed = () if kind in ("measured", "sampled") else (_NOT_FOLLOWED,)
    return (*followed, *(() if kind == "measured" else (_JUDGED, *coarse)))


def _missing(parts: Sequence[HostHistory], kind: Kind, ratio: Figure, window: Window) -> Figure | None:
    if not parts:
        return absent("ping_pong.state/1", "state", "not_collected", _NO_COUNTERS, window=window, method="counters")
    return replace(ratio, definition="ping_pong.state/1", unit="state") if kind == "not_available" else None


def _last(part: HostHistory) -> State | None:
    return part.followed.states[-1] if part.followed.states else None


def _host(part: HostHistory, state: State | None) -> HostState:
    host = part.part.host
    if part.newest is None:
        return HostState(host.public_id, host.name, state, "not_known", "")
    verdict = part.newest.verdict
    return HostState(host.public_id, host.name, state, verdict.word, f"{verdict.explanation} ({verdict.confidence})")


def _lasted(spans: Sequence[StateSpan], parts: Sequence[HostHistory]) -> float:
    """Seconds for which warn or crit have lasted without a break, up to the newest row."""
    if not spans or spans[-1].to is not None:
        return 0.0
    start = spans[-1].from_
    for span in reversed(spans[:-1]):
        if span.to != start:
            break
        start = span.from_
    newest = max(float(part.rows.times_s[-1]) for part in parts)
    return (datetime.fromtimestamp(newest, UTC) - start).total_seconds()
