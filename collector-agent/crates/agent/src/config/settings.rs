//! The types of the settings, and their defaults.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tierscope_heat::settings::Heat;
use tierscope_host::names::Names;
use tierscope_sample::service::OwnRule;

use crate::kubernetes::KubernetesConfig;
use crate::service_metrics::ServiceMetricsConfig;

/// All settings, with their defaults.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// Base address of the service. Without it nothing is sent.
    pub(crate) server: Option<String>,
    /// Certificates of a private authority.
    pub(crate) ca_file: Option<PathBuf>,
    /// Allows plain http to other hosts.
    pub(crate) allow_http: bool,
    /// Where spool, credential and status live.
    pub(crate) state_dir: PathBuf,
    /// `credential.json` in the state directory unless given.
    pub(crate) credential_file: Option<PathBuf>,
    /// Read once, at enrolment.
    pub(crate) join_token_file: Option<PathBuf>,
    /// The host's own name unless given; for display.
    pub(crate) hostname: Option<String>,
    /// Seconds between collections; without it the service decides.
    pub(crate) interval_seconds: Option<u32>,
    /// The longest time between batches, in minutes; the service may ask for less. Samples that wait for their batch are
    /// in memory alone.
    pub(crate) send_minutes: u32,
    /// Uploads are spread over this many seconds by a hash of the host.
    pub(crate) upload_spread_seconds: u32,
    /// Bound of the queue on disk.
    pub(crate) spool_max_mib: u64,
    /// Added to the scheduling priority: 0 normal, 19 lowest.
    pub(crate) nice: i32,
    /// The kill switch of this host: nothing is collected and nothing is sent.
    pub(crate) paused: bool,
    /// Where Prometheus may ask for the agent's own figures; on loopback alone. Without it nothing listens.
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// What fleets are filtered by: sku, rack, region, team, ratio, ...
    pub(crate) labels: BTreeMap<String, String>,
    /// What of a Kubernetes cluster travels beside them.
    pub(crate) kubernetes: KubernetesConfig,
    /// The owner's rules of service identity; the first that fits wins.
    pub(crate) services: Vec<OwnRule>,
    /// Whether events of the hardware are counted: bandwidth of memory, and cycles that wait for it.
    pub(crate) hardware_counters: bool,
    /// What services say of themselves: throughput, load, latency.
    pub(crate) service_metrics: Vec<ServiceMetricsConfig>,
    /// Whose heat is measured.
    pub(crate) heat: Heat,
    /// Bounds of what is collected.
    pub(crate) limits: Limits,
    /// What the agent may use.
    pub(crate) budget: Budget,
    /// When the host is too busy to be measured.
    pub(crate) guard: Guard,
    /// How names leave the host.
    pub(crate) names: Names,
}

/// What the agent may use. Beyond it heat is measured less, then not at all, then counters are read more rarely.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Budget {
    /// Processor time of the agent's threads, as a share of one core.
    pub(crate) cpu_max_ratio: f64,
    /// Processor time that the kernel spends on the agent's behalf (kdamond), as a share of one core.
    pub(crate) kernel_cpu_max_ratio: f64,
    /// Resident memory of the agent.
    pub(crate) rss_max_mib: u64,
    /// Compressed bytes that are sent in an hour.
    pub(crate) upload_max_mib_per_hour: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            cpu_max_ratio: 0.03,
            kernel_cpu_max_ratio: 0.1,
            rss_max_mib: 128,
            upload_max_mib_per_hour: 16,
        }
    }
}

/// When the host is too busy to be measured: heat pauses above these shares and goes on well below them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Guard {
    /// Busy share of all processors; 1 switches this off.
    pub(crate) cpu_max_ratio: f64,
    /// Share of memory that is not available; 1 switches this off.
    pub(crate) memory_max_ratio: f64,
}

impl Default for Guard {
    fn default() -> Self {
        Self {
            cpu_max_ratio: 0.8,
            memory_max_ratio: 0.8,
        }
    }
}

/// Bounds of what is collected; what is beyond them is counted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Limits {
    /// Counter names of one host.
    pub(crate) counters: usize,
    /// Services of one host; those beyond become `other`.
    pub(crate) services: usize,
    /// Pages that are followed between memory tiers, of all services together; 0 for none.
    pub(crate) followed_pages: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            counters: 4096,
            services: 200,
            followed_pages: 4096,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            server: None,
            ca_file: None,
            allow_http: false,
            state_dir: default_state_dir(),
            credential_file: None,
            join_token_file: None,
            hostname: None,
            interval_seconds: None,
            send_minutes: MOST_SEND_MINUTES,
            upload_spread_seconds: 30,
            spool_max_mib: 64,
            nice: 10,
            paused: false,
            metrics_listen: None,
            labels: BTreeMap::new(),
            kubernetes: KubernetesConfig::default(),
            services: Vec::new(),
            hardware_counters: true,
            service_metrics: Vec::new(),
            heat: Heat::default(),
            limits: Limits::default(),
            budget: Budget::default(),
            guard: Guard::default(),
            names: Names::default(),
        }
    }
}

/// `/var/lib` for root, the user's own place for others.
fn default_state_dir() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return PathBuf::from("/var/lib/tierscope-agent");
    }
    let state_home = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".local/state"));
    state_home
        .or_else(home)
        .unwrap_or_else(std::env::temp_dir)
        .join("tierscope-agent")
}

impl Config {
    /// The kill switch that works without a change of settings: while this file exists nothing is collected or sent.
    pub(crate) fn pause_file(&self) -> PathBuf {
        self.state_dir.join("pause")
    }

    /// Where the credential is kept.
    pub(crate) fn credential_path(&self) -> PathBuf {
        self.credential_file
            .clone()
            .unwrap_or_else(|| self.state_dir.join("credential.json"))
    }
}

/// The longest time between batches that a service may ask for, in minutes.
pub(crate) const MOST_SEND_MINUTES: u32 = 10;

/// Whether intervals of this length end on whole minutes.
pub(crate) fn is_interval(seconds: u32) -> bool {
    match seconds {
        1..=59 => 60 % seconds == 0,
        60..=3600 => seconds.is_multiple_of(60),
        _ => false,
    }
}
