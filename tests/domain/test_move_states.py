"""States of tier moves: what a missing interval, residency, throughput and the whole host change about them."""

from collections.abc import Callable

import numpy as np
import pytest

from factories.made_ledgers import UNPRESSED
from tierscope.domain.ledger import COLUMN_INDEX, COLUMN_KEYS, Context, Ledger, Verdict
from tierscope.domain.ledger.states import (
    Beside,
    Judgement,
    Spans,
    follow_judged,
    follow_measured,
    gravest,
    judge_rows,
    judge_with_host,
    no_more,
    scale_spans,
)

MINUTE = 60.0
GIB = 2**30
FUTILE = Verdict("futile_ping_pong", "in vain", "likely")
POSSIBLE = Verdict("futile_ping_pong", "in vain", "possible")
FOLLOWING = Verdict("following_phases", "follows", "likely")


def ledger(n: int, *, missing: tuple[int, ...] = (), **columns: float) -> Ledger:
    """Minutes of constant flows and sizes; `missing` rows have nothing."""
    values = np.zeros((n, len(COLUMN_KEYS)), np.int64)
    present = np.zeros((n, len(COLUMN_KEYS)), bool)
    for key, value in columns.items():
        values[:, COLUMN_INDEX[key]] = round(value)
        present[:, COLUMN_INDEX[key]] = True
    present[list(missing)] = False
    values[~present] = 0
    return Ledger(MINUTE * np.arange(1.0, n + 1), np.full(n, MINUTE), values, present, np.zeros(n, np.int8))


def exchange(n: int, *, missing: tuple[int, ...] = (), **columns: float) -> Ledger:
    """Much goes up and as much comes down, on a top tier of a GiB."""
    known = {
        **UNPRESSED,
        "promoted_pages": 30_000,
        "demoted_pages": 30_000,
        "promotion_candidates_pages": 30_000,
        "hint_faults": 40_000,
        "pte_updates": 40_000,
        "top_resident_bytes": GIB,
        "slow_resident_bytes": GIB,
    }
    return ledger(n, missing=missing, **(known | columns))


def always(verdict: Verdict, *, sure: bool = True) -> Callable[[int, int], Judgement]:
    found = Judgement(verdict.word == "futile_ping_pong", sure, verdict)
    return lambda _first, _end: found


def letters(states: tuple[str | None, ...]) -> str:
    return "".join("." if state is None else state[0] for state in states)


SHORT = Spans(rows=4, crit_seconds=5 * MINUTE, every=1)


def test_warn_after_three_windows_and_crit_after_the_span() -> None:
    followed = follow_judged(exchange(14), SHORT, always(FUTILE))
    # The fourth row ends the first window; five minutes after it futile moves have lasted long enough.
    assert letters(followed.states) == "...oowwwcccccc"
    assert followed.whys[-1] == "in vain"


def test_moves_that_are_only_possibly_in_vain_warn_at_most() -> None:
    followed = follow_judged(exchange(30), SHORT, always(POSSIBLE, sure=False))
    assert letters(followed.states) == "...oo" + "w" * 25


def test_three_other_windows_clear_it() -> None:
    judged = [FUTILE] * 10 + [FOLLOWING] * 2 + [FUTILE] * 2 + [FOLLOWING] * 4
    at = iter(judged)

    def next_one(_first: int, _end: int) -> Judgement:
        verdict = next(at)
        return Judgement(verdict.word == "futile_ping_pong", sure=True, verdict=verdict)

    followed = follow_judged(exchange(21), SHORT, next_one)
    assert letters(followed.states) == "...oowww" + "c" * 11 + "oo"


def test_missing_rows_leave_state_and_counts_as_they_are() -> None:
    whole = follow_judged(exchange(14), SHORT, always(FUTILE))
    holes = (4, 5, 6, 9)
    gappy = follow_judged(exchange(18, missing=holes), SHORT, always(FUTILE))
    kept = [state for i, state in enumerate(gappy.states) if i not in holes]
    assert kept == list(whole.states)
    assert all(gappy.states[i] == gappy.states[i - 1] for i in holes)


def test_one_way_traffic_is_not_asked_about() -> None:
    def never(_first: int, _end: int) -> Judgement:
        raise AssertionError("judged a window without traffic in both directions")

    for rows in (exchange(8, promoted_pages=0), exchange(8, promoted_pages=10_000), exchange(8, demoted_pages=0)):
        assert letters(follow_judged(rows, SHORT, never).states) == "...ooooo"


def test_windows_are_judged_at_the_same_times_however_the_ledger_is_cut() -> None:
    rows = exchange(200)
    spans = Spans(rows=20, crit_seconds=600.0, every=4)

    def judged_at(part: Ledger) -> set[float]:
        found: set[float] = set()

        def note(first: int, end: int) -> Judgement:
            found.add(float(part.times_s[end - 1]))
            assert end - first == 20
            return Judgement(futile=False, sure=True, verdict=FOLLOWING)

        follow_judged(part, spans, note)
        return found

    whole, later = judged_at(rows), judged_at(rows.rows(slice(57, 200)))
    assert len(whole) == pytest.approx(180 / 4, abs=1)
    assert later - {float(rows.times_s[76])} == {at for at in whole if at > rows.times_s[76]}


def test_spans_shrink_with_short_recordings_alone() -> None:
    assert scale_spans(86_400, 60) == Spans(20, 600.0, 4)
    assert scale_spans(86_400, 60, coarser=4) == Spans(20, 600.0, 16)
    assert scale_spans(86_400, 1) == Spans(120, 600.0, 4)
    assert scale_spans(240, 2) == Spans(20, 60.0, 1)
    assert [scale_spans(1e9, 60, coarser=factor).streak for factor in (1, 2, 4)] == [3, 1, 1]
    assert scale_spans(240, 2).streak == 3


def futile_ledger() -> Ledger:
    return exchange(40, reclaimed_pages=30_000)


def test_hot_bytes_that_move_between_tiers_are_followed_and_not_in_vain() -> None:
    rows = futile_ledger()
    assert judge_rows(rows, Context(dram_bytes=GIB), no_more(40), 0, 40).futile
    swings = np.tile(np.linspace(0.4, 0.8, 10), 4)
    found = judge_rows(rows, Context(dram_bytes=GIB), Beside(np.full(40, np.nan), swings), 0, 40)
    assert (found.futile, found.verdict.word) == (False, "following_phases")
    still = judge_rows(rows, Context(dram_bytes=GIB), Beside(np.full(40, np.nan), np.full(40, 0.5)), 0, 40)
    assert (still.futile, still.sure) == (True, True)


def test_throughput_that_rises_speaks_for_the_moves_and_level_throughput_against() -> None:
    rows = futile_ledger()
    nothing = np.full(40, np.nan)
    rising = judge_rows(rows, Context(dram_bytes=GIB), Beside(np.linspace(1.0, 2.0, 40), nothing), 0, 40)
    assert not rising.futile
    level = judge_rows(rows, Context(dram_bytes=GIB), Beside(np.ones(40), nothing), 0, 40)
    assert (level.futile, level.sure) == (True, True)


def test_a_service_takes_its_hosts_word_only_where_it_makes_most_of_the_moves() -> None:
    own = Judgement(futile=True, sure=False, verdict=POSSIBLE)
    part = exchange(40)
    quiet_host = exchange(40, promotion_candidates_pages=30_000, hint_faults=300_000, pte_updates=400_000)
    found = judge_with_host(own, part, quiet_host, Context(dram_bytes=GIB))
    assert found.verdict.word != "not_known"
    assert found is not own
    busy_host = exchange(40, promoted_pages=90_000, demoted_pages=90_000)
    assert judge_with_host(own, part, busy_host, Context(dram_bytes=GIB)) is own
    sure = Judgement(futile=True, sure=True, verdict=FUTILE)
    assert judge_with_host(sure, part, quiet_host, Context(dram_bytes=GIB)) is sure


def test_measured_states_need_traffic_and_skip_zero_denominators() -> None:
    def measured(pages: int, candidates: int, again: int) -> Ledger:
        return ledger(
            4,
            missing=(2,),
            promoted_pages=pages,
            demoted_pages=pages,
            promotion_candidates_pages=candidates,
            candidates_demoted=again,
        )

    assert letters(follow_measured(measured(400_000, 100, 40), None, 4096).states) == "cccc"
    assert letters(follow_measured(measured(400_000, 0, 0), None, 4096).states) == "oooo"
    assert letters(follow_measured(measured(4, 100, 40), None, 4096).states) == "oooo"
    assert follow_measured(measured(400_000, 100, 40), None, None).states == (None,) * 4


def test_the_gravest_state_wins() -> None:
    assert gravest([None, "ok", "crit", "warn"]) == "crit"
    assert gravest([None]) is None
