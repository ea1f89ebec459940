"""Metrics of OpenTelemetry: its reference exporter feeds the service; what does not fit is said in its own words."""

import gzip
from collections.abc import Iterator

import httpx
import orjson
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from sqlalchemy import text

from factories.otlp_requests import HEADERS, PATH, counter, gauge, histogram, point, request
from factories.remote_writes import HEADERS as WRITE_HEADERS
from factories.remote_writes import named, write_body
from factories.services import SignedIn, signed_in
from tierscope.core.clock import utc_now
from tierscope.core.settings import OtlpSettings, RemoteWriteSettings

pytestmark = [pytest.mark.parametrize("storage_mode", ["native"], indirect=True), pytest.mark.running_clock]
JSON = "application/json"
LIMITS = RemoteWriteSettings(samples_per_request=1000, series=50)


class Service(SignedIn):
    def send(self, body: bytes, **headers: str) -> httpx.Response:
        sent = httpx.Headers(HEADERS)
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        return self.client.post(PATH, content=body, headers=sent)

    def value(self, match: str) -> float:
        """The one value of the one series, however often it came."""
        (series,) = self.stored(match)
        (value,) = set(series["values"])
        return float(value)


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with signed_in(database_url, remote_write=LIMITS, otlp=OtlpSettings(inflated_bytes=1 << 20)) as service:
        yield Service(*service)


def now_ms() -> int:
    return int(utc_now().timestamp() * 1000) - 60_000


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_the_reference_exporter_feeds_us(service: Service, compression: Compression) -> None:
    exporter = OTLPMetricExporter(
        endpoint=service.address + PATH,
        headers={"Authorization": f"Bearer {service.token}"},
        compression=compression,
    )
    resource = Resource({"service.name": "cart", "service.instance.id": "web-1", "service.version": "7"})
    provider = MeterProvider([PeriodicExportingMetricReader(exporter)], resource, shutdown_on_exit=False)
    meter = provider.get_meter("shop", "1.2")
    meter.create_counter("orders", "{order}").add(3, {"kind": "new"})
    meter.create_up_down_counter("queue.length").add(-2)
    meter.create_gauge("memory.usage", "By").set(5e9)
    waits = meter.create_histogram("wait", "s", explicit_bucket_boundaries_advisory=[0.1, 1.0])
    for seconds in (0.05, 0.5, 5.0):
        waits.record(seconds)
    assert provider.force_flush()
    provider.shutdown()
    scope = 'job="cart",instance="web-1",otel_scope_name="shop",otel_scope_version="1.2"'
    assert service.value(f'orders_total{{{scope},kind="new"}}') == 3
    assert service.value(f"queue_length{{{scope}}}") == -2
    assert service.value(f"memory_usage_bytes{{{scope}}}") == 5e9
    buckets = {series["labels"]["le"]: series["values"][0] for series in service.stored("wait_seconds_bucket")}
    assert buckets == {"0.1": 1, "1": 2, "+Inf": 3}
    assert service.value('target_info{service_version="7",job="cart"}') == 1
    asked = {"query": 'histogram_quantile(0.5, wait_seconds_bucket{job="cart"})'}
    (found,) = service.client.get("/prometheus/api/v1/query", params=asked).json()["data"]["result"]
    assert 0.1 < float(found["value"][1]) <= 1.0


def test_a_series_is_the_same_one_by_otlp_and_by_remote_write(service: Service) -> None:
    at = now_ms()
    body = write_body((named("load"), [(at, 1.0)]))
    assert service.client.post("/api/v1/write", content=body, headers=WRITE_HEADERS).status_code == 204
    resource = {"service.name": "node", "service.instance.id": "db1:9100"}
    for _ in range(2):
        metrics = request(gauge("load", point(at + 5000, 2.0)), resource=resource)
        answer = service.send(gzip.compress(metrics.SerializeToString()), content_encoding="gzip")
        assert (answer.status_code, answer.content) == (200, b"")
    (found,) = service.stored("load")
    assert found["values"] == [1.0, 2.0]
    with service.database.read() as session:
        assert session.execute(text("SELECT count(*) FROM sample_series")).scalar_one() == 1


def test_json_is_answered_in_json(service: Service) -> None:
    body = {
        "resourceMetrics": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "cart"}}]},
                "scopeMetrics": [
                    {"metrics": [{"name": "up", "gauge": {"dataPoints": [{"timeUnixNano": "5", "asDouble": 1}]}}]}
                ],
            }
        ]
    }
    answer = service.send(orjson.dumps(body), content_type=JSON)
    assert answer.status_code == 200
    partial = answer.json()["partialSuccess"]
    assert partial["rejectedDataPoints"] == "1"
    assert "1 older than 30 days" in partial["errorMessage"]
    point_now = {"timeUnixNano": str(now_ms() * 10**6), "asInt": "4"}
    body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]["gauge"] = {"dataPoints": [point_now]}  # type: ignore[index]
    answer = service.send(gzip.compress(orjson.dumps(body)), content_type=JSON, content_encoding="gzip")
    assert (answer.status_code, answer.json()) == (200, {})
    assert service.value('up{job="cart"}') == 4


def test_what_is_left_out_is_counted_and_the_rest_is_stored(service: Service) -> None:
    at = now_ms()
    metrics = request(
        gauge("up", point(at, 1.0), point(at - 40 * 86_400_000, 1.0), point(at, 1.0, long="x" * 5000)),
        counter("calls", point(at, 1.0), temporality=1),
        histogram("wait", at, [1.0], [1, 2], 3.0),
    )
    answer = service.send(metrics.SerializeToString())
    partial = ExportMetricsServiceResponse.FromString(answer.content).partial_success
    assert answer.status_code == 200
    assert partial.rejected_data_points == 3
    for reason in ("1 older than 30 days", "1 not cumulative", "4096 bytes"):
        assert reason in partial.error_message
    assert service.value("up") == 1
    assert len(service.stored("wait_bucket")) == 2


def test_series_beyond_the_limit_are_left_out(service: Service) -> None:
    at = now_ms()
    metrics = request(*(gauge(f"m{number}", point(at, 1.0)) for number in range(80)), resource={"service.name": "x"})
    partial = ExportMetricsServiceResponse.FromString(service.send(metrics.SerializeToString()).content).partial_success
    assert partial.rejected_data_points == 30
    assert "of series beyond the limit of 50" in partial.error_message


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b"", {"content_type": "text/plain"}, 415, 3),
        (b"", {"content_encoding": "zstd"}, 415, 3),
        (b"", {"authorization": "Bearer none"}, 401, 16),
        (b"\xff", {}, 400, 3),
        (b"plain", {"content_encoding": "gzip"}, 400, 3),
        (b"{", {"content_type": JSON}, 400, 3),
        (b"x" * (2 << 20), {}, 413, 8),
        (gzip.compress(b"\0" * (2 << 20)), {"content_encoding": "gzip"}, 413, 8),
        (b"[" * 60_000, {"content_type": JSON}, 413, 8),
    ],
)
def test_errors_are_statuses_in_the_encoding_of_the_request(
    service: Service, body: bytes, headers: dict[str, str], status: int, code: int
) -> None:
    answer = service.send(body, **headers)
    assert answer.status_code == status, answer.content
    if headers.get("content_type") == JSON:
        assert answer.headers["content-type"] == JSON
        found = Status(**answer.json())
    else:
        assert answer.headers["content-type"] == HEADERS["Content-Type"]
        found = Status.FromString(answer.content)
    assert found.code == code
    assert found.message
    assert "retry-after" not in answer.headers


def test_a_busy_service_says_when_to_come_back(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tierscope.usecases.ingest.remote_write.QUEUE_REQUESTS", 0)
    answer = service.send(request(gauge("up", point(now_ms(), 1.0))).SerializeToString())
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    assert Status.FromString(answer.content).code == 14


def test_metrics_that_name_no_host_are_told_at_once(service: Service) -> None:
    at = now_ms()
    metrics = (gauge("system.memory.limit", point(at, 1e9)), gauge("system.memory.usage", point(at, 1e9)))
    answer = service.send(request(*metrics, resource={}).SerializeToString())
    told = ExportMetricsServiceResponse.FromString(answer.content).partial_success
    assert answer.status_code == 200
    assert told.rejected_data_points == 0
    assert "2 data points name no host" in told.error_message
    assert "resourcedetection" in told.error_message
    for resource in ({"host.name": "fd00::5"}, {"service.instance.id": "fd00::6", "service.name": "node"}):
        assert service.send(request(*metrics, resource=resource).SerializeToString()).content == b""
    # A program says what it is, and is no host.
    program = request(gauge("load", point(at, 1.0)), resource={"service.name": "cart"})
    assert service.send(program.SerializeToString()).content == b""
    with service.database.read() as session:
        names = session.execute(text("SELECT name FROM sample_targets ORDER BY name")).scalars()
        assert list(names) == ["", "fd00::5", "fd00::6"]
