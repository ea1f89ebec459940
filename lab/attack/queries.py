"""Questions that are drawn from all that may be asked, bred for what they cost, and asked by many viewers at once."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from attack import application
from attack.arena import MOST_OVER_IDLE_MIB
from attack.assault import Assault
from factories.api_watch import forget_peak, memory_mib, watching
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
KEPT = 15
SEARCH_SECONDS = 150.0
MOST_HEALTH_MS = 200.0
MOST_ENROL_SECONDS = 2.0
_ANSWERS = (200, 400, 403, 404, 409, 413, 422, 429, 503)
_TIMES = ("-1h", "-1d", "-7d", "-90d", "-400d", "-3000d")
_NUMBERS = (1, 100, 1000, 2000, 100_000)


@dataclass(frozen=True, slots=True)
class Question:
    """One of them: `texts` are parameters of the address, or the fields of a form."""

    method: str
    path: str
    texts: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """As a finding names it."""
        return f"{self.method} {self.path} {dict(self.texts)}"[:240]


def attack(assault: Assault) -> None:
    """Looks for what costs most, then has all viewers ask it while others are served."""
    drawn = Drawn(assault.dice.randrange(1 << 30), SELECTORS)
    makers = list(_readers(assault))
    some = [_promql(query) for query in KNOWN]
    some += [make() for make in assault.some(makers, 6)]
    some += [_promql(drawn.query()) for _ in range(assault.of(30, 2))]
    worst: list[tuple[float, Question]] = []
    ends_at = time.perf_counter() + SEARCH_SECONDS
    for _ in range(assault.of(4, 1)):
        within = (one for one in some if time.perf_counter() < ends_at and len(str(dict(one.texts))) <= 10_000)
        worst += [(_cost(assault, one), one) for one in within]
        worst = sorted(worst, key=lambda found: -found[0])[:KEPT]
        some = [_worse(assault, drawn, one) for _, one in worst for _ in range(2)]
    assault.notes += [f"{cost:.2f}: {one}" for cost, one in worst[:3]]
    _besiege(assault, [one for _, one in worst])


def _promql(query: str) -> Question:
    texts = (("query", query), ("start", "0"), ("end", "3600"), ("step", "15"))
    return Question("POST", "/prometheus/api/v1/query_range", texts)


def _readers(assault: Assault) -> Iterator[Callable[[], Question]]:
    """What draws a question, of each operation that reads."""
    for path, methods in application.document()["paths"].items():
        if "get" in methods and not path.startswith(("/v1/login", "/v1/agent/", "/prometheus", "/healthz", "/readyz")):
            yield partial(_draw, assault, path, methods["get"])


def _draw(assault: Assault, path: str, operation: dict[str, Any]) -> Question:
    ids = assault.arena.made.ids
    named = [ids.get(part.strip("{}"), ["none"])[0] if part.startswith("{") else part for part in path.split("/")]
    asked = [one for one in operation.get("parameters", []) if one.get("in") == "query"]
    texts = [(one["name"], _value(assault, one)) for one in asked if one.get("required") or assault.dice.random() < 0.6]
    return Question("GET", "/".join(map(quote, named)), tuple(texts))


def _value(assault: Assault, parameter: dict[str, Any]) -> str:
    """One that means as much as may be."""
    name, schema = parameter["name"], parameter["schema"]
    choices = schema.get("enum") or next((one["enum"] for one in schema.get("anyOf", []) if "enum" in one), None)
    if choices:
        return str(assault.dice.choice(choices))
    if name in ("from", "other_from"):
        return assault.dice.choice(_TIMES)
    if name in ("match", "match[]"):
        return assault.dice.choice((SELECTORS[0], '{__name__=~".+"}'))
    if name in ("to", "other_to", "at"):
        return "-0s"
    if schema.get("type") in ("integer", "number"):
        within = [n for n in _NUMBERS if schema.get("minimum", 0) <= n <= schema.get("maximum", n)]
        return str(assault.dice.choice(within or [schema.get("maximum", 1)]))
    known = assault.arena.made.ids.get(f"{name}_id", ["x"])
    return assault.dice.choice(known)


def _worse(assault: Assault, drawn: Drawn, one: Question) -> Question:
    """A relative of a costly question that may cost more."""
    texts = dict(one.texts)
    if "query" in texts and one.method == "POST":
        texts["query"] = drawn.around(texts["query"])
    elif texts:
        longer = {"from": _TIMES, "max_points": ("2000",), "limit": ("1000",), "format": ("parquet", "csv", "json")}
        name = assault.dice.choice(sorted(texts))
        texts[name] = assault.dice.choice(longer.get(name, (texts[name],)))
    return Question(one.method, one.path, tuple(texts.items()))


def _cost(assault: Assault, one: Question) -> float:
    """Seconds, and a quarter for each 10 MiB that the process ever had more."""
    pid = assault.arena.api.pid
    forget_peak(pid)
    before, _ = memory_mib(pid)
    begin = time.perf_counter()
    _ask(assault, one)
    seconds = time.perf_counter() - begin
    _, peak = memory_mib(pid)
    if peak - assault.arena.idle_mib > MOST_OVER_IDLE_MIB:
        assault.found(f"one question took {peak - before:.0f} MiB: {one}")
    return seconds + (peak - before) / 40


def _besiege(assault: Assault, worst: list[Question]) -> None:
    """All viewers ask the worst, each on its own, while somebody enrols hosts and looks around."""
    pid = assault.arena.api.pid
    forget_peak(pid)
    access = assault.arena.access
    join = access.create_join_token(uses=None, actor="attack").secret
    secrets = [
        access.create_api_token(role="viewer", note=f"viewer {n}", lifetime=None, actor="attack").secret
        for n in range(assault.of(VIEWERS, 6))
    ]
    viewers = [{"Authorization": f"Bearer {secret}"} for secret in secrets]
    waits: list[float] = []
    with ThreadPoolExecutor(len(viewers)) as pool, watching(assault.arena.api.port) as watched:
        pending = [
            pool.submit(_ask, assault, worst[(n + turn) % len(worst)], headers)
            for turn in range(assault.of(3, 1))
            for n, headers in enumerate(viewers)
        ]
        while not all(one.done() for one in pending):
            for method, path, headers, body in (
                ("POST", "/v1/agents/enrol", {}, {"join_token": join, "hostname": f"n{len(waits)}"}),
                ("GET", "/v1/session", assault.arena.admin, None),
            ):
                begin = time.perf_counter()
                assault.ask(
                    method, path, headers=headers, expect=(200, 201), what=f"{path} beside questions", json=body
                )
                waits.append(time.perf_counter() - begin)
        for one in pending:
            one.result()
    _, peak = memory_mib(pid)
    assault.notes.append(
        f"{len(viewers)} viewers: {assault.arena.idle_mib:.0f} MiB when idle, {peak:.0f} MiB at most;"
        f" enrolment and sessions {max(waits):.2f} s at most; /healthz p99 {watched.percentile_ms(0.99):.0f} ms"
    )
    if not assault.small and max(waits) > MOST_ENROL_SECONDS:
        assault.found(f"an enrolment or a session waited {max(waits):.2f} s")
    if not assault.small and watched.percentile_ms(0.99) > MOST_HEALTH_MS:
        assault.found(f"/healthz p99 was {watched.percentile_ms(0.99):.0f} ms")


def _ask(assault: Assault, one: Question, headers: dict[str, str] | None = None) -> None:
    sent: dict[str, Any] = {"data" if one.method == "POST" else "params": dict(one.texts)}
    assault.ask(
        one.method, one.path, headers=headers or assault.arena.admin, expect=_ANSWERS, what=f"a question: {one}", **sent
    )
