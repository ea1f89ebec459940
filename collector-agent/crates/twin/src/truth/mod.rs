//! The truth as it is written down (docs/twin.md, schema `tierscope.twin-truth/1`).

mod served;
mod window;

use serde::Serialize;

use crate::conditions;
use crate::laws::{Change, Laws, SettingChange};

pub use served::{ServedCounts, ServedTruth};
pub use window::{HeatBytes, KindTruth, MovedBytes, PlacedBytes, WindowTruth, Windows};

/// Name of the schema.
pub const SCHEMA: &str = "tierscope.twin-truth/1";

/// Everything that nobody on a host could know.
#[derive(Debug, Clone, Serialize)]
pub struct Truth {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Seed of the fleet.
    pub seed: u64,
    /// When the first window begins, seconds since the Unix epoch.
    pub start_unix_s: u64,
    /// Length of an interval.
    pub interval_s: f64,
    /// Length of a window.
    pub window_s: f64,
    /// Hosts.
    pub hosts: Vec<HostTruth>,
    /// One row for each service, host and window.
    pub windows: Vec<WindowTruth>,
    /// What DRAM of each size would serve at best, by service and host.
    pub served: Vec<ServedTruth>,
    /// What went wrong or was changed.
    pub incidents: Vec<IncidentTruth>,
    /// What each service would lose at other sizes of DRAM; empty unless asked for.
    pub loss_curves: Vec<LossPoint>,
    /// What experiments did; empty unless asked for.
    pub effects: Vec<EffectTruth>,
}

/// A host as it is.
#[derive(Debug, Clone, Serialize)]
pub struct HostTruth {
    /// Name.
    pub host: String,
    /// Rack.
    pub rack: String,
    /// DRAM of the node with the processors.
    pub dram_gib: f64,
    /// The second node.
    pub slow_gib: f64,
    /// What kind of memory that is.
    pub slow_memory: Option<String>,
    /// Swap.
    pub swap_gib: f64,
    /// Kernel and settings at the start.
    pub settings: crate::laws::Settings,
    /// Services.
    pub services: Vec<String>,
}

/// An incident.
#[derive(Debug, Clone, Serialize)]
pub struct IncidentTruth {
    /// Name in the laws.
    pub name: String,
    /// Begin, seconds since the Unix epoch.
    pub begin_unix_s: f64,
    /// End.
    pub end_unix_s: f64,
    /// Hosts that it is on.
    pub hosts: Vec<String>,
    /// Service that it is about.
    pub service: Option<String>,
    /// Hosts to compare with.
    pub controls: Vec<String>,
    /// What happens.
    pub change: Change,
}

/// One point of a loss curve: a host run again with other amounts of DRAM and CXL memory, all else being equal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LossPoint {
    /// Host.
    pub host: String,
    /// Service.
    pub service: String,
    /// DRAM as a share of all memory of the host.
    pub dram_share: f64,
    /// Mean share of its capacity that the service lost against all DRAM.
    pub loss_ratio: f64,
    /// Mean share of its accesses that were slow.
    pub slow_access_share: f64,
}

/// What an experiment did to a service: the hosts with the change against the same hosts without.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EffectTruth {
    /// Name of the incident.
    pub incident: String,
    /// Host.
    pub host: String,
    /// Service.
    pub service: String,
    /// Change of its mean capacity, as a share.
    pub capacity_change_ratio: f64,
    /// Change of its mean throughput, as a share.
    pub throughput_change_ratio: f64,
    /// Change of the mean of the median time of an operation, as a share.
    pub p50_change_ratio: f64,
    /// Change of the mean of its 99th percentile, as a share.
    pub p99_change_ratio: f64,
    /// Change of its mean share of slow accesses.
    pub slow_access_share_change: f64,
    /// What was changed.
    pub set: SettingChange,
}

impl Truth {
    /// The truth of a fleet, without windows.
    pub fn new(laws: &Laws, seed: u64) -> Self {
        let start_s = laws.clock.start_unix_s as f64;
        let hosts = laws.hosts.iter().map(|host| HostTruth {
            host: host.name.clone(),
            rack: host.rack.clone(),
            dram_gib: host.dram_gib,
            slow_gib: host.slow.as_ref().map_or(0.0, |slow| slow.gib),
            slow_memory: host.slow.as_ref().map(|slow| slow.memory.clone()),
            swap_gib: host.swap_gib,
            settings: laws.settings[&host.settings].clone(),
            services: host.services.iter().map(|share| share.service.clone()).collect(),
        });
        let incidents = laws.incidents.iter().map(|incident| IncidentTruth {
            name: incident.name.clone(),
            begin_unix_s: start_s + incident.begin_h * 3600.0,
            end_unix_s: start_s + incident.end_h * 3600.0,
            hosts: laws
                .hosts
                .iter()
                .filter(|host| conditions::concerns(incident, host))
                .map(|host| host.name.clone())
                .collect(),
            service: incident.service.clone(),
            controls: incident.controls.clone(),
            change: incident.change.clone(),
        });
        Self {
            schema: SCHEMA,
            seed,
            start_unix_s: laws.clock.start_unix_s,
            interval_s: laws.clock.interval_s,
            window_s: laws.clock.interval_s * f64::from(laws.clock.window_intervals),
            hosts: hosts.collect(),
            windows: Vec::new(),
            served: Vec::new(),
            incidents: incidents.collect(),
            loss_curves: Vec::new(),
            effects: Vec::new(),
        }
    }
}
