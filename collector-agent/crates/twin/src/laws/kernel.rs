//! Laws of kernels: dialects, settings, and how well reclaim and scanning work.

use serde::{Deserialize, Serialize};

/// Which kernel's names and rules a host follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub enum Dialect {
    /// Linux 6.1: demotions are events of the host alone, no tiering counters per cgroup.
    #[serde(rename = "6.1")]
    V6_1,
    /// Linux 6.12: demotions per node and cgroup.
    #[serde(rename = "6.12")]
    V6_12,
    /// Linux 7.2: candidates of the free-space path, reclaim per node, swap per cgroup.
    #[serde(rename = "7.2")]
    V7_2,
}

/// What an administrator sets. Names and defaults are the kernel's.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Kernel.
    pub dialect: Dialect,
    /// `kernel.numa_balancing`: bit 1 classic, bit 2 tiering.
    pub numa_balancing: u32,
    /// `/sys/kernel/mm/numa/demotion_enabled`.
    pub demotion_enabled: bool,
    /// `kernel.numa_balancing_promote_rate_limit_MBps`, in units of 2^20 bytes. 65536 is the kernel's default.
    pub promote_rate_limit_mib_per_s: u64,
    /// debugfs `hot_threshold_ms`.
    pub hot_threshold_ms: f64,
    /// debugfs `scan_period_min_ms`.
    pub scan_period_min_ms: f64,
    /// debugfs `scan_period_max_ms`.
    pub scan_period_max_ms: f64,
    /// `vm.watermark_scale_factor`, in 10,000ths of a zone.
    pub watermark_scale_factor: u64,
    /// `vm.swappiness`, 0 to 200.
    pub swappiness: f64,
}

/// How a kernel works; the same on all hosts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelWork {
    /// What kswapd of one node can move or drop.
    pub kswapd_bytes_per_s: f64,
    /// Share of allocations below the low watermark, and of promotions below the high one, for which kswapd has made room
    /// in time. Other allocations spill, other promotions are refused.
    pub kswapd_in_time_share: f64,
    /// How finely reclaim tells ages: pages whose last accesses are less apart than this are taken in any order.
    pub lru_resolution_s: f64,
    /// Most that the scanner of one process covers (`MAX_SCAN_WINDOW` in kernel/sched/fair.c: 2560 MiB).
    pub scan_bytes_per_s: f64,
    /// Factor on the time of a scan pass: a scanner whose processes sleep, or that is held to 3 % of a processor.
    pub scanner_lag: f64,
    /// Where between the shortest and the longest scan period processes are, 0 to 1 (geometric).
    pub scan_period_position: f64,
    /// Processor time of a hint fault.
    pub hint_fault_ns: f64,
    /// Processor time to move one base page.
    pub page_move_ns: f64,
    /// Time of a major fault.
    pub major_fault_ns: f64,
    /// Memory of the kernel itself, as a share of DRAM; page descriptors (64 bytes per page of all nodes) come on top.
    pub kernel_share: f64,
}
