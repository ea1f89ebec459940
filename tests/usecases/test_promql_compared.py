"""The same series in a real Prometheus and here: expressions have the same values, or fail for the same kind of reason.

Samples lie off the steps of queries, because releases of Prometheus differ in whether a window holds its first moment.
Counters begin at zero or far above it: releases differ in how far a rate reaches back where zero is near.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from factories.prometheus import prometheus
from factories.remote_writes import HEADERS, Series, write_body
from factories.services import running
from factories.waiting import DEADLINE_SECONDS
from fixtures.servers import Template
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.domain.ingest.prometheus.stale import STALE
from tierscope.usecases.access.tokens import Access

pytestmark = [pytest.mark.parametrize("storage_mode", ["native"], indirect=True), pytest.mark.running_clock]
STEP_MS = 15_000
SAMPLES = 240
CONFIGURATION = "global: {scrape_interval: 15s}\n"
READS = """
remote_read:
  - url: {url}
    read_recent: true
    authorization: {{credentials: {token}}}
"""
EXPRESSIONS = (
    "load",
    'load{instance="a:1"}',
    'load{instance!="a:1"}',
    'load{instance=~"a.*|c:1"}',
    'load{instance!~"a.*"}',
    '{__name__=~"load|temperature",instance="a:1"}',
    'load{missing=""}',
    "load offset 5m",
    "load offset -2m",
    "load @ {middle}",
    "load @ start() - load @ end()",
    "requests_total",
    "gone_total",
    "gapped",
    "rate(gapped[2m])",
    "rate(requests_total[5m])",
    "rate(requests_total[1m]) * 60",
    "irate(requests_total[5m])",
    "increase(requests_total[10m])",
    "rate(requests_total[5m] offset 10m)",
    "rate(requests_total[5m] @ {middle})",
    "rate(gone_total[5m])",
    "delta(load[5m])",
    "idelta(load[5m])",
    "deriv(load[5m])",
    "predict_linear(load[10m], 600)",
    "changes(state[10m])",
    "resets(requests_total[30m])",
    "avg_over_time(load[5m])",
    "min_over_time(load[5m])",
    "max_over_time(load[5m])",
    "sum_over_time(load[5m])",
    "count_over_time(load[5m])",
    "last_over_time(load[5m])",
    "present_over_time(gone_total[5m])",
    "stddev_over_time(load[5m])",
    "stdvar_over_time(load[5m])",
    "quantile_over_time(0.9, load[5m])",
    "absent_over_time(gone_total[5m])",
    "max_over_time(rate(requests_total[2m])[10m:1m])",
    "avg_over_time(load[10m:30s] offset 1m)",
    "sum(load)",
    "sum by (job) (load)",
    "sum without (instance, shard) (load)",
    "avg by (job) (load)",
    "min by (job) (load)",
    "max by (job) (load)",
    "count by (job) (load)",
    "group by (job) (load)",
    "stddev by (job) (load)",
    "stdvar(load)",
    "quantile by (job) (0.5, load)",
    "quantile(1.5, load)",
    "topk(2, load)",
    "bottomk by (job) (1, load)",
    "sum by (instance) (rate(requests_total[5m]))",
    "load + 1",
    "2 ^ load",
    "load % 3",
    "-load",
    "load / 0",
    "load > 5",
    "5 < load",
    "load > bool 5",
    "load == load",
    "1 < bool 2",
    "load + on (instance, shard) temperature",
    "load - ignoring (unit) temperature",
    "requests_total / on (instance) group_left () sum by (instance) (requests_total)",
    "load * on (instance) group_left (zone) zone_info",
    "zone_info * on (instance) group_right (zone) load",
    "load > on (instance, shard) temperature",
    "load < on (instance, shard) group_left () temperature",
    "load and on (instance) zone_info",
    "load unless on (instance) zone_info",
    "load or temperature",
    "load or on (instance) zone_info",
    "sum(load) / count(load)",
    "load + on (job) temperature",
    "load + on (instance) group_left () requests_total",
    "abs(-load)",
    "ceil(load)",
    "floor(load)",
    "round(load, 0.5)",
    "clamp(load, 2, 6)",
    "clamp_min(load, 3)",
    "clamp_max(load, 3)",
    "exp(load)",
    "ln(load)",
    "log2(load) + log10(load)",
    "sqrt(load)",
    "sgn(temperature)",
    "sort(load)",
    "sort_desc(load)",
    "timestamp(load)",
    "timestamp(load + 0)",
    "time()",
    "vector(3)",
    "scalar(load{instance='a:1', shard='0'}) + 1",
    "scalar(load)",
    "absent(load)",
    'absent(nothing{instance="x", job=~"y"})',
    "absent(gone_total)",
    'label_replace(load, "host", "$1-x", "instance", "(.*):.*")',
    'label_replace(load, "host", "${name}", "instance", "(?P<name>.*):.*")',
    'label_join(load, "both", "-", "instance", "shard")',
    'label_replace(load, "shard", "", "instance", ".*")',
    "histogram_quantile(0.9, sum by (le) (rate(latency_seconds_bucket[5m])))",
    "histogram_quantile(0.5, rate(latency_seconds_bucket[5m]))",
    "NaN",
    "1 + 2 * 3 ^ 2",
    "(load > 5) or vector(0)",
    "sum(rate(requests_total[5m])) by (job) > 0 and on () vector(1)",
)
WORDS = {"NaN": math.nan, "+Inf": math.inf, "-Inf": -math.inf}


def made_series(first_ms: int) -> list[Series]:
    """Gauges, counters with resets, a series that ends, one with gaps, a histogram: one hour, a sample each 15 s."""
    random = np.random.default_rng(11)
    times = [first_ms + place * STEP_MS for place in range(SAMPLES)]
    found: list[Series] = []

    def add(name: str, values: Any, **labels: str) -> None:  # noqa: ANN401 - numbers
        samples = list(zip(times, np.asarray(values, float).tolist(), strict=True))
        found.append(({"__name__": name, **labels}, samples))

    for number, instance in enumerate(("a:1", "b:1", "c:1")):
        job = "db" if number < 2 else "web"
        for shard in ("0", "1"):
            labels = {"instance": instance, "job": job, "shard": shard}
            add("load", 5 + number + np.cumsum(random.normal(0, 0.3, SAMPLES)), **labels)
            add("temperature", random.normal(0, 10, SAMPLES), **labels, unit="celsius")
            counts = np.cumsum(random.integers(0, 50, SAMPLES))
            counts[150:] -= counts[149]
            counts[:150] += 5000 * int(shard) - counts[0]
            add("requests_total", counts, **labels)
        add("state", random.integers(0, 3, SAMPLES), instance=instance, job=job)
    add("zone_info", np.ones(SAMPLES), instance="a:1", zone="east")
    add("zone_info", np.ones(SAMPLES), instance="b:1", zone="west")
    ended = np.cumsum(random.integers(0, 9, 100)).astype(float).tolist()
    found.append(({"__name__": "gone_total", "instance": "a:1"}, list(zip(times, [*ended, STALE], strict=False))))
    gapped = list(zip(times, np.arange(SAMPLES, dtype=float).tolist(), strict=True))
    found.append(({"__name__": "gapped", "instance": "a:1"}, gapped[:60] + gapped[120:]))
    buckets = np.cumsum(random.integers(0, 5, (SAMPLES, 5)), axis=0).cumsum(axis=1)
    buckets -= buckets[0]
    for place, edge in enumerate(("0.1", "0.5", "1", "5", "+Inf")):
        add("latency_seconds_bucket", buckets[:, place], instance="a:1", le=edge)
    return found


@dataclass(frozen=True, slots=True)
class Both:
    """The service and a Prometheus that hold the same series; times in seconds. `folder` is for files."""

    here: httpx.Client
    there: httpx.Client
    folder: Path
    start: int
    end: int

    def ask(self, path: str, **asked: str) -> tuple[dict[str, Any], dict[str, Any]]:
        here = self.here.get(f"/prometheus/api/v1/{path}", params=asked)
        there = self.there.get(f"/api/v1/{path}", params=asked)
        assert here.status_code == there.status_code, f"{asked}: {here.text[:500]} against {there.text[:500]}"
        return here.json(), there.json()


@pytest.fixture(scope="module")
def both(template: Template, storage_mode: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    name = template.make_database(schema=True, mode=storage_mode)
    url = template.cluster.url(name)
    settings = Settings.model_validate({"database_url": url, "rate_limits": {"enabled": False}})
    folder = tmp_path_factory.mktemp("prometheus")
    now = int(utc_now().timestamp()) // 60 * 60
    first_ms = (now - 3600) * 1000 - 8_300
    with (
        prometheus(folder, CONFIGURATION, "--web.enable-remote-write-receiver") as address,
        running(settings) as (_, here),
        closing(Database(url)) as database,
        httpx.Client(base_url=address, timeout=DEADLINE_SECONDS) as there,
    ):
        token = Access(database).create_api_token(role="operator", note="", lifetime=None, actor="test").secret
        here.headers["Authorization"] = f"Bearer {token}"
        body = write_body(*made_series(first_ms))
        for client in (here, there):
            answer = client.post("/api/v1/write", content=body, headers=HEADERS)
            assert answer.status_code == 204, answer.text
        yield Both(here, there, folder, now - 3600, now)
    template.drop_database(name)


def by_labels(data: Mapping[str, Any]) -> dict[tuple[tuple[str, str], ...], list[tuple[float, float]]]:
    """Points of each series, with values as numbers."""
    if data["resultType"] in ("scalar", "string"):
        return {(): [number(data["result"])]}
    found = {}
    for one in data["result"]:
        key = tuple(sorted(one["metric"].items()))
        assert key not in found
        found[key] = [number(point) for point in (one["values"] if "values" in one else [one["value"]])]
    return found


def number(point: list[Any]) -> tuple[float, float]:
    return float(point[0]), WORDS.get(point[1], float(point[1]))


def differences(here: dict[str, Any], there: dict[str, Any]) -> list[str]:
    if here["status"] != "success" or there["status"] != "success":
        same = (here["status"], here.get("errorType")) == (there["status"], there.get("errorType"))
        return [] if same else [f"{here} against {there}"]
    if here["data"]["resultType"] != there["data"]["resultType"]:
        return [f"type {here['data']['resultType']} against {there['data']['resultType']}"]
    ours, theirs = by_labels(here["data"]), by_labels(there["data"])
    if set(ours) != set(theirs):
        return [f"series {sorted(set(ours) ^ set(theirs))}"]
    found = []
    for key, points in ours.items():
        expected = theirs[key]
        if [at for at, _ in points] != [at for at, _ in expected]:
            found.append(f"{key}: {len(points)} points against {len(expected)}")
            continue
        mine, other = np.array(points)[:, 1], np.array(expected)[:, 1]
        if not np.allclose(mine, other, rtol=1e-9, atol=1e-9, equal_nan=True):
            found.append(f"{key}: {mine[:5]} against {other[:5]}")
    return found


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_has_the_value_that_prometheus_gives(both: Both, expression: str) -> None:
    query = expression.replace("{middle}", str(both.start + 1800))
    for at in (both.start + 1207, both.start + 2407, both.end - 53):
        assert differences(*both.ask("query", query=query, time=str(at))) == []
    asked = {"start": str(both.start + 7), "end": str(both.end), "step": "45"}
    assert differences(*both.ask("query_range", query=query, **asked)) == []


def test_a_prometheus_that_reads_from_here_answers_as_the_one_that_holds_the_series(both: Both) -> None:
    """Remote read: an empty Prometheus computes on samples that it asks for, marks of ends among them."""
    folder = both.folder / "reader"
    folder.mkdir()
    reads = READS.format(
        url=f"{both.here.base_url}/prometheus/api/v1/read", token=both.here.headers["Authorization"].split()[1]
    )
    asked = {"start": str(both.start + 7), "end": str(both.end), "step": "45"}
    with (
        prometheus(folder, CONFIGURATION + reads) as address,
        httpx.Client(base_url=address, timeout=DEADLINE_SECONDS) as reader,
    ):
        found = []
        for expression in EXPRESSIONS:
            query = {"query": expression.replace("{middle}", str(both.start + 1800)), **asked}
            answers = [client.get("/api/v1/query_range", params=query).json() for client in (reader, both.there)]
            found += [f"{expression}: {one}" for one in differences(*answers)]
        assert found == []
        series = [client.get("/api/v1/series", params={"match[]": "load"}).json() for client in (reader, both.there)]
        labels = [{tuple(sorted(one.items())) for one in some["data"]} for some in series]
        assert labels[0] == labels[1] != set()
