"""PromQL over arrays: what is refused and how, samples that end, counters made of differences."""

import threading
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.domain.ingest.prometheus.stale import STALE
from tierscope.domain.promql.counters import DAY_MS, count_up
from tierscope.domain.promql.evaluate import Steps, demands, evaluate, make_steps
from tierscope.domain.promql.nodes import Selector
from tierscope.domain.promql.parsing import DEPTH_MAX, OPERATORS_MAX, TEXT_MAX, parse_matchers, parse_query
from tierscope.domain.promql.series import (
    ExecutionError,
    QueryError,
    Scalar,
    Series,
    TooMuch,
    Value,
    Vector,
    make_labels,
)
from tierscope.domain.promql.times import parse_duration_ms, parse_time_ms

MINUTE_MS = 60_000


def series(name: str, times_ms: list[int], values: list[float], **labels: str) -> Series:
    return Series(make_labels({"__name__": name, **labels}), np.array(times_ms, np.int64), np.array(values, float))


def value_of(query: str, steps: Steps, *some: Series) -> Value:
    """The value of a query whose selectors name one metric each."""
    node = parse_query(query)
    wanted = {selector: selector.matchers[0].value for selector in demands(node, steps)}
    return evaluate(node, steps, {one: [s for s in some if s.labels[0][1] == name] for one, name in wanted.items()})


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("sum(", "parse error"),
        ("nothing_known(a)", "nothing_known"),
        ("sin(a)", r"function sin\(\) is not supported; these are: abs, "),
        ('count_values("v", a)', "aggregation count_values is not supported"),
        ('a{x="1" or y="2"}', "`or` within braces"),
        ('a{x=~"(?=b)"}', "illegal regex"),
        ('a{x=~"' + "b" * 3000 + '"}', "at most 2000"),
        ("a @ -5", "before 1970"),
        ("a @ 1e15", "after the year 9999"),
        ("a @ 253402300800", "after the year 9999"),
        ("a[999999999y]", "longer than a century"),
        ("a offset -101y", "at most a century"),
        ("a[0s]", "longer than nothing|greater than 0"),
        ("(" * (DEPTH_MAX + 1) + "a" + ")" * (DEPTH_MAX + 1), "nested at most"),
        ("-" * (OPERATORS_MAX + 1) + "a", "at most 200 operators"),
        ("a" * (TEXT_MAX + 1), "characters"),
    ],
)
def test_what_is_not_answered_is_refused_by_name(query: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        parse_query(query)


def test_the_deepest_query_that_is_taken_needs_little_of_a_stack() -> None:
    deepest = [
        "(" * DEPTH_MAX + "-" * OPERATORS_MAX + "a" + ")" * DEPTH_MAX,
        "sum(" * DEPTH_MAX + "a" + ")" * DEPTH_MAX,
        "^".join(["a"] * (OPERATORS_MAX + 1)),
    ]
    parsed: list[object] = []
    before = threading.stack_size(1 << 20)
    try:
        thread = threading.Thread(target=lambda: parsed.extend(map(parse_query, deepest)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert len(parsed) == len(deepest)


def test_quotes_and_comments_are_no_operators() -> None:
    found = parse_query('a{x="' + "-+(" * 300 + '"} # ' + "((((" * 100)
    assert isinstance(found, Selector)


@pytest.mark.parametrize("text", ["a[5m]", "a offset 1m", "a @ 5", "sum(a)", "1"])
def test_a_match_is_a_plain_selector(text: str) -> None:
    with pytest.raises(QueryError, match="no selector"):
        parse_matchers(text)


@given(st.text(alphabet="a[]{}()\"'`#,=~!@:+-*/ 0123456789mso", max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with suppress(QueryError):
        assert parse_query(text) is not None


def test_a_series_stands_for_its_lookback_and_ends_where_it_says_so() -> None:
    steps = Steps(0, 10 * MINUTE_MS, MINUTE_MS)
    ended = series("a", [0, MINUTE_MS, 2 * MINUTE_MS], [1, 2, STALE])
    held = series("a", [0, MINUTE_MS], [1, 2], x="y")
    found = value_of("a", steps, ended, held)
    assert isinstance(found, Vector)
    assert found.present.sum(axis=1).tolist() == [2, 6]  # a sample at the minute 1 is gone five minutes later


def test_a_subquery_runs_at_steps_of_its_own() -> None:
    ramp = series("a", [n * MINUTE_MS for n in range(20)], [float(n) for n in range(20)])
    found = value_of("sum_over_time(a[5m:1m])", Steps(10 * MINUTE_MS, 10 * MINUTE_MS, 0), ramp)
    assert isinstance(found, Vector)
    assert found.values.tolist() == [[6 + 7 + 8 + 9 + 10]]


def test_demands_reach_as_far_back_as_ranges_offsets_and_subqueries_do() -> None:
    steps = Steps(100 * MINUTE_MS, 200 * MINUTE_MS, MINUTE_MS)
    ((_, demand),) = demands(parse_query("max_over_time(rate(a[5m] offset 2m)[10m:1m])"), steps).items()
    assert (demand.first_ms, demand.last_ms) == ((100 - 10 - 2 - 5) * MINUTE_MS, 198 * MINUTE_MS)
    ((_, fixed),) = demands(parse_query("a @ start()"), steps).items()
    assert (fixed.first_ms, fixed.last_ms) == (steps.start_ms, steps.start_ms)


def test_series_of_equal_labels_are_no_vector() -> None:
    some = [series(name, [0], [1.0]) for name in ("a", "b")]
    node = parse_query('abs({__name__=~"a|b"})')
    (selector,) = demands(node, Steps(0, 0, 0))
    assert isinstance(selector, Selector)
    with pytest.raises(ExecutionError, match="same labelset"):
        evaluate(node, Steps(0, 0, 0), {selector: some})


def test_too_many_points_and_windows_are_refused() -> None:
    with pytest.raises(QueryError, match="11,000 points"):
        make_steps(0, 11_000_000, 1000)
    many = [series("a", [0], [1.0], x=str(n)) for n in range(30)]
    with pytest.raises(TooMuch, match="windows"):
        value_of("deriv(a[5m])", make_steps(0, 10_000_000, 1000), *many)


def test_windows_that_hold_too_many_samples_are_refused_where_each_is_looked_at() -> None:
    long = series("a", list(range(0, 30_000_000, 1000)), [float(n) for n in range(30_000)])
    steps = make_steps(20_000_000, 30_000_000, 1000)
    with pytest.raises(TooMuch, match="50,000,000 samples"):
        value_of("max_over_time(a[5h])", steps, long)
    found = value_of("rate(a[5h])", steps, long)
    assert isinstance(found, Vector)
    assert found.values[0, -1] == pytest.approx(1)


def test_a_number_is_a_scalar_at_each_step() -> None:
    found = value_of("1 + 2", Steps(0, 2000, 1000))
    assert isinstance(found, Scalar)
    assert found.values.tolist() == [3, 3, 3]


@given(
    st.lists(st.integers(0, 1000), min_size=2, max_size=60),
    st.integers(1, 10),
    st.integers(0, 10_000),
)
def test_what_a_counter_gains_is_what_its_differences_say(gains: list[int], hours: int, before: int) -> None:
    """However many midnights lie between, the increase over all intervals but the first is their sum."""
    times = np.array([n * hours * 3_600_000 for n in range(1, len(gains) + 1)], np.int64)
    at, values = count_up(times, np.array(gains, float), float(before))
    assert (np.diff(at) > 0).all()
    steps = np.diff(values)
    resets = values[:-1][steps < 0].sum()
    assert values[-1] - values[0] + resets == pytest.approx(sum(gains[1:]))
    assert set(times) <= set(at.tolist())


def test_a_counter_never_falls_within_a_day() -> None:
    at = np.array([DAY_MS + n * MINUTE_MS for n in range(1, 5)], np.int64)
    _, values = count_up(at, np.array([5.0, -2.0, 1.0, 4.0]), 0.0)
    assert values.tolist() == [5, 5, 5, 8]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1.5", 1500), ("1970-01-01T00:01:00Z", 60_000), ("1970-01-01T01:00:00 01:00", 0), ("2026-11-25T00:00:00Z", None)],
)
def test_times_are_seconds_or_rfc_3339(text: str, expected: int | None) -> None:
    assert parse_time_ms("time", text) == (1_795_564_800_000 if expected is None else expected)


@pytest.mark.parametrize("text", ["", "yesterday", "-1", "1e99", "nan", "2026-11-25T00:00:00"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(QueryError, match='invalid parameter "time"'):
        parse_time_ms("time", text)


def test_steps_are_seconds_or_durations() -> None:
    assert [parse_duration_ms("step", text) for text in ("15", "0.5", "1m30s", "1d", "5ms")] == [
        15_000,
        500,
        90_000,
        DAY_MS,
        5,
    ]
    with pytest.raises(QueryError, match='invalid parameter "step"'):
        parse_duration_ms("step", "soon")
