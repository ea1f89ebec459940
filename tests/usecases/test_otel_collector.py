"""A real collector of OpenTelemetry feeds the service by OTLP and by remote write 2.0, and gets the service's metrics.

`deploy/dev/build-collector.sh` builds it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from factories.loopback import free_port
from factories.prometheus import process
from factories.services import SignedIn, signed_in
from factories.waiting import until
from fixtures.shifted_clock import need_machine_clock
from tierscope.core.clock import utc_now
from tierscope.core.settings import OtlpSettings, Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.operate.telemetry.push import MetricsPush

COLLECTOR = Path(__file__).parents[2] / ".build" / "collector" / "otelcol"
pytestmark = [
    pytest.mark.parametrize("storage_mode", ["native"], indirect=True),
    pytest.mark.running_clock,
    pytest.mark.skipif(not COLLECTOR.exists(), reason="there is no collector: deploy/dev/build-collector.sh builds it"),
]
CONFIGURATION = """
receivers:
  otlp: {{protocols: {{http: {{endpoint: '{address}'}}}}}}
exporters:
  otlp_http:
    endpoint: {service}/otlp
    headers: {{authorization: 'Bearer {token}'}}
  prometheusremotewrite:
    endpoint: {service}/api/v1/write
    headers: {{authorization: 'Bearer {token}'}}
    protobuf_message: io.prometheus.write.v2.Request
    external_labels: {{way: remote-write}}
  file: {{path: '{file}', flush_interval: 100ms}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    metrics: {{receivers: [otlp], exporters: [{exporters}]}}
"""


@pytest.fixture
def service(database_url: str) -> Iterator[SignedIn]:
    with signed_in(database_url) as service:
        yield service


@contextmanager
def collector(folder: Path, service: SignedIn, exporters: str) -> Iterator[str]:
    need_machine_clock("the collector")
    address = f"127.0.0.1:{free_port()}"
    configuration = folder / "collector.yaml"
    configuration.write_text(
        CONFIGURATION.format(
            address=address,
            service=service.address,
            token=service.token,
            file=folder / "received.json",
            exporters=exporters,
        )
    )
    gate = "--feature-gates=exporter.prometheusremotewritexporter.enableSendingRW2"
    with process([str(COLLECTOR), f"--config={configuration}", gate], folder / "collector.log"):

        def answers() -> bool:
            try:
                return httpx.get(f"http://{address}/").status_code > 0
            except httpx.TransportError:
                return False

        until(answers, "the collector answers", seconds=60, log=folder / "collector.log")
        yield f"http://{address}"


def test_a_collector_feeds_us_both_ways(service: SignedIn, tmp_path: Path) -> None:
    with collector(tmp_path, service, "otlp_http, prometheusremotewrite") as address:
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=f"{address}/v1/metrics"))
        resource = Resource({"service.name": "cart", "service.instance.id": "web-1"})
        provider = MeterProvider([reader], resource, shutdown_on_exit=False)
        meter = provider.get_meter("shop")
        meter.create_counter("orders").add(3, {"kind": "new"})
        meter.create_histogram("wait", "s", explicit_bucket_boundaries_advisory=[0.1, 1.0]).record(0.5)
        assert provider.force_flush()
        provider.shutdown()
        ways = ('way=""', 'way="remote-write"')
        until(
            lambda: all(service.stored(f"wait_seconds_count{{{way}}}") for way in ways),
            "both ways have come",
            seconds=60,
            log=tmp_path / "collector.log",
        )
    ours, theirs = ([*service.stored(f'{{job="cart",{way},__name__!="target_info"}}')] for way in ways)

    def told(found: list[dict[str, Any]]) -> dict[tuple[str, ...], set[float]]:
        """Values by name, attribute and bound: what both translate in the same way."""
        names = ("__name__", "job", "instance", "kind", "le")
        return {tuple(one["labels"].get(name, "") for name in names): set(one["values"]) for one in found}

    assert told(ours) == told(theirs)
    assert told(ours)["orders_total", "cart", "web-1", "new", ""] == {3.0}


def test_a_collector_gets_what_we_send(service: SignedIn, tmp_path: Path) -> None:
    with collector(tmp_path, service, "file") as address:
        settings = Settings(otlp=OtlpSettings(endpoint=address))
        points = MetricsPush(ReadContext(service.database, utc_now, settings)).run()
        received = tmp_path / "received.json"
        until(
            lambda: received.exists() and received.read_text().endswith("\n"), "the collector has written", seconds=60
        )
    (line,) = received.read_text().splitlines()
    (scope,) = json.loads(line)["resourceMetrics"][0]["scopeMetrics"]
    names = {metric["name"] for metric in scope["metrics"]}
    assert {"tierscope_database_up", "tierscope_hosts", "tierscope_marks_pending"} <= names
    kinds = ("gauge", "sum", "histogram")
    sent = [len(metric[kind]["dataPoints"]) for metric in scope["metrics"] for kind in kinds if kind in metric]
    assert sum(sent) == points
