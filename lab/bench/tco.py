"""What-if of cost through HTTP: what a slider waits for, with 10,000 draws, and the workbook.

The service is the real one, a process of its own. The reference is the draws alone, in this process: triangular values
of as many inputs as the scenario has uncertain, once each.
"""

import time
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np

from bench.figures import Row, Section, median
from bench.ingest import serving
from fixtures.servers import running_cluster
from tierscope.storage.base.schema import upgrade
from tierscope.usecases.tco.scenarios import starting_point

CALLS = 60
SHEETS = 3
DRAWS = 10_000
SLIDER_MS = 200.0
DRAM = {"value": 11.0, "low": 9.0, "high": 14.0, "source": "bench", "date": "2026-01-01", "currency": "USD"}


def measure() -> Section:
    """Time the answers to the starting scenario, its prices stated."""
    spec = starting_point().spec.model_dump(mode="json")
    spec["prices"]["dram"] = DRAM
    asked = {"spec": spec, "draws": DRAWS}
    with running_cluster("native") as cluster:
        upgrade(cluster.url())
        with serving(cluster.url()) as (address, _), httpx.Client(base_url=address, timeout=120.0) as client:
            whole = _times(lambda: _post(client, "/v1/tco/evaluate", asked), CALLS)
            sheet = _times(lambda: _post(client, "/v1/tco/sheet", asked), SHEETS)
            answer = client.post("/v1/tco/evaluate", json=asked).json()
    uncertain = sum(item["low"] < item["high"] for item in answer["inputs"]) + len(answer["options"])
    reference = _times(lambda: _draw(uncertain), CALLS)
    return Section(
        title="What-if of cost",
        rows=[
            _row(f"a slider, with {DRAWS:,} draws", whole, SLIDER_MS, reference),
            Row(f"the workbook with {DRAWS:,} draws", f"{median(sheet):,.0f} ms"),
        ],
        notes=[
            f"Median of {CALLS} calls ({SHEETS} of the workbook), in brackets the slowest; two options.",
            f"Reference: {uncertain} triangular inputs drawn {DRAWS:,} times by NumPy alone.",
        ],
    )


def _post(client: httpx.Client, path: str, asked: dict[str, Any]) -> None:
    client.post(path, json=asked).raise_for_status()


def _draw(inputs: int) -> None:
    random = np.random.default_rng(1)
    for _ in range(inputs):
        random.triangular(1.0, 2.0, 4.0, DRAWS)


def _times(call: Callable[[], None], calls: int) -> list[float]:
    """Milliseconds of each call; one goes before."""
    call()
    taken = []
    for _ in range(calls):
        begin = time.perf_counter()
        call()
        taken.append((time.perf_counter() - begin) * 1e3)
    return taken


def _row(name: str, taken: list[float], target_ms: float, reference: list[float] | None = None) -> Row:
    ours = f"{median(taken):.1f} ms ({max(taken):.1f})"
    target, met = f"slowest under {target_ms:.0f} ms", max(taken) < target_ms
    if reference is None:
        return Row(name, ours, target=target, met=met)
    return Row(name, ours, f"{median(reference):.1f} ms", median(taken) / median(reference), target, met)
