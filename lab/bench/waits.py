"""How long people wait for what the API answers: every read of its contract that needs no secret, on a demonstration.

The demonstration is one that runs on this machine (`make demo`), with its workers and the hosts that report to it. Ids
are those of its largest service and first host; what it holds none of is left out, and told.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import orjson

from bench.figures import Row, Section, median
from bench.landing import address
from bench.service_page import p95

ROUNDS = 5
FIRST_MS, WARM_MS, RATIO_MS = 400, 100, 50
SLOWEST = 10
_CONTRACT = Path(__file__).parents[2] / "contract" / "openapi.json"
_REFUSED = 400
_LISTS = {"advice_id": "advice", "alert_id": "alerts", "rule_id": "rules", "sweep_id": "sweeps"}


def measure() -> Section:
    """Ask everything once, then again and again."""
    with httpx.Client(base_url=address(), timeout=60.0) as client:
        services = sorted(_items(client, "services"), key=lambda one: -one["n_hosts_with_heat"])
        ids = {"service_id": services[0]["id"], "host_id": _items(client, "hosts")[0]["id"]}
        ids |= {name: found[0]["id"] for name, noun in _LISTS.items() if (found := _items(client, noun))}
        targets = [f"/v1/services/{one['id']}/ratio?loss_target={target}" for one in services for target in (0.02, 0.1)]
        asked, left_out = _paths(ids)
        times: dict[str, list[float]] = {}
        for _ in range(1 + ROUNDS):
            for path in (*asked, *targets):
                if (taken := _call(client, path)) is not None:
                    times.setdefault(path, []).append(taken)
    slowest = sorted((path for path in times if path in asked), key=lambda path: -p95(times[path][1:]))[:SLOWEST]
    ratios = [taken for path in targets for taken in times[path]]
    late = sum(times[path][0] > FIRST_MS for path in asked if path in times)
    return Section(
        title="What people wait for, on a demonstration",
        rows=[
            Row(f"ratio of {len(services)} services at two targets", *_row(ratios, RATIO_MS)),
            Row("scenarios filled in from the fleet", *_row(times["/v1/scenarios/presets"], WARM_MS)),
            *(Row(path.replace(ids["service_id"], "ID"), *_row(times[path][1:], WARM_MS)) for path in slowest),
        ],
        notes=[
            f"Median of {ROUNDS} calls, in brackets the 95th percentile; the {SLOWEST} slowest of all reads.",
            f"{late} of {len(asked)} reads took more than {FIRST_MS} ms at first; {len(left_out)} more need other ids.",
        ],
    )


def _row(taken: list[float], most_ms: int) -> tuple[str, str, None, str, bool]:
    slow = p95(taken)
    return f"{median(taken):,.0f} ms ({slow:,.0f})", "-", None, f"p95 under {most_ms} ms", slow < most_ms


def _items(client: httpx.Client, noun: str) -> list[dict[str, Any]]:
    answer = client.get(f"/v1/{noun}").json()
    found: list[dict[str, Any]] = answer["items"] if isinstance(answer, dict) else answer
    return found


def _call(client: httpx.Client, path: str) -> float | None:
    """Milliseconds; None where it is refused."""
    start = time.perf_counter()
    answer = client.get(path)
    return None if answer.status_code >= _REFUSED else (time.perf_counter() - start) * 1e3


def _paths(ids: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Reads of the contract with these ids, and those that need what is not among them."""
    asked: list[str] = []
    left_out: list[str] = []
    for path, operations in orjson.loads(_CONTRACT.read_bytes())["paths"].items():
        needed = [one for one in operations.get("get", {}).get("parameters", ()) if one.get("required")]
        if "get" in operations:
            can = all(one["name"] in ids and one["in"] == "path" for one in needed)
            (asked if can else left_out).append(path.format_map(ids) if can else path)
    return asked, left_out
