"""Ping-pong of one or more hosts: measured where the kernel marks demoted pages, else bounded, and the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, ClassVar, Literal

from tierscope.domain.base.described import NAMES, Described
from tierscope.domain.base.figures import AbsentStatus, Figure, Interval, Window, absent, doubt_figures
from tierscope.domain.base.page_size import NOT_KNOWN, bytes_of, sum_known
from tierscope.domain.heat.aggregate import LEVEL
from tierscope.domain.ledger import Bounded, Ledger, Sign, Verdict, bound_moves, measure_tpp
from tierscope.domain.ledger.columns import MOVED
from tierscope.domain.ledger.course import MOST_PARTS, Course, join_courses
from tierscope.domain.ledger.followed import FollowedMoves, RoundTrips, share_of_round_trips
from tierscope.usecases.ledger.sources import HostLedger

TIER_MOVE_BYTES = "tier_moves.bytes_per_s/1"
WIDE = 0.2
"""Width of an interval from which on it says little."""

Kind = Literal["measured", "sampled", "upper_bound", "not_available"]
FOLLOWED = ("followed_promotions", "followed_promotions_squared", "followed_round_trips", "followed_unsure")
"""Columns of the ledger, in the order of `FollowedMoves`."""


@dataclass(frozen=True, slots=True)
class StateTime:
    """How long a state held: host-seconds, and their share of those that were judged."""

    state: str
    seconds: float
    ratio: float


@dataclass(frozen=True, slots=True)
class StateStretch:
    """A stretch of one state."""

    __pydantic_config__: ClassVar = NAMES

    from_: datetime
    to: datetime
    state: str


@dataclass(frozen=True, slots=True)
class PingPong:
    """Ping-pong or its bound, always labelled which."""

    kind: Kind
    estimate: str
    ratio: Figure
    churn_pages_per_s: Figure
    churn_pages_per_s_per_gib: Figure
    tier_move_bytes_per_s: Figure
    verdict: str
    explanation: str
    evidence: Annotated[
        tuple[Sign, ...], Described("What decided, of the host that words the verdict; empty where none does.")
    ] = ()
    against: Annotated[tuple[Sign, ...], Described("What spoke for the runner-up.")] = ()
    runner_up: Annotated[str | None, Described("The verdict that came next; null where none was near.")] = None
    states: Annotated[
        tuple[StateTime, ...], Described("How long each state held, longest first; empty where no part was judged.")
    ] = ()
    ribbon: Annotated[tuple[StateStretch, ...], Described("Which state held when; of several hosts the gravest.")] = ()


@dataclass(frozen=True, slots=True)
class HostWaits:
    """Shares of a window in which a task waited for memory, of each host that counts it."""

    shares: tuple[float, ...]
    window: Window


def wait_shares(ledgers: Sequence[Ledger], window: Window) -> HostWaits:
    """What the ledgers of hosts have of waiting, within 0 and 1."""
    waits = [(ledger.total("psi_some_us"), ledger.seconds("psi_some_us")) for ledger in ledgers]
    known = [waited / 1e6 / seconds for waited, seconds in waits if waited is not None and seconds > 0]
    return HostWaits(tuple(min(max(share, 0.0), 1.0) for share in known), window)


@dataclass(frozen=True, slots=True)
class MoveSums:
    """Totals over the hosts that count moves, and the seconds and DRAM bytes behind them.

    `returned` and `churn` are sums of the hosts' own bounds: no page goes round between two hosts. `moved_bytes`: each
    promoted or demoted page once, by the page size of its host; None where one host's is not known. `followed`: what
    each of these hosts saw of pages that it follows.
    """

    promoted: int
    demoted: int
    candidates: int
    candidates_demoted: int
    returned: int
    churn: int
    moved_bytes: float | None
    seconds: float
    dram_bytes: float | None
    n_hosts: int
    n_intervals: int
    followed: tuple[FollowedMoves, ...] = ()


def describe_ping_pong(parts: Sequence[HostLedger], window: Window, warnings: tuple[str, ...]) -> PingPong:
    """Judge the hosts' ledgers. TPP measures; other kernels bound; a mix of both is bounded."""
    counting = [part for part in parts if _counts(part)]
    course = _follow(parts)
    first = course.verdict
    word, explanation = first.word, f"{first.explanation} ({first.confidence})" if parts else first.explanation
    if counting:
        tpp = all(part.plan.dialect == "tpp" for part in counting)
        view = describe_sums(_add_up(counting), window, warnings, (word, explanation), measured=tpp)
    else:
        reason, status = _why_not(parts)
        view = describe_nothing(window, reason, status, word, explanation)
    view = replace(
        view,
        evidence=first.evidence,
        against=first.against,
        runner_up=first.runner_up,
        states=view_held(course),
        ribbon=tuple(StateStretch(_instant(span.start_s), _instant(span.end_s), span.state) for span in course.spans),
    )
    return doubt_figures(view, [doubt for part in parts for doubt in part.machine.doubts])


def view_held(course: Course) -> tuple[StateTime, ...]:
    """How long each state held."""
    return tuple(StateTime(held.state, held.seconds, held.ratio) for held in course.held)


def describe_sums(
    sums: MoveSums, window: Window, warnings: tuple[str, ...], verdict: tuple[str, str], *, measured: bool
) -> PingPong:
    """From totals over hosts; `verdict` is the word and its explanation, `measured` that their kernels mark pages."""
    tools = _Tools(window, warnings, sums)
    trips = None if measured else share_of_round_trips(sums.followed)
    if trips is not None and trips.hi - trips.lo < (sums.churn - sums.returned) / sums.promoted:
        return _sampled(trips, sums, tools, *verdict)
    return (_measured if measured else _bounded)(sums, tools, *verdict)


@dataclass(frozen=True, slots=True)
class _Tools:
    window: Window
    warnings: tuple[str, ...]
    sums: MoveSums

    def bytes_per_s(self) -> Figure:
        """The tier-move traffic."""
        moved = self.sums.moved_bytes
        if moved is None:
            return absent(
                TIER_MOVE_BYTES, "bytes_per_s", "not_collected", NOT_KNOWN, window=self.window, method="counters"
            )
        return self.figure(TIER_MOVE_BYTES, "bytes_per_s", moved / self.sums.seconds)

    def figure(self, name: str, unit: str, value: float | None, *, bounds: tuple[float, float] | None = None) -> Figure:
        """A figure of ping-pong; without a value the denominator was zero."""
        if value is None:
            status: AbsentStatus = "not_enough_data"
            reason = "Nothing to divide by: no such moves, or the size of DRAM is unknown."
            return absent(name, unit, status, reason, window=self.window, method="counters")
        return Figure(
            name,
            "ok",
            value,
            unit,
            method="counters",
            window=self.window,
            interval=None if bounds is None else Interval(bounds[0], bounds[1], None, "bounds"),
            n_hosts=self.sums.n_hosts,
            n_intervals=self.sums.n_intervals,
            coverage=min(1.0, self.sums.seconds / self.window.seconds) if self.window.seconds else None,
            grade="partial" if bounds is not None else "good",
            grounding="L kernel text; bounds by counting",
            warnings=self.warnings,
        )


def _measured(sums: MoveSums, tools: _Tools, word: str, explanation: str) -> PingPong:
    found = measure_tpp(
        candidates=sums.candidates,
        candidates_demoted=sums.candidates_demoted,
        demoted_pages=sums.demoted,
        seconds=sums.seconds,
        dram_bytes=sums.dram_bytes,
    )
    return PingPong(
        kind="measured",
        estimate="promotion candidates that carry the mark of an earlier demotion, of all candidates",
        ratio=tools.figure("ping_pong.candidate_ratio/1", "ratio", found.ratio),
        churn_pages_per_s=tools.figure("ping_pong.pages_per_s/1", "pages_per_s", found.pages_per_s),
        churn_pages_per_s_per_gib=tools.figure(
            "ping_pong.pages_per_s_per_gib/1", "pages_per_s_per_gib", found.pages_per_s_per_gib
        ),
        tier_move_bytes_per_s=tools.bytes_per_s(),
        verdict=word,
        explanation=explanation,
    )


def _sampled(trips: RoundTrips, sums: MoveSums, tools: _Tools, word: str, explanation: str) -> PingPong:
    gib = sums.dram_bytes / 2**30 if sums.dram_bytes else None
    rest = trips.unfollowed_ratio

    def figure(name: str, unit: str, factor: float | None) -> Figure:
        if factor is None:
            return tools.figure(name, unit, None)
        return replace(
            tools.figure(name, unit, trips.value * factor),
            method="followed_pages",
            interval=Interval(trips.lo * factor, trips.hi * factor, LEVEL, "confidence"),
            n_samples=trips.promotions,
            grade="good" if trips.hi - trips.lo < WIDE and not rest else "partial",
            grounding="L kernel text; a random sample of pages",
        )

    per_s = sums.promoted / sums.seconds
    return PingPong(
        kind="sampled",
        estimate=f"promotions of pages that had been demoted within ten minutes, of {trips.promotions:,} promotions of "
        "followed pages" + (f"; {rest:.0%} of the promoted pages are on hosts that follow none" if rest else ""),
        ratio=figure("ping_pong.round_trip_ratio/1", "ratio", 1.0),
        churn_pages_per_s=figure("ping_pong.pages_per_s/1", "pages_per_s", per_s),
        churn_pages_per_s_per_gib=figure(
            "ping_pong.pages_per_s_per_gib/1", "pages_per_s_per_gib", per_s / gib if gib else None
        ),
        tier_move_bytes_per_s=tools.bytes_per_s(),
        verdict=word,
        explanation=explanation,
    )


def _bounded(sums: MoveSums, tools: _Tools, word: str, explanation: str) -> PingPong:
    lo, hi = sums.returned, sums.churn
    share = (lo / sums.promoted, hi / sums.promoted) if sums.promoted else None
    per_s = hi / sums.seconds
    gib = sums.dram_bytes / 2**30 if sums.dram_bytes else None
    return PingPong(
        kind="upper_bound",
        estimate="At most the smaller of promoted and demoted pages, of promoted pages; "
        "a page cannot have gone round without both, and a moving hot set has churn without ping-pong; "
        "at least: promoted pages beyond those that were on slow memory, or allocated there",
        ratio=tools.figure("ping_pong.churn_ratio/1", "ratio", share[1] if share else None, bounds=share),
        churn_pages_per_s=tools.figure(
            "ping_pong.churn_pages_per_s/1", "pages_per_s", per_s, bounds=(lo / sums.seconds, per_s)
        ),
        churn_pages_per_s_per_gib=tools.figure(
            "ping_pong.churn_pages_per_s_per_gib/1",
            "pages_per_s_per_gib",
            per_s / gib if gib else None,
            bounds=(lo / sums.seconds / gib, per_s / gib) if gib else None,
        ),
        tier_move_bytes_per_s=tools.bytes_per_s(),
        verdict=word,
        explanation=explanation,
    )


def describe_nothing(window: Window, reason: str, status: AbsentStatus, word: str, explanation: str) -> PingPong:
    """No estimate, and which kind of nothing that is."""

    def figure(name: str, unit: str) -> Figure:
        return absent(name, unit, status, reason, window=window, method="counters")

    return PingPong(
        kind="not_available",
        estimate=reason,
        ratio=figure("ping_pong.churn_ratio/1", "ratio"),
        churn_pages_per_s=figure("ping_pong.churn_pages_per_s/1", "pages_per_s"),
        churn_pages_per_s_per_gib=figure("ping_pong.churn_pages_per_s_per_gib/1", "pages_per_s_per_gib"),
        tier_move_bytes_per_s=figure(TIER_MOVE_BYTES, "bytes_per_s"),
        verdict=word,
        explanation=explanation,
    )


def _counts(part: HostLedger) -> bool:
    return part.ledger.total("promoted_pages") is not None and part.ledger.total("demoted_pages") is not None


def _why_not(parts: Sequence[HostLedger]) -> tuple[str, AbsentStatus]:
    if not parts:
        return "No counters were collected in the window.", "not_collected"
    unsent = [reason for part in parts for key in MOVED if (reason := part.machine.unsent(key)) is not None]
    if unsent:
        return unsent[0], "not_collected"
    if all(part.plan.dialect == "none" for part in parts):
        return "These kernels count neither promotions nor demotions.", "not_supported"
    return "Promotions and demotions are not both counted here.", "not_supported"


def _add_up(parts: Sequence[HostLedger]) -> MoveSums:
    def total(key: str) -> int:
        return sum(part.ledger.total(key) or 0 for part in parts)

    found = [
        bound_moves(
            part.ledger,
            dram_bytes=part.machine.top_bytes,
            page_bytes=part.machine.page_bytes,
            huge_pages=part.machine.huge_pages,
        )
        for part in parts
    ]
    bounds = [bound for bound in found if bound is not None]
    known = [part.machine.top_bytes for part in parts if part.machine.top_bytes is not None]
    moved = [bytes_of(part.ledger.moved_pages, part.machine.page_bytes) for part in parts]
    return MoveSums(
        promoted=total("promoted_pages"),
        demoted=total("demoted_pages"),
        candidates=total("promotion_candidates_pages"),
        candidates_demoted=total("candidates_demoted"),
        returned=sum(bound.round_trip_pages_lo for bound in bounds),
        churn=sum(bound.round_trip_pages_hi for bound in bounds),
        moved_bytes=sum_known(moved),
        seconds=max(part.ledger.seconds("promoted_pages") for part in parts),
        dram_bytes=sum(known) if len(known) == len(parts) else None,
        n_hosts=len(parts),
        n_intervals=sum(len(part.ledger.times_s) for part in parts),
        followed=tuple(_followed(part, bound) for part, bound in zip(parts, found, strict=True)),
    )


def _followed(part: HostLedger, bound: Bounded | None) -> FollowedMoves:
    counts = [part.ledger.total(key) or 0 for key in (*FOLLOWED, "promoted_pages")]
    bounds = [0, 0] if bound is None else [bound.round_trip_pages_lo, bound.round_trip_pages_hi]
    return FollowedMoves(*counts, *bounds)


def _follow(parts: Sequence[HostLedger]) -> Course:
    if not parts:
        return Course(Verdict("not_known", "No counters in the window.", "certain"), (), ())
    most_parts = max(MOST_PARTS // len(parts), 1)
    return join_courses([part.course(most_parts=most_parts) for part in parts])


def _instant(unix_s: float) -> datetime:
    return datetime.fromtimestamp(unix_s, UTC)
