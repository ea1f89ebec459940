"""How long people wait for what the API answers: every read of its contract that needs no secret, on a demonstration.

The demonstration is one that runs on this machine (`make demo`), with its workers and the hosts that report to it. Ids
are those of its largest service and first host; what it holds none of is left out, and told. Where another build's
demonstration runs beside it (`TIERSCOPE_BENCH_BESIDE`), both are asked in turn, and its times are the reference.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import orjson

from bench.figures import Row, Section, median
from bench.landing import address, beside
from bench.service_page import p95

ROUNDS = 5
FIRST_MS, WARM_MS, RATIO_MS = 400, 100, 50
SLOWEST = 10
RATIO = "/v1/services/{service_id}/ratio"
SCENARIOS = "/v1/scenarios/presets"
GOALS = {
    "/v1/fleet?from=-6h": 1 / 4,
    "/v1/services/{service_id}/heat": 1 / 4,
    "/v1/services/{service_id}/curve": 1 / 4,
    "/v1/hosts/{host_id}/knob-advice": 1 / 2,
}
"""The most that a read may take of the other build's time."""
AHEAD_GOAL = 1 / 40
"""The same of what workers make before it is asked for: ratios, and scenarios at their first call."""
_CONTRACT = Path(__file__).parents[2] / "contract" / "openapi.json"
_REFUSED = 400
_LISTS = {"advice_id": "advice", "alert_id": "alerts", "rule_id": "rules", "sweep_id": "sweeps"}


class Demonstration:
    """One that answers, with ids of its own and the milliseconds that each read has taken."""

    def __init__(self, client: httpx.Client, service: str | None = None) -> None:
        self._client = client
        services = sorted(self._items("services"), key=lambda one: -one["n_hosts_with_heat"])
        [largest] = [one for one in services if one["name"] == service] or services[:1]
        self.service: str = largest["name"]
        self.services = [one["id"] for one in services]
        self.ids = {"service_id": largest["id"], "host_id": self._items("hosts")[0]["id"]}
        self.ids |= {name: found[0]["id"] for name, noun in _LISTS.items() if (found := self._items(noun))}
        self.times: dict[str, list[float]] = {}

    def ask(self, route: str, ids: Mapping[str, str] | None = None) -> None:
        """Ask once and note the time under the route, unless it is refused or needs what there is none of."""
        try:
            path = route.format_map(ids or self.ids)
        except KeyError:
            return
        start = time.perf_counter()
        answer = self._client.get(path)
        if answer.status_code < _REFUSED:
            self.times.setdefault(route, []).append((time.perf_counter() - start) * 1e3)

    def ask_ratios(self) -> None:
        """Ask for the ratio of every service at two targets."""
        for service in self.services:
            for target in (0.02, 0.1):
                self.ask(f"{RATIO}?loss_target={target}", {"service_id": service})

    def ratios(self) -> list[float]:
        return [taken for route, times in self.times.items() if route.startswith(f"{RATIO}?") for taken in times]

    def _items(self, noun: str) -> list[dict[str, Any]]:
        answer = self._client.get(f"/v1/{noun}").json()
        found: list[dict[str, Any]] = answer["items"] if isinstance(answer, dict) else answer
        return found


def measure() -> Section:
    """Ask everything once, then again and again, of each demonstration in turn."""
    with ExitStack() as stack:
        clients = [
            stack.enter_context(httpx.Client(base_url=url, timeout=60.0)) for url in (address(), beside()) if url
        ]
        ours = Demonstration(clients[0])
        both = [ours, *(Demonstration(client, ours.service) for client in clients[1:])]
        routes, n_left_out = _routes(ours.ids)
        for _ in range(1 + ROUNDS):
            for route in (*routes, *(route for route in GOALS if route not in routes)):
                for one in both:
                    one.ask(route)
            for one in both:
                one.ask_ratios()
    theirs = both[1].times if len(both) > 1 else {}
    slowest = sorted((route for route in routes if route in ours.times), key=lambda route: -p95(ours.times[route][1:]))
    late = sum(ours.times[route][0] > FIRST_MS for route in routes if route in ours.times)
    warm = [taken for route in routes for taken in ours.times.get(route, ())[1:]]
    return Section(
        title="What people wait for, on a demonstration",
        rows=[
            _row(
                f"ratio of {len(ours.services)} services at two targets",
                ours.ratios(),
                both[-1].ratios() if theirs else (),
                AHEAD_GOAL,
                RATIO_MS,
            ),
            _row(f"{SCENARIOS}, first", ours.times[SCENARIOS][:1], theirs.get(SCENARIOS, ())[:1], AHEAD_GOAL),
            *(
                _row(route, ours.times[route], theirs.get(route, ()), goal)
                for route, goal in GOALS.items()
                if route in ours.times
            ),
            _row(f"all {len(routes)} reads", warm, (), None),
            *(_row(route, ours.times[route][1:], theirs.get(route, ())[1:], None) for route in slowest[:SLOWEST]),
        ],
        notes=[
            f"Median of {ROUNDS} calls, in brackets the 95th percentile; the {SLOWEST} slowest of all reads.",
            "Rows with a goal count the first call too.",
            f"{late} of {len(routes)} reads took more than {FIRST_MS} ms at first; {n_left_out} more need other ids.",
        ],
    )


def _row(name: str, ours: Sequence[float], theirs: Sequence[float], goal: float | None, most_ms: int = WARM_MS) -> Row:
    if not theirs:
        return Row(name, _shown(ours), target=f"p95 under {most_ms} ms", met=p95(ours) < most_ms)
    ratio = median(ours) / median(theirs)
    if goal is None:
        return Row(name, _shown(ours), _shown(theirs), ratio, f"p95 under {most_ms} ms", p95(ours) < most_ms)
    return Row(name, _shown(ours), _shown(theirs), ratio, f"ratio at most {goal:.3g}", ratio <= goal)


def _shown(taken: Sequence[float]) -> str:
    return f"{median(taken):,.0f} ms ({p95(taken):,.0f})"


def _routes(ids: Mapping[str, str]) -> tuple[list[str], int]:
    """Reads of the contract that these ids suffice for, and how many need others."""
    routes: list[str] = []
    n_left_out = 0
    for path, operations in orjson.loads(_CONTRACT.read_bytes())["paths"].items():
        if "get" in operations:
            needed = [one for one in operations["get"].get("parameters", ()) if one.get("required")]
            if all(one["name"] in ids and one["in"] == "path" for one in needed):
                routes.append(path)
            else:
                n_left_out += 1
    return routes, n_left_out
