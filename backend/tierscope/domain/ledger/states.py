"""Ping-pong over time: the state of one host after each interval, derived from its ledger alone.

Where the kernel measures ping-pong (TPP) the state follows its ratio. Elsewhere flows alone cannot tell ping-pong from
a kernel that follows a moving hot set, so that rolling windows of the ledger are judged, with what else is known of
residency and throughput. docs/method/ping-pong.md has the rules. Nothing is remembered between two answers: whoever
folds begins some intervals before the window that is asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tierscope.domain.ledger.ledger import Ledger
from tierscope.domain.ledger.ping_pong import STREAK, State, follow_states, move_bytes_per_s, traffic_holds
from tierscope.domain.ledger.verdict import Context, Verdict, judge, steady_intervals

Floats = npt.NDArray[np.float64]
Outcome = Literal["futile", "not_futile"]

SEVERITY: dict[State, int] = {"ok": 0, "warn": 1, "crit": 2}
FUTILE_SECONDS = 120.0
CRIT_SECONDS = 600.0
WHOLE_RECORDING_SECONDS = 2400.0
"""Recordings shorter than this scale the two spans above to their length."""
MIN_ROWS = 20
"""Fewer intervals do not tell a hot set that stands still from one that moved once."""
JUDGE_EVERY = 4
"""Of long recordings every fourth interval is judged; the state holds in between."""
BALANCE_MIN = 0.5
STILL = 0.05
"""Residency that moves by less than five points between its 5th and 95th percentile stands still."""
RISES = 0.05
KNOWN_MIN = 6
"""Values of a series within a window from which it says something."""


@dataclass(frozen=True, slots=True)
class Spans:
    """How long things take, at the length of what was recorded: rows of a window, its seconds until crit.

    One of `every` intervals is judged.
    """

    rows: int
    crit_seconds: float
    every: int

    @property
    def streak(self) -> int:
        """Judged windows in a row that change the state: as long as three of the finest."""
        return max(STREAK * min(JUDGE_EVERY, self.every) // self.every, 1)


@dataclass(frozen=True, slots=True)
class Beside:
    """What else is known at the rows of a ledger [n], NaN where not: throughput, and the hot bytes' share in DRAM."""

    throughput: Floats
    hot_top_ratio: Floats


@dataclass(frozen=True, slots=True)
class Judgement:
    """A window, judged. `sure`: by more than flows and memory sizes, which a moving hot set shares."""

    futile: bool
    sure: bool
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Followed:
    """The state after each row of a ledger [n], and why it is that; None before anything could be judged."""

    states: tuple[State | None, ...]
    whys: tuple[str, ...]


def scale_spans(recorded_seconds: float, nominal_seconds: float, *, coarser: int = 1) -> Spans:
    """Spans for a host of which `recorded_seconds` are stored in all: they do not depend on the window asked for.

    `coarser` is a power of two by which fewer windows are judged, where there are very many.
    """
    scale = min(recorded_seconds / WHOLE_RECORDING_SECONDS, 1.0)
    rows = max(round(FUTILE_SECONDS * scale / nominal_seconds), MIN_ROWS)
    return Spans(rows, float(CRIT_SECONDS * scale), JUDGE_EVERY * coarser if scale >= 1.0 else 1)


def no_more(n: int) -> Beside:
    """Nothing else is known."""
    return Beside(np.full(n, np.nan), np.full(n, np.nan))


def follow_measured(ledger: Ledger, dram_bytes: float | None, page_bytes: int | None) -> Followed:
    """States on a TPP kernel: by the share of promotion candidates that were demoted before.

    Where the page size is not known, neither is whether moves are enough to matter, and all states are None.
    """
    if page_bytes is None:
        n = len(ledger.times_s)
        return Followed((None,) * n, ("",) * n)
    candidates, again = ledger.column("promotion_candidates_pages"), ledger.column("candidates_demoted")
    moved = np.nan_to_num(ledger.column("promoted_pages")) + np.nan_to_num(ledger.column("demoted_pages"))
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(candidates > 0, again / candidates, np.nan)
    ratios = [float(share) if np.isfinite(share) else None for share in shares]
    busy = [
        traffic_holds(move_bytes_per_s(int(pages), page_bytes, float(seconds)), dram_bytes) if seconds > 0 else False
        for pages, seconds in zip(moved, ledger.dt_seconds, strict=True)
    ]
    whys = tuple(
        "" if ratio is None else f"{ratio:.0%} of the promotion candidates had been demoted before" for ratio in ratios
    )
    return Followed(tuple(follow_states(ratios, busy)), whys)


def follow_judged(ledger: Ledger, spans: Spans, judge_window: Callable[[int, int], Judgement]) -> Followed:
    """States elsewhere: warn when three windows in a row are futile, crit once that has lasted, ok after three others.

    `judge_window(first, end)` judges rows [first, end). Windows without traffic in both directions are not futile and
    are not asked about. Rows without both flows leave the state, and all counts, as they are. Windows of which nothing
    is known make no state, and end one as others do.
    """
    judgements = _judgements(ledger, spans, judge_window)
    states: list[State | None] = []
    whys: list[str] = []
    state: State | None = None
    why = ""
    futile_run = other_run = 0
    held_s = 0.0
    for judgement, seconds, counted in zip(judgements, ledger.dt_seconds, _counted(ledger), strict=True):
        if futile_run and counted:
            held_s += float(seconds)
        if judgement is not None:
            is_known = judgement.verdict.word != "not_known"
            state = state or ("ok" if is_known else None)
            if judgement.futile:
                futile_run, other_run, why = futile_run + 1, 0, judgement.verdict.explanation
            else:
                other_run += 1
            if other_run >= spans.streak:
                state, futile_run, held_s, why = "ok" if is_known else None, 0, 0.0, ""
            elif futile_run >= spans.streak and state == "ok":
                state = "warn"
            if state == "warn" and judgement.futile and judgement.sure and held_s >= spans.crit_seconds:
                state = "crit"
        states.append(state)
        whys.append(why)
    return Followed(tuple(states), tuple(whys))


def judge_rows(
    ledger: Ledger, context: Context, beside: Beside | Callable[[], Beside], first: int, end: int
) -> Judgement:
    """Judge rows [first, end): futile where the verdict says so and neither residency nor throughput speaks for it.

    What is known beside the ledger is asked for only where the verdict is futile, or not known.
    """
    part = ledger.rows(slice(first, end))
    verdict = judge(part, context)
    if verdict.word not in ("futile_ping_pong", "not_known"):
        return Judgement(futile=False, sure=True, verdict=verdict)
    beside = beside if isinstance(beside, Beside) else beside()
    hot, throughput = beside.hot_top_ratio[first:end], beside.throughput[first:end]
    memory = _top_ratio(part)[steady_intervals(part)]
    moved = max((found for found in (_swing(memory), _swing(hot)) if found is not None), default=0.0)
    if moved >= STILL:
        text = f"The share of memory that the top tier holds moves by {moved:.0%} with the moves: they buy residency."
        return Judgement(futile=False, sure=True, verdict=Verdict("following_phases", text, "likely"))
    if _rises(throughput):
        text = "Throughput rises while pages move between tiers: the moves are not in vain."
        return Judgement(futile=False, sure=True, verdict=Verdict("healthy", text, "possible"))
    if verdict.word == "not_known":
        return Judgement(futile=False, sure=False, verdict=verdict)
    sure = verdict.confidence != "possible" or _enough(hot) or _enough(throughput)
    return Judgement(futile=True, sure=sure, verdict=verdict)


def judge_moves(ledger: Ledger, context: Context, first: int, end: int) -> Judgement:
    """Judge rows [first, end) by the verdict alone."""
    verdict = judge(ledger.rows(slice(first, end)), context)
    return Judgement(verdict.word == "futile_ping_pong", verdict.confidence != "possible", verdict)


def judge_with_host(own: Judgement, part: Ledger, host: Ledger, host_context: Context) -> Judgement:
    """A service's window, with its host's counters where its own do not tell.

    Control groups count no promotion candidates, so that moves of a service are not judged by themselves. Where the
    service makes at least half of the host's moves, what the host's counters say of them holds for it. `part` are the
    service's rows of the window.
    """
    is_told = own.verdict.word != "not_known" and (own.sure or not own.futile)
    if is_told or not len(part.times_s):
        return own
    around = host.during(part)
    if not len(around) or part.moved_pages < BALANCE_MIN * around.moved_pages:
        return own
    found = judge_moves(around, host_context, 0, len(around.times_s))
    if found.verdict.word == "not_known":
        return own
    return found


def _judgements(ledger: Ledger, spans: Spans, judge_window: Callable[[int, int], Judgement]) -> list[Judgement | None]:
    counted = _counted(ledger)
    places = np.flatnonzero(counted)
    found: list[Judgement | None] = [None] * len(counted)
    if len(places) < spans.rows:
        return found
    nominal = float(np.median(ledger.dt_seconds[places]))
    due = _due(ledger.times_s[places], nominal * spans.every) if spans.every > 1 else np.ones(len(places), bool)
    promoted = np.cumsum(np.concatenate(([0.0], ledger.column("promoted_pages")[places])))
    demoted = np.cumsum(np.concatenate(([0.0], ledger.column("demoted_pages")[places])))
    quiet = Judgement(futile=False, sure=True, verdict=Verdict("healthy", "", "likely"))
    for at in range(spans.rows - 1, len(places)):
        if not due[at]:
            continue
        begin = at + 1 - spans.rows
        up, down = promoted[at + 1] - promoted[begin], demoted[at + 1] - demoted[begin]
        two_way = up > 0 and min(up, down) >= BALANCE_MIN * max(up, down)
        row = int(places[at])
        found[row] = judge_window(int(places[begin]), row + 1) if two_way else quiet
    return found


def _counted(ledger: Ledger) -> npt.NDArray[np.bool_]:
    out: npt.NDArray[np.bool_] = np.isfinite(ledger.column("promoted_pages")) & np.isfinite(
        ledger.column("demoted_pages")
    )
    return out


def _due(times_s: Floats, step_s: float) -> npt.NDArray[np.bool_]:
    """Rows that are the first of their step of the clock, so that the choice does not depend on the window."""
    steps = np.floor(times_s / step_s)
    out: npt.NDArray[np.bool_] = np.concatenate(([True], steps[1:] != steps[:-1]))
    return out


def _top_ratio(ledger: Ledger) -> Floats:
    top, slow = ledger.column("top_resident_bytes"), ledger.column("slow_resident_bytes")
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Floats = top / (top + slow)
    return out


def _enough(values: Floats) -> bool:
    return int(np.isfinite(values).sum()) >= KNOWN_MIN


def _swing(values: Floats) -> float | None:
    """How far a share moves, 5th to 95th percentile; None where too few are known."""
    if not _enough(values):
        return None
    low, high = np.percentile(values[np.isfinite(values)], [5, 95])
    return float(high - low)


def _rises(values: Floats) -> bool:
    """Whether the last third is higher than the first by more than five per cent; False where too few are known."""
    if not _enough(values):
        return False
    known = values[np.isfinite(values)]
    third = len(known) // 3
    return bool(np.median(known[-third:]) > (1 + RISES) * np.median(known[:third]))


def gravest(states: Sequence[State | None]) -> State | None:
    """The most severe of states, None where none is known."""
    known = [state for state in states if state is not None]
    return max(known, key=lambda state: SEVERITY[state], default=None)
