"""Sweeps over HTTP, as a script with curl drives them."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from factories.sampled_services import send_samples
from factories.services import signed_in
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.usecases.base.subjects import service_named
from tierscope.usecases.simulate.uploads import MAX_UPLOAD_BYTES
from tierscope.usecases.simulate.work import SweepWork

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)

TRACE = Path(__file__).parents[1] / "data" / "page-traces" / "sqlite.parquet"


@pytest.fixture
def client(database_url: str) -> Iterator[httpx.Client]:
    with signed_in(database_url) as service:
        yield service.client


def sweep_of(client: httpx.Client, source: Mapping[str, object], **more: object) -> dict[str, object]:
    body = {
        "name": "by script",
        "source": dict(source),
        "policies": ["tpp", "first_touch"],
        "dram_ratios": [0.5],
        **more,
    }
    answer = client.post("/v1/sweeps", json=body)
    assert answer.status_code == 202, answer.text
    found: dict[str, object] = answer.json()
    return found


def test_policies_and_sources_say_what_can_be_asked(client: httpx.Client, database: Database) -> None:
    policies = client.get("/v1/simulator/policies").json()
    by_name = {policy["name"]: policy for policy in policies["policies"]}
    threshold = by_name["hot_page_selection"]["settings"][0]
    assert (threshold["name"], threshold["default"], threshold["unit"]) == ("hot_threshold_ms", 1000.0, "ms")
    assert by_name["swap_ssd"]["has_slow_tier"] is False
    assert {setting["name"] for setting in policies["machine_settings"]} >= {"watermark_scale_factor"}
    assert {setting["name"] for setting in policies["cost_settings"]} >= {"slow_latency_ns", "exposed_ratio"}
    send_samples(database, hosts=1, hours=1)
    sources = client.get("/v1/simulator/sources").json()
    host = sources["services"][0]["hosts"][0]
    assert set(host) == {"host_id", "name", "n_pages", "n_intervals", "sampled_ratio", "from", "to"}
    assert all(workload["simulated"] for workload in sources["workloads"])


def test_a_sweep_runs_from_asking_to_results(client: httpx.Client, database: Database) -> None:
    send_samples(database)
    source = {"kind": "service", "service_id": service_named(database, "demo/cache"), "from": "-6h"}
    made = sweep_of(client, source, search={"watermark_scale_factor": [10, 100]}, cost={"slow_price_ratio": 0.4})
    path = f"/v1/sweeps/{made['id']}"
    assert (made["status"], made["total"], made["origin"]) == ("queued", 4, "simulated")
    SweepWork(database, utc_now).run()
    shown = client.get(path).json()
    assert (shown["status"], shown["done"], shown["progress_ratio"]) == ("done", 4, 1.0)
    assert shown["cost"] == {"slow_price_ratio": 0.4, "swap_price_ratio": 0.03}
    results = client.get(f"{path}/results").json()
    assert [cell["policy"] for cell in results["cells"]] == ["tpp", "first_touch"]
    assert results["cells"][0]["cost_ratio"] == pytest.approx(0.7)
    assert results["cells"][0]["local_ratio"]["interval"]["level"] == 0.8
    assert results["searches"][0]["keys"] == ["watermark_scale_factor"]
    run = client.get(f"{path}/runs/{results['cells'][0]['run_id']}").json()
    assert len(run["series"]["interval"]) == len(run["series"]["local_ratio_by_kind"]["anon"]) == 120
    heat = client.get(f"{path}/heat", params={"rows": 10, "columns": 12}).json()
    assert (heat["log2"], len(heat["rows"]), len(heat["accesses"][0])) == (True, 10, 12)
    listed = client.get("/v1/sweeps", params={"service": source["service_id"]}).json()
    assert [item["id"] for item in listed["items"]] == [made["id"]]
    unchanged = client.get(path, headers={"If-None-Match": client.get(path).headers["etag"]})
    assert unchanged.status_code == 304
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404


def test_cancel_and_resume(client: httpx.Client, database: Database) -> None:
    made = sweep_of(client, {"kind": "workload", "workload": "zipf", "pages": 1000, "intervals": 20})
    path = f"/v1/sweeps/{made['id']}"
    cancelled = client.post(f"{path}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (202, "cancelled")
    assert SweepWork(database, utc_now).run().runs == 0
    assert client.post(f"{path}/resume").json()["status"] == "queued"
    assert SweepWork(database, utc_now).run().runs == 2
    assert client.post(f"{path}/resume").status_code == 409


def test_traces_are_uploaded_and_bad_ones_refused(client: httpx.Client) -> None:
    binary = {"Content-Type": "application/octet-stream"}
    sent = client.post("/v1/simulator/uploads?name=sqlite", content=TRACE.read_bytes(), headers=binary)
    assert sent.status_code == 201
    upload = sent.json()
    assert upload["bytes"] == TRACE.stat().st_size
    assert client.get("/v1/simulator/sources").json()["uploads"] == [upload]
    bad = client.post("/v1/simulator/uploads?name=bad", content=b"not parquet", headers=binary)
    assert (bad.status_code, bad.headers["content-type"]) == (422, "application/problem+json")
    huge = client.post(
        "/v1/simulator/uploads?name=huge", content=(b"\0" * (1 << 20) for _ in range(70)), headers=binary
    )
    assert huge.status_code == 413
    assert str(MAX_UPLOAD_BYTES) in huge.json()["detail"]
    assert client.delete(f"/v1/simulator/uploads/{upload['id']}").status_code == 204


@pytest.mark.parametrize(
    ("change", "status", "cause"),
    [
        ({"policies": ["lru"]}, 400, "there is no policy 'lru'"),
        ({"dram_ratios": [2.0]}, 400, "DRAM share of 2"),
        ({"settings": {"wine": 1}}, 400, "'wine'"),
        ({"source": {"kind": "service", "service_id": "none"}}, 404, "no service"),
        ({"source": {"kind": "workload", "workload": "none"}}, 404, "no workload"),
        ({"name": ""}, 422, "name"),
        ({"policies": []}, 422, "policies"),
    ],
)
def test_mistakes_are_named_with_the_next_step(
    client: httpx.Client, change: dict[str, object], status: int, cause: str
) -> None:
    body = {
        "name": "n",
        "source": {"kind": "workload", "workload": "zipf"},
        "policies": ["tpp"],
        "dram_ratios": [0.5],
        **change,
    }
    answer = client.post("/v1/sweeps", json=body)
    problem = answer.json()
    assert answer.status_code == status
    assert cause in problem["detail"]
    assert problem["next_step"]
