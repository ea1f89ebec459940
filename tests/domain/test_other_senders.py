"""Names of Telegraf, Performance Co-Pilot and hostmetrics are the same counters, of the host that they name."""

import re

import pytest

from tierscope.domain.counters.senders import CADVISOR_COUNTERS
from tierscope.domain.ingest.prometheus.counters import as_printed, map_series, sender_of
from tierscope.domain.ingest.prometheus.selector import parse_selector
from tierscope.domain.ingest.prometheus.targets import TargetName, find_target
from tierscope.usecases.ingest.prometheus_history import DEFAULT_MATCH

TELEGRAF = {"host": "db1"}
PCP = {"hostname": "db1", "agent": "linux", "instance": "pmproxy:44322"}
HOSTMETRICS = {"otel_scope_name": "github.com/x/receiver/hostmetricsreceiver/internal/scraper/memoryscraper"}
NODE = {**PCP, "instname": "node1", "instid": "1", "numa_node": "1", "device_type": "numa_node"}


@pytest.mark.parametrize(
    ("metric", "labels", "counters"),
    [
        ("kernel_vmstat_pgpromote_success", TELEGRAF, {"host|vmstat|pgpromote_success": 1}),
        ("mem_total", TELEGRAF, {"host|meminfo|MemTotal": 1}),
        ("mem_total", {"instance": "app:80"}, {}),
        ("mem_cached", TELEGRAF, {}),
        ("mem_used_percent", TELEGRAF, {}),
        ("kernel_boot_time", TELEGRAF, {"host|stat|btime": 1}),
        (
            "pressure_total",
            {**TELEGRAF, "resource": "memory", "type": "some"},
            {"host|pressure.memory|some_total_us": 1},
        ),
        ("pressure_avg10", {**TELEGRAF, "resource": "memory", "type": "some"}, {}),
        ("mem_vmstat_pgdemote_kswapd", PCP, {"host|vmstat|pgdemote_kswapd": 1}),
        ("mem_vmstat_pgdemote_total", PCP, {}),
        ("mem_vmstat_pgsteal_total", PCP, {}),
        ("mem_vmstat_pgpromote_success_total", PCP, {"host|vmstat|pgpromote_success": 1}),
        ("mem_vmstat_pgscan_direct_total", PCP, {}),
        ("mem_physmem", PCP, {"host|meminfo|MemTotal": 1024}),
        ("mem_util_available", PCP, {"host|meminfo|MemAvailable": 1024}),
        ("mem_util_other", PCP, {}),
        ("mem_numa_util_total", NODE, {"node:1|meminfo|MemTotal": 1024}),
        ("mem_numa_util_active_anon", NODE, {"node:1|meminfo|Active(anon)": 1024}),
        ("mem_numa_alloc_local_node", NODE, {"node:1|numastat|local_node": 1}),
        ("mem_numa_util_total", PCP, {}),
        ("kernel_all_pressure_memory_some_total", PCP, {"host|pressure.memory|some_total_us": 1}),
        ("system_memory_limit_bytes", {}, {"host|meminfo|MemTotal": 1}),
        ("system_memory_usage_bytes", {"state": "free"}, {"host|meminfo|MemFree": 1}),
        ("system_memory_usage_bytes", {"state": "free", **HOSTMETRICS}, {"host|meminfo|MemFree": 1}),
        ("system_memory_usage_bytes", {"state": "free", "otel_scope_name": "io.opentelemetry.oshi"}, {}),
        ("system_memory_usage_bytes", {"state": "used"}, {}),
        ("system_paging_faults_total", {"type": "minor"}, {"host|vmstat|pgfault": 1}),
        ("system_paging_faults_total", {"type": "major"}, {"host|vmstat|pgfault": 1, "host|vmstat|pgmajfault": 1}),
        ("system_cpu_time_seconds_total", {"state": "idle"}, {}),
        ("node_memory_numa_MemTotal", {"node": "worker-3", "exported_node": "1"}, {"node:1|meminfo|MemTotal": 1}),
        # prometheusremotewrite of the collector with add_metric_suffixes: false.
        ("system_paging_faults", {"type": "minor"}, {"host|vmstat|pgfault": 1}),
        ("system_memory_usage", {"state": "free", **HOSTMETRICS}, {"host|meminfo|MemFree": 1}),
        # What recording rules and the stream aggregation of vmagent make of counters is none of them any more.
        ("node_vmstat_pgpromote_success:1m_total", {"instance": "db1:9100"}, {}),
        ("node_memory_MemTotal_bytes:5m_without_cpu_last", {"instance": "db1:9100"}, {}),
        ("node_memory_MemAvailable_bytes:sum", {"cluster": "east"}, {}),
        ("kernel_vmstat_pgfault:rate5m", TELEGRAF, {}),
        ("system_memory_limit_bytes:max", {}, {}),
        ("container_memory_rss:sum", {"namespace": "shop", "pod": "db-0", "container": "db"}, {}),
        # Vector takes 1 kB of /proc/meminfo for 1000 bytes.
        ("host_memory_total_bytes", {"host": "db1", "collector": "memory"}, {}),
    ],
)
def test_series_are_counters(metric: str, labels: dict[str, str], counters: dict[str, float]) -> None:
    assert {found.key: found.scale for found in map_series({"__name__": metric, **labels})} == counters


@pytest.mark.parametrize(
    ("metric", "labels", "name"),
    [
        ("kernel_vmstat_pgfault", {"host": "db1"}, "db1"),
        # A relay or pmproxy passes on what others measured: its address is not the host.
        ("kernel_vmstat_pgfault", {"host": "db1", "instance": "relay:9273"}, "db1"),
        ("kernel_vmstat_pgfault", {"exported_host": "db1", "host": "relay", "instance": "relay:9273"}, "db1"),
        ("kernel_vmstat_pgfault", {"instance": "db1:9273"}, "db1"),
        ("mem_vmstat_pgfault", {"hostname": "db1", "instance": "pmproxy:44322"}, "db1"),
        ("system_memory_limit_bytes", {"instance": "db1"}, "db1"),
        ("system_memory_limit_bytes", {"host_name": "db1"}, "db1"),
        ("node_vmstat_pgfault", {"host": "rack-3", "instance": "db1:9100"}, "db1"),
        ("node_vmstat_pgfault", {"host": "db1"}, "db1"),
        # A Prometheus that asks another one for its series (federation) puts its own address in front of theirs.
        ("node_vmstat_pgfault", {"exported_instance": "db1:9100", "instance": "prometheus-a:9090"}, "db1"),
        ("tierscope_node_tier", {"exported_instance": "db1:9100", "instance": "prometheus-a:9090"}, "db1"),
        # Each machine has a `localhost`: whoever scrapes its own says elsewhere which it is.
        ("node_vmstat_pgfault", {"instance": "localhost:9100", "host": "db1"}, "db1"),
        ("node_vmstat_pgfault", {"instance": "127.0.0.1:9100", "host_name": "db1"}, "db1"),
        ("node_vmstat_pgfault", {"instance": "[::1]:9100", "hostname": "DB1"}, "db1"),
        ("node_vmstat_pgfault", {"exported_instance": "localhost:9100", "instance": "db1:9090"}, "db1"),
        ("node_vmstat_pgfault", {"instance": "localhost:9100"}, "localhost"),
        # Telegraf that scrapes others (inputs.prometheus) names itself `host`.
        ("node_vmstat_pgfault_value", {"host": "relay", "url": "http://db1:9100/metrics"}, "db1"),
        ("node_vmstat_pgfault", {"host": "db1", "url": "http://localhost:9100/metrics"}, "db1"),
        ("tierscope_node_tier", {"host": "relay", "url": "http://db1:9100/metrics"}, "db1"),
        ("container_memory_rss", {"host": "relay", "url": "https://10.0.0.5:10250/metrics/cadvisor"}, "10.0.0.5"),
        ("http_response_result_code", {"host": "db1", "url": "http://shop:80"}, "db1"),
        # What gives no counter is stored beside what does.
        ("cpu_usage_idle", {"host": "db1", "cpu": "cpu0"}, "db1"),
        ("http_requests_total", {"host": "db1", "instance": "app1:80"}, "app1"),
        ("http_requests_total", {"job": "app"}, ""),
        ("node_vmstat_pgfault", {}, ""),
    ],
)
def test_hosts_are_named_as_each_program_names_them(metric: str, labels: dict[str, str], name: str) -> None:
    series = {"__name__": metric, **labels}
    found = find_target(series, host_label="instance", cluster_label="cluster", sender=sender_of(series))
    assert found == TargetName("", name)


def test_a_label_that_is_set_to_name_hosts_goes_first() -> None:
    series = {"__name__": "kernel_vmstat_pgfault", "host": "db1", "rack": "r1"}
    found = find_target(series, host_label="rack", cluster_label="cluster", sender=sender_of(series))
    assert found == TargetName("", "r1")


@pytest.mark.parametrize(
    ("metric", "printed"),
    [
        ("node_vmstat_pgpromote_success_value", "node_vmstat_pgpromote_success"),
        ("node_memory_MemTotal_bytes_gauge", "node_memory_MemTotal_bytes"),
        ("node_cpu_seconds_total_counter", "node_cpu_seconds_total"),
        ("node_uname_info_gauge", "node_uname_info"),
        ("container_memory_rss_gauge", "container_memory_rss"),
        ("node_vmstat_pgfault", "node_vmstat_pgfault"),
        ("app_queue_gauge", "app_queue_gauge"),
    ],
)
def test_types_that_telegraf_puts_behind_names_are_taken_off(metric: str, printed: str) -> None:
    assert as_printed({"__name__": metric, "host": "db1"}) == {"__name__": printed, "host": "db1"}


@pytest.mark.parametrize(
    "metric", [*CADVISOR_COUNTERS, "node_vmstat_pgfault", "mem_util_free", "system_memory_limit_bytes"]
)
def test_an_import_asks_for_all_that_gives_a_counter(metric: str) -> None:
    (condition,) = parse_selector(DEFAULT_MATCH)
    assert re.fullmatch(condition.value, metric)
