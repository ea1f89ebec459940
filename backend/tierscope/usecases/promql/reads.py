"""Queries in PromQL, and which series there are: what clients of Prometheus ask."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

import numpy as np

import tierscope
from tierscope.core.database import ReadSession
from tierscope.domain.promql.budget import Budget
from tierscope.domain.promql.evaluate import Demand, Steps, demands, evaluate, make_steps
from tierscope.domain.promql.nodes import Matcher, Node, Selector
from tierscope.domain.promql.parsing import check_patterns, parse_matchers, parse_query
from tierscope.domain.promql.series import Labels, QueryError, Scalar, Series, TooMuch, Vector
from tierscope.domain.promql.times import LAST_MS, parse_duration_ms, parse_time_ms
from tierscope.storage.base.binary import from_us
from tierscope.storage.ingest.sample_core import load_core
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.promql.answers import (
    Build,
    BuildAnswer,
    MetadataAnswer,
    RangeSeries,
    SeriesAnswer,
    TextsAnswer,
    answer_body,
    matrix_body,
    show_instant,
    show_range,
    show_samples,
)
from tierscope.usecases.promql.heat import ServiceHeat
from tierscope.usecases.promql.ledgers import LedgerHistory
from tierscope.usecases.promql.pod_counters import PodCounters
from tierscope.usecases.promql.pods import PodInfo
from tierscope.usecases.promql.sources import MetricHelp, Span, check_samples
from tierscope.usecases.promql.written import WrittenSeries

SPOKEN = "2.45.0"
"""The Prometheus whose expressions are understood: the parser's."""
LISTED = timedelta(hours=6)
"""The stretch whose series are listed where no start is given."""
SELECTORS_MAX = 20
_LABEL_BYTES = 120


class PromQueries:
    """Expressions over all series that are stored."""

    def __init__(self, context: ReadContext) -> None:
        self._context = context
        self._ledgers = LedgerHistory()
        self._heat = ServiceHeat()
        self._pods = PodInfo()
        self._pod_counters = PodCounters()
        self._metrics: Mapping[str, MetricHelp] = (
            self._ledgers.metrics | self._heat.metrics | self._pods.metrics | self._pod_counters.metrics
        )
        self._written = WrittenSeries(tuple(self._metrics))

    def instant(self, query: str, time: str | None, budget: Budget | None = None) -> bytes:
        """The value of an expression at a moment: Unix seconds or RFC 3339, now where none is given; a `QueryAnswer`.

        Raises:
            QueryError: the query is none, or cannot be answered.
            TooMuch: it needs more than one query may.
            TimedOut: it takes longer than one query may.
        """
        budget = budget or Budget()
        at_ms = self._time_ms("time", time)
        steps = Steps(at_ms, at_ms, 0)
        node = parse_query(query)
        series = self._load(node, steps, budget)
        if isinstance(node, Selector) and node.range_ms is not None:
            return matrix_body(_raw(node, steps, series[node]), budget)
        return answer_body(show_instant(evaluate(node, steps, series, budget), steps))

    def range(self, query: str, start: str, end: str, step: str, budget: Budget | None = None) -> bytes:
        """The values of an expression at steps of a range: a `QueryAnswer`.

        Raises:
            QueryError: the query or the range is none, or cannot be answered.
            TooMuch: it needs more than one query may.
            TimedOut: it takes longer than one query may.
        """
        budget = budget or Budget()
        first, last = parse_time_ms("start", start), parse_time_ms("end", end)
        steps = make_steps(first, last, parse_duration_ms("step", step))
        node = parse_query(query)
        value = evaluate(node, steps, self._load(node, steps, budget), budget)
        if isinstance(value, Scalar):
            value = Vector(((),), value.values[None, :], np.ones((1, len(value.values)), bool))
        if not isinstance(value, Vector):
            raise QueryError('invalid expression type "string" for range query, must be Scalar or instant Vector')
        return matrix_body(show_range(value, steps), budget)

    def series(self, match: Sequence[str], start: str | None, end: str | None) -> SeriesAnswer:
        """Labels of all series that any selector means.

        Raises:
            QueryError: a selector or a time is none, or there is no selector.
            TooMuch: they are too many.
        """
        if not match:
            raise QueryError("no match[] parameter provided")
        span = self._span(start, end)
        found: set[Labels] = set()
        with self._context.database.read() as session:
            for matchers in _parse_all(match):
                found.update(self._own(session, matchers, span))
                found.update(self._written.find(session, matchers))
        return SeriesAnswer("success", [dict(labels) for labels in sorted(found)])

    def names(self, match: Sequence[str], start: str | None, end: str | None) -> TextsAnswer:
        """Names of labels of the series that any selector means, of all series without one.

        Raises:
            QueryError: a selector or a time is none.
            TooMuch: the series are too many.
        """
        span = self._span(start, end)
        found: set[str] = set()
        with self._context.database.read() as session:
            for matchers in _parse_all(match) or [()]:
                found.update(name for labels in self._own(session, matchers, span) for name, _ in labels)
                found.update(self._written.names(session, matchers))
        return TextsAnswer("success", sorted(found))

    def values(self, label: str, match: Sequence[str], start: str | None, end: str | None) -> TextsAnswer:
        """Values of a label of the series that any selector means, of all series without one.

        Raises:
            QueryError: a selector or a time is none.
            TooMuch: the series are too many.
        """
        span = self._span(start, end)
        found: set[str] = set()
        with self._context.database.read() as session:
            for matchers in _parse_all(match) or [()]:
                own = self._own(session, matchers, span)
                found.update(value for labels in own for name, value in labels if name == label)
                found.update(self._written.values(session, label, matchers))
        return TextsAnswer("success", sorted(found))

    def read_remote(self, body: bytes, budget: Budget | None = None) -> bytes:
        """The answer to a compressed request of Prometheus' remote read, compressed: samples of each of its selectors.

        Raises:
            QueryError: the body is no such request, or a condition is none.
            TooMuch: the request, or what it asks for, is too much.
            TimedOut: it takes longer than one query may.
        """
        budget = budget or Budget()
        core = load_core()
        try:
            asked = core.read_selectors(body, SELECTORS_MAX)
        except OverflowError as error:
            raise TooMuch(str(error)) from error
        except ValueError as error:
            raise QueryError(str(error)) from error
        results = []
        n_samples = 0
        with self._context.database.read() as session:
            for start_ms, end_ms, conditions in asked:
                matchers = tuple(Matcher(*condition) for condition in conditions)
                check_patterns(matchers)
                # A demand begins after its first moment, a selector of remote read with it.
                demand = _within_time(Demand(start_ms - 1, end_ms, None))
                some = [_cut(one, demand) for one in self._select(session, Selector(matchers), demand)]
                some = sorted((one for one in some if len(one.times_ms)), key=lambda one: one.labels)
                n_samples += sum(len(one.times_ms) for one in some)
                check_samples(n_samples, "the request means")
                budget.keep(2 * _held_bytes(some))  # they are written anew
                results.append([(list(one.labels), one.times_ms, one.values) for one in some])
        answer: bytes = core.read_answer(results)
        return answer

    def metadata(self, metric: str | None, limit: int | None) -> MetadataAnswer:
        """What the service's own metrics are."""
        some = {name: told for name, told in sorted(self._metrics.items()) if metric in (None, "", name)}
        shown = list(some.items())[: None if limit is None or limit < 0 else limit]
        return MetadataAnswer("success", {name: [told] for name, told in shown})

    def build(self) -> BuildAnswer:
        """What answers, as clients ask before they query."""
        return BuildAnswer("success", Build(SPOKEN, f"tierscope-{tierscope.__version__}", "", "", "", ""))

    def _time_ms(self, name: str, text: str | None) -> int:
        return round(self._context.clock().timestamp() * 1e3) if not text else parse_time_ms(name, text)

    def _span(self, start: str | None, end: str | None) -> Span:
        last_ms = self._time_ms("end", end)
        first_ms = parse_time_ms("start", start) if start else last_ms - LISTED // timedelta(milliseconds=1)
        return Span(from_us(first_ms * 1000), from_us(last_ms * 1000))

    def _own(self, session: ReadSession, matchers: Sequence[Matcher], span: Span) -> list[Labels]:
        now = self._context.clock()
        return [
            *self._ledgers.find(session, matchers, span),
            *self._heat.find(session, matchers, span, now=now),
            *self._pods.find(session, matchers, span),
            *self._pod_counters.find(session, matchers, span, now=now),
        ]

    def _load(self, node: Node, steps: Steps, budget: Budget) -> dict[Selector, list[Series]]:
        """The series of all selectors of an expression, read at one state of the database."""
        wanted = demands(node, steps)
        if len(wanted) > SELECTORS_MAX:
            raise TooMuch(f"a query has at most {SELECTORS_MAX} different selectors, not {len(wanted)}")
        found: dict[Selector, list[Series]] = {}
        n_samples = 0
        with self._context.database.read() as session:
            for selector, demand in wanted.items():
                budget.check()
                found[selector] = self._select(session, selector, _within_time(demand))
                budget.keep(_held_bytes(found[selector]))
                n_samples += sum(len(one.times_ms) for one in found[selector])
                check_samples(n_samples, "the query loads")
        return found

    def _select(self, session: ReadSession, selector: Selector, demand: Demand) -> list[Series]:
        now = self._context.clock()
        return [
            *self._ledgers.select(session, selector.matchers, demand, now=now),
            *self._heat.select(session, selector.matchers, demand, now=now),
            *self._pods.select(session, selector.matchers, demand, now=now),
            *self._pod_counters.select(session, selector.matchers, demand, now=now),
            *self._written.select(session, selector.matchers, demand, now=now),
        ]


def _within_time(demand: Demand) -> Demand:
    """The same as far as there are dates."""
    first_ms, last_ms = (min(max(at_ms, 0), LAST_MS) for at_ms in (demand.first_ms, demand.last_ms))
    return Demand(first_ms, last_ms, demand.range_ms)


def _cut(one: Series, demand: Demand) -> Series:
    """The samples that a demand is about."""
    within = slice(*np.searchsorted(one.times_ms, (demand.first_ms, demand.last_ms), "right").tolist())
    return Series(one.labels, one.times_ms[within], one.values[within], one.lookback_ms)


def _parse_all(match: Sequence[str]) -> list[tuple[Matcher, ...]]:
    if len(match) > SELECTORS_MAX:
        raise QueryError(f"a request has at most {SELECTORS_MAX} selectors, not {len(match)}")
    return [parse_matchers(text) for text in match]


def _held_bytes(some: Sequence[Series]) -> int:
    """What series take: their samples, and their labels."""
    return sum(one.times_ms.nbytes + one.values.nbytes + _LABEL_BYTES * len(one.labels) for one in some)


def _raw(node: Selector, steps: Steps, some: Sequence[Series]) -> Iterator[RangeSeries]:
    """The samples themselves of a range before a moment."""
    demand = demands(node, steps)[node]
    for one in some:
        known = _cut(one.known(), demand)
        if len(known.times_ms):
            yield show_samples(one.labels, known.times_ms.tolist(), known.values.tolist())
