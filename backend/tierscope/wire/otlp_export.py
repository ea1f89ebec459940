"""Metrics of the service as a request of OTLP: the way back of `wire/otlp.py`.

Names and labels stay as `/metrics` has them, so that a receiver that translates them to Prometheus gets the same ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1 import metrics_pb2 as metrics
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

_NS_PER_US = 1000
_CUMULATIVE = metrics.AGGREGATION_TEMPORALITY_CUMULATIVE


def export_request(
    families: Iterable[Metric], at: datetime, resource_attributes: Mapping[str, str]
) -> tuple[bytes, int]:
    """An `ExportMetricsServiceRequest` of these metrics, and how many data points it has.

    Counters become cumulative monotonic sums, histograms keep their bounds, all else becomes gauges.
    """
    request = ExportMetricsServiceRequest()
    of_resource = request.resource_metrics.add()
    of_resource.resource.attributes.extend(_attributes(resource_attributes))
    scope = of_resource.scope_metrics.add()
    at_ns = round(at.timestamp() * 1_000_000) * _NS_PER_US
    points = 0
    for family in families:
        if family.samples:
            points += _add(scope.metrics.add(name=family.name, description=family.documentation), family, at_ns)
    return request.SerializeToString(), points


def _add(metric: metrics.Metric, family: Metric, at_ns: int) -> int:
    if family.type == "histogram":
        return _add_histogram(metric.histogram, family.samples, at_ns)
    if family.type == "counter":
        metric.sum.aggregation_temporality = _CUMULATIVE
        metric.sum.is_monotonic = True
        points = metric.sum.data_points
    else:
        metric.name = family.samples[0].name
        points = metric.gauge.data_points
    for sample in family.samples:
        points.add(time_unix_nano=at_ns, as_double=sample.value, attributes=_attributes(sample.labels))
    return len(points)


def _add_histogram(histogram: metrics.Histogram, samples: Sequence[Sample], at_ns: int) -> int:
    histogram.aggregation_temporality = _CUMULATIVE
    totals: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
    sums: dict[tuple[tuple[str, str], ...], float] = {}
    for sample in samples:
        labels = tuple((name, value) for name, value in sample.labels.items() if name != "le")
        if sample.name.endswith("_bucket"):
            totals.setdefault(labels, []).append((float(sample.labels["le"]), sample.value))
        elif sample.name.endswith("_sum"):
            sums[labels] = sample.value
    for labels, buckets in totals.items():
        counts = [0.0, *(total for _, total in buckets)]
        point = histogram.data_points.add(
            time_unix_nano=at_ns,
            attributes=_attributes(dict(labels)),
            explicit_bounds=[bound for bound, _ in buckets[:-1]],
            bucket_counts=[round(after - before) for before, after in pairwise(counts)],
            count=round(counts[-1]),
        )
        if labels in sums:
            point.sum = sums[labels]
    return len(totals)


def _attributes(pairs: Mapping[str, str]) -> list[KeyValue]:
    return [KeyValue(key=key, value=AnyValue(string_value=value)) for key, value in pairs.items()]
