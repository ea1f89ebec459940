"""Requests of OTLP, made as an exporter makes them."""

from collections.abc import Callable, Mapping

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AGGREGATION_TEMPORALITY_CUMULATIVE,
    Gauge,
    Histogram,
    Metric,
    NumberDataPoint,
    ScopeMetrics,
    Sum,
)

from factories.protobuf_bytes import field
from tierscope.core.clock import utc_now
from tierscope.wire.otlp import BOUNDS

HEADERS = {"Content-Type": "application/x-protobuf"}
PATH = "/otlp/v1/metrics"
SERVICE = {"service.name": "cart", "service.namespace": "shop", "service.instance.id": "db1:9100"}


def attributes(pairs: Mapping[str, object]) -> list[KeyValue]:
    """Attributes of texts, truth values, whole numbers and others."""
    return [KeyValue(key=key, value=_value(value)) for key, value in pairs.items()]


def _value(value: object) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    return AnyValue(double_value=value) if isinstance(value, float) else AnyValue(string_value=str(value))


def point(
    at_ms: int, value: float, flags: int = 0, *, pairs: Mapping[str, object] | None = None, **more: object
) -> NumberDataPoint:
    return NumberDataPoint(
        time_unix_nano=at_ms * 1_000_000, as_double=value, flags=flags, attributes=attributes({**(pairs or {}), **more})
    )


def gauge(name: str, *points: NumberDataPoint, unit: str = "") -> Metric:
    return Metric(name=name, unit=unit, gauge=Gauge(data_points=points))


def counter(
    name: str, *points: NumberDataPoint, temporality: int = AGGREGATION_TEMPORALITY_CUMULATIVE, unit: str = ""
) -> Metric:
    """A sum that only grows."""
    made = Sum(data_points=points, is_monotonic=True)
    made.aggregation_temporality = temporality  # type: ignore[assignment]
    return Metric(name=name, unit=unit, sum=made)


def histogram(name: str, at_ms: int, bounds: list[float], counts: list[int], total: float | None) -> Metric:
    made = Histogram(aggregation_temporality=AGGREGATION_TEMPORALITY_CUMULATIVE)
    added = made.data_points.add(
        time_unix_nano=at_ms * 1_000_000, explicit_bounds=bounds, bucket_counts=counts, count=sum(counts)
    )
    if total is not None:
        added.sum = total
    return Metric(name=name, histogram=made)


def request(*metrics: Metric, resource: Mapping[str, object] = SERVICE, scope: str = "") -> ExportMetricsServiceRequest:
    made = ExportMetricsServiceRequest()
    of_resource = made.resource_metrics.add()
    of_resource.resource.attributes.extend(attributes(resource))
    of_resource.scope_metrics.append(ScopeMetrics(metrics=metrics))
    of_resource.scope_metrics[0].scope.name = scope
    return made


def hostile_exports() -> dict[str, Callable[[], bytes]]:
    """Requests that hold more than their bytes tell, by name, not yet compressed."""

    def points(point: bytes) -> bytes:
        return field(1, field(2, field(2, field(1, b"m") + field(5, point))))

    def deep() -> bytes:
        value = b""
        while len(value) < 1 << 16:
            value = field(5, field(1, value))
        return field(1, field(1, field(1, field(1, b"k") + field(2, value))))

    def series(count: int, of_scope: Mapping[str, object], of_each: Mapping[str, object]) -> bytes:
        at_ms = int(utc_now().timestamp() * 1000)
        made = request(*(gauge(f"m{place}", point(at_ms, 1.0, pairs=of_each)) for place in range(count)))
        made.resource_metrics[0].scope_metrics[0].scope.attributes.extend(attributes(of_scope))
        return made.SerializeToString()

    return {
        "64 MiB of zeros": lambda: bytes(64 << 20),
        "4 M empty resources": lambda: field(1, b"") * (4 << 20),
        "4 M empty points": lambda: points(field(1, b"") * ((4 << 20) - 64)),
        "as many empty points as may be": lambda: points(field(1, b"") * (BOUNDS.messages - 8)),
        "values within values": deep,
        "attributes of a scope in each series": lambda: series(
            50_000, {f"a{place}": "x" * 100 for place in range(60)}, {}
        ),
        "as many series as may be": lambda: series(36_000, {}, {"a": "x" * 20, "b": "y" * 20}),
        "as many attributes as may be": lambda: series(2_000, {}, {f"a{place}": "x" for place in range(60)}),
        "as many buckets as may be": lambda: request(
            histogram("wait", int(utc_now().timestamp() * 1000), [*map(float, range(99_000))], [1] * 99_001, 1.0)
        ).SerializeToString(),
    }
