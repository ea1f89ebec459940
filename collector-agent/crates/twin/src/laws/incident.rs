//! Laws of incidents: what goes wrong or is changed, where and when.

use serde::{Deserialize, Serialize};

/// One incident with its begin and end.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct IncidentLaw {
    /// Name, for the truth.
    pub name: String,
    /// Hours after the start.
    pub begin_h: f64,
    /// Hours after the start.
    pub end_h: f64,
    /// Hosts that it is on; all hosts of the service if empty.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Service that it is about; all services of the hosts without one.
    #[serde(default)]
    pub service: Option<String>,
    /// Hosts to compare with, for an experiment.
    #[serde(default)]
    pub controls: Vec<String>,
    /// What happens.
    pub change: Change,
}

/// What happens in an incident.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// Accesses spread evenly over this share of all pages. With more than DRAM holds, the kernel exchanges in vain.
    PingPong {
        /// Share of the pages that become hot.
        hot_share: f64,
    },
    /// The scanner of hint faults rests, though the settings ask for it.
    RestingScanner,
    /// Moves to DRAM fail after they were decided (pinned pages, extra references).
    FailingPromotion {
        /// Share that fails.
        failed_share: f64,
    },
    /// The promotion rate limit is set lower.
    BindingLimiter {
        /// The limit, in units of 2^20 bytes.
        limit_mib_per_s: u64,
    },
    /// Anonymous memory grows and is not touched again.
    Leak {
        /// Growth on each host.
        gib_per_h: f64,
    },
    /// A deploy, after which anonymous memory has another level. It stays after the end.
    LevelShift {
        /// Factor on the level.
        factor: f64,
    },
    /// Memory grows; it stays after the end.
    Growth {
        /// Growth per day.
        per_day: f64,
    },
    /// The CXL link trains down.
    DegradedLink {
        /// Factor on the latency.
        latency_factor: f64,
        /// Factor on the bandwidth.
        bandwidth_factor: f64,
    },
    /// The wall clock runs away; it stays wrong until the end.
    RunawayClock {
        /// Seconds gained in an hour.
        drift_s_per_h: f64,
    },
    /// What the agent reads arrives late.
    LateAgent {
        /// Delay.
        delay_s: f64,
    },
    /// The agent sends nothing.
    SilentAgent,
    /// The agent is of an old version.
    OutdatedAgent {
        /// Its version.
        version: String,
    },
    /// The host answers with the machine id of another (a cloned image).
    ClonedHost {
        /// The other one.
        of: String,
    },
    /// A setting is changed on the hosts, and not on the controls. What it does is told by a run without it.
    Experiment {
        /// What is set.
        set: SettingChange,
    },
}

/// Settings that an experiment changes; what is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct SettingChange {
    /// `kernel.numa_balancing`.
    pub numa_balancing: Option<u32>,
    /// `demotion_enabled`.
    pub demotion_enabled: Option<bool>,
    /// `kernel.numa_balancing_promote_rate_limit_MBps`.
    pub promote_rate_limit_mib_per_s: Option<u64>,
    /// `hot_threshold_ms`.
    pub hot_threshold_ms: Option<f64>,
    /// `scan_period_max_ms`.
    pub scan_period_max_ms: Option<f64>,
    /// `vm.watermark_scale_factor`.
    pub watermark_scale_factor: Option<u64>,
    /// `vm.swappiness`.
    pub swappiness: Option<f64>,
}
