"""Names of OpenTelemetry as names of Prometheus: the translation that its specification documents."""

import math

import pytest

from tierscope.domain.ingest.otlp_names import bound_text, label_name, metric_name


@pytest.mark.parametrize(
    ("name", "unit", "kind", "named"),
    [
        ("system.memory.usage", "By", "sum", "system_memory_usage_bytes"),
        ("system.paging.operations", "{operations}", "counter", "system_paging_operations_total"),
        ("http.server.request.duration", "s", "histogram", "http_server_request_duration_seconds"),
        ("disk.io", "By/s", "gauge", "disk_io_bytes_per_second"),
        ("rate", "{packet}/s", "gauge", "rate_per_second"),
        ("system.memory.utilization", "1", "gauge", "system_memory_utilization_ratio"),
        ("restarts", "1", "counter", "restarts_total"),
        ("requests.total", "", "counter", "requests_total"),
        ("total.requests", "", "counter", "requests_total"),
        ("memory_bytes", "By", "gauge", "memory_bytes"),
        ("cpu load %", "%", "gauge", "cpu_load_percent"),
        ("2xx", "", "gauge", "_2xx"),
        ("node:rate:sum", "", "gauge", "node:rate:sum"),
        ("a..b__c", "furlongs", "gauge", "a_b_c_furlongs"),
        ("größe", "", "gauge", "gr_e"),
        ("...", "By", "gauge", ""),
    ],
)
def test_a_metric_is_named_by_its_kind_and_unit(name: str, unit: str, kind: str, named: str) -> None:
    assert metric_name(name, unit, counter=kind == "counter", gauge=kind == "gauge") == named


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ("http.method", "http_method"),
        ("0.node", "key_0_node"),
        ("_private", "key_private"),
        ("__name__", "key_name_"),
        ("a--b", "a_b"),
    ],
)
def test_an_attribute_becomes_a_label_that_is_no_reserved_one(key: str, label: str) -> None:
    assert label_name(key) == label


def test_bounds_are_written_without_an_exponent() -> None:
    bounds = [10.0, 0.5, 1e-9, 2.0**60, math.inf, -math.inf, math.nan]
    texts = ["10", "0.5", "0.000000001", "1152921504606847000", "+Inf", "-Inf", "NaN"]
    assert [bound_text(bound) for bound in bounds] == texts
