//! Laws of hosts and their memory.

use serde::Deserialize;

use super::problem::LawError;

/// A kind of memory.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryLaw {
    /// Latency of a load that misses all caches, without load.
    pub latency_ns: f64,
    /// Bandwidth that can be reached, reads and writes together.
    pub bandwidth_gb_per_s: f64,
    /// Whether the kernel puts it in the tier below DRAM, so that reclaim demotes to it: CXL yes, a remote socket no.
    pub is_lower_tier: bool,
    /// Latency by utilisation: pairs (share of the bandwidth, factor on the latency), rising from 0.
    pub loaded: Vec<(f64, f64)>,
}

impl MemoryLaw {
    pub(super) fn check(&self, name: &str) -> Result<(), LawError> {
        let place = format!("memory.{name}");
        if self.latency_ns <= 0.0 || self.bandwidth_gb_per_s <= 0.0 {
            return Err(LawError::wrong(place, "latency and bandwidth must be above 0"));
        }
        let rises = self
            .loaded
            .windows(2)
            .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        if !rises || self.loaded.first().is_none_or(|first| *first != (0.0, 1.0)) {
            return Err(LawError::wrong(place, "loaded must rise, from [0.0, 1.0]"));
        }
        Ok(())
    }
}

/// A host.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostLaw {
    /// Name, unique.
    pub name: String,
    /// Rack, which shares its noise.
    pub rack: String,
    /// Processors.
    pub cpus: u32,
    /// DRAM of the node with the processors.
    pub dram_gib: f64,
    /// The second node.
    pub slow: Option<SlowLaw>,
    /// Swap on a fast SSD; 0 for none.
    #[serde(default)]
    pub swap_gib: f64,
    /// Which `[settings.NAME]` it has.
    pub settings: String,
    /// Memory that is kept from services for good (huge pages of somebody else), of DRAM.
    #[serde(default)]
    pub reserved_gib: f64,
    /// Services, with their share of the host's memory.
    pub services: Vec<ServiceShare>,
    /// How its agent sees which memory is hot.
    #[serde(default)]
    pub heat: HeatLaw,
}

/// What an agent's heat comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case", deny_unknown_fields)]
pub enum HeatLaw {
    /// DAMON checks single pages: whether each was touched, minute by minute.
    #[default]
    DamonPages,
    /// Accessed bits, cleared and read once a minute.
    AbitWalk,
    /// Accesses sampled by the processor: one in so many is seen, and some of those are lost.
    Pebs {
        /// Accesses for each sample.
        period_accesses: f64,
        /// Share of the samples that full buffers lose.
        lost_ratio: f64,
    },
}

/// The second node of a host.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowLaw {
    /// Which `[memory.NAME]` it is.
    pub memory: String,
    /// Its size.
    pub gib: f64,
}

/// A service on a host.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceShare {
    /// Name of the service.
    pub service: String,
    /// Memory it would fill at level 1, as a share of the host's memory.
    pub share: f64,
}
