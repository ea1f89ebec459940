"""Queries that are drawn from the grammar, by many viewers at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from attack.assault import Assault
from factories.promql_queries import Drawn

SELECTORS = (
    '{__name__=~"tierscope_host.*"}',
    '{__name__=~"tierscope_.*"} offset 1h',
    "tierscope_host_promoted_pages_total",
)
KNOWN = (
    "changes(vector(1)[115d:1s])",
    'count_over_time(histogram_quantile(0.9,label_replace(vector(1),"le","+Inf","",""))[10d:1s])',
    "label_join(" * 27 + 'label_replace(vector(1),"a","xxxxxxxx","","")' + ',"a","","a","a")' * 27,
)
VIEWERS = 45
"""That ask at once, more than the service has threads."""
_ANSWERS = (200, 400, 422, 503)


def attack(assault: Assault) -> None:
    """As many at once as there are viewers, while others are served."""
    drawn = [Drawn(assault.dice.randrange(1 << 30), SELECTORS).query() for _ in range(assault.of(150, 6))]
    queries = [query for query in (*KNOWN, *drawn) if len(query) <= 10_000]
    with ThreadPoolExecutor(VIEWERS) as viewers:
        for first in range(0, len(queries), VIEWERS):
            some = queries[first : first + VIEWERS]
            beside = [viewers.submit(_ask, assault, query) for query in some]
            assault.ask(
                "GET", "/v1/session", headers=assault.arena.admin, expect=(200,), what="a session beside queries"
            )
            for one in beside:
                one.result()


def _ask(assault: Assault, query: str) -> None:
    asked = {"query": query, "start": "0", "end": "3600", "step": "15"}
    for path in ("query", "query_range"):
        assault.ask(
            "POST",
            f"/prometheus/api/v1/{path}",
            headers=assault.arena.admin,
            data=asked,
            expect=_ANSWERS,
            what=f"a query of {len(query)} characters: {query[:200]}",
        )
