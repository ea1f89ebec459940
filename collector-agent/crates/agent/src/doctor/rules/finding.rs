//! What rules give, and the settings that several of them look at.

use tierscope_sample::inventory::Finding;

pub(super) const DEMOTION: &str = "/sys/kernel/mm/numa/demotion_enabled";
pub(super) const BALANCING: &str = "/proc/sys/kernel/numa_balancing";
pub(super) const RATE_LIMIT: &str = "/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps";
pub(super) const SCAN_PERIOD: &str = "/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms";
/// The bit of `kernel.numa_balancing` that promotes between tiers.
pub(super) const TIERING_BIT: u32 = 2;
/// The kernel's default limit in MiB/s, which no host reaches.
pub(super) const RATE_LIMIT_OFF: u64 = 65536;
/// `CAP_SYS_PTRACE`: other users' processes may be looked at.
pub(super) const SYS_PTRACE: u64 = 1 << 19;

/// How sure a finding is.
pub(super) const CERTAIN: &str = "certain";
pub(super) const LIKELY: &str = "likely";

/// A finding. How it is put right stands in `fix`.
pub(super) fn finding(
    id: &str,
    severity: &str,
    confidence: &str,
    cause: impl Into<String>,
    fix: &str,
) -> Finding {
    Finding {
        id: id.to_owned(),
        severity: severity.to_owned(),
        cause: cause.into(),
        fix: fix.to_owned(),
        confidence: confidence.to_owned(),
    }
}

pub(super) fn numbers(nodes: &[u32]) -> String {
    nodes.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
