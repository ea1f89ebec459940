"""Metrics of OpenTelemetry as series of Prometheus: OTLP requests, decoded with bounds and translated.

Names follow `domain/ingest/otlp_names.py`. Gauges, cumulative sums, histograms with explicit bounds and summaries
become series; the attributes of a resource become `job`, `instance`, the promoted labels and `target_info`. What has no
place in the store is refused point by point, with its reason.
"""

import base64
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import numpy.typing as npt
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.metrics.v1 import metrics_pb2 as metrics
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from tierscope.core.errors import InflatedTooLarge, TooLarge, Unreadable
from tierscope.domain.base.json_text import MAX_PARTS, has_too_many_parts
from tierscope.domain.ingest.otlp_names import bound_text, label_name, metric_name
from tierscope.domain.ingest.prometheus.counters import sender_of
from tierscope.domain.ingest.prometheus.stale import STALE
from tierscope.domain.ingest.prometheus.targets import INSTANCE, find_target, is_loopback
from tierscope.wire.bounds import Bounds, check_bounds

BOUNDS = Bounds(messages=1 << 18, fields=1 << 20, elements=1 << 20)
"""Of a request in protobuf: data points, attributes and their values are messages."""
PART_LABELS = 32_768
"""Labels of the series that are made at once: a request becomes as many parts as it needs."""
LABEL_BYTES_MAX = 32 << 20
"""Most bytes of all labels of a request: one attribute of a scope stands in each of its series."""
_DEPTH = 32
_INFO_VALUE_LENGTH = 1024
_INFO_LABELS = 48
_NO_VALUE = metrics.DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK
SPLIT = "Send smaller requests: lower the batch size of the exporter."
_CUMULATIVE = metrics.AGGREGATION_TEMPORALITY_CUMULATIVE
_NOT_CUMULATIVE = "not cumulative (convert them: processor deltatocumulative, or the exporter's temporality preference)"
_EXPONENTIAL = "exponential histograms (use explicit bounds: the exporter's default histogram aggregation)"

Labels = tuple[tuple[str, str], ...]
Column = tuple[Labels, npt.NDArray[np.int64], npt.NDArray[np.float64]]
"""Labels by name, then milliseconds and values."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What of a request is taken: times in milliseconds since 1970, how many samples, which resource attributes.

    `too_old` and `too_new` are the words with which points before and after these times are refused.
    """

    oldest_ms: int
    newest_ms: int
    samples: int
    promoted: Sequence[str]
    too_old: str
    too_new: str


@dataclass(slots=True)
class Translated:
    """How many data points of a request became samples, and those refused by reason."""

    points: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    nameless: int = 0
    """Points of series that no label tells from those of other senders, though they are about a host."""


def inflate_gzip(body: bytes, *, cap_bytes: int) -> bytes:
    """The content of a gzip body, never more than the cap in memory.

    Raises:
        InflatedTooLarge: the content is larger.
        Unreadable: not gzip, truncated, or followed by other bytes.
    """
    inflater = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        content = inflater.decompress(body, cap_bytes + 1)
    except zlib.error as error:
        raise Unreadable(f"the body is not gzip, or is corrupt: {error}") from error
    if len(content) > cap_bytes:
        raise InflatedTooLarge(f"the body is more than {cap_bytes} bytes inflated", next_step=SPLIT)
    if not inflater.eof or inflater.unused_data:
        raise Unreadable("the gzip body is truncated, or has bytes behind its end")
    return content


def decode_protobuf(body: bytes) -> ExportMetricsServiceRequest:
    """A request in protobuf.

    Raises:
        Unreadable: it is none, or holds more than the bounds.
    """
    check_bounds(body, ExportMetricsServiceRequest, BOUNDS)
    try:
        return ExportMetricsServiceRequest.FromString(body)
    except DecodeError as error:
        raise Unreadable(f"the body is not an ExportMetricsServiceRequest: {error}") from error


def decode_json(body: bytes) -> ExportMetricsServiceRequest:
    """A request in JSON; fields that the schema does not know are left out.

    Raises:
        TooLarge: it has more values than JSON may have here.
        Unreadable: it is none.
    """
    if has_too_many_parts(body):
        raise TooLarge(
            f"the JSON has more than {MAX_PARTS} strings, commas, colons and brackets",
            next_step="Send protobuf, or smaller requests.",
        )
    request = ExportMetricsServiceRequest()
    try:
        json_format.Parse(body, request, ignore_unknown_fields=True, max_recursion_depth=_DEPTH)
    except (json_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"the body is not an ExportMetricsServiceRequest in JSON: {str(error)[:200]}") from error
    return request


def translate(
    request: ExportMetricsServiceRequest, accepted: Accepted, take: Callable[[list[Column]], None]
) -> Translated:
    """Makes the series of a request, and hands them to `take` part by part.

    Raises:
        TooLarge: they have more samples than accepted, or more than `LABEL_BYTES_MAX` of labels.
    """
    made = _Series(accepted, take)
    for resource_metrics in request.resource_metrics:
        resource = _ResourceLabels(resource_metrics.resource, accepted.promoted)
        made.newest_ms = None
        for scope_metrics in resource_metrics.scope_metrics:
            base = resource.labels | _scope_labels(scope_metrics.scope)
            for metric in scope_metrics.metrics:
                _translate_metric(metric, base, made)
        if made.newest_ms is not None and resource.info:
            made.put("target_info", resource.info, (), made.newest_ms, 1.0)
    return made.finish()


class _Series:
    """Series as they grow, within the bounds of a request."""

    def __init__(self, accepted: Accepted, take: Callable[[list[Column]], None]) -> None:
        self._accepted = accepted
        self._take = take
        self._series: dict[Labels, tuple[list[int], list[float]]] = {}
        self._samples_left = accepted.samples
        self._part_labels = 0
        self._bytes_left = LABEL_BYTES_MAX
        self._done = Translated()
        self.newest_ms: int | None = None
        """Of the points that were taken of this resource."""

    def refuse(self, reason: str, points: int = 1) -> None:
        """Count points that are left out."""
        if points:
            self._done.refused[reason] += points

    def take_time(self, time_unix_nano: int) -> int | None:
        """The milliseconds of a point, which counts from here on; None where it is refused for its time."""
        at_ms = time_unix_nano // 1_000_000
        if at_ms < self._accepted.oldest_ms:
            self.refuse(self._accepted.too_old)
            return None
        if at_ms > self._accepted.newest_ms:
            self.refuse(self._accepted.too_new)
            return None
        self.newest_ms = at_ms if self.newest_ms is None else max(self.newest_ms, at_ms)
        self._done.points += 1
        return at_ms

    def put(
        self, name: str, labels: Mapping[str, str], more: Iterable[tuple[str, str]], at_ms: int, value: float
    ) -> None:
        """Add a sample of a series."""
        if self._samples_left == 0:
            raise TooLarge(f"the request makes more than {self._accepted.samples} samples", next_step=SPLIT)
        self._samples_left -= 1
        named = {**labels, **dict(more), "__name__": name}
        key = tuple(sorted(named.items()))
        found = self._series.get(key)
        self._done.nameless += _is_nameless(named)
        if found is None:
            self._bytes_left -= sum(len(label) + len(text) for label, text in key)
            if self._bytes_left < 0:
                raise TooLarge(f"its series have more than {LABEL_BYTES_MAX} bytes of labels", next_step=SPLIT)
            if self._part_labels > PART_LABELS:
                self._hand_over()
            self._part_labels += len(key)
            found = self._series[key] = ([], [])
        found[0].append(at_ms)
        found[1].append(value)

    def finish(self) -> Translated:
        """Hand the rest over, and say what was done."""
        self._hand_over()
        return self._done

    def _hand_over(self) -> None:
        columns = [
            (labels, np.array(times, np.int64), np.array(values, np.float64))
            for labels, (times, values) in self._series.items()
        ]
        self._series.clear()
        self._part_labels = 0
        if columns:
            self._take(columns)


def _is_nameless(labels: Mapping[str, str]) -> bool:
    """Whether a series is about a machine, or about nothing that its labels name, and says not which."""
    sender = sender_of(labels)
    name = find_target(labels, host_label=INSTANCE, cluster_label="", sender=sender).name
    if name:
        return sender is not None and is_loopback(name)
    return not labels.get("job") or sender is not None


class _ResourceLabels:
    """What a resource gives to each of its series, and to `target_info`."""

    def __init__(self, resource: Resource, promoted: Sequence[str]) -> None:
        attributes = {item.key: _text(item.value) for item in resource.attributes}
        name, namespace = attributes.get("service.name", ""), attributes.get("service.namespace", "")
        identity = {
            "job": f"{namespace}/{name}" if namespace and name else name,
            # A collector that reads its own machine sends no instance, and would be the same as every other one.
            "instance": attributes.get("service.instance.id") or attributes.get("host.name", ""),
        }
        identity = {label: text for label, text in identity.items() if text}
        self.labels = {label_name(key): attributes[key] for key in promoted if attributes.get(key)} | identity
        named = ("service.name", "service.namespace", "service.instance.id")
        rest = {
            label_name(key): text
            for key, text in attributes.items()
            if key and key not in named and 0 < len(text) <= _INFO_VALUE_LENGTH
        }
        self.info = dict(list(rest.items())[:_INFO_LABELS]) | identity if rest and identity else {}


def _scope_labels(scope: InstrumentationScope) -> dict[str, str]:
    found = {"otel_scope_name": scope.name, "otel_scope_version": scope.version}
    found |= {f"otel_scope_{label}": text for label, text in _labels(scope.attributes).items()}
    return {label: text for label, text in found.items() if text}


def _labels(attributes: Iterable[KeyValue]) -> dict[str, str]:
    """Labels of attributes; where two become one, their values stand beside each other, by the order of their keys."""
    found: dict[str, str] = {}
    for item in sorted(attributes, key=lambda item: item.key):
        if item.key:
            label, text = label_name(item.key), _text(item.value)
            found[label] = f"{found[label]};{text}" if label in found else text
    return found


def _text(value: AnyValue) -> str:
    plain = _plain(value, _DEPTH)
    return plain if isinstance(plain, str) else "" if plain is None else json.dumps(plain, separators=(",", ":"))


def _plain(value: AnyValue, depth: int) -> object:
    kind = value.WhichOneof("value")
    if kind == "array_value" and depth:
        return [_plain(item, depth - 1) for item in value.array_value.values]
    if kind == "kvlist_value" and depth:
        return {item.key: _plain(item.value, depth - 1) for item in value.kvlist_value.values}
    if kind == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    return getattr(value, kind) if kind in ("string_value", "bool_value", "int_value", "double_value") else None


def _translate_metric(metric: metrics.Metric, base: Mapping[str, str], made: _Series) -> None:
    kind = metric.WhichOneof("data")
    if kind is None:
        return
    data = getattr(metric, kind)
    points = data.data_points
    counter = kind == "sum" and metric.sum.is_monotonic
    name = metric_name(metric.name, metric.unit, counter=counter, gauge=kind == "gauge")
    if not name:
        made.refuse("without a name", len(points))
    elif kind == "exponential_histogram":
        made.refuse(_EXPONENTIAL, len(points))
    elif kind in ("sum", "histogram") and data.aggregation_temporality != _CUMULATIVE:
        made.refuse(_NOT_CUMULATIVE, len(points))
    elif kind in ("gauge", "sum"):
        _numbers(name, points, base, made)
    elif kind == "histogram":
        _histograms(name, points, base, made)
    elif kind == "summary":
        _summaries(name, points, base, made)


def _numbers(name: str, points: Iterable[metrics.NumberDataPoint], base: Mapping[str, str], made: _Series) -> None:
    for point in points:
        value: float
        if point.flags & _NO_VALUE:
            value = STALE
        else:
            kind = point.WhichOneof("value")
            if kind is None:
                made.refuse("without a value")
                continue
            value = point.as_double if kind == "as_double" else float(point.as_int)
        at_ms = made.take_time(point.time_unix_nano)
        if at_ms is not None:
            made.put(name, {**base, **_labels(point.attributes)}, (), at_ms, value)


def _histograms(
    name: str, points: Iterable[metrics.HistogramDataPoint], base: Mapping[str, str], made: _Series
) -> None:
    for point in points:
        bounds = list(point.explicit_bounds)
        if point.bucket_counts and len(point.bucket_counts) != len(bounds) + 1:
            made.refuse("histograms with other than one bucket more than bounds")
            continue
        at_ms = made.take_time(point.time_unix_nano)
        if at_ms is None:
            continue
        stale = bool(point.flags & _NO_VALUE)
        labels = {**base, **_labels(point.attributes)}
        for bound, count in zip(bounds, accumulate(point.bucket_counts), strict=False):
            made.put(f"{name}_bucket", labels, [("le", bound_text(bound))], at_ms, STALE if stale else float(count))
        total = STALE if stale else float(point.count)
        made.put(f"{name}_bucket", labels, [("le", "+Inf")], at_ms, total)
        made.put(f"{name}_count", labels, (), at_ms, total)
        if stale or point.HasField("sum"):
            made.put(f"{name}_sum", labels, (), at_ms, STALE if stale else point.sum)


def _summaries(name: str, points: Iterable[metrics.SummaryDataPoint], base: Mapping[str, str], made: _Series) -> None:
    for point in points:
        at_ms = made.take_time(point.time_unix_nano)
        if at_ms is None:
            continue
        stale = bool(point.flags & _NO_VALUE)
        labels = {**base, **_labels(point.attributes)}
        for quantile in point.quantile_values:
            value = STALE if stale else quantile.value
            made.put(name, labels, [("quantile", bound_text(quantile.quantile))], at_ms, value)
        made.put(f"{name}_count", labels, (), at_ms, STALE if stale else float(point.count))
        made.put(f"{name}_sum", labels, (), at_ms, STALE if stale else point.sum)
