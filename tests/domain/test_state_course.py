"""States over a window: shares of time, stretches, the verdict of it all, and of several hosts together."""

import numpy as np
import pytest

from factories.made_ledgers import UNPRESSED
from tierscope.domain.ledger import COLUMN_INDEX, COLUMN_KEYS, Context, Ledger
from tierscope.domain.ledger.course import Course, follow, join_courses, newest_hour, newest_part

HOUR_ROWS = 60
PAGES = 10_000


def hours(*slow_shares: float, first_s: float = 7200.0, top_pages: int = PAGES) -> Ledger:
    """Minutes of a host on which nothing moves, an hour for each share of bytes at slow memory; NaN: not measured."""
    shares = np.repeat(slow_shares, HOUR_ROWS)
    n = len(shares)
    values = np.zeros((n, len(COLUMN_KEYS)), np.int64)
    present = np.zeros(values.shape, bool)
    slow = np.nan_to_num(shares) * 2**30
    known = np.isfinite(shares)
    columns = {
        "top_resident_bytes": (np.full(n, top_pages * 4096), np.ones(n, bool)),
        "slow_resident_bytes": (np.full(n, PAGES * 4096), np.ones(n, bool)),
        "slow_traffic_bytes": (slow, known),
        "fast_traffic_bytes": (2**30 - slow, known),
        **{key: (np.zeros(n), np.ones(n, bool)) for key in ("promoted_pages", "demoted_pages", *UNPRESSED)},
    }
    for key, (amounts, there) in columns.items():
        values[:, COLUMN_INDEX[key]], present[:, COLUMN_INDEX[key]] = amounts, there
    times_s = first_s + 60.0 * np.arange(1.0, n + 1)
    return Ledger(times_s, np.full(n, 60.0), values, present, np.zeros(n, np.int8))


def course(ledger: Ledger, *, balancing: int = 2, most_parts: int = 288) -> Course:
    """Its course on a kernel that promotes, or not."""
    return follow(ledger, lambda _: Context(balancing=balancing), most_parts=most_parts)


def test_states_are_shares_of_time_and_stretches() -> None:
    found = course(hours(0.02, 0.4, 0.02, 0.02))
    assert [(held.state, held.seconds, held.ratio) for held in found.held] == [
        ("healthy", 3 * 3600.0, 0.75),
        ("stalled", 3600.0, 0.25),
    ]
    assert [(span.start_s, span.end_s, span.state) for span in found.spans] == [
        (7200.0, 10800.0, "healthy"),
        (10800.0, 14400.0, "stalled"),
        (14400.0, 21600.0, "healthy"),
    ]


@pytest.mark.parametrize(
    ("bad_hours", "word", "begins"),
    [(1, "healthy", "Held for 90% of the time"), (2, "stalled", "Held for 20% of the time")],
)
def test_verdict_is_the_gravest_state_that_held_a_fifth(bad_hours: int, word: str, begins: str) -> None:
    found = course(hours(*[0.4] * bad_hours, *[0.02] * (10 - bad_hours)))
    assert found.verdict.word == word
    assert found.verdict.explanation.startswith(begins)


def test_parts_do_not_depend_on_where_the_window_begins() -> None:
    whole = hours(0.02, 0.4, 0.02)
    later = course(whole.rows(slice(37, None)))
    assert [span.state for span in later.spans] == [span.state for span in course(whole).spans]
    assert [span.end_s for span in later.spans] == [span.end_s for span in course(whole).spans]


def test_no_more_parts_are_judged_than_wanted() -> None:
    found = course(hours(*[0.02, 0.4] * 12), most_parts=6)
    assert len(found.spans) <= 6


def test_hours_in_which_nothing_measured_slow_accesses_are_judged_whole() -> None:
    found = course(hours(np.nan, np.nan, np.nan), balancing=0)
    assert (found.verdict.word, [span.state for span in found.spans]) == ("spill", ["spill"])
    assert len(course(hours(np.nan).rows(slice(0, 40))).spans) == 1


def test_hosts_together_show_the_gravest_with_their_number() -> None:
    found = join_courses([course(hours(0.02, 0.02)), course(hours(0.4, 0.4)), course(hours(0.02, 0.02))])
    assert found.verdict.word == "stalled"
    assert found.verdict.explanation.startswith("1 of 3 hosts. The first: ")
    assert [(held.state, round(held.ratio, 3)) for held in found.held] == [("healthy", 0.667), ("stalled", 0.333)]
    assert [span.state for span in found.spans] == ["stalled"]


def test_too_few_rows_have_no_stretches() -> None:
    found = course(hours(0.02).rows(slice(0, 3)))
    assert (found.verdict.word, found.held, found.spans) == ("not_known", (), ())


def test_service_takes_its_hosts_word_where_it_makes_most_of_the_moves() -> None:
    host = hours(0.4)
    for key in ("promoted_pages", "promotion_candidates_pages"):
        host.present[:, COLUMN_INDEX[key]] = True
    host.values[:, COLUMN_INDEX["promotion_candidates_pages"]] = 1000
    host.values[:, COLUMN_INDEX["promoted_pages"]] = 50

    def service(promoted: int) -> str:
        own = hours(0.4)
        own.values[:, COLUMN_INDEX["promoted_pages"]] = promoted
        limited = Context(balancing=2, promote_limit_mib_per_s=0.1)
        return follow(own, lambda _: limited, around=host).verdict.word

    assert service(40) == "limiter_bound"
    assert service(10) == "stalled"


def test_services_own_loads_decide_and_its_hosts_counters_say_why() -> None:
    own, host = hours(0.02), hours(0.02)
    for key in ("promoted_pages", "demoted_pages"):
        own.present[:, COLUMN_INDEX[key]] = False
    for key, amount in (("fast_loads", 60), ("slow_loads", 40)):
        own.present[:, COLUMN_INDEX[key]] = True
        own.values[:, COLUMN_INDEX[key]] = amount
    context = Context(balancing=2)
    assert follow(host, lambda _: context).verdict.word == "healthy"
    found = follow(own, lambda _: context, around=host).verdict
    assert (found.word, found.evidence[0].name) == ("stalled", "slow_share_of_sampled_loads")


def test_size_of_the_memory_beside_a_service_changes_no_word() -> None:
    words = {course(hours(0.3, 0.3, top_pages=PAGES * factor)).verdict.word for factor in (1, 10, 100)}
    assert words == {"stalled"}


def test_newest_part_is_ten_minutes_where_slow_accesses_are_measured() -> None:
    assert len(newest_part(hours(0.02)).times_s) == 10
    assert len(newest_part(hours(np.nan, np.nan)).times_s) == 60
    assert len(newest_part(hours(0.02).rows(slice(0, 3))).times_s) == 3


def test_the_newest_hour_ends_with_the_newest_row_and_holds_none_from_before_a_gap() -> None:
    ledger = hours(0.02, 0.02)
    newest = newest_hour(ledger)
    assert newest.times_s.tolist() == ledger.times_s[HOUR_ROWS:].tolist()
    away = ledger.times_s.copy()
    away[: HOUR_ROWS + 44] -= 86_400.0
    returned = newest_hour(Ledger(away, ledger.dt_seconds, ledger.values, ledger.present, ledger.cause))
    assert returned.times_s.tolist() == ledger.times_s[HOUR_ROWS + 44 :].tolist()
    assert len(newest_hour(ledger.rows(ledger.times_s < 0)).times_s) == 0
