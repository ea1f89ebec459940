"""Names of Telegraf, Performance Co-Pilot and hostmetrics are the same counters, of the host that they name."""

import pytest

from tierscope.domain.ingest.prometheus.counters import map_series, sender_of
from tierscope.domain.ingest.prometheus.targets import TargetName, find_target

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
