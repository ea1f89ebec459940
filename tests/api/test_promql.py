"""The query API of Prometheus over an installation with data, asked by promtool and as Grafana asks."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import text

from factories.populated import populated_service
from factories.prometheus import prometheus
from factories.protobuf_bytes import in_snappy
from factories.remote_reads import HEADERS as READ_HEADERS
from factories.remote_reads import read_body
from factories.remote_writes import HEADERS, named, write_body
from factories.waiting import DEADLINE_SECONDS
from fixtures.servers import Template
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.usecases.promql import ledgers

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
PROMTOOL = shutil.which("promtool")


@dataclass(frozen=True, slots=True)
class Service:
    """A running service with hosts, a service with heat, and a written series."""

    client: httpx.Client
    database: Database
    now: int

    def get(self, path: str, **asked: Any) -> Any:  # noqa: ANN401 - JSON
        answer = self.client.get(f"/prometheus/api/v1/{path}", params=asked)
        assert answer.status_code == 200, answer.text
        assert answer.json()["status"] == "success"
        return answer.json()["data"]

    def raw(self, query: str) -> list[float]:
        """The stored samples of one series."""
        (found,) = self.get("query", query=query, time=self.now)["result"]
        return [float(value) for _, value in found["values"]]


@pytest.fixture(scope="module")
def service(template: Template, storage_mode: str) -> Iterator[Service]:
    with populated_service(template, storage_mode, anonymous_reads=True) as (client, database, _):
        now = int(utc_now().timestamp())
        body = write_body((named("node_load1"), [((now - 60 * n) * 1000, 5.0 + n) for n in range(9, -1, -1)]))
        assert client.post("/api/v1/write", content=body, headers=HEADERS).status_code == 204
        yield Service(client, database, now)


def test_tier_moves_are_counters_that_gain_what_the_ledger_says(service: Service) -> None:
    asked = text(
        "SELECT h.name, sum(m.promoted_pages) FROM tier_moves m JOIN hosts h ON h.id = m.host_id"
        " WHERE m.service_id = 0 GROUP BY h.name"
    )
    with service.database.read() as session:
        stored = {name: float(total) for name, total in session.execute(asked) if total is not None}
    assert set(stored) == {"node-0", "node-1"}
    for host, total in stored.items():
        rates = service.raw(f'tierscope_host_promoted_pages_per_second{{host="{host}"}}[1h]')
        assert sum(rates) * 60 == pytest.approx(total, rel=1e-3)
        counted = np.array(service.raw(f'tierscope_host_promoted_pages_total{{host="{host}"}}[1h]'))
        steps = np.diff(counted)
        gained = counted[-1] - counted[0] + counted[:-1][steps < 0].sum()  # a midnight may lie between
        assert gained == pytest.approx(total - rates[0] * 60, rel=1e-3)
        assert total > 0


def test_rates_live_in_history_under_their_live_names(service: Service) -> None:
    live = service.client.get("/metrics/fleet").text
    told = {line.split("{")[0] for line in live.splitlines() if line.startswith("tierscope_host_")}
    known = set(service.get("metadata"))
    assert {"tierscope_host_promoted_pages_per_second", "tierscope_host_memory_pressure_some_ratio"} <= told & known


def test_heat_is_told_by_class_kind_and_tier(service: Service) -> None:
    found = service.get("query", query="sum by (class, tier) (tierscope_service_heat_bytes)", time=service.now)[
        "result"
    ]
    by_class = {(one["metric"]["class"], one["metric"]["tier"]): float(one["value"][1]) for one in found}
    assert by_class["hot", "dram"] == pytest.approx(2 * 10 * 2**30)
    assert by_class["cold", "cxl"] == pytest.approx(2 * 90 * 2**30)


def test_pods_are_told_with_their_owners_and_join_heat(service: Service) -> None:
    at = service.now + 1  # the first moment after the inventory
    found = service.get("query", query="tierscope_pod_info", time=at)["result"]
    labels = [one["metric"] for one in found]
    assert [(one["namespace"], one["owner_kind"], one["owner"], one["uid"]) for one in labels] == [
        ("demo", "Deployment", "cart", "uid-cart-7c9-x2k")
    ] * len(labels)
    assert {one["host"] for one in labels} == {"node-0", "node-1"}
    assert {one["value"][1] for one in found} == {"1"}
    listed = service.get("series", **{"match[]": 'tierscope_pod_info{owner="cart"}'})
    assert sorted(map(str, listed)) == sorted(map(str, labels))
    assert service.get("query", query='tierscope_pod_info{owner="other"}', time=at)["result"] == []
    assert service.get("query", query="tierscope_pod_info", time=service.now - 400 * 86_400)["result"] == []
    joined = service.get(
        "query",
        query="sum by (service_id, host_id, class) (tierscope_service_heat_bytes)"
        " * on (service_id, host_id) group_left (owner) max by (service_id, host_id, owner) (tierscope_pod_info)",
        time=at,
    )["result"]
    assert {one["metric"]["owner"] for one in joined} == {"cart"}
    assert sum(float(one["value"][1]) for one in joined if one["metric"]["class"] == "hot") == 2 * 10 * 2**30


def test_written_series_keep_their_names_and_labels(service: Service) -> None:
    asked = {"query": "node_load1", "start": service.now - 300, "end": service.now, "step": "1m"}
    (found,) = service.get("query_range", **asked)["result"]
    assert found["metric"] == named("node_load1")
    assert [value for _, value in found["values"]] == ["10", "9", "8", "7", "6", "5"]


def test_a_form_is_asked_as_an_address_is(service: Service) -> None:
    asked = {"query": "node_load1", "start": service.now - 300, "end": service.now, "step": "60"}
    by_form = service.client.post("/prometheus/api/v1/query_range", data=asked)
    assert by_form.json()["data"] == service.get("query_range", **asked)
    series = service.client.post("/prometheus/api/v1/series", data={"match[]": ["node_load1", "nothing"]})
    assert series.json()["data"] == [named("node_load1")]
    labels = service.client.post("/prometheus/api/v1/labels", data={"match[]": "node_load1"})
    assert labels.json()["data"] == ["__name__", "instance", "job"]
    instant = service.client.post("/prometheus/api/v1/query", data={"query": "1 + 1", "time": "60"})
    assert instant.json()["data"] == {"resultType": "scalar", "result": [60.0, "2"]}


def test_a_form_has_few_fields(service: Service) -> None:
    answer = service.client.post("/prometheus/api/v1/series", content="match[]=a&" * 101)
    assert answer.status_code == 400
    assert "100 fields" in answer.json()["detail"]


def test_written_series_of_the_services_own_names_do_not_count_twice(service: Service) -> None:
    name = "tierscope_host_promoted_pages_per_second"
    before = service.get("query", query=f"count({name})", time=service.now)["result"]
    body = write_body((named(name), [(service.now * 1000 - 1, 5.0)]))
    assert service.client.post("/api/v1/write", content=body, headers=HEADERS).status_code == 204
    assert service.get("query", query=f"count({name})", time=service.now)["result"] == before
    assert before[0]["value"][1] == "2"
    everything = service.get("query", query='{instance="db1:9100"}', time=service.now)["result"]
    assert {one["metric"]["__name__"] for one in everything} == {"node_load1"}


def test_labels_and_values_are_listed(service: Service) -> None:
    assert {"__name__", "host", "class", "tier", "instance"} <= set(service.get("labels"))
    names = service.get("label/__name__/values")
    assert {"node_load1", "tierscope_service_heat_bytes", "tierscope_host_promoted_pages_total"} <= set(names)
    hosts = {"match[]": "tierscope_host_promoted_pages_total"}
    assert service.get("label/host/values", **hosts) == ["node-0", "node-1"]
    heat = service.get("series", **{"match[]": 'tierscope_service_heat_bytes{class="hot"}'})
    asked = service.get("query", query='tierscope_service_heat_bytes{class="hot"}', time=service.now)["result"]
    assert sorted(map(str, heat)) == sorted(str(one["metric"]) for one in asked)
    assert service.get("status/buildinfo")["revision"].startswith("tierscope-")


@pytest.mark.parametrize(
    ("path", "asked", "status", "kind", "words"),
    [
        ("query", {}, 400, "bad_data", "parse error"),
        ("query", {"query": "sin(node_load1)"}, 400, "bad_data", "function sin() is not supported"),
        ("query", {"query": "1", "time": "soon"}, 400, "bad_data", 'invalid parameter "time"'),
        ("query_range", {"query": "1", "start": "0", "end": "11000", "step": "0.9"}, 400, "bad_data", "11,000 points"),
        ("query_range", {"query": "1", "start": "9", "end": "1", "step": "1"}, 400, "bad_data", "end timestamp"),
        ("query", {"query": '{__name__=~"tierscope_host_.*"} + on () node_load1'}, 422, "execution", "many-to-one"),
        ("query", {"query": "vector(1)[9m:1s]", "time": "9"}, 422, "execution", "subquery"),
        ("query", {"query": "sum_over_time(vector(1)[99y:1ms])", "time": "9"}, 422, "execution", "steps"),
        ("series", {}, 400, "bad_data", "no match[]"),
        ("series", {"match[]": "rate(a[5m])"}, 400, "bad_data", "no selector"),
    ],
)
def test_errors_have_the_shape_that_clients_know(
    service: Service, path: str, asked: dict[str, str], status: int, kind: str, words: str
) -> None:
    answer = service.client.get(f"/prometheus/api/v1/{path}", params=asked)
    assert answer.status_code == status, answer.text
    problem = answer.json()
    assert (problem["status"], problem["errorType"]) == ("error", kind)
    assert words in problem["error"]


@pytest.mark.parametrize("moment", ["0", "1", "253402300799"])
def test_times_without_data_have_no_series(service: Service, moment: str) -> None:
    for query in ("tierscope_host_promoted_pages_total offset -99y", "tierscope_service_heat_bytes", "node_load1"):
        assert service.get("query", query=query, time=moment)["result"] == []
    assert service.get("query", query="rate(node_load1[99y] offset 99y)", time=moment)["result"] == []


def test_many_rows_are_summed_up_in_buckets(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = 'tierscope_host_promoted_pages_per_second{host="node-0"}[1h]'
    states = 'tierscope_host_top_resident_bytes{host="node-0"}[1h]'
    exact = [service.raw(query) for query in (rates, states)]
    monkeypatch.setattr(ledgers, "ROWS_MAX", 20)
    for before, summed in zip(exact, [service.raw(query) for query in (rates, states)], strict=True):
        assert 2 <= len(summed) < len(before)
        assert min(before) <= min(summed) <= max(summed) <= max(before)
    counted = np.array(service.raw('tierscope_host_promoted_pages_total{host="node-0"}[1h]'))
    assert len(counted) == len(service.raw(rates))
    assert (counted > 0).all()
    answer = service.client.get(
        "/prometheus/api/v1/query", params={"query": f"max_over_time({rates.replace('1h', '5m')})"}
    )
    assert (answer.status_code, answer.json()["errorType"]) == (422, "execution")
    assert "take a range of at least" in answer.json()["error"]


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed: apt-get install prometheus")
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["instant", "--time=NOW", "URL", "sum(node_load1)"], "5"),
        (
            ["range", "--start=EARLIER", "--end=NOW", "--step=1m", "URL", "tierscope_host_promoted_pages_per_second"],
            'host="node-0"',
        ),
        (["series", "--match=node_load1", "URL"], 'instance="db1:9100"'),
        (["labels", "URL", "host"], "node-1"),
    ],
    ids=["instant", "range", "series", "labels"],
)
def test_promtool_is_answered(service: Service, command: list[str], words: str) -> None:
    address = f"{str(service.client.base_url).rstrip('/')}/prometheus"
    # It would ask for its own now, and keeps the machine's clock where a run tells another time.
    values = {"URL": address, "NOW": str(service.now), "EARLIER": str(service.now - 300)}
    arguments = [re.sub("URL|NOW|EARLIER", lambda found: values[found[0]], part) for part in command]
    done = subprocess.run(
        [str(PROMTOOL), "query", *arguments], capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert words in done.stdout


@pytest.mark.running_clock
def test_a_prometheus_reads_what_the_service_measures(service: Service, tmp_path: Path) -> None:
    reads = f"remote_read: [{{url: '{service.client.base_url}/prometheus/api/v1/read', read_recent: true}}]\n"
    with (
        prometheus(tmp_path, reads) as address,
        httpx.Client(base_url=address, timeout=DEADLINE_SECONDS) as reader,
    ):
        for query in (
            "sum by (class, tier) (last_over_time(tierscope_service_heat_bytes[2h]))",
            'tierscope_host_promoted_pages_total{host="node-0"}',
            "sum(increase(tierscope_host_promoted_pages_total[30m]))",
            'node_load1{instance=~".+"}',
        ):
            asked = {"query": query, "time": service.now}
            there = reader.get("/api/v1/query", params=asked).json()["data"]["result"]
            here = service.get("query", **asked)["result"]
            assert values_by_labels(there) == pytest.approx(values_by_labels(here), rel=1e-9), query
            assert here, query


def values_by_labels(found: list[dict[str, Any]]) -> dict[str, float]:
    return {str(sorted(one["metric"].items())): float(one["value"][1]) for one in found}


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"nothing", 400, "not in snappy's block format"),
        (in_snappy(b"\x0a\x05ab"), 400, "a field is cut off"),
        (in_snappy(b"\x0a\x02\x1a\x05"), 400, "a query is cut off"),
        (read_body((0, 1, [(7, "a", "b")])), 400, "a matcher has an unknown type"),
        (read_body((0, 1, [(2, "a", "(")])), 400, "a=~'('"),
        (read_body((0, 1, [(0, "a", "b")]), kinds=b"\x01"), 400, "takes streamed chunks alone"),
        (read_body(*[(0, 1, [])] * 21), 422, "more than 20 queries"),
        (read_body((0, 1, [(0, "a", "b")] * 21)), 422, "conditions of one query"),
        (b"\xff\xff\xff\xff\x0f", 422, "the limit is 1048576"),
    ],
)
def test_a_request_of_remote_read_that_is_none_is_refused(
    service: Service, body: bytes, status: int, words: str
) -> None:
    answer = service.client.post("/prometheus/api/v1/read", content=body, headers=READ_HEADERS)
    assert (answer.status_code, answer.json()["status"]) == (status, "error")
    assert words in answer.json()["error"]


def test_a_request_of_remote_read_has_its_type_and_may_mean_nothing(service: Service) -> None:
    address = "/prometheus/api/v1/read"
    nothing = read_body((0, 2**62, [(0, "__name__", "nothing")]), kinds=None)
    answer = service.client.post(address, content=nothing, headers=READ_HEADERS)
    assert answer.status_code == 200
    assert answer.headers["content-encoding"] == "snappy"
    assert answer.content == in_snappy(b"\x0a\x00")  # one query without series
    plain = service.client.post(address, content=nothing, headers=READ_HEADERS | {"Content-Encoding": "gzip"})
    assert plain.status_code == 415


def test_a_query_beyond_its_memory_is_refused_with_the_limit(service: Service) -> None:
    answer = service.client.get("/prometheus/api/v1/query", params={"query": "changes(vector(1)[115d:1s])"})
    assert (answer.status_code, answer.json()["errorType"]) == (422, "execution")
    assert "MiB of memory" in answer.json()["error"]


def test_a_page_of_another_site_cannot_have_a_browser_ask(service: Service) -> None:
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    asked = {"query": "vector(1)"}
    for headers in (foreign, {**foreign, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}):
        answer = service.client.get("/prometheus/api/v1/query", params=asked, headers=headers)
        assert (answer.status_code, answer.json()["type"].rpartition("/")[2]) == (400, "bad-origin")
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    own = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
    for headers in (link, own):
        assert service.client.get("/prometheus/api/v1/query", params=asked, headers=headers).status_code == 200
