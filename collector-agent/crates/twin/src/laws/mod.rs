//! The laws of a fleet: everything that decides what happens on it, from one file.
//!
//! Amounts carry their unit in their name. Units below: GiB is 2^30 bytes, times are seconds or hours since the start.

mod hardware;
mod incident;
mod kernel;
mod problem;
mod service;
mod sizes;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

pub use hardware::{HeatLaw, HostLaw, MemoryLaw, ServiceShare, SlowLaw};
pub use incident::{Change, IncidentLaw, SettingChange};
pub use kernel::{Dialect, KernelWork, Settings};
pub use problem::LawError;
pub use service::{PopulationLaw, ServiceLaw};
pub use workloads::HOSTS_PER_WORKLOAD;

/// Bytes of a base page.
pub const PAGE_BYTES: u64 = 4096;
/// Bytes of a GiB.
pub const GIB: f64 = 1_073_741_824.0;

/// All laws.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Laws {
    /// When it begins, and its step.
    pub clock: ClockLaw,
    /// What a page of the twin stands for.
    pub page: PageLaw,
    /// What varies without a cause.
    pub noise: NoiseLaw,
    /// Kinds of memory by name; `dram` must be there.
    pub memory: BTreeMap<String, MemoryLaw>,
    /// How fast and how exactly a kernel works.
    pub kernel_work: KernelWork,
    /// Kernel settings by name, for hosts to choose from.
    pub settings: BTreeMap<String, Settings>,
    /// Services.
    #[serde(rename = "service")]
    pub services: Vec<ServiceLaw>,
    /// Hosts.
    #[serde(rename = "host")]
    pub hosts: Vec<HostLaw>,
    /// What goes wrong, or is changed, and when.
    #[serde(rename = "incident", default)]
    pub incidents: Vec<IncidentLaw>,
}

/// Time.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockLaw {
    /// When the first interval begins, seconds since the Unix epoch (UTC).
    pub start_unix_s: u64,
    /// Length of an interval: the step of the twin, and the interval of heat.
    pub interval_s: f64,
    /// Intervals of one row of the truth.
    pub window_intervals: u32,
    /// Intervals before the start, of which no truth is told: memory fills and the kernel settles.
    pub warm_up_intervals: u32,
}

/// Pages.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageLaw {
    /// Memory that one page of the twin stands for: a multiple of 4 KiB. All of it is accessed and moved as one.
    pub unit_bytes: u64,
}

/// Noise: logarithms with these standard deviations.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoiseLaw {
    /// Load of a service on one host, smooth over `correlation_s`.
    pub load_sd: f64,
    /// How long the load stays above or below.
    pub correlation_s: f64,
    /// Capacity of all hosts of a rack (power, network), for good.
    pub rack_sd: f64,
    /// Capacity of a host within its rack, for good.
    pub host_sd: f64,
    /// Throughput and latency as they are measured, each interval.
    pub measurement_sd: f64,
}

impl Laws {
    /// The laws that come with the crate: 33 hosts and 10 services. They document every field.
    pub const DEFAULT: &str = include_str!("../../laws/default.toml");

    /// The laws of a file, or those that come with the crate.
    pub fn load(path: Option<&Path>) -> Result<Self, LawError> {
        path.map_or_else(|| Self::parse(Self::DEFAULT), Self::read)
    }

    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<Self, LawError> {
        let text = std::fs::read_to_string(path).map_err(|cause| LawError::Unreadable {
            path: path.display().to_string(),
            cause,
        })?;
        Self::parse(&text)
    }

    /// Parses and checks laws.
    pub fn parse(text: &str) -> Result<Self, LawError> {
        let laws: Self = toml::from_str(text)?;
        laws.check()?;
        Ok(laws)
    }

    /// Base pages that one page of the twin stands for.
    pub fn unit_pages(&self) -> u64 {
        self.page.unit_bytes / PAGE_BYTES
    }

    /// The service with this name.
    pub fn service(&self, name: &str) -> Option<&ServiceLaw> {
        self.services.iter().find(|service| service.name == name)
    }

    fn check(&self) -> Result<(), LawError> {
        let unit = self.page.unit_bytes;
        if unit == 0 || !unit.is_multiple_of(PAGE_BYTES) {
            return Err(LawError::wrong(
                "page.unit_bytes",
                "must be a multiple of 4096, above 0",
            ));
        }
        if self.clock.interval_s <= 0.0 || self.clock.window_intervals == 0 {
            return Err(LawError::wrong(
                "clock",
                "interval_s and window_intervals must be above 0",
            ));
        }
        if !self.memory.contains_key("dram") {
            return Err(LawError::wrong("memory", "[memory.dram] is missing"));
        }
        for (name, memory) in &self.memory {
            memory.check(name)?;
        }
        for service in &self.services {
            service.check()?;
        }
        let mut names = BTreeSet::new();
        for host in &self.hosts {
            if !names.insert(host.name.as_str()) {
                return Err(LawError::wrong(
                    format!("host {}", host.name),
                    "there are two with this name",
                ));
            }
            self.check_host(host)?;
        }
        self.incidents
            .iter()
            .try_for_each(|incident| self.check_incident(incident, &names))
    }

    fn check_host(&self, host: &HostLaw) -> Result<(), LawError> {
        let place = || format!("host {}", host.name);
        if !self.settings.contains_key(&host.settings) {
            return Err(LawError::wrong(
                place(),
                format!("no [settings.{}]", host.settings),
            ));
        }
        if let Some(slow) = &host.slow
            && !self.memory.contains_key(&slow.memory)
        {
            return Err(LawError::wrong(place(), format!("no [memory.{}]", slow.memory)));
        }
        for share in &host.services {
            if self.service(&share.service).is_none() {
                return Err(LawError::wrong(place(), format!("no service {}", share.service)));
            }
        }
        let shares: f64 = host.services.iter().map(|share| share.share).sum();
        if host.services.is_empty() || shares > 1.0 || host.services.iter().any(|share| share.share <= 0.0) {
            return Err(LawError::wrong(
                place(),
                "shares of its services must be above 0 and sum to at most 1",
            ));
        }
        Ok(())
    }

    fn check_incident(&self, incident: &IncidentLaw, hosts: &BTreeSet<&str>) -> Result<(), LawError> {
        let place = || format!("incident {}", incident.name);
        if incident.end_h <= incident.begin_h {
            return Err(LawError::wrong(place(), "end_h must be after begin_h"));
        }
        if incident.hosts.is_empty() && incident.service.is_none() {
            return Err(LawError::wrong(place(), "it needs hosts, a service, or both"));
        }
        let unknown = incident
            .hosts
            .iter()
            .chain(&incident.controls)
            .find(|host| !hosts.contains(host.as_str()));
        if let Some(host) = unknown {
            return Err(LawError::wrong(place(), format!("no host {host}")));
        }
        match &incident.service {
            Some(service) if self.service(service).is_none() => {
                Err(LawError::wrong(place(), format!("no service {service}")))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_laws_are_a_fleet_of_33_hosts_and_10_services() -> Result<(), LawError> {
        let laws = Laws::parse(Laws::DEFAULT)?;
        assert_eq!((laws.hosts.len(), laws.services.len()), (33, 10));
        Ok(())
    }

    #[test]
    fn what_is_misspelt_or_missing_is_named() {
        let problem = |from: &str, to: &str| {
            let text = Laws::DEFAULT.replacen(from, to, 1);
            assert_ne!(text, Laws::DEFAULT, "{from}");
            Laws::parse(&text).expect_err("must be refused").to_string()
        };
        assert!(problem("unit_bytes", "unit_byte").contains("unit_byte"));
        assert!(problem("name = \"web-1\"", "name = \"web-2\"").contains("web-2"));
        assert!(problem("[memory.dram]", "[memory.fast]").contains("[memory.dram]"));
        assert!(problem("service = \"web\"", "service = \"wep\"").contains("wep"));
    }
}
