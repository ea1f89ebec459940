"""The course of a window: which state held when, for how long, and the one verdict of it all.

A window is judged in parts of equal time. Its verdict is the gravest state that held a fifth of it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tierscope.domain.ledger.evidence import MIN_INTERVALS
from tierscope.domain.ledger.ledger import Ledger
from tierscope.domain.ledger.outcome import sampled_outcome
from tierscope.domain.ledger.verdict import judge
from tierscope.domain.ledger.words import Context, Verdict, Word, gravity

PART_SECONDS = 600.0
"""A part where the share of slow accesses is measured: each says whether it was good."""
BLIND_PART_SECONDS = 3600.0
"""A part elsewhere: the scanner goes over memory slowly, and what it did not go over is not known."""
_HOUR_SECONDS = 3600.0
MOST_PARTS = 288
HELD_MIN = 0.20
"""Share of the time from which a state is the window's [A]."""
WHOLE = 0.995
MOSTLY = 0.5
"""Share of its host's moves from which what the host's counters say holds for a service [A]."""
Judge = Callable[[Ledger, Context], Verdict]


@dataclass(frozen=True, slots=True)
class Held:
    """A state and how long it held: seconds, and their share of the time that was judged."""

    state: Word
    seconds: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one state, Unix seconds. It holds from after `start_s` to `end_s`."""

    start_s: float
    end_s: float
    state: Word


@dataclass(frozen=True, slots=True)
class Course:
    """States over a window in order of time, how long each held (longest first), and the verdict."""

    verdict: Verdict
    held: tuple[Held, ...]
    spans: tuple[Span, ...]


def follow(
    ledger: Ledger,
    context_of: Callable[[Ledger], Context],
    *,
    around: Ledger | None = None,
    most_parts: int = MOST_PARTS,
    judging: Judge = judge,
) -> Course:
    """Judge a window of a ledger part by part.

    `context_of` says what else is known of a part. `around`: of a service's ledger that of its host, whose counters
    tell more; what they say of a cause holds for a service that makes most of the host's moves, or whose moves are not
    counted. The service's own share of slow accesses decides where it is measured.
    `judging`: `judge`, or what remembers its verdicts.
    Parts begin at multiples of their length on the clock, so that two windows agree on what they share; a part with
    too few intervals goes to the one before it.
    """
    parts = [ledger.rows(rows) for rows in _parts(ledger, most_parts)]
    judged = [_judge(part, context_of, around, judging) for part in parts or [ledger]]
    spans = [
        Span(float(part.times_s[0] - part.dt_seconds[0]), float(part.times_s[-1]), verdict.word)
        for part, verdict in zip(parts, judged, strict=False)
    ]
    seconds = [span.end_s - span.start_s for span in spans] or [0.0]
    held = _held(zip((verdict.word for verdict in judged), seconds, strict=True))
    return Course(_verdict(held, judged, seconds), held if spans else (), _joined(spans))


def newest_hour(ledger: Ledger) -> Ledger:
    """The rows that end within an hour of the newest one: none from before a gap, however few there are."""
    return (
        ledger if not len(ledger.times_s) else ledger.rows(ledger.times_s > ledger.times_s[-1] - _HOUR_SECONDS + 1e-3)
    )


def newest_part(ledger: Ledger) -> Ledger:
    """The rows of the newest part of a ledger that is to be judged: all, where there are too few."""
    if not len(ledger.times_s):
        return ledger
    newest = ledger.rows(ledger.times_s > ledger.times_s[-1] - _part_seconds(ledger) + 1e-3)
    return newest if len(newest.times_s) >= MIN_INTERVALS else ledger


def join_courses(courses: Sequence[Course]) -> Course:
    """The course of several hosts together: at each time the gravest state of any, time added up over hosts.

    The verdict is the gravest of theirs, with how many hosts have it.
    """
    if len(courses) == 1:
        return courses[0]
    gravest = min((course.verdict for course in courses), key=lambda verdict: gravity(verdict.word))
    count = sum(course.verdict.word == gravest.word for course in courses)
    text = f"{count} of {len(courses)} hosts. The first: {gravest.explanation}"
    held = _held((part.state, part.seconds) for course in courses for part in course.held)
    return Course(replace(gravest, explanation=text), held, _gravest_spans([course.spans for course in courses]))


def _judge(part: Ledger, context_of: Callable[[Ledger], Context], around: Ledger | None, judging: Judge) -> Verdict:
    own = judging(part, context_of(part))
    if around is None or not len(part.times_s):
        return own
    host = around.during(part)
    counted = part.total("promoted_pages") is not None or part.total("demoted_pages") is not None
    if counted and own.word != "not_known" and _weight(part) < MOSTLY * _weight(host):
        return own
    context = context_of(host)
    found = judging(host, replace(context, outcome=sampled_outcome(part) or context.outcome))
    return own if found.word == "not_known" else found


def _weight(ledger: Ledger) -> float:
    """Pages moved; where none were, bytes on slow memory."""
    slow = ledger.column("slow_resident_bytes")
    return float(ledger.moved_pages) or (float(np.nanmean(slow)) if np.isfinite(slow).any() else 0.0)


def _parts(ledger: Ledger, most_parts: int) -> list[slice]:
    """Rows of each part; none where there are too few rows to judge."""
    n = len(ledger.times_s)
    if n < MIN_INTERVALS:
        return []
    step = _part_seconds(ledger)
    length = float(ledger.times_s[-1] - ledger.times_s[0] + ledger.dt_seconds[0])
    while length / step > most_parts:
        step *= 2
    if length < 2 * step:
        return [slice(0, n)]
    place = np.floor((ledger.times_s - 1e-3) / step)
    starts = [0, *(np.flatnonzero(np.diff(place)) + 1).tolist()]
    kept = [0]
    for start in starts[1:]:
        if start - kept[-1] >= MIN_INTERVALS and n - start >= MIN_INTERVALS:
            kept.append(start)
    return [slice(start, end) for start, end in zip(kept, [*kept[1:], n], strict=True)]


def _part_seconds(ledger: Ledger) -> float:
    measured = any(np.isfinite(ledger.column(key)).any() for key in ("slow_traffic_bytes", "slow_loads"))
    return PART_SECONDS if measured else BLIND_PART_SECONDS


def _held(amounts: Iterable[tuple[Word, float]]) -> tuple[Held, ...]:
    seconds: dict[Word, float] = {}
    for word, amount in amounts:
        seconds[word] = seconds.get(word, 0.0) + amount
    total = sum(seconds.values())
    found = [Held(word, amount, amount / total if total > 0 else 1.0) for word, amount in seconds.items()]
    return tuple(sorted(found, key=lambda held: (-held.seconds, gravity(held.state))))


def _verdict(held: Sequence[Held], judged: Sequence[Verdict], seconds: Sequence[float]) -> Verdict:
    known = [part for part in held if part.state != "not_known"]
    long = [part for part in known if part.ratio >= HELD_MIN]
    chosen = min(long, key=lambda part: gravity(part.state)) if long else (known or held)[0]
    if chosen.state != "not_known" and not long and held[0].state == "not_known":
        chosen = held[0]
    _, longest = max(
        ((amount, verdict) for verdict, amount in zip(judged, seconds, strict=True) if verdict.word == chosen.state),
        key=lambda pair: pair[0],
    )
    if chosen.ratio >= WHOLE:
        return longest
    text = f"Held for {chosen.ratio:.0%} of the time. {longest.explanation}"
    return replace(longest, explanation=text)


def _joined(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Neighbours of one state become one."""
    out: list[Span] = []
    for span in spans:
        if out and out[-1].state == span.state and span.start_s - out[-1].end_s < 1.0:
            out[-1] = replace(out[-1], end_s=span.end_s)
        else:
            out.append(span)
    return tuple(out)


def _gravest_spans(hosts: Sequence[Sequence[Span]]) -> tuple[Span, ...]:
    every = [span for spans in hosts for span in spans]
    edges = sorted({edge for span in every for edge in (span.start_s, span.end_s)})
    out = []
    for start, end in pairwise(edges):
        inside = [span.state for span in every if span.start_s < end and span.end_s > start]
        if inside:
            out.append(Span(start, end, min(inside, key=gravity)))
    return _joined(out)
