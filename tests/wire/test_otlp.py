"""OTLP requests: what has a place in the store becomes series, all else is refused with its reason, bounds hold."""

import gzip
import math
import struct
from collections import Counter
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_DELTA, Metric, Summary

from factories.otlp_requests import SERVICE, counter, gauge, histogram, point, request
from factories.protobuf_bytes import field
from tierscope.core.errors import InflatedTooLarge, TooLarge, Unreadable
from tierscope.core.settings import OtlpSettings
from tierscope.wire.otlp import (
    BOUNDS,
    PART_LABELS,
    Accepted,
    Column,
    Translated,
    decode_json,
    decode_protobuf,
    inflate_gzip,
    translate,
)

ACCEPTED = Accepted(
    oldest_ms=1000,
    newest_ms=9000,
    samples=1000,
    promoted=OtlpSettings().promoted_attributes,
    too_old="too old",
    too_new="too new",
)
IDENTITY = {"job": "shop/cart", "instance": "db1:9100"}
STALE_BITS = 0x7FF0000000000002
Sample = tuple[int, float]


@dataclass(slots=True)
class Made:
    columns: list[Column]
    translated: Translated

    @property
    def points(self) -> int:
        """Data points that became samples."""
        return self.translated.points

    @property
    def refused(self) -> Counter[str]:
        """Those that did not, by reason."""
        return self.translated.refused


def made_of(message: ExportMetricsServiceRequest, accepted: Accepted = ACCEPTED) -> Made:
    columns: list[Column] = []
    return Made(columns, translate(message, accepted, columns.extend))


def stored(made: Made) -> dict[str, list[tuple[dict[str, str], list[Sample]]]]:
    """Series by the name of their metric: other labels, and samples."""
    found: dict[str, list[tuple[dict[str, str], list[Sample]]]] = {}
    for labels, times, values in made.columns:
        others = {label: text for label, text in labels if label != "__name__"}
        samples = list(zip(times.tolist(), values.tolist(), strict=True))
        found.setdefault(dict(labels)["__name__"], []).append((others, samples))
    return found


def test_numbers_become_series_under_their_documented_names() -> None:
    made = made_of(
        request(
            gauge("memory.usage", point(2000, 5.0, state="free"), point(3000, 6.0, state="free"), unit="By"),
            counter("faults", point(2000, 7.0, big=True, node=1)),
        )
    )
    assert made.refused == {}
    assert made.points == 3
    assert stored(made) == {
        "memory_usage_bytes": [({**IDENTITY, "state": "free"}, [(2000, 5.0), (3000, 6.0)])],
        "faults_total": [({**IDENTITY, "big": "true", "node": "1"}, [(2000, 7.0)])],
    }


@pytest.mark.parametrize(
    ("resource", "labels", "nameless"),
    [
        (
            {"host.name": "db1", "service.instance.id": "localhost:9100"},
            {"instance": "localhost:9100", "host_name": "db1"},
            0,
        ),
        ({"service.instance.id": "127.0.0.1:9100"}, {"instance": "127.0.0.1:9100"}, 1),
        ({}, {}, 1),
    ],
)
def test_a_machine_is_named_by_what_is_its_own(resource: dict[str, str], labels: dict[str, str], nameless: int) -> None:
    made = made_of(request(gauge("node_vmstat_pgfault", point(2000, 5.0)), resource=resource))
    assert stored(made)["node_vmstat_pgfault"] == [(labels, [(2000, 5.0)])]
    assert made.translated.nameless == nameless


def test_a_histogram_becomes_running_totals_by_bound() -> None:
    made = made_of(request(histogram("wait", 2000, [0.5, 10.0], [1, 2, 4], 33.0)))
    found = stored(made)
    buckets = {labels["le"]: samples for labels, samples in found["wait_bucket"]}
    assert buckets == {"0.5": [(2000, 1.0)], "10": [(2000, 3.0)], "+Inf": [(2000, 7.0)]}
    assert found["wait_count"] == [(IDENTITY, [(2000, 7.0)])]
    assert found["wait_sum"] == [(IDENTITY, [(2000, 33.0)])]
    without = stored(made_of(request(histogram("wait", 2000, [], [], None))))
    assert set(without) == {"wait_bucket", "wait_count"}


def test_a_summary_becomes_quantiles() -> None:
    summary = Summary()
    added = summary.data_points.add(time_unix_nano=2_000_000_000, count=4, sum=10.0)
    added.quantile_values.add(quantile=0.99, value=3.5)
    found = stored(made_of(request(Metric(name="wait", summary=summary))))
    assert found["wait"] == [({**IDENTITY, "quantile": "0.99"}, [(2000, 3.5)])]
    assert [found[name][0][1][0][1] for name in ("wait_count", "wait_sum")] == [4.0, 10.0]


def test_a_point_without_a_recorded_value_ends_its_series() -> None:
    made = made_of(request(gauge("up", point(2000, 1.0), point(3000, 0.0, flags=1))))
    (values,) = [values for _, _, values in made.columns]
    assert struct.unpack("<Q", struct.pack("<d", values[1]))[0] == STALE_BITS


def test_what_has_no_place_is_refused_by_reason() -> None:
    exponential = Metric(name="wait")
    exponential.exponential_histogram.data_points.add()
    empty = gauge("nothing")
    empty.gauge.data_points.add(time_unix_nano=2_000_000_000)
    broken = histogram("broken", 2000, [1.0, 2.0], [1], 1.0)
    made = made_of(
        request(
            counter("calls", point(2000, 1.0), point(3000, 1.0), temporality=AGGREGATION_TEMPORALITY_DELTA),
            exponential,
            gauge("...", point(2000, 1.0)),
            gauge("up", point(999, 1.0), point(9001, 1.0), point(9000, 1.0)),
            empty,
            broken,
        )
    )
    by_first_word = {reason.split(" ")[0]: count for reason, count in made.refused.items() if "too" not in reason}
    assert by_first_word == {"not": 2, "exponential": 1, "without": 1, "histograms": 1}
    assert {reason: made.refused[reason] for reason in ("too old", "too new", "without a value", "without a name")} == {
        "too old": 1,
        "too new": 1,
        "without a value": 1,
        "without a name": 1,
    }
    assert made.points == 1
    assert stored(made) == {"up": [(IDENTITY, [(9000, 1.0)])]}


def test_a_resource_names_job_and_instance_and_the_rest_stands_in_target_info() -> None:
    resource = {**SERVICE, "service.version": "2.1", "host.name": "db1", "process.command_line": "x" * 2000}
    found = stored(made_of(request(gauge("up", point(2000, 1.0)), resource=resource, scope="kit")))
    assert found["up"] == [({**IDENTITY, "host_name": "db1", "otel_scope_name": "kit"}, [(2000, 1.0)])]
    assert found["target_info"] == [({**IDENTITY, "host_name": "db1", "service_version": "2.1"}, [(2000, 1.0)])]


def test_hosts_of_collectors_that_name_no_instance_stay_apart() -> None:
    both = request(gauge("up", point(2000, 1.0)), resource={"host.name": "db1"})
    both.MergeFrom(request(gauge("up", point(2000, 2.0)), resource={"host.name": "db2"}))
    found = stored(made_of(both))["up"]
    assert [(labels["instance"], samples) for labels, samples in found] == [
        ("db1", [(2000, 1.0)]),
        ("db2", [(2000, 2.0)]),
    ]


def test_attributes_that_become_one_label_keep_all_values() -> None:
    made = made_of(request(gauge("up", point(2000, 1.0, pairs={"a.b": "2", "a-b": "1"}))))
    assert stored(made)["up"][0][0]["a_b"] == "1;2"


def test_values_that_are_lists_are_written_as_json() -> None:
    made = request(gauge("up", point(2000, 1.0)))
    values = [AnyValue(string_value="x"), AnyValue(int_value=2)]
    added = made.resource_metrics[0].scope_metrics[0].metrics[0].gauge.data_points[0].attributes
    added.append(KeyValue(key="list", value=AnyValue(array_value=ArrayValue(values=values))))
    assert stored(made_of(made))["up"][0][0]["list"] == '["x",2]'


def test_json_and_protobuf_say_the_same() -> None:
    text = b"""{"resourceMetrics": [{"resource": {"attributes": [
        {"key": "service.name", "value": {"stringValue": "cart"}}]},
      "unheardOf": 1,
      "scopeMetrics": [{"scope": {}, "metrics": [{"name": "calls", "unit": "1", "sum": {"isMonotonic": true,
        "aggregationTemporality": 2, "dataPoints": [{"timeUnixNano": "2000000000", "asInt": "9007199254740993",
          "exemplars": [{"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "asInt": "1"}],
          "attributes": [{"key": "ok", "value": {"boolValue": true}}]}]}}]}]}]}"""
    found = stored(made_of(decode_json(text)))
    assert found == {"calls_total": [({"job": "cart", "ok": "true"}, [(2000, 9007199254740992.0)])]}


@pytest.mark.parametrize("text", [b"", b"{", b'{"resourceMetrics": 5}', b"\xff", b'{"resourceMetrics": ' + b"[" * 999])
def test_json_that_is_no_request_is_unreadable(text: bytes) -> None:
    with pytest.raises(Unreadable):
        decode_json(text)


def test_bodies_that_hold_too_much_are_refused() -> None:
    with pytest.raises(Unreadable, match="messages"):
        decode_protobuf(field(1, b"") * (BOUNDS.messages + 1))
    deep = b""
    while len(deep) < 1 << 16:
        deep = field(5, field(1, deep))
    with pytest.raises(Unreadable):
        decode_protobuf(field(1, field(1, field(1, field(2, deep)))))
    with pytest.raises(TooLarge, match="brackets"):
        decode_json(b"[" + b"{}," * 60_000 + b"{}]")
    with pytest.raises(TooLarge, match="1000 samples"):
        made_of(request(gauge("up", *(point(2000 + at, 1.0) for at in range(1001)))))
    wide = request(*(gauge(f"m{at}", point(2000, 1.0)) for at in range(999)), scope="x" * (1 << 16))
    with pytest.raises(TooLarge, match="labels"):
        made_of(wide)


def test_many_series_come_in_parts_that_are_bounded() -> None:
    message = request(*(gauge(f"m{at}", point(2000, float(at))) for at in range(20_000)))
    parts: list[list[Column]] = []
    translate(message, replace(ACCEPTED, samples=20_000), parts.append)
    values = [values[0] for part in parts for _, _, values in part]
    assert values == [float(at) for at in range(20_000)]
    assert len(parts) > 1
    assert max(sum(len(labels) for labels, _, _ in part) for part in parts) < PART_LABELS + 10


def test_gzip_is_inflated_up_to_the_cap() -> None:
    body = gzip.compress(b"x" * 5000)
    assert inflate_gzip(body, cap_bytes=5000) == b"x" * 5000
    with pytest.raises(InflatedTooLarge):
        inflate_gzip(body, cap_bytes=4999)
    for broken in (b"", b"plain", body[:-1], body + b"x", body[:10] + b"\xff" + body[11:]):
        with pytest.raises(Unreadable):
            inflate_gzip(broken, cap_bytes=5000)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b.c", "", "0"]),
            st.integers(0, 10_000),
            st.floats(allow_nan=False),
            st.sampled_from([0, 1, 2]),
        ),
        max_size=30,
    )
)
def test_every_point_is_stored_or_refused(drawn: list[tuple[str, int, float, int]]) -> None:
    metrics = [counter(name, point(at_ms, value), temporality=kind) for name, at_ms, value, kind in drawn]
    made = made_of(request(*metrics))
    assert made.points + made.refused.total() == len(drawn)
    assert sum(len(times) for _, times, _ in made.columns) == made.points
    assert all(math.isfinite(value) or math.isinf(value) for _, _, values in made.columns for value in values)


@given(st.binary(max_size=300))
def test_any_bytes_are_taken_or_refused(body: bytes) -> None:
    for decode in (decode_protobuf, decode_json):
        try:
            made = decode(body)
        except (Unreadable, TooLarge):
            continue
        assert isinstance(made, ExportMetricsServiceRequest)
        made_of(made)
