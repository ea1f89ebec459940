"""What Prometheus scrapes: names and types as its own tool wants them, figures that follow from what was sent."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from factories import batches
from factories.installations import enrol
from factories.populated import Populated, populate
from factories.services import batch_headers, running
from factories.waiting import DEADLINE_SECONDS
from fixtures.servers import Template
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.operate.telemetry.runs import WorkerRuns

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
PROMTOOL = shutil.which("promtool")
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture(scope="module")
def url(template: Template, storage_mode: str) -> Iterator[str]:
    name = template.make_database(schema=True, mode=storage_mode)
    yield template.cluster.url(name)
    template.drop_database(name)


@pytest.fixture(scope="module")
def database(url: str) -> Iterator[Database]:
    with closing(Database(url)) as opened:
        yield opened


@pytest.fixture(scope="module")
def made(database: Database) -> Populated:
    return populate(database)


@pytest.fixture
def client(url: str, made: Populated) -> Iterator[httpx.Client]:
    assert made.token
    chosen = Settings.model_validate({"database_url": url, "rate_limits": {"enabled": False}})
    with running(chosen) as (_, opened):
        yield opened


def scrape(client: httpx.Client, path: str = "/metrics") -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return answer.text


def samples(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found: Samples, name: str, **labels: str) -> float:
    return found[name, tuple(sorted(labels.items()))]


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed: apt-get install prometheus")
@pytest.mark.parametrize("path", ["/metrics", "/metrics/fleet"])
def test_promtool_finds_nothing_to_say(client: httpx.Client, database: Database, path: str) -> None:
    WorkerRuns(database, utc_now).ran("rebuild.drain", seconds=0.2, failed=False)
    client.get("/v1/hosts")
    done = subprocess.run(
        [str(PROMTOOL), "check", "metrics"],
        input=scrape(client, path),
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_batches_are_counted_by_what_became_of_them(client: httpx.Client, database: Database) -> None:
    host = enrol(database)
    body = batches.compress(batches.full_batch(host_id=host.id))
    headers = batch_headers(host.credential)
    for content in (body, body, b"nothing"):
        client.post("/v1/ingest/batches", content=content, headers=headers)
    client.post("/v1/ingest/batches", content=body, headers=headers | {"Content-Encoding": "gzip"})
    found = samples(scrape(client))
    assert value(found, "tierscope_ingest_batches_total", result="accepted") == 1
    assert value(found, "tierscope_ingest_batches_total", result="duplicate") == 1
    assert value(found, "tierscope_ingest_refused_batches_total", cause="unreadable") == 1
    assert value(found, "tierscope_ingest_refused_batches_total", cause="unsupported-media") == 1
    assert value(found, "tierscope_ingest_body_bytes_total") == 2 * len(body) + len(b"nothing")
    assert value(found, "tierscope_ingest_commit_seconds_count") == 2
    assert value(found, "tierscope_ingest_queue_batches") == 0
    route = {"method": "POST", "route": "/v1/ingest/batches"}
    assert value(found, "tierscope_http_requests_total", status="200", **route) == 2
    assert value(found, "tierscope_http_request_seconds_count", **route) == 4


def test_things_in_the_database_are_counted(client: httpx.Client, database: Database) -> None:
    runs = WorkerRuns(database, utc_now)
    for seconds, failed in ((0.2, False), (2.0, True), (1000.0, False)):
        runs.ran("alerts.evaluate", seconds=seconds, failed=failed)
    runs.rebuilt({"heat": 3}, {})
    runs.rebuilt({"heat": 2}, {"counters": 1})
    found = samples(scrape(client))
    assert value(found, "tierscope_database_up") == 1
    for state in ("reporting", "late", "silent", "retired"):
        listed = client.get("/v1/hosts", params={"state": state, "origin": "live"}).json()["items"]
        assert value(found, "tierscope_hosts", state=state, origin="live") == len(listed)
    assert value(found, "tierscope_alerts", state="firing", severity="warning") == 1
    task = {"task": "alerts.evaluate"}
    assert value(found, "tierscope_worker_task_seconds_count", **task) == 3
    assert value(found, "tierscope_worker_task_seconds_sum", **task) == pytest.approx(1002.2)
    assert value(found, "tierscope_worker_task_seconds_bucket", le="0.3", **task) == 1
    assert value(found, "tierscope_worker_task_seconds_bucket", le="60.0", **task) == 2
    assert value(found, "tierscope_worker_task_seconds_bucket", le="+Inf", **task) == 3
    assert value(found, "tierscope_worker_task_failures_total", **task) == 1
    assert value(found, "tierscope_rebuilt_buckets_total", kind="heat") == 5
    assert value(found, "tierscope_rebuild_failures_total", kind="counters") == 1


def test_addresses_that_no_route_takes_make_no_labels(client: httpx.Client) -> None:
    for path in ("/v1/none-1", "/v1/none-2"):
        assert client.get(path).status_code == 404
    client.request("BREW", "/v1/hosts")
    routes = {
        dict(labels)["route"] for name, labels in samples(scrape(client)) if name == "tierscope_http_requests_total"
    }
    assert routes <= {"/{path:path}", "/v1/hosts", "none"}
    methods = {
        dict(labels)["method"] for name, labels in samples(scrape(client)) if name == "tierscope_http_requests_total"
    }
    assert methods <= {"GET", "other"}


def test_a_figure_that_is_not_there_has_no_sample(client: httpx.Client, made: Populated, database: Database) -> None:
    silent = enrol(database, name="silent")
    found = samples(scrape(client, "/metrics/fleet"))
    told = {name for name, labels in found if dict(labels).get("host_id") == silent.id}
    assert told == {"tierscope_host_info", "tierscope_host_findings"}
    known = {name for name, labels in found if dict(labels).get("host_id") == made.ids["host_id"][0]}
    assert known >= {"tierscope_host_memory_bytes", "tierscope_host_promoted_pages_per_second"}
    hot = [number for (name, _), number in found.items() if name == "tierscope_service_hot_ratio"]
    assert len(hot) == 1
    assert 0 < hot[0] < 1
    assert value(found, "tierscope_fleet_metrics_truncated", kind="host") == 0


def test_the_number_of_series_is_bounded(url: str, made: Populated) -> None:
    assert len(made.ids["host_id"]) == 2
    with running(Settings(database_url=url, fleet_metrics_limit=1)) as (_, client):
        found = samples(scrape(client, "/metrics/fleet"))
    assert sum(name == "tierscope_host_info" for name, _ in found) == 1
    assert value(found, "tierscope_fleet_metrics_truncated", kind="host") == 1
    assert value(found, "tierscope_fleet_metrics_truncated", kind="service") == 0


def test_a_scrape_by_address_needs_a_token(client: httpx.Client, made: Populated) -> None:
    name, token = {"Host": "10.1.2.3:8480"}, {"Authorization": f"Bearer {made.token}"}
    for path in ("/metrics", "/metrics/fleet"):
        assert client.get(path, headers=name).status_code == 400
        assert client.get(path, headers=name | {"Authorization": "Bearer forged"}).status_code == 401
        assert client.get(path, headers=name | token).status_code == 200
    assert client.get("/v1/hosts", headers=name | token).status_code == 400
