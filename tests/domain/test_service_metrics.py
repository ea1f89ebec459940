"""Figures that services give of themselves, from hosts to the service."""

import numpy as np

from tierscope.domain.counters.service_metrics import LOAD, P50, P99, RATE, TOTAL, HostMetrics, combine, count_reporting

NAN = float("nan")


def line(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


def test_throughput_adds_up_over_hosts_whatever_form_each_gives_it_in() -> None:
    totals = HostMetrics({TOTAL: line(0, 60_000, 120_000)}, {TOTAL: line(NAN, 1000, 1000)})
    rates = HostMetrics({RATE: line(2000, NAN, 4000)}, {})
    (throughput,) = combine([totals, rates])
    assert (throughput.key, throughput.unit) == ("throughput", "count_per_s")
    assert throughput.values.tolist() == [2, 1, 5]


def test_latencies_are_never_added() -> None:
    hosts = [HostMetrics({P50: line(value), P99: line(10 * value)}, {}) for value in (1.0, 2.0, 9.0)]
    p50, p99 = combine(hosts)
    assert (p50.key, p50.values.tolist()) == ("latency_p50", [2])
    assert (p99.key, p99.values.tolist()) == ("latency_p99", [90])


def test_a_bucket_in_which_nobody_reported_is_a_gap_and_silent_hosts_do_not_count() -> None:
    hosts = [HostMetrics({LOAD: line(NAN, 500)}, {}), HostMetrics({LOAD: line(NAN, NAN)}, {})]
    (load,) = combine(hosts)
    np.testing.assert_array_equal(load.values, [NAN, 0.5])
    assert count_reporting(hosts) == 1
    assert combine(hosts[1:]) == []
