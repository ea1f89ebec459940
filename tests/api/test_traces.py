"""Own traces: spans of ingest and tasks reach a collector, say not whom they are about, and are off by default."""

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from api.test_startup import loaded_with
from factories import batches
from factories.receivers import WebReceiver, web_receiver
from factories.services import batch_headers, running
from tierscope.core import traces
from tierscope.core.settings import OtlpSettings, Settings
from tierscope.worker.telemetry import _trace


def spans_of(receiver: WebReceiver) -> dict[str, Span]:
    """The newest span of each name."""
    sent = [ExportTraceServiceRequest.FromString(one.body) for one in receiver.requests if one.path == "/v1/traces"]
    return {
        span.name: span
        for request in sent
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    }


def numbers_of(span: Span) -> dict[str, int | bool | str]:
    found = {item.key: item.value for item in span.attributes}
    return {key: getattr(value, value.WhichOneof("value") or "") for key, value in found.items()}


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_batch_is_one_trace_from_its_arrival_to_its_decoding(database_url: str) -> None:
    with web_receiver() as receiver:
        otlp = OtlpSettings(endpoint=f"http://{receiver.place}", traces=True)
        with running(Settings(database_url=database_url, otlp=otlp)) as (app, client):
            join = app.state.use_cases.access.create_join_token(actor="test").secret
            host = client.post("/v1/agents/enrol", json={"join_token": join, "hostname": "n"}).json()
            body = batches.compress(batches.full_batch(host_id=host["host_id"]))
            answers = [
                client.post("/v1/ingest/batches", content=content, headers=batch_headers(host["credential"]))
                for content in (body, b"broken")
            ]
    assert [answer.status_code for answer in answers] == [200, 422]
    found = spans_of(receiver)
    assert set(found) == {"receive batch", "decode batch", "store batches"}
    assert found["decode batch"].trace_id == found["receive batch"].trace_id
    assert found["decode batch"].parent_span_id == found["receive batch"].span_id
    assert numbers_of(found["receive batch"]) == {"body_bytes": len(b"broken"), "error.type": "Unreadable"}
    assert numbers_of(found["store batches"]) == {"batches": 1}
    assert not any(name.encode() in one.body for one in receiver.requests for name in (host["host_id"], "127.0.0.1"))


def test_a_run_of_a_task_says_its_kind_and_numbers() -> None:
    with web_receiver() as receiver:
        traces.start(Settings(otlp=OtlpSettings(endpoint=f"http://{receiver.place}", traces=True)))
        _trace("rebuild.drain", seconds=2.0, failed=False, done={"hosts": 4, "failed": 2, "names": ["db1"]})
        traces.stop()
    (span,) = spans_of(receiver).values()
    assert span.name == "task rebuild.drain"
    assert numbers_of(span) == {"done.hosts": 4, "done.failed": 2, "failed": False}
    assert span.end_time_unix_nano - span.start_time_unix_nano == 2_000_000_000


def test_without_the_setting_nothing_of_it_is_loaded_or_sent() -> None:
    traces.start(Settings())
    with traces.span("receive batch", body_bytes=1):
        pass
    loaded = loaded_with("tierscope.api.app, tierscope.worker.telemetry")
    ours = ("opentelemetry.sdk.trace", "opentelemetry.exporter")
    assert [name for name in loaded if name.startswith(ours)] == []
