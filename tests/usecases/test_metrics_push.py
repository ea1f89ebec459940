"""Metrics of the service, sent to a collector: the same names, labels and values as scrapes have."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import ValidationError

from cli.commands import call
from factories.populated import populate
from factories.receivers import web_receiver
from factories.services import signed_in
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import OutgoingFailed
from tierscope.core.settings import OtlpSettings, Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.operate.telemetry.push import MetricsPush
from tierscope.usecases.operate.telemetry.runs import WorkerRuns
from tierscope.worker.schedule import every_seconds

native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
OF_A_PROCESS = ("tierscope_database_connections_used", "tierscope_database_connections_most")
Sample = tuple[str, tuple[tuple[str, str], ...]]


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as opened:
        populate(opened)
        runs = WorkerRuns(opened, utc_now)
        runs.ran("rebuild.drain", seconds=0.2, failed=False)
        runs.ran("rebuild.drain", seconds=20.0, failed=True)
        yield opened


def settings_for(endpoint: str, **headers: str) -> Settings:
    otlp = OtlpSettings.model_validate(
        {"endpoint": endpoint, "headers": headers, "attributes": {"deployment.environment.name": "lab"}}
    )
    return Settings(otlp=otlp)


def sample(name: str, labels: dict[str, str]) -> Sample:
    """A name with its labels: bounds as numbers, without empty texts, and without what the way of a sample adds."""
    added = ("job", "deployment_environment_name", "__name__")
    plain = {label: str(float(text)) if label == "le" else text for label, text in labels.items() if label not in added}
    return name, tuple(sorted((label, text) for label, text in plain.items() if text))


def scraped(client: httpx.Client) -> dict[Sample, float]:
    return {
        sample(one.name, one.labels): one.value
        for path in ("/metrics", "/metrics/fleet")
        for family in text_string_to_metric_families(client.get(path).text)
        for one in family.samples
    }


@native
def test_a_receiver_gets_what_scrapes_have(database: Database, database_url: str) -> None:
    with signed_in(database_url) as (client, _, token):
        endpoint = f"{str(client.base_url).rstrip('/')}/otlp"
        settings = settings_for(endpoint, authorization=f"Bearer {token}")
        wanted = scraped(client)
        points = MetricsPush(ReadContext(database, utc_now, settings)).run()
        asked = {"match": '{job="tierscope",deployment_environment_name="lab",__name__!="target_info"}', "from": "-1h"}
        found = client.get("/v1/series/samples", params=asked).json()["series"]
    got = {sample(one["labels"]["__name__"], one["labels"]): float(one["values"][-1]) for one in found}
    assert points > 20
    of_all = {key: value for key, value in got.items() if key[0] not in OF_A_PROCESS}
    assert of_all == {key: wanted.get(key) for key in of_all}
    names = {name for name, _ in got}
    assert {name for name, _ in wanted if name.startswith(("tierscope_host", "tierscope_service"))} <= names
    assert {"tierscope_worker_task_failures_total", "tierscope_worker_task_seconds_bucket"} <= names


@native
def test_a_request_goes_once_to_the_named_place(database: Database) -> None:
    with web_receiver() as receiver:
        settings = settings_for(f"http://{receiver.place}/base/", authorization="Bearer secret")
        push = MetricsPush(ReadContext(database, utc_now, settings))
        points = push.run()
        receiver.statuses.append(503)
        with pytest.raises(OutgoingFailed, match="503"):
            push.run()
        first, _ = receiver.requests
    headers = {name.lower(): value for name, value in first.headers.items()}
    assert first.path == "/base/v1/metrics"
    assert (headers["authorization"], headers["content-type"]) == ("Bearer secret", "application/x-protobuf")
    (resource,) = ExportMetricsServiceRequest.FromString(first.body).resource_metrics
    named = {item.key: item.value.string_value for item in resource.resource.attributes}
    assert (named["service.name"], named["deployment.environment.name"]) == ("tierscope", "lab")
    metrics = {metric.name: metric for metric in resource.scope_metrics[0].metrics}
    (point,) = metrics["tierscope_worker_task_seconds"].histogram.data_points
    assert (point.count, round(point.sum, 6), sum(point.bucket_counts)) == (2, 20.2, 2)
    assert metrics["tierscope_worker_task_failures"].sum.is_monotonic
    counted = [len(getattr(metric, metric.WhichOneof("data") or "").data_points) for metric in metrics.values()]
    assert sum(counted) == points


@native
def test_doctor_tells_of_a_collector(database_url: str, tmp_path: Path) -> None:
    def found(**env: str) -> dict[str, dict[str, str]]:
        given = {"TIERSCOPE_DATA_DIR": str(tmp_path), "TIERSCOPE_DATABASE_URL": database_url, **env}
        return {check["name"]: check for check in json.loads(call("doctor", "--json", env=given).stdout)["checks"]}

    assert "collector" not in found()
    with web_receiver() as receiver:
        endpoint = {"TIERSCOPE_OTLP__ENDPOINT": f"http://{receiver.place}"}
        assert found(**endpoint)["collector"]["result"] == "ok"
        receiver.statuses.append(404)
        refused = found(**endpoint)["collector"]
    gone = found(**endpoint)["collector"]
    assert (refused["result"], gone["result"]) == ("failed", "failed")
    assert "404" in refused["detail"]
    assert "TIERSCOPE_OTLP__" in gone["next_step"]


@pytest.mark.parametrize("endpoint", ["collector:4318", "ftp://collector", "http://user@collector", "http://"])
def test_an_endpoint_that_is_none_is_refused(endpoint: str) -> None:
    with pytest.raises(ValidationError):
        OtlpSettings(endpoint=endpoint)


def test_only_who_asks_for_it_has_the_task() -> None:
    assert "telemetry.push" not in every_seconds(Settings())
    assert every_seconds(settings_for("http://collector:4318"))["telemetry.push"] == 60
