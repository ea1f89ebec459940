"""What a query of PromQL may take: memory is bounded whatever the grammar allows, and time is looked at all the way."""

import tracemalloc
from itertools import count

import numpy as np
import pytest

from factories.promql_queries import Drawn
from fixtures.draws import drawn
from tierscope.domain.promql.budget import LABEL_CHARACTERS, Budget, TimedOut
from tierscope.domain.promql.evaluate import Steps, demands, evaluate
from tierscope.domain.promql.parsing import parse_query
from tierscope.domain.promql.series import LOOKBACK_MS, QueryError, Series, TooMuch, Value, Vector, make_labels
from tierscope.usecases.promql.answers import matrix_body, show_range

NOW_MS = 1_800_000_000_000
BYTES = 4 << 20
BESIDE = 2 << 20
"""What the interpreter takes for nodes, small objects and labels of the answer, beside what is counted."""
SERIES = 40


def stored(n_series: int, n_samples: int) -> list[Series]:
    """Series of one sample a minute until now."""
    times_ms = NOW_MS - 60_000 * np.arange(n_samples, dtype=np.int64)[::-1]
    values = np.arange(n_samples, dtype=np.float64)
    return [
        Series(make_labels({"__name__": "held", "a": str(row % 4), "b": str(row)}), times_ms, values, LOOKBACK_MS)
        for row in range(n_series)
    ]


def run(query: str, budget: Budget, steps: Steps | None = None, some: list[Series] | None = None) -> Value:
    node = parse_query(query)
    steps = steps or Steps(NOW_MS, NOW_MS, 0)
    series = {selector: some or stored(SERIES, 500) for selector in demands(node, steps)}
    return evaluate(node, steps, series, budget)


def peak_bytes(query: str, budget: Budget, steps: Steps | None = None) -> tuple[int, bool]:
    some = stored(SERIES, 500)
    tracemalloc.start()
    try:
        value = run(query, budget, steps, some)
        if steps is not None and isinstance(value, Vector):
            matrix_body(show_range(value, steps), budget)
        answered = True
    except QueryError:
        answered = False
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak, answered


def doubled(depth: int) -> str:
    """A label that is twice as long at each level."""
    query = 'label_join(vector(1), "a", "", "b")'
    query = f'label_replace({query}, "a", "xxxxxxxx", "", "")'
    for _ in range(depth):
        query = f'label_join({query}, "a", "", "a", "a")'
    return query


@pytest.mark.parametrize(
    "query",
    [
        "changes(vector(1)[115d:1s])",
        "max_over_time(changes(vector(1)[10d:1s])[30d:1s])",
        "count_over_time((held)[10d:1s])",
        doubled(27),
        'label_replace(label_join(held, "a", "", "__name__", "b"), "a", "' + "$1" * 3000 + '", "a", "(.*)")',
        " or ".join(f'label_replace(held, "c", "{n}", "", "")' for n in range(60)) + " or vector(1)",
        "held * on () group_left () count_over_time(vector(1)[115d:1s])",
    ],
)
def test_what_makes_much_of_little_is_refused_before_it_is_made(query: str) -> None:
    peak, answered = peak_bytes(query, Budget(n_bytes=BYTES), Steps(NOW_MS - 86_400_000, NOW_MS, 15_000))
    assert not answered
    assert peak < BYTES + BESIDE


def test_a_label_has_at_most_so_many_characters() -> None:
    with pytest.raises(TooMuch, match="characters"):
        run(doubled(20), Budget())
    value = run(doubled(9), Budget())
    assert isinstance(value, Vector)
    assert len(dict(value.labels[0])["a"]) == LABEL_CHARACTERS


@pytest.mark.parametrize(
    "query",
    [
        'count_over_time(histogram_quantile(0.9, label_replace(vector(1), "le", "+Inf", "", ""))[1d:1s])',
        "quantile(0.5, held)",
        "stddev_over_time(held[1h])",
        "quantile_over_time(0.5, held[1h])",
        "deriv(held[1h])",
        "rate(held[5m])",
        "held",
        "topk(1, held) by (b)",
        "held + on (b) held",
    ],
)
def test_the_clock_is_looked_at_all_the_way(query: str) -> None:
    looks = count()
    steps = Steps(NOW_MS - 3_600_000, NOW_MS, 60_000)
    run(query, Budget(clock=lambda: float(next(looks) * 0)), steps)
    n_looks = next(looks)
    assert n_looks > 3
    looks = count()
    with pytest.raises(TimedOut, match="longer than 10 s"):
        run(query, Budget(clock=lambda: 11.0 * (next(looks) >= n_looks - 2)), steps)


def test_a_query_ends_with_its_client() -> None:
    budget = Budget()
    budget.cancel()
    with pytest.raises(TimedOut, match="gone"):
        run("held", budget)


def test_what_fits_is_answered_with_its_values() -> None:
    peak, answered = peak_bytes("sum by (a) (rate(held[5m]))", Budget(n_bytes=BYTES), Steps(NOW_MS, NOW_MS, 0))
    assert answered
    assert peak < BYTES


@pytest.mark.parametrize("seed", range(drawn(200)))
def test_no_query_of_the_grammar_takes_more_than_it_may(seed: int) -> None:
    drawn_queries = Drawn(seed, ("held", 'held{a="1"}', "held offset 1h"))
    query = next(query for query in iter(drawn_queries.query, None) if len(query) <= 10_000)
    ends = count()
    budget = Budget(n_bytes=BYTES, clock=lambda: next(ends) / 20_000)  # of looks, not of seconds
    peak, _ = peak_bytes(query, budget, Steps(NOW_MS - 3_600_000, NOW_MS, 60_000))
    assert peak < BYTES + BESIDE, query
